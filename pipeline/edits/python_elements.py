"""Take elements out of the tuples, lists, sets, dicts and calls of one Python expression, with libcst.

What stands between two elements is a gap: the rest of a line with its comment, comment and blank lines, an indent. A
comment above an element belongs to it and to those of its kin that follow without a comment of their own; it goes with
the last of them. A comment after an element goes with it. All else stays as it was.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from pipeline.errors import Refusal

# Line (1-based) and column (code points) within the expression's own text.
Position = tuple[int, int]
Display = cst.Tuple | cst.List | cst.Set | cst.Dict | cst.Call
Item = cst.Element | cst.StarredElement | cst.DictElement | cst.StarredDictElement | cst.Arg
Gap = cst.BaseParenthesizableWhitespace

_NOTHING = cst.SimpleWhitespace("")


def remove_elements(expression: str, doomed: Set[Position], kin: Set[Position]) -> str:
    """The expression without the elements that start at `doomed`; `kin` may share a comment with them.

    A dict's element starts at its key, a call's argument at its keyword. A keyword argument whose tuple or list loses
    its last element goes as well. Raises Refusal where an element is not found.
    """
    remover = _Remover(doomed, kin)
    module = MetadataWrapper(cst.parse_module(expression), unsafe_skip_copy=True).visit(remover)
    if missed := doomed - remover.found:
        line, column = min(missed)
        raise Refusal(f"no element starts at column {column + 1}", line=line, hint="read the file again")
    return module.code


def add_to_set(expression: str, name: str) -> str:
    """The set of strings with one more in its alphabetical place, quoted as its neighbours are."""
    module = cst.parse_module(expression)
    display = cst.ensure_type(cst.ensure_type(cst.ensure_type(module.body[0], cst.SimpleStatementLine).body[0],
                                              cst.Expr).value, cst.Set)  # fmt: skip
    row = _Row.read(display)
    strings = [cst.ensure_type(item.value, cst.SimpleString) for item in row.items if isinstance(item, cst.Element)]
    names = [str(string.evaluated_value) for string in strings]
    place = next(
        (i for i, after in enumerate(names) if after > name and (i == 0 or names[i - 1] < name)),
        len(names),
    )
    quote = strings[0].quote
    row.insert(place, cst.Element(cst.SimpleString(f"{quote}{name}{quote}")))
    return cst.ensure_type(module.deep_replace(display, row.write(display)), cst.Module).code


@dataclass
class _Row:
    """The items of a display, with `gaps[i]` before item i and the last gap before the closing bracket."""

    items: list[Item]
    gaps: list[Gap]
    trailing_comma: bool

    @classmethod
    def read(cls, display: Display) -> _Row:
        items: list[Any] = list(display.args if isinstance(display, cst.Call) else display.elements)
        gaps = [item.comma.whitespace_after for item in items[:-1] if isinstance(item.comma, cst.Comma)]
        trailing_comma = bool(items) and isinstance(items[-1].comma, cst.Comma)
        return cls(items, [_opening(display), *gaps, _closing(display)], trailing_comma)

    def remove(self, doomed: Set[int], kin: Set[int]) -> None:
        """Drop the items at those indices, with the comments that no kin of theirs still needs."""
        gaps = list(self.gaps)
        for first in doomed:
            run = {first}
            while max(run) + 1 in kin and not _has_lines(gaps[max(run) + 1]):
                run.add(max(run) + 1)
            if run <= doomed:
                gaps[first] = _without_comments_above(gaps[first])
        items: list[Item] = []
        kept = [gaps[0]]
        for index, item in enumerate(self.items):
            if index in doomed:
                kept[-1] = _join(kept[-1], gaps[index + 1], at_start=not items, at_end=index == len(self.items) - 1)
            else:
                items.append(item)
                kept.append(gaps[index + 1])
        self.items, self.gaps = items, kept

    def insert(self, place: int, item: Item) -> None:
        """A new item before the one at `place`; comment lines there stay with the one they stand above."""
        plain = next((_without_lines(gap) for gap in self.gaps[:-1] if _breaks(gap)), cst.SimpleWhitespace(" "))
        here = self.gaps[place]
        # A comment at the end of the line before stays on that line.
        before, after = plain, plain
        if isinstance(here, cst.ParenthesizedWhitespace):
            before = plain.with_changes(first_line=here.first_line) if _breaks(plain) else plain
            after = here.with_changes(first_line=cst.TrailingWhitespace())
        if place == len(self.items) and not _breaks(here):
            after = here
        if place == 0 and not _breaks(here):
            before = here
        self.items.insert(place, item.with_changes(comma=cst.Comma()) if self.trailing_comma else item)
        self.gaps[place : place + 1] = [before, after]

    def write(self, display: Display) -> Any:
        """The display with these items and gaps."""
        # Where the closing bracket has a line of its own, a new last item keeps its comma: one changed line less.
        had_comma = bool(self.items) and isinstance(self.items[-1].comma, cst.Comma)
        comma_at_end = had_comma and (self.trailing_comma or _breaks(self.gaps[-1]))
        comma_at_end |= isinstance(display, cst.Tuple) and len(self.items) == 1
        items = []
        for index, item in enumerate(self.items):
            last = index == len(self.items) - 1
            own = item.comma.whitespace_before if isinstance(item.comma, cst.Comma) else _NOTHING
            after = _NOTHING if last and not isinstance(display, cst.Call) else self.gaps[index + 1]
            if not last or comma_at_end:
                new = item.with_changes(comma=cst.Comma(own, after))
                items.append(new.with_changes(whitespace_after_arg=_NOTHING) if isinstance(new, cst.Arg) else new)
            else:
                new = item.with_changes(comma=cst.MaybeSentinel.DEFAULT)
                items.append(new.with_changes(whitespace_after_arg=after) if isinstance(new, cst.Arg) else new)
        return _with_items(display, items, self.gaps[0], self.gaps[-1])


class _Remover(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, doomed: Set[Position], kin: Set[Position]) -> None:
        super().__init__()
        self.doomed = doomed
        self.kin = kin | doomed
        self.found: set[Position] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Nodes without a doomed element in them stay as they are, and are not looked into."""
        span = self.get_metadata(PositionProvider, node, None)
        if span is None:
            return True
        start, end = (span.start.line, span.start.column), (span.end.line, span.end.column)
        return any(start <= doomed <= end for doomed in self.doomed)

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        node = super().on_leave(original_node, updated_node)
        if not isinstance(node, Display) or (isinstance(node, cst.Tuple) and not node.lpar):
            return node
        starts = [self._start(item) for item in _Row.read(original_node).items]
        doomed = {index for index, start in enumerate(starts) if start in self.doomed}
        self.found.update(starts[index] for index in doomed)
        row = _Row.read(node)
        if isinstance(node, cst.Call):
            doomed |= {i for i, arg in enumerate(original_node.args) if _lost_all(arg, node.args[i])}
        if not doomed:
            return node
        row.remove(doomed, {index for index, start in enumerate(starts) if start in self.kin} | doomed)
        return row.write(node)

    def _start(self, item: Item) -> Position:
        node: cst.CSTNode = item.value
        if isinstance(item, cst.DictElement):
            node = item.key
        elif isinstance(item, cst.Arg) and item.keyword is not None:
            node = item.keyword
        start = self.get_metadata(PositionProvider, node).start
        return start.line, start.column


def _lost_all(before: cst.Arg, after: cst.Arg) -> bool:
    """A keyword argument whose tuple or list had elements and has none now."""
    return (
        before.keyword is not None
        and isinstance(before.value, cst.Tuple | cst.List)
        and isinstance(after.value, cst.Tuple | cst.List)
        and bool(before.value.elements)
        and not after.value.elements
    )


def _opening(display: Display) -> Gap:
    if isinstance(display, cst.Call):
        return display.whitespace_before_args
    if isinstance(display, cst.Tuple):
        return display.lpar[-1].whitespace_after
    return (display.lbracket if isinstance(display, cst.List) else display.lbrace).whitespace_after


def _closing(display: Display) -> Gap:
    if isinstance(display, cst.Call):
        last = display.args[-1] if display.args else None
        if last is None:
            return _NOTHING
        return last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else last.whitespace_after_arg
    if isinstance(display, cst.Tuple):
        return display.rpar[0].whitespace_before
    return (display.rbracket if isinstance(display, cst.List) else display.rbrace).whitespace_before


def _with_items(display: Display, items: list[Any], opening: Gap, closing: Gap) -> Any:
    if isinstance(display, cst.Call):
        return display.with_changes(args=items, whitespace_before_args=opening if items else _NOTHING)
    if isinstance(display, cst.Set) and not items:
        return cst.parse_expression("set()")
    if isinstance(display, cst.Tuple):
        left = [*display.lpar[:-1], display.lpar[-1].with_changes(whitespace_after=opening if items else _NOTHING)]
        right = [display.rpar[0].with_changes(whitespace_before=closing if items else _NOTHING), *display.rpar[1:]]
        return display.with_changes(elements=items, lpar=left, rpar=right)
    names = ("lbracket", "rbracket") if isinstance(display, cst.List) else ("lbrace", "rbrace")
    left_one, right_one = (getattr(display, name) for name in names)
    return display.with_changes(
        elements=items,
        **{
            names[0]: left_one.with_changes(whitespace_after=opening if items else _NOTHING),
            names[1]: right_one.with_changes(whitespace_before=closing if items or _has_lines(closing) else _NOTHING),
        },
    )


def _breaks(gap: Gap) -> bool:
    return isinstance(gap, cst.ParenthesizedWhitespace)


def _has_lines(gap: Gap) -> bool:
    """Comment or blank lines stand in the gap."""
    return isinstance(gap, cst.ParenthesizedWhitespace) and bool(gap.empty_lines)


def _without_lines(gap: Gap) -> Gap:
    """The bare line break with its indent."""
    return gap.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])


def _without_comments_above(gap: Gap) -> Gap:
    """The gap without the comment lines that touch the element below it."""
    if not isinstance(gap, cst.ParenthesizedWhitespace):
        return gap
    lines = list(gap.empty_lines)
    while lines and lines[-1].comment is not None:
        lines.pop()
    return gap.with_changes(empty_lines=lines)


def _join(before: Gap, after: Gap, *, at_start: bool, at_end: bool) -> Gap:
    """The one gap that is left of the two around a removed element."""
    if not isinstance(before, cst.ParenthesizedWhitespace):
        if isinstance(after, cst.ParenthesizedWhitespace) and at_start:
            # The first element shared a line with the bracket: the next takes its place, unless comments intervene.
            return after.with_changes(first_line=cst.TrailingWhitespace()) if after.empty_lines else before
        return before if not isinstance(after, cst.ParenthesizedWhitespace) and not at_end else after
    if not isinstance(after, cst.ParenthesizedWhitespace):
        has_comment = before.first_line.comment is not None or bool(before.empty_lines)
        return after if at_end and not has_comment else before
    above, below = list(before.empty_lines), list(after.empty_lines)
    if above and below and above[-1].comment is None and below[0].comment is None:
        below.pop(0)
    while at_end and not below and above and above[-1].comment is None:
        above.pop()
    return after.with_changes(first_line=before.first_line, empty_lines=[*above, *below])
