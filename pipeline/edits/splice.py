"""Spans of a text to replace, applied together; everything outside them stays byte for byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.errors import Refusal


@dataclass(frozen=True, order=True)
class Splice:
    """Replace `text[start:end]`; offsets are code points, and `start == end` inserts."""

    start: int
    end: int
    text: str = ""


def apply(text: str, splices: Iterable[Splice]) -> str:
    """The text with all splices applied; offsets refer to the text as it came. Raises Refusal where two overlap."""
    parts = []
    position = 0
    for splice in sorted(splices):
        if splice.start < position:
            line = text.count("\n", 0, splice.start) + 1
            raise Refusal("two edits change the same text", line=line, hint="apply one, then parse the result again")
        parts.append(text[position : splice.start])
        parts.append(splice.text)
        position = splice.end
    parts.append(text[position:])
    return "".join(parts)


def delete_lines(text: str, lines: Iterable[tuple[int, int]]) -> list[Splice]:
    """Delete whole lines: for every (first, last) those from the one holding `first` to the one holding `last`.

    At the end of a text without final line break the break before goes instead, so that the text still ends without.
    """
    blocks: list[list[int]] = []
    for first, last in sorted(lines):
        start, end = line_start(text, first), _line_end(text, last)
        if blocks and start <= blocks[-1][1]:
            blocks[-1][1] = max(end, blocks[-1][1])
        else:
            blocks.append([start, end])
    if blocks and blocks[-1][0] > 0 and blocks[-1][1] == len(text) and not text.endswith("\n"):
        blocks[-1][0] -= 2 if text[: blocks[-1][0]].endswith("\r\n") else 1
    return [Splice(start, end) for start, end in blocks]


def line_at(text: str, offset: int) -> str:
    """The line that `offset` stands in, with its line break."""
    return text[line_start(text, offset) : _line_end(text, offset)]


def line_start(text: str, offset: int) -> int:
    """Where the line that `offset` stands in begins."""
    return text.rfind("\n", 0, offset) + 1


def _line_end(text: str, offset: int) -> int:
    newline = text.find("\n", offset)
    return len(text) if newline < 0 else newline + 1
