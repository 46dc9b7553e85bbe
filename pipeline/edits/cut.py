"""Removing items from a file as a person would: with their comments, emptied scopes and spare blank lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence

from pipeline.edits.items import Item, Kind
from pipeline.edits.lexer import directive_name
from pipeline.errors import Refusal

_SILENT = (Kind.BLANK, Kind.COMMENT)
_PUSH = re.compile(r"diagnostic\s+push\b|DIAGNOSTIC_PUSH")
_POP = re.compile(r"diagnostic\s+pop\b|DIAGNOSTIC_POP")
_CLOSING = (Kind.CLOSE, Kind.ENDIF, Kind.ELSE)


def with_surroundings(items: Sequence[Item], dead: Collection[int]) -> frozenset[int]:
    """`dead` with what goes along: scopes and `#if` groups that become empty, and comments about dead items."""
    gone = set(dead)
    groups = groups_of(items)
    pairs = _diagnostic_pairs(items)
    size = -1
    while size != len(gone):
        size = len(gone)
        for group in groups:
            _add_emptied(items, group, gone)
        for push, pop in pairs:
            if _emptied(items, [index for index in range(push + 1, pop) if not _is_pragma(items[index])], gone):
                gone.update(range(push, pop + 1))
    gone |= {index for index, item in enumerate(items) if item.kind is Kind.COMMENT and _orphaned(items, index, gone)}
    return frozenset(gone)


def without(items: Sequence[Item], gone: Collection[int], path: str, replaced: Mapping[int, str] | None = None) -> str:
    """The text of the other items, with new text for those in `replaced`.

    Of the blank lines above and below what went, one run stays. Raises Refusal where an item shares a line with code
    that stays.
    """
    out: list[str] = []
    kept = [index for index, item in enumerate(items) if index not in gone and item.kind is not Kind.BLANK]
    for index in sorted(gone):
        if not _lines_free(items, index, gone):
            raise Refusal("cannot be removed: other code shares its line", path=path, line=items[index].line)
    for before, after in zip([None, *kept], [*kept, None], strict=True):
        if before is not None:
            out.append((replaced or {}).get(before, items[before].text))
        out.append(_gap(items, before, after, gone))
    return "".join(out)


def _gap(items: Sequence[Item], before: int | None, after: int | None, gone: Collection[int]) -> str:
    """The blank lines that stay between two items that become neighbours."""
    first = 0 if before is None else before + 1
    last = len(items) - 1 if after is None else after - 1
    between = range(first, last + 1)
    if not any(index in gone for index in between):
        return "".join(items[index].text for index in between)
    above = items[first].text if items[first].kind is Kind.BLANK else ""
    below = items[last].text if items[last].kind is Kind.BLANK else ""
    if before is None or after is None:
        return ""
    if above and below:
        return min(above, below, key=lambda text: text.count("\n"))
    if items[before].kind in (Kind.IF, Kind.ELSE):
        return above
    if items[after].kind in _CLOSING:
        return below
    return above or below


def _lines_free(items: Sequence[Item], index: int, gone: Collection[int]) -> bool:
    """No item that stays stands on the lines of item `index`."""
    item = items[index]
    if item.whole_lines:
        return True
    starts = index == 0 or items[index - 1].text.endswith("\n") or index - 1 in gone
    ends = item.text.endswith("\n") or index + 1 == len(items) or index + 1 in gone
    return starts and ends


def groups_of(items: Sequence[Item]) -> list[list[int]]:
    """What belongs together, innermost first: [#if, #else, #endif], [namespace, its closing brace]."""
    found: list[list[int]] = []
    opened: list[list[int]] = []
    for index, item in enumerate(items):
        if item.kind in (Kind.OPEN, Kind.IF):
            opened.append([index])
        elif item.kind is Kind.ELSE:
            opened[-1].append(index)
        elif item.kind in (Kind.CLOSE, Kind.ENDIF):
            found.append([*opened.pop(), index])
    return found


def _diagnostic_pairs(items: Sequence[Item]) -> list[tuple[int, int]]:
    """Where compiler warnings are switched off and on again, by pragma or by a macro such as C10_DIAGNOSTIC_POP."""
    found: list[tuple[int, int]] = []
    pushed: list[int] = []
    for index, item in enumerate(items):
        if _is_pragma(item) or item.kind is Kind.CALL:
            if _PUSH.search(item.code):
                pushed.append(index)
            elif _POP.search(item.code) and pushed and items[pushed[-1]].parents == item.parents:
                found.append((pushed.pop(), index))
    return found


def _is_pragma(item: Item) -> bool:
    return item.kind is Kind.DIRECTIVE and directive_name(item.code) == "pragma"


def _add_emptied(items: Sequence[Item], group: list[int], gone: set[int]) -> None:
    """Adds a group that encloses nothing any more, or its `#else` when that branch does not."""
    branches = [range(start + 1, stop) for start, stop in itertools.pairwise(group)]
    class_gone = items[group[0]].kind is Kind.OPEN and group[0] in gone
    if class_gone or _emptied(items, [index for branch in branches for index in branch], gone):
        gone.update(range(group[0], group[-1] + 1))
    elif directive_name(items[group[-2]].code) == "else" and _emptied(items, branches[-1], gone):
        gone.update(range(group[-2], group[-1]))


def _emptied(items: Sequence[Item], inside: Sequence[int], gone: Collection[int]) -> bool:
    left = [index for index in inside if index not in gone]
    return len(left) < len(inside) and all(items[index].kind in (*_SILENT, Kind.USING) for index in left)


def _orphaned(items: Sequence[Item], index: int, gone: Collection[int]) -> bool:
    """The comment speaks of items that are gone: the one or the lines directly below, or the section it heads."""
    below = index + 1
    if below == len(items) or items[below].kind in _CLOSING:
        return False
    if items[below].kind is Kind.BLANK:
        return _all_gone(items, _section(items, index), gone)
    return _all_gone(items, _lines_below(items, below), gone)


def _lines_below(items: Sequence[Item], first: int) -> range:
    """The item below a comment, with the macro calls that follow it line by line when it is one itself."""
    stop = first + 1
    if items[first].kind is Kind.CALL:
        while stop < len(items) and items[stop].kind is Kind.CALL:
            stop += 1
    return range(first, stop)


def _section(items: Sequence[Item], comment: int) -> range:
    """Everything up to the next comment that stands alone, or to the end of the scope."""
    stop = comment + 1
    while stop < len(items) and len(items[stop].parents) >= len(items[comment].parents):
        alone = stop + 1 < len(items) and items[stop + 1].kind is Kind.BLANK
        if items[stop].kind is Kind.COMMENT and items[stop].parents == items[comment].parents and alone:
            break
        stop += 1
    return range(comment + 1, stop)


def _all_gone(items: Sequence[Item], indexes: range, gone: Collection[int]) -> bool:
    speaks = [index for index in indexes if items[index].kind not in (*_SILENT, Kind.USING)]
    return bool(speaks) and all(index in gone for index in speaks)


def codes(items: Sequence[Item]) -> list[str]:
    """The code of every item but comments and blank lines, in order."""
    return [item.code for item in items if item.kind not in _SILENT]
