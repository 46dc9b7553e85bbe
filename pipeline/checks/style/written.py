"""Files as a change leaves them, and which of their lines it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pipeline.changeset import FileChange
from pipeline.edits.lexer import Token, tokens


@dataclass(frozen=True)
class Written:
    """`added` are the lines (1-based) that the change wrote, `beside` those next to what it removed.

    `before` is None for a file that was not there, or a fragment on its own.
    """

    path: str
    text: str
    before: str | None
    added: frozenset[int]
    beside: frozenset[int] = frozenset()

    @classmethod
    def of_change(cls, change: FileChange) -> Written | None:
        """None for a file that goes away."""
        if change.after is None:
            return None
        added: set[int] = set()
        beside: set[int] = set()
        shift = 0
        for hunk in change.hunks():
            start = hunk.start + shift
            added.update(range(start + 1, start + 1 + len(hunk.lines)))
            beside.update((start, start + len(hunk.lines) + 1))
            shift += len(hunk.lines) - (hunk.end - hunk.start)
        text = change.after.decode(errors="surrogateescape")
        before = None if change.before is None else change.before.decode(errors="surrogateescape")
        last = text.count("\n") + 1
        return cls(change.path, text, before, frozenset(added), frozenset(beside & set(range(1, last + 1))))

    @classmethod
    def whole(cls, path: str, text: str) -> Written:
        return cls(path, text, None, frozenset(range(1, text.count("\n") + 2)))

    @property
    def touched(self) -> frozenset[int]:
        return self.added | self.beside

    @cached_property
    def lines(self) -> list[str]:
        """Without line ends."""
        return self.text.split("\n")

    @cached_property
    def code(self) -> tuple[tuple[int, Token], ...]:
        """Line and token of all code, bodies of macros included; no comments, no other directives."""
        return tuple(_numbered(self.text))

    def wrote(self, line: int) -> bool:
        return line in self.added


def _numbered(text: str) -> Iterator[tuple[int, Token]]:
    line, at = 1, 0
    for token in tokens(text):
        line, at = line + text.count("\n", at, token.start), token.start
        if token.kind == "directive" and token.text.startswith("#define"):
            yield from ((line + inner - 1, each) for inner, each in _numbered(_macro_body(token.text)))
        elif token.kind not in ("comment", "directive"):
            yield line, token


def _macro_body(directive: str) -> str:
    """What a macro stands for, on the lines it stands on."""
    return directive.replace("#define", "       ", 1).replace("\\\n", " \n")
