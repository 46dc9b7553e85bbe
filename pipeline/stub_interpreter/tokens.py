"""Tokens of a stub's text, without comments and directives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.stub_interpreter.errors import NotUnderstoodError

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*)
    |(?P<string>R"\(.*?\)"|@?"(?:[^"\\\n]|\\.)*")
    |(?P<char>'(?:[^'\\]|\\.)')
    |(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d[\d']*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFuUlL]*)
    |(?P<word>@?[A-Za-z_]\w*)
    |(?P<sign>::|->|\+\+|--|<<=|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|<<|\.\.\.|[-+*/%&|^~!<>=?:.,;(){}\[\]])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is word, number, string, char, sign or end; `line` is 1-based, `start` an offset in the text."""

    kind: str
    text: str
    line: int
    start: int


def tokenize(text: str, path: str = "") -> list[Token]:
    """All tokens and one of kind `end`. Raises NotUnderstoodError for what cannot be read."""
    tokens, position, line = [], 0, 1
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise NotUnderstoodError(f"cannot read {text[position]!r}", path=path or None, line=line)
        if found.lastgroup not in (None, "skip"):
            tokens.append(Token(str(found.lastgroup), found.group(), line, position))
        line += found.group().count("\n")
        position = found.end()
    tokens.append(Token("end", "", line, position))
    return tokens
