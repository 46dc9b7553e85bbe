"""A unified diff as files, hunks and lines with line numbers, the code coloured as what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import CppLexer, ObjectiveCppLexer, PythonLexer, TextLexer, YamlLexer
from pygments.token import Token, _TokenType, is_token_subtype

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_NO_NEWLINE = "\\ No newline at end of file"
# What is coloured, and how little: a class per kind of token.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Token.Comment.Preproc, "pp"),
    (Token.Comment.PreprocFile, "st"),
    (Token.Comment, "co"),
    (Token.Keyword, "kw"),
    (Token.Literal.String, "st"),
    (Token.Literal.Number, "nu"),
    (Token.Name.Function, "fn"),
    (Token.Name.Class, "fn"),
    (Token.Name.Tag, "kw"),
)


@dataclass(frozen=True)
class Line:
    """`sign` is "+", "-" or " "; a number is None on the side that lacks the line."""

    sign: str
    old: int | None
    new: int | None
    html: Markup


@dataclass(frozen=True)
class FileDiff:
    """`hunks` hold their headings (`@@ ... @@`) and lines."""

    path: str
    added: int
    removed: int
    hunks: tuple[tuple[str, tuple[Line, ...]], ...]
    is_new: bool


def file_diffs(diff: str) -> tuple[FileDiff, ...]:
    """From a diff as pipeline.changeset.Changeset.diff writes it."""
    parts = re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE)
    return tuple(_file(part) for part in parts if part.startswith("diff --git "))


def _file(text: str) -> FileDiff:
    head, *bodies = re.split(r"^(?=@@ )", text, flags=re.MULTILINE)
    path = head.splitlines()[0].rpartition(" b/")[2]
    lexer = _lexer(path)
    hunks = tuple(_hunk(body.splitlines(), lexer) for body in bodies)
    signs = [line.sign for _, lines in hunks for line in lines]
    return FileDiff(path, signs.count("+"), signs.count("-"), hunks, is_new="--- /dev/null" in head.splitlines())


def _hunk(body: Sequence[str], lexer: Lexer) -> tuple[str, tuple[Line, ...]]:
    heading, rows = body[0], [row for row in body[1:] if row != _NO_NEWLINE]
    start = _HUNK.match(heading)
    old, new = (int(start[1]), int(start[2])) if start else (0, 0)
    before = _coloured([row[1:] for row in rows if row[:1] != "+"], lexer)
    after = _coloured([row[1:] for row in rows if row[:1] != "-"], lexer)
    lines = []
    for row in rows:
        sign = row[:1] or " "
        if sign == "-":
            lines.append(Line(sign, old, None, next(before)))
        elif sign == "+":
            lines.append(Line(sign, None, new, next(after)))
        else:
            next(before)
            lines.append(Line(sign, old, new, next(after)))
        old, new = old + (sign != "+"), new + (sign != "-")
    return heading, tuple(lines)


def _coloured(lines: Sequence[str], lexer: Lexer) -> Iterator[Markup]:
    """Each line on its own, though a comment may go over several."""
    current = Markup()
    count = 0
    for kind, text in lexer.get_tokens("\n".join(lines)):
        for index, piece in enumerate(text.split("\n")):
            if index:
                yield current
                count += 1
                current = Markup()
            if piece:
                current += _span(kind, piece)
    for _ in range(count, len(lines)):
        yield current
        current = Markup()


def _span(kind: _TokenType, text: str) -> Markup:
    name = next((name for known, name in _CLASSES if is_token_subtype(kind, known)), "")
    return Markup('<span class="{}">{}</span>').format(name, text) if name else escape(text)


def _lexer(path: str) -> Lexer:
    lexers: dict[str, type[Lexer]] = {
        ".mm": ObjectiveCppLexer,
        ".metal": CppLexer,
        ".h": CppLexer,
        ".cpp": CppLexer,
        ".yaml": YamlLexer,
        ".py": PythonLexer,
    }
    chosen: Lexer = lexers.get(PurePosixPath(path).suffix, TextLexer)(stripnl=False, ensurenl=True)
    return chosen
