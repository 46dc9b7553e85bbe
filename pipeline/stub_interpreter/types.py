"""C++ types of a stub: aliases, conversions, construction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.stub_interpreter import syntax
from pipeline.stub_interpreter.errors import NotUnderstoodError
from pipeline.stub_interpreter.expressions import split_template
from pipeline.stub_interpreter.numbers import Number, canonical, convert
from pipeline.stub_interpreter.values import MISSING, Array, Memory, Scalar, Struct

if TYPE_CHECKING:
    from pipeline.stub_interpreter.interpreter import Interpreter

# A function of ATen, the standard library or Metal: (interpreter, arguments, template arguments) -> result.
Native = Callable[["Interpreter", Sequence[object], tuple[str, ...]], object]

# A macro, which decides what to evaluate: (interpreter, its name and argument expressions, names in scope) -> result.
Macro = Callable[["Interpreter", Sequence[syntax.Expression], Memory], object]

TYPE_NAMES = {"Scalar", "array", "vector", "IntArrayRef", "string", "Tensor", "optional", "ScalarType", "ArrayRef"}


class Types(ABC):
    """`structs` are the structs of plain members by name, `build` makes an object of another type by its name."""

    structs: dict[str, syntax.Struct]

    @abstractmethod
    def build(self, name: str, items: Sequence[object], template: tuple[str, ...]) -> object: ...

    def resolved(self, name: str, memory: Memory) -> str:
        """A type with the aliases in scope replaced: `scalar_t` is `half` inside a dispatch macro."""
        known = memory.type(name)
        if known is not None:
            return known
        base, arguments = split_template(name)
        if arguments:
            return f"{base}<{','.join(self.resolved(each, memory) for each in arguments)}>"
        return name

    def converted(self, name: str, value: object, memory: Memory) -> object:
        """`value` as a variable of that type holds it; what is no number, Scalar or dtype stays as it is."""
        if name == "auto":
            return value
        name = self.resolved(name, memory)
        kind = canonical(name)
        if kind is not None and isinstance(value, (Number, Dtype)):
            return convert(value, kind)
        if name in ("Scalar", "optional<Scalar>") and isinstance(value, Number):
            return Scalar(value.value)
        if name.startswith("optional<") and isinstance(value, Number):
            inner = canonical(name[9:-1])
            return convert(value, inner) if inner else value
        if name == "ScalarType" and isinstance(value, Number):
            return next(dtype for dtype in Dtype if dtype.code == int(value))
        return value

    def construct(self, name: str, items: Sequence[object], memory: Memory) -> object:
        """`Type{items}`."""
        name = self.resolved(name, memory)
        kind = canonical(name)
        if kind is not None:
            return convert(items[0] if items else Number(0, "int"), kind)
        base, arguments = split_template(name)
        if base in ("array", "vector", "ArrayRef", "initializer_list", "SmallVector", "IntArrayRef"):
            element = canonical(arguments[0]) if arguments else "int64_t"
            if len(items) == 1 and isinstance(items[0], Array):
                items = items[0].items
            return Array([convert(each, element) if element else each for each in items], element)
        if base in self.structs:
            return self._struct(self.structs[base], arguments, items)
        if base in ("Scalar", "string", "Tensor", "optional", "ScalarType"):
            return self.converted(name, items[0], memory) if items else MISSING
        return self.build(base, items, arguments)

    def _struct(self, struct: syntax.Struct, arguments: tuple[str, ...], items: Sequence[object]) -> Struct:
        inner = Memory(types=dict(zip(struct.template, arguments, strict=False)))
        types = {}
        for member in struct.fields:
            kind = canonical(self.resolved(member.type, inner))
            if kind is None:
                raise NotUnderstoodError(f"{struct.name}::{member.name} is a {member.type}, which is no number")
            types[member.name] = kind
        if len(items) > len(struct.fields):
            raise NotUnderstoodError(f"{len(items)} values for the {len(struct.fields)} members of {struct.name}")
        filled = [*items, *(Number(0, "int") for _ in range(len(struct.fields) - len(items)))]
        members = {
            name: convert(value, kind) if isinstance(value, (Number, Dtype)) else value
            for (name, kind), value in zip(types.items(), filled, strict=True)
        }
        return Struct(struct.name, members, types)
