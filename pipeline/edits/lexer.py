"""Tokens of Objective-C++ and Metal text, with brackets and `#if` branches matched."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.errors import Refusal

# Alternatives stand in the order of how often they match. `bad` collects what only starts like a comment or literal.
_TOKEN = re.compile(
    r"""\s*(?:
  (?P<word>(?!(?:u8|[uUL])?R")[^\W\d]\w*)
| (?P<comment>//(?:[^\\\n]|\\\r?\n|\\.)*\\?|/\*.*?\*/)
| (?P<open>[({\[])
| (?P<close>[)}\]])
| (?P<end>;)
| (?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
    |@?"(?:[^"\\\n]|\\\r?\n|\\.)*"|'(?:[^'\\\n]|\\.)+')
| (?P<number>\.?\d(?:[eEpP][+-]|'?\w|\.)*)
| (?P<at>@[^\W\d]\w*)
| (?P<directive>\#(?:[^\n\\/"]|\\\r?\n|\\.|"(?:[^"\\\n]|\\\r?\n|\\.)*"|"
    |/\*.*?\*/|/(?![*/])|\\$)*)
| (?P<bad>/\*|"|'|\#|R")
| (?P<op>::|->|==|<=|>=|!=|\S)
| \Z)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_WORDS = re.compile(r"[^\W\d]\w*")
_DIRECTIVE = re.compile(r"#[ \t]*(\w*)")


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is one of word, comment, open, close, end (a semicolon), string, number, at, directive, op."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Tokens:
    """The tokens of `text`; `match[i]` is the index of the bracket that belongs to bracket `i`.

    Raises Refusal for an unterminated comment or literal, unbalanced brackets, and a bracket that opens in one branch
    of an `#if` and closes outside of it: which branch is compiled is not known here.
    """

    def __init__(self, text: str, path: str = "") -> None:
        self.text = text
        self.path = path
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.starts: list[int] = []
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup
            if kind is None:
                break
            self.kinds.append(kind)
            self.texts.append(found[kind].rstrip(" \t") if kind == "directive" else found[kind])
            self.starts.append(found.start(kind))
        self.match = self._matched()

    def __len__(self) -> int:
        return len(self.kinds)

    def end(self, index: int) -> int:
        return self.starts[index] + len(self.texts[index])

    def line(self, index: int) -> int:
        return line_at(self.text, self.starts[index])

    def refusal(self, message: str, offset: int, hint: str = "") -> Refusal:
        return Refusal(message, path=self.path or None, line=line_at(self.text, offset), hint=hint)

    def _matched(self) -> dict[int, int]:
        match: dict[int, int] = {}
        opened: list[int] = []
        branches: list[tuple[int, int]] = []  # token of the #if, number of brackets open there
        for index, kind in enumerate(self.kinds):
            if kind == "open":
                opened.append(index)
            elif kind == "close":
                floor = branches[-1][1] if branches else 0
                if not opened or _CLOSER[self.texts[opened[-1]]] != self.texts[index]:
                    raise self.refusal(f"unbalanced {self.texts[index]!r}", self.starts[index])
                if len(opened) <= floor:
                    raise self._uneven(index)
                match[index] = opened.pop()
                match[match[index]] = index
            elif kind == "directive":
                self._branch(index, opened, branches)
            elif kind == "bad":
                raise self.refusal(f"unterminated {self.texts[index]}", self.starts[index])
        if opened:
            raise self.refusal(f"{self.texts[opened[-1]]!r} is never closed", self.starts[opened[-1]])
        if branches:
            raise self.refusal("#if without #endif", self.starts[branches[-1][0]])
        return match

    def _branch(self, index: int, opened: list[int], branches: list[tuple[int, int]]) -> None:
        start = self.starts[index]
        if self.text[self.text.rfind("\n", 0, start) + 1 : start].strip():
            raise self.refusal("a directive must stand first on its line", start)
        name = directive_name(self.texts[index])
        if name in ("if", "ifdef", "ifndef"):
            branches.append((index, len(opened)))
        elif name in ("else", "elif", "elifdef", "elifndef", "endif"):
            if not branches:
                raise self.refusal(f"#{name} without #if", start)
            if len(opened) != branches[-1][1]:
                raise self._uneven(index)
            if name == "endif":
                branches.pop()

    def _uneven(self, index: int) -> Refusal:
        return self.refusal(
            "brackets do not balance within this #if branch", self.starts[index], "give each branch whole statements"
        )


def directive_name(text: str) -> str:
    """`ifdef` of `#  ifdef X`, empty for a lone `#`."""
    found = _DIRECTIVE.match(text)
    return found[1] if found else ""


def line_at(text: str, offset: int) -> int:
    """The 1-based line of the character at `offset`."""
    return text.count("\n", 0, offset) + 1


def tokens(text: str) -> Iterator[Token]:
    """Every token of `text`; brackets need not balance. What cannot be read comes as a token of kind `bad`."""
    for found in _TOKEN.finditer(text):
        if found.lastgroup is not None:
            yield Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))


@functools.lru_cache(maxsize=20_000)
def identifiers(text: str) -> frozenset[str]:
    """Every identifier in code and directives, none from comments and literals."""
    names: set[str] = set()
    for token in tokens(text):
        if token.kind == "word":
            names.add(token.text)
        elif token.kind == "directive":
            names.update(_WORDS.findall(_without_comments(token.text)))
    return frozenset(names)


def _without_comments(directive: str) -> str:
    return re.sub(r'("(?:[^"\\\n]|\\.)*")|/\*.*?\*/|//.*', lambda found: found[1] or " ", directive, flags=re.DOTALL)
