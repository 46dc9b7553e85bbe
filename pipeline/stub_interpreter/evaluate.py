"""Evaluates the expressions of a stub."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.stub_interpreter import numbers, syntax
from pipeline.stub_interpreter.cursor import normalized
from pipeline.stub_interpreter.errors import CheckFailedError, NotUnderstoodError
from pipeline.stub_interpreter.numbers import Number, canonical, convert
from pipeline.stub_interpreter.types import TYPE_NAMES, Macro, Types
from pipeline.stub_interpreter.values import MISSING, Alias, Array, Memory, Missing, Scalar, Struct, copied

# Member functions that give an int64_t; that change nothing; and functions that change nothing.
_COUNTS = {"size", "stride", "numel", "dim", "storage_offset"}
_READS = {"to", "toDouble", "toFloat", "toInt", "toLong", "value_or", "value", "front", "back", "ndim", "element_size"}
_PURE = {"min", "max", "abs", "clamp", "ceil_div", "round_up", "multiply_integers"}


@dataclass
class Closure:
    """A lambda with the names it sees."""

    node: syntax.Lambda
    memory: Memory


class Evaluator(Types):
    """`functions` are those of the file, `constants` what may be named, `macros` what decides on its arguments."""

    path: str
    functions: dict[str, list[syntax.Function]]
    constants: dict[str, object]
    macros: dict[str, Macro]

    @abstractmethod
    def call(self, name: str, arguments: Sequence[object], template: tuple[str, ...] = ()) -> object: ...

    @abstractmethod
    def invoke(self, function: object, arguments: Sequence[object]) -> object: ...

    @abstractmethod
    def native(self, name: str, arguments: Sequence[object], template: tuple[str, ...] = ()) -> object: ...

    @abstractmethod
    def knows(self, name: str) -> bool: ...

    @abstractmethod
    def macro(self, macro: Macro, nodes: Sequence[syntax.Expression], memory: Memory) -> object: ...

    def evaluate(self, node: syntax.Expression, memory: Memory) -> object:
        """The value of an expression. Raises NotUnderstoodError with its line."""
        try:
            return _BY_NODE[type(node)](self, node, memory)
        except NotUnderstoodError as error:
            if error.line is None:
                error.line, error.path = node.line, self.path or None
            raise

    def _literal(self, node: syntax.Literal, memory: Memory) -> object:
        return MISSING if node.value is None else node.value

    def _conditional(self, node: syntax.Conditional, memory: Memory) -> object:
        first = truth(self.evaluate(node.condition, memory))
        value = self.evaluate(node.then if first else node.otherwise, memory)
        if not isinstance(value, Number):
            return value
        other = self._type_of(node.otherwise if first else node.then, memory)
        return value if other is None else convert(value, numbers.common_type(value.type, other))

    def _type_of(self, node: syntax.Expression, memory: Memory) -> str | None:
        """The number type of an expression that is not evaluated; None where it is not known without doing so."""
        if isinstance(node, syntax.Call) and isinstance(node.function, syntax.Member) and node.function.name in _COUNTS:
            return "int64_t"
        if not _is_plain(node):
            return None
        try:
            value = self.evaluate(node, memory)
        except (NotUnderstoodError, CheckFailedError):
            return None
        return value.type if isinstance(value, Number) else None

    def _step(self, node: syntax.Step, memory: Memory) -> object:
        before = self.evaluate(node.operand, memory)
        if not isinstance(before, Number):
            raise NotUnderstoodError(f"{node.sign} on something that is no number")
        after = convert(numbers.arithmetic(node.sign[0], before, Number(1, "int")), before.type)
        self._store(node.operand, after, memory)
        return after if node.prefix else before

    def _construct(self, node: syntax.Construct, memory: Memory) -> object:
        return self.construct(node.type, [self.evaluate(each, memory) for each in node.items], memory)

    def _braced(self, node: syntax.Braced, memory: Memory) -> object:
        return Array([self.evaluate(each, memory) for each in node.items])

    def _member(self, node: syntax.Member, memory: Memory) -> object:
        found = self.evaluate(node.object, memory)
        if isinstance(found, Struct) and node.name in found.members:
            return found.members[node.name]
        raise NotUnderstoodError(f"the member {node.name}")

    def _lambda(self, node: syntax.Lambda, memory: Memory) -> object:
        if not node.copies:
            return Closure(node, memory)
        every = memory.every()
        own = every if "=" in node.copies else {name: every[name] for name in node.copies if name in every}
        return Closure(node, Memory({name: copied(self.referred(held)) for name, held in own.items()}, outer=memory))

    def referred(self, held: object) -> object:
        """What a name stands for that holds this: the value itself, or what a reference refers to."""
        return self.evaluate(cast(syntax.Expression, held.node), held.memory) if isinstance(held, Alias) else held

    def alias(self, node: syntax.Expression, memory: Memory) -> Alias | None:
        """A reference to what an expression names now; None for one that names nothing."""
        match node:
            case syntax.Name():
                scope = memory.find(node.path)
                found = None if scope is None else scope.names[node.path]
                return found if isinstance(found, Alias) else None if scope is None else Alias(node, scope)
            case syntax.Index():
                owner, at = self.evaluate(node.object, memory), self.evaluate(node.index, memory)
                held = syntax.Index(node.line, syntax.Literal(node.line, owner), syntax.Literal(node.line, at))
                return Alias(held, memory)
            case syntax.Member():
                owner = self.evaluate(node.object, memory)
                return Alias(syntax.Member(node.line, syntax.Literal(node.line, owner), node.name), memory)
        return None

    def _message(self, node: syntax.Message, memory: Memory) -> object:
        receiver = self.evaluate(node.receiver, memory)
        arguments = [self.evaluate(each, memory) for each in node.arguments]
        return self.native("[]", [receiver, *arguments], (node.selector,))

    def _named(self, node: syntax.Name, memory: Memory) -> object:
        scope = memory.find(node.path)
        if scope is not None:
            return self.referred(scope.names[node.path])
        for name in (node.path, node.path.rsplit("::", 1)[-1]):
            if name in self.constants:
                return self.constants[name]
        raise NotUnderstoodError(f"the name {node.path}")

    def _unary(self, node: syntax.Unary, memory: Memory) -> object:
        value = self.evaluate(node.operand, memory)
        if node.sign == "!":
            return Number(not truth(value), "bool")
        if isinstance(value, Scalar) and node.sign == "-":
            return Scalar(-value.value)
        if not isinstance(value, Number):
            raise NotUnderstoodError(f"{node.sign} on {type(value).__name__}")
        if node.sign == "-":
            return numbers.arithmetic("-", Number(0, "int"), value) if value.value == 0 else _negated(value)
        return numbers.arithmetic("^", value, Number(-1, "int"))

    def _binary(self, node: syntax.Binary, memory: Memory) -> object:
        left = self.evaluate(node.left, memory)
        if node.sign in ("&&", "||"):
            if truth(left) == (node.sign == "||"):
                return Number(node.sign == "||", "bool")
            return Number(truth(self.evaluate(node.right, memory)), "bool")
        right = self.evaluate(node.right, memory)
        if isinstance(left, Number) and isinstance(right, Number):
            if node.sign in ("==", "!=", "<", "<=", ">", ">="):
                return Number(numbers.ordered(node.sign, left, right), "bool")
            return numbers.arithmetic(node.sign, left, right)
        if node.sign in ("==", "!="):
            return Number(_same(left, right) == (node.sign == "=="), "bool")
        if node.sign == "+" and isinstance(left, str) and isinstance(right, str):
            return left + right
        raise NotUnderstoodError(f"{type(left).__name__} {node.sign} {type(right).__name__}")

    def _assign(self, node: syntax.Assign, memory: Memory) -> object:
        value = self.evaluate(node.value, memory)
        if node.sign != "=":
            before = self.evaluate(node.target, memory)
            if isinstance(before, str) and isinstance(value, str) and node.sign == "+=":
                value = before + value
            elif isinstance(before, Number) and isinstance(value, Number):
                value = convert(numbers.arithmetic(node.sign[:-1], before, value), before.type)
            else:
                raise NotUnderstoodError(f"{node.sign} on {type(before).__name__}")
        self._store(node.target, value, memory)
        return value

    def _store(self, target: syntax.Expression, value: object, memory: Memory) -> None:
        match target:
            case syntax.Name():
                scope = memory.find(target.path)
                if scope is None:
                    raise NotUnderstoodError(f"the name {target.path}")
                before = scope.names[target.path]
                if isinstance(before, Alias):
                    self._store(cast(syntax.Expression, before.node), value, before.memory)
                    return
                if isinstance(before, Number) and isinstance(value, (Number, Dtype)):
                    value = convert(value, before.type)
                scope.names[target.path] = copied(value)
            case syntax.Index():
                items = self.evaluate(target.object, memory)
                at = self.evaluate(target.index, memory)
                if not isinstance(items, Array) or not isinstance(at, Number):
                    raise NotUnderstoodError("an element of something that is no list")
                items.items[int(at)] = convert(value, items.element) if items.element else value
            case syntax.Member():
                owner = self.evaluate(target.object, memory)
                if not isinstance(owner, Struct) or target.name not in owner.members:
                    raise NotUnderstoodError(f"the member {target.name}")
                number = isinstance(value, (Number, Dtype))
                owner.members[target.name] = convert(value, owner.types[target.name]) if number else copied(value)
            case _:
                raise NotUnderstoodError("an assignment to an expression")

    def _cast(self, node: syntax.Cast, memory: Memory) -> object:
        value = self.evaluate(node.operand, memory)
        name = self.resolved(node.type, memory)
        kind = canonical(name)
        if kind is not None:
            return convert(value, kind)
        return self.converted(name, value, memory)

    def _index(self, node: syntax.Index, memory: Memory) -> object:
        items, at = self.evaluate(node.object, memory), self.evaluate(node.index, memory)
        if not isinstance(at, Number):
            raise NotUnderstoodError("an index that is no number")
        if isinstance(items, Array) and -1 < int(at) < len(items.items):
            return items.items[int(at)]
        if isinstance(items, torch.Tensor):
            return items[int(at)]
        raise NotUnderstoodError(f"element {int(at)} of {type(items).__name__}")

    def _call(self, node: syntax.Call, memory: Memory) -> object:
        function = node.function
        if isinstance(function, syntax.Name):
            macro = self.macros.get(function.path) or self.macros.get(function.path.split("_TYPES")[0])
            if macro is not None:
                return self.macro(macro, [syntax.Name(node.line, function.path), *node.arguments], memory)
            name = normalized(function.path)
            if name in self.functions and memory.find(function.path) is None:
                places = [self.alias(each, memory) or self.evaluate(each, memory) for each in node.arguments]
                return self.call(name, places, tuple(self.resolved(each, memory) for each in function.template))
        arguments = [self.evaluate(each, memory) for each in node.arguments]
        if isinstance(function, syntax.Member):
            owner = self.evaluate(function.object, memory)
            template = tuple(self.resolved(each, memory) for each in function.template)
            return self.native(".", [owner, function.name, *arguments], template)
        if not isinstance(function, syntax.Name):
            return self.invoke(self.evaluate(function, memory), arguments)
        scope = memory.find(function.path)
        if scope is not None:
            return self.invoke(self.referred(scope.names[function.path]), arguments)
        template = tuple(self.resolved(each, memory) for each in function.template)
        return self._function(normalized(function.path), template, arguments, memory)

    def _function(self, name: str, template: tuple[str, ...], arguments: list[object], memory: Memory) -> object:
        if self.knows(name):
            return self.native(name, arguments, template)
        if canonical(self.resolved(name, memory)) or memory.type(name) or name in self.structs or name in TYPE_NAMES:
            written = f"{name}<{','.join(template)}>" if template else name
            return self.construct(written, arguments, memory)
        limits = re.fullmatch(r"numeric_limits<(.*)>::(\w+)", name)
        if limits:
            return self.native("numeric_limits", [self.resolved(limits[1], memory), limits[2]])
        return self.native("::", [name, *arguments], template)


_BY_NODE: dict[type[syntax.Node], Callable[[Evaluator, Any, Memory], object]] = {
    syntax.Literal: Evaluator._literal,
    syntax.Name: Evaluator._named,
    syntax.Unary: Evaluator._unary,
    syntax.Binary: Evaluator._binary,
    syntax.Conditional: Evaluator._conditional,
    syntax.Assign: Evaluator._assign,
    syntax.Step: Evaluator._step,
    syntax.Call: Evaluator._call,
    syntax.Construct: Evaluator._construct,
    syntax.Braced: Evaluator._braced,
    syntax.Cast: Evaluator._cast,
    syntax.Member: Evaluator._member,
    syntax.Index: Evaluator._index,
    syntax.Lambda: Evaluator._lambda,
    syntax.Message: Evaluator._message,
}


def truth(value: object) -> bool:
    """A condition: a number, or whether an optional or pointer holds something."""
    if isinstance(value, Number):
        return bool(value)
    return not isinstance(value, Missing)


def _negated(value: Number) -> Number:
    return numbers.fitted(-value.value, numbers.promoted(value.type))


def _is_plain(node: syntax.Expression) -> bool:
    """Whether evaluating it changes nothing."""
    match node:
        case syntax.Literal() | syntax.Name():
            return True
        case syntax.Unary() | syntax.Cast():
            return _is_plain(node.operand)
        case syntax.Binary():
            return _is_plain(node.left) and _is_plain(node.right)
        case syntax.Conditional():
            return all(map(_is_plain, (node.condition, node.then, node.otherwise)))
        case syntax.Call(function=syntax.Member() as member):
            return member.name in _READS and all(map(_is_plain, (member.object, *node.arguments)))
        case syntax.Call(function=syntax.Name() as name):
            return name.path.rsplit("::", 1)[-1] in _PURE and all(map(_is_plain, node.arguments))
    return False


def _same(left: object, right: object) -> bool:
    if isinstance(left, Array) and isinstance(right, Array):
        return left.items == right.items
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        return left is right
    return left == right
