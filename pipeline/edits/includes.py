"""Which #include serves what: those that die with removed code, and where a new one goes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from pipeline.edits.hostfile import Entry, included
from pipeline.edits.items import Item, Kind
from pipeline.edits.objcpp import split
from pipeline.edits.preprocessor import arguments
from pipeline.errors import Refusal

OPERATOR_HEADER = re.compile(r"ATen/ops/(\w+?)(?:_(native|ops|\w+_dispatch))?\.h")
UMBRELLA_HEADERS = ("ATen/Functions.h", "ATen/NativeFunctions.h", "ATen/MPSFunctions.h")
# What headers declare that a tree may lack: a part tree holds those of ATen/native alone (names as of 2.13).
_USUAL = {
    "fmt/format.h": frozenset({"fmt"}),
    "ATen/ExpandUtils.h": frozenset({"infer_size", "infer_size_dimvector", "expand_inplace", "expand_outplace",
                                     "expand_size", "sum_to", "is_expandable_to", "are_expandable"}),
    "ATen/ScalarOps.h": frozenset({"scalar_to_tensor", "scalar_tensor_static", "wrapped_scalar_tensor", "scalar_fill"}),
    "ATen/WrapDimUtils.h": frozenset({"maybe_wrap_dim", "maybe_wrap_dims", "maybe_wrap_dims_n", "wrap_all_dims",
                                      "legacy_cat_wrap_dim"}),
    "ATen/WrapDimUtilsMulti.h": frozenset({"dim_list_to_bitset", "dim_bitset_size"}),
    "ATen/mps/MPSProfiler.h": frozenset({"MPSProfiler", "getMPSProfiler"}),
}  # fmt: skip
_NATIVE_SCOPES = ("", "native", "at::native")
_FOLLOWED = ("ATen/native/",)
_ANNOUNCED = re.compile(r"(?:struct|class|enum|union|@class|@protocol)\b")
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
        operator = OPERATOR_HEADER.fullmatch(include)
        if operator:
            return any(self._operator_serves(operator[1], operator[2] or "", entry) for entry in entries)
        names = self.declares(include)
        if names is None:
            return None
        return any(not names.isdisjoint(entry.selectors) for entry in entries)

    def declares(self, include: str) -> frozenset[str] | None:
        """The names that a header declares itself, None where it is not at hand or cannot be split."""
        text = self._text_of(include)
        return _USUAL.get(include) if text is None else _declared(text)

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

    def forwards(self, include: str) -> tuple[str, ...]:
        """What a header includes that does nothing else, as ATen/TensorIterator.h does."""
        text = self._text_of(include) if include else None
        return _includes(text) if text is not None and not _declared(text) else ()

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


def place_includes(items: Sequence[Item], wanted: Iterable[str], headers: Headers) -> list[tuple[int, str]]:
    """The includes that are missing: the index of the item to put each before, and its line.

    `ATen/ops/...` go into the `AT_PER_OPERATOR_HEADERS` block (a new one if there is none), others among the includes
    above, each where the order of the paths wants it.
    """
    there = {included(item) for item in items} | {path for item in items for path in headers.forwards(included(item))}
    missing = [path for path in dict.fromkeys(wanted) if path not in there and there.isdisjoint(headers.forwards(path))]
    operators = sorted(path for path in missing if OPERATOR_HEADER.fullmatch(path))
    single = [index for index, item in enumerate(items) if OPERATOR_HEADER.fullmatch(included(item)) and item.parents]
    plain = [index for index, item in enumerate(items) if item.kind is Kind.INCLUDE and not item.parents]
    placed = [
        (_place(items, plain, path) if plain else _below_head(items), _line(path))
        for path in sorted(missing, key=_order)
        if path not in operators and path not in UMBRELLA_HEADERS
    ]
    if single:
        return placed + [(_place(items, single, path), _line(path)) for path in operators]
    if operators:
        whole = [path for path in UMBRELLA_HEADERS[:2] if any(_umbrella_of(operator) == path for operator in operators)]
        block = [
            "#ifndef AT_PER_OPERATOR_HEADERS\n",
            *map(_line, whole),
            "#else\n",
            *map(_line, operators),
            "#endif\n",
        ]
        placed.append((plain[-1] + 1 if plain else _below_head(items), "\n" + "".join(block)))
    return placed


def _line(path: str) -> str:
    return f"#include <{path}>\n"


def _umbrella_of(operator: str) -> str:
    return "ATen/NativeFunctions.h" if operator.endswith("_native.h") else "ATen/Functions.h"


def _place(items: Sequence[Item], includes: Sequence[int], path: str) -> int:
    """Before the first include that sorts after `path`, with its comment, else below the last.

    In the block of includes that has one of the same folder, else in the first, or the last for the standard library's.
    """
    blocks: list[list[int]] = []
    for index in includes:
        if not blocks or any(items[between].kind is Kind.BLANK for between in range(blocks[-1][-1], index)):
            blocks.append([])
        blocks[-1].append(index)
    folder = path.partition("/")[0]
    kin = [block for block in blocks if any(included(items[index]).partition("/")[0] == folder for index in block)]
    block = kin[0] if kin else blocks[-1 if _is_standard(path) else 0]
    later = next((index for index in block if _order(included(items[index])) > _order(path)), None)
    if later is None:
        return block[-1] + 1
    return later - (items[later - 1].kind is Kind.COMMENT)


def _order(path: str) -> tuple[bool, str]:
    """As upstream's clang-format sorts: headers with a suffix, then those of the standard library."""
    return _is_standard(path), path


def _is_standard(path: str) -> bool:
    return not path.endswith((".h", ".hpp"))


def _below_head(items: Sequence[Item]) -> int:
    """Below the comments and defines that start a file without includes."""
    index = 0
    while index < len(items) and items[index].kind in (Kind.COMMENT, Kind.DEFINE, Kind.DIRECTIVE):
        index += 1
    return index


@functools.lru_cache(maxsize=512)
def _declared(text: str) -> frozenset[str] | None:
    try:
        items = split(text)
    except Refusal:
        return None
    names = {name for item in items if _declares(item) for name in item.names}
    for item in items:
        if item.kind is Kind.CALL and item.macro.startswith("DECLARE_"):
            names.update(_WORD.findall(" ".join(arguments(item.code))))
    return frozenset(names)


def _declares(item: Item) -> bool:
    """The item brings names along; a namespace does not, nor does a class that is only announced."""
    if item.kind in (Kind.OPEN, Kind.CLOSE):
        return item.code.startswith("@")
    return not (item.kind is Kind.DECLARATION and _ANNOUNCED.match(item.code))


@functools.lru_cache(maxsize=512)
def _includes(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r'^[ \t]*#[ \t]*(?:include|import)[ \t]*[<"]([^>"]+)[>"]', text, re.MULTILINE))
