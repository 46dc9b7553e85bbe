"""Which #include serves what: those that die with removed code, and where a new one goes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping

from pipeline.edits.cut import groups_of
from pipeline.edits.hostfile import Entry, HostFile, included
from pipeline.edits.items import Kind
from pipeline.edits.objcpp import split
from pipeline.edits.preprocessor import arguments
from pipeline.errors import Refusal

_OPERATOR = re.compile(r"ATen/ops/(\w+?)(?:_(native|ops|\w+_dispatch))?\.h")
_UMBRELLAS = ("ATen/Functions.h", "ATen/NativeFunctions.h", "ATen/MPSFunctions.h")
_UNSEEN = {"fmt/format.h": frozenset({"fmt"}), "fmt/ranges.h": frozenset({"fmt"})}
_NATIVE_SCOPES = ("", "native", "at::native")
_FOLLOWED = ("ATen/native/",)
_WORD = re.compile(r"[^\W\d]\w*")


class Headers:
    """What headers declare. `text_of` gives a header by its path as included, None where it is not at hand.

    `natives` maps an operator's name (`abs`) to the functions of its dispatch rows (`abs_out_mps`) before the edit:
    `ATen/ops/abs_native.h` is generated from those, `ATen/ops/abs.h` from the name.
    """

    def __init__(
        self,
        text_of: Callable[[str], str | None] = lambda path: None,
        natives: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self._text_of = text_of
        self._natives = natives or {}

    def serves(self, include: str, entries: Iterable[Entry]) -> bool | None:
        """Whether some entry uses what the header declares itself; None where the header is not known."""
        operator = _OPERATOR.fullmatch(include)
        if operator:
            return any(self._operator_serves(operator[1], operator[2] or "", entry) for entry in entries)
        names = self.declares(include)
        if names is None:
            return None
        return any(not names.isdisjoint(entry.selectors) for entry in entries)

    def declares(self, include: str) -> frozenset[str] | None:
        """The names that a header declares itself, None where it is not at hand or cannot be split."""
        if include in _UNSEEN:
            return _UNSEEN[include]
        text = self._text_of(include)
        return None if text is None else _declared(text)

    def reaches(self, include: str) -> frozenset[str]:
        """The names a header declares itself or through the ATen/native headers it includes."""
        names: set[str] = set()
        seen: set[str] = set()
        waiting = [include]
        while waiting:
            current = waiting.pop()
            if current in seen or (current != include and not current.startswith(_FOLLOWED)):
                continue
            seen.add(current)
            names |= self.declares(current) or frozenset()
            waiting.extend(_includes(self._text_of(current) or ""))
        return frozenset(names)

    def _operator_serves(self, operator: str, form: str, entry: Entry) -> bool:
        if form == "native":
            named = {*entry.functions, *(call.name for call in entry.calls if call.scope in _NATIVE_SCOPES)}
            names = self._natives.get(operator)
            if names is not None:
                return not named.isdisjoint(names)
            stem = operator.lstrip("_")
            return any(name == stem or name.startswith(stem + "_") for name in named)
        scopes = {"": ("", "at"), "ops": ("at::_ops", "_ops")}.get(form, ("at::" + form.removesuffix("_dispatch"),))
        variants = {operator + end for end in ("", "_", "_out", "_outf", "_symint", "_symint_out", "_symint_outf")}
        return any(call.scope in scopes and call.name in variants for call in entry.calls)


def dead_includes(file: HostFile, dead: Collection[int], headers: Headers) -> frozenset[int]:
    """Indexes of the includes of `file` that served only items in `dead`.

    An include stays when what it declares is not known, when nothing used it before either, or when the file gets
    something through it that it gets nowhere else.
    """
    before = file.entries
    after = [entry for index, entry in enumerate(before) if index not in dead]
    found = {
        index
        for index, item in enumerate(file.items)
        if item.kind is Kind.INCLUDE
        and index not in dead
        and headers.serves(included(item), before)
        and not headers.serves(included(item), after)
    }
    used = frozenset().union(*(entry.selectors for entry in after))
    for index in sorted(found):
        path = included(file.items[index])
        if not _OPERATOR.fullmatch(path):
            rest = [
                included(item) for at, item in enumerate(file.items) if at not in found and item.kind is Kind.INCLUDE
            ]
            elsewhere = frozenset().union(*(headers.reaches(include) for include in rest if include != path))
            if (headers.reaches(path) & used) - elsewhere:
                found.discard(index)
    return frozenset(found | _umbrellas(file, found | set(dead)))


def _umbrellas(file: HostFile, dead: Collection[int]) -> set[int]:
    """Includes of `ATen/Functions.h` and its like whose counterparts for single operators have all died."""
    found: set[int] = set()
    for group in groups_of(file.items):
        whole, single = range(group[0] + 1, group[1]), range(group[1] + 1, group[-1])
        operators = [index for index in single if file.items[index].kind is Kind.INCLUDE]
        umbrellas = [index for index in whole if included(file.items[index]) in _UMBRELLAS]
        if umbrellas and operators and all(index in dead for index in operators):
            found.update(umbrellas)
    return found


@functools.lru_cache(maxsize=512)
def _declared(text: str) -> frozenset[str] | None:
    try:
        items = split(text)
    except Refusal:
        return None
    names = {name for item in items for name in item.names if item.kind is not Kind.OPEN or item.code.startswith("@")}
    for item in items:
        if item.kind is Kind.CALL:
            names.update(_WORD.findall(" ".join(arguments(item.code))))
    return frozenset(names)


@functools.lru_cache(maxsize=512)
def _includes(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r'^[ \t]*#[ \t]*(?:include|import)[ \t]*[<"]([^>"]+)[>"]', text, re.MULTILINE))
