"""A `.metal` file as its items: what it defines, which macros it has, and which kernels it registers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from pipeline.edits.items import Item, Kind
from pipeline.edits.lexer import Tokens, tokens
from pipeline.edits.objcpp import split
from pipeline.edits.preprocessor import Macro, arguments, expand, macro_of

_DEFINING = (Kind.TYPE, Kind.FUNCTION, Kind.DEFINE, Kind.ALIAS, Kind.VARIABLE)


@dataclass(frozen=True)
class Call:
    """A macro call such as `REGISTER_UNARY_OP(sign, float, float);`."""

    macro: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, item: Item) -> Call:
        return cls(item.macro, arguments(item.code))

    def __str__(self) -> str:
        return f"{self.macro}({', '.join(self.arguments)});"


class KernelFile:
    """One file; `header_macros` are those of the headers it includes."""

    def __init__(self, text: str, path: str = "", header_macros: Mapping[str, Macro] | None = None) -> None:
        self.text = text
        self.path = path
        self.items = split(text, path)
        self.macros = macros_of(self.items)
        self.header_macros = header_macros or {}
        self._bases: dict[Call, tuple[Call, ...]] = {}
        self._making_types: dict[str, bool] = {}

    @cached_property
    def definitions(self) -> dict[str, list[Item]]:
        """Types, functions, macros, aliases and variables by name; a functor that a macro line makes counts too."""
        found: dict[str, list[Item]] = {}
        for item in self.items:
            names = item.names if item.kind in _DEFINING else self.functors_made(item)
            for name in names:
                found.setdefault(name, []).append(item)
        return found

    @cached_property
    def registrations(self) -> dict[int, Call]:
        """The macro calls that register kernels, by the index of their item."""
        calls = ((index, item) for index, item in enumerate(self.items) if item.kind is Kind.CALL)
        return {index: Call.of(item) for index, item in calls if not self.functors_made(item)}

    @cached_property
    def registered(self) -> frozenset[Call]:
        """Every registration of the file, those behind macros of its own included."""
        return frozenset(base for call in self.registrations.values() for base in self.bases(call))

    def functors_made(self, item: Item) -> tuple[str, ...]:
        """`erf_functor` of a line such as `DEFINE_UNARY_FLOATING_FUNCTOR(erf);`."""
        if item.kind is not Kind.CALL or (self.known_macro(item.macro) and not self._makes_types(item.macro)):
            return ()
        made = split(self.expanded(item))
        names = tuple(name for each in made if each.kind is Kind.TYPE for name in each.names)
        if not names and item.macro not in self.macros and item.macro.endswith("_FUNCTOR"):
            names = (f"{arguments(item.code)[0]}_functor",)
        return names

    def expanded(self, item: Item) -> str:
        """The code of an item with all macros of the file and its headers expanded, were it a call."""
        if item.kind is not Kind.CALL:
            return item.code
        return expand(item.code, {**self.header_macros, **self.macros})

    def bases(self, call: Call) -> tuple[Call, ...]:
        """The calls of header macros that a call comes down to; itself where it comes down to anything else."""
        if call.macro not in self.macros:
            return (call,)
        if call not in self._bases:
            items = [item for item in split(expand(str(call), self.macros)) if item.kind is not Kind.BLANK]
            plain = all(item.kind is Kind.CALL for item in items)
            self._bases[call] = tuple(map(Call.of, items)) if plain else (call,)
        return self._bases[call]

    def contracted(self, calls: Sequence[Call]) -> list[Call]:
        """The same registrations through the file's own macros, `REGISTER_FLOAT_BINARY_OP(hypot)`, longest first."""
        shorter: dict[Call, Call] = {}
        names = dict.fromkeys(call.arguments[0] for call in calls if call.arguments)
        lines = [Call(m.name, (name,)) for m in self.macros.values() if len(m.parameters or ()) == 1 for name in names]
        for line in sorted(lines, key=lambda line: -len(self.bases(line))):
            bases = self.bases(line)
            if len(bases) > 1 and set(bases) <= set(calls) - set(shorter):
                shorter.update(dict.fromkeys(bases, line))
        return list(dict.fromkeys(shorter.get(call, call) for call in calls))

    def uses(self, name: str, besides: Set[Call] = frozenset()) -> bool:
        """Whether anything but its own definition names a functor, or registers a kernel with it `besides` those."""
        own = self.definitions.get(name, [])
        if any(name in item.identifiers for item in self.items if item not in own):
            return True
        kernel = (name.removesuffix("_functor"),)
        return any(call.arguments[:1] == kernel for call in self.registered - besides)

    def _makes_types(self, name: str) -> bool:
        """Whether a macro, or one that it calls, has a `struct` in its body."""
        if name not in self._making_types:
            self._making_types[name] = self._reaches_struct(name)
        return self._making_types[name]

    def _reaches_struct(self, name: str) -> bool:
        seen: set[str] = set()
        waiting = {name}
        while waiting:
            seen |= waiting
            bodies = [macro.body for known in waiting if (macro := self.known_macro(known))]
            words = {word for body in bodies for word in re.findall(r"\w+", body)}
            if "struct" in words:
                return True
            waiting = {word for word in words if self.known_macro(word)} - seen
        return False

    def known_macro(self, name: str) -> Macro | None:
        return self.macros.get(name) or self.header_macros.get(name)


def macros_of(items: Iterable[Item]) -> dict[str, Macro]:
    read = (macro_of(item.code) for item in items if item.kind is Kind.DEFINE)
    return {macro.name: macro for macro in read if macro is not None}


def shape(code: str) -> tuple[str, ...]:
    """The tokens of code without comments: equal for texts that differ in layout alone."""
    found: list[str] = []
    for token in tokens(code.replace("\\\n", " ")):
        if token.kind != "comment":
            found.extend(re.findall(r"\w+|\S", token.text) if token.kind == "directive" else [token.text])
    return tuple(found)


def call_arities(functor: str) -> frozenset[int]:
    """With how many arguments the functor's `operator()` can be called."""
    code = Tokens(functor)
    found = set()
    for index, text in enumerate(code.texts):
        if text == "operator" and code.texts[index + 1 : index + 4] == ["(", ")", "("]:
            first, last = index + 4, code.match[index + 3]
            commas, at = 0, first
            while at < last:
                at = code.match[at] if code.kinds[at] == "open" else at
                commas += code.texts[at] == ","
                at += 1
            found.add(commas + 1 if last > first else 0)
    return frozenset(found)
