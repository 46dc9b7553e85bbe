"""Finding one's way in C++ text without parsing it: brackets, commas, lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

HIDDEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|^[ \t]*#[^\n]*', re.MULTILINE)
PAIRS = {"(": ")", "[": "]", "{": "}"}
BRACKET = re.compile(r"[()\[\]{}]")
LINE_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"', re.MULTILINE)


def mask(text: str) -> str:
    """`text` with string literals, character literals and preprocessor lines blanked; every offset stays the same."""
    return HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def close(masked: str, at: int) -> int:
    """The offset just behind the bracket that closes the one at `at`; the end of the text when none does."""
    depth = 0
    for match in BRACKET.finditer(masked, at):
        depth += 1 if match.group(0) in PAIRS else -1
        if depth == 0:
            return match.end()
    return len(masked)


def angle_end(masked: str, at: int) -> int:
    """The offset just behind the `>` that closes the template arguments opened at `at`."""
    depth = 0
    while at < len(masked):
        character = masked[at]
        if character in PAIRS:
            at = close(masked, at)
            continue
        depth += {"<": 1, ">": -1}.get(character, 0)
        at += 1
        if depth == 0:
            return at
        if character in ";{":
            break
    return at


def split_commas(masked: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches between top-level commas; brackets of all kinds, angle brackets included, hide commas."""
    if not masked[start:end].strip():
        return
    begin = at = start
    while at < end:
        character = masked[at]
        if character in PAIRS:
            at = close(masked, at)
        elif character == "<":
            at = min(angle_end(masked, at), end)
        else:
            if character == ",":
                yield begin, at
                begin = at + 1
            at += 1
    yield begin, end


NAMESPACE = re.compile(r"\bnamespace\b([\w\s:]*)$")


class Scopes:
    """Which scope a place in the text belongs to: the parts of a namespace are one, every other body is its own."""

    def __init__(self, masked: str) -> None:
        self._starts = [0]
        self._names: list[tuple[str, ...]] = [()]
        stack: list[tuple[str, ...]] = [()]
        for match in re.finditer(r"[{}]", masked):
            if match.group(0) == "}":
                if len(stack) > 1:
                    stack.pop()
            else:
                before = max(masked.rfind(character, 0, match.start()) for character in ";{}")
                namespace = NAMESPACE.search(masked, before + 1, match.start())
                name = " ".join(namespace[1].split()) if namespace else str(match.start())
                stack.append((*stack[-1], name))
            self._starts.append(match.end())
            self._names.append(stack[-1])

    def at(self, offset: int) -> tuple[str, ...]:
        return self._names[bisect_right(self._starts, offset) - 1]


def position_of(text: str, offset: int) -> tuple[str, int]:
    """File and line (1-based) of an offset into preprocessed text, by the line markers before it."""
    file, line, last = "", 1, 0
    for match in LINE_MARKER.finditer(text, 0, offset):
        file, line, last = match.group(2), int(match.group(1)), text.index("\n", match.end()) + 1
    return file, line + text.count("\n", last, offset)


@dataclass
class Edits:
    """Replacements of the text, collected in any order and applied at once."""

    items: list[tuple[int, int, str]] = field(default_factory=list)

    def replace(self, start: int, end: int, text: str) -> None:
        self.items.append((start, end, text))

    def blank(self, text: str, start: int, end: int, instead: str = "") -> None:
        kept = instead + re.sub(r"[^\n]", " ", text[start:end])[len(instead) :]
        self.replace(start, end, kept)

    def apply(self, text: str) -> str:
        pieces: list[str] = []
        last = 0
        for start, end, replacement in sorted(self.items, key=lambda item: (item[0], item[1])):
            if start < last:
                continue  # inside something already replaced, such as an instantiation
            pieces += (text[last:start], replacement)
            last = end
        pieces.append(text[last:])
        return "".join(pieces)
