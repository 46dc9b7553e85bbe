"""The macros a file defines, and what a call of one expands to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.errors import Refusal

_PIECE = re.compile(
    r"""(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)+'
      |//[^\n]*|/\*.*?\*/|[^\W\d]\w*|\d(?:\w|\.)*|\#\#|\s+|.""",
    re.VERBOSE | re.DOTALL,
)
_DEFINE = re.compile(r"#[ \t]*define[ \t]+(\w+)(\(([^()]*)\))?(.*)", re.DOTALL)
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_LONGEST = 1_000_000
_DEEPEST = 100


@dataclass(frozen=True)
class Macro:
    """One #define; `parameters` is None for a macro without brackets, its last one `__VA_ARGS__` for a variadic one."""

    name: str
    parameters: tuple[str, ...] | None
    body: str

    def with_arguments(self, given: Sequence[str], expanded: Sequence[str]) -> str:
        """The body with parameters replaced: as given beside # and ##, else expanded."""
        return "".join(part if isinstance(part, str) else part.filled(given, expanded) for part in self._parts)

    @cached_property
    def _parts(self) -> tuple[str | _Slot, ...]:
        """The body read once, however often it is called: text that stays, and places of parameters."""
        pieces = _pieces(self.body)
        parts: list[str | _Slot] = [""]
        for at, piece in enumerate(pieces):
            before, after = pieces[at - 1] if at else "", pieces[at + 1] if at + 1 < len(pieces) else ""
            number = self._number(piece)
            if piece == "##" or (piece == "#" and self._number(after) is not None):
                continue
            if number is not None:
                parts.append(_Slot(piece, number, quoted=before == "#", pasted="##" in (before, after)))
            elif isinstance(parts[-1], str):
                parts[-1] += piece
            else:
                parts.append(piece)
        return tuple(parts)

    def _number(self, piece: str) -> int | None:
        parameters = self.parameters or ()
        return parameters.index(piece) if piece in parameters else None


@dataclass(frozen=True)
class _Slot:
    """Where parameter `number` stands in a body; `quoted` behind #, `pasted` beside ##."""

    name: str
    number: int
    quoted: bool
    pasted: bool

    def filled(self, given: Sequence[str], expanded: Sequence[str]) -> str:
        if self.number >= len(given):
            return self.name
        if self.quoted:
            return '"' + given[self.number].replace("\\", "\\\\").replace('"', '\\"') + '"'
        return (given if self.pasted else expanded)[self.number]


def macro_of(define: str) -> Macro | None:
    """The macro that the text of a #define directive defines, None where it cannot be read."""
    found = _DEFINE.match(re.sub(r"\\\r?\n", "\n", define))
    if found is None:
        return None
    parameters = None
    if found[2] is not None:
        names = [name.strip() for name in found[3].split(",")] if found[3].strip() else []
        parameters = tuple("__VA_ARGS__" if name.endswith("...") else name for name in names)
    return Macro(found[1], parameters, found[4].strip())


def expand(text: str, macros: Mapping[str, Macro]) -> str:
    """`text` without comments and with every call of the given macros expanded, again and again as C does."""
    return _expand(_pieces(text), macros, frozenset())


def arguments(call: str) -> tuple[str, ...]:
    """The arguments of `MACRO(a, b)`, without white space around them."""
    pieces = _pieces(call)
    start = next((at for at, piece in enumerate(pieces) if piece == "("), len(pieces))
    return tuple(_arguments(pieces, start)[0])


def _pieces(text: str) -> list[str]:
    """Words, literals and punctuation; comments as one space, and no space around ##."""
    found = [match[0] for match in _PIECE.finditer(text)]
    if "/" in text:
        found = [" " if piece[:2] in ("//", "/*") else piece for piece in found]
    if "##" not in text:
        return found
    return [
        piece
        for at, piece in enumerate(found)
        if not (piece.isspace() and ("##" in found[at + 1 : at + 2] or (at and found[at - 1] == "##")))
    ]


def _expand(pieces: Sequence[str], macros: Mapping[str, Macro], hidden: frozenset[str], depth: int = 0) -> str:
    if depth > _DEEPEST:
        raise Refusal(f"macro calls nest more than {_DEEPEST} deep")
    if macros.keys().isdisjoint(pieces):
        return "".join(pieces)
    out: list[str] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        macro = macros.get(piece) if piece not in hidden else None
        at += 1
        if macro is None:
            out.append(piece)
            continue
        given: list[str] = []
        if macro.parameters is not None:
            bracket = next((index for index in range(at, len(pieces)) if not pieces[index].isspace()), len(pieces))
            given, after = _arguments(pieces, bracket)
            if after is None:
                out.append(piece)
                continue
            at = after
            given = _fitting(given, macro.parameters)
        expanded = [_expand(_pieces(argument), macros, hidden, depth + 1) for argument in given]
        body = macro.with_arguments(given, expanded)
        if len(body) > _LONGEST:
            raise Refusal(f"macro {macro.name} expands to more than {_LONGEST} characters")
        out.append(_expand(_pieces(body), macros, hidden | {piece}, depth + 1))
    text = "".join(out)
    if len(text) > _LONGEST:
        raise Refusal(f"macros expand to more than {_LONGEST} characters")
    return text


def _arguments(pieces: Sequence[str], bracket: int) -> tuple[list[str], int | None]:
    """The arguments in the brackets that open at `bracket`, and the index after them; None where none open or close."""
    found: list[str] = []
    current: list[str] = []
    depth = 0
    for at in range(bracket, len(pieces)):
        piece = pieces[at]
        depth += _BRACKETS.get(piece, 0)
        if at == bracket:
            if piece != "(":
                break
        elif depth == 0:
            found.append("".join(current).strip())
            return ([] if found == [""] else found), at + 1
        elif piece == "," and depth == 1:
            found.append("".join(current).strip())
            current = []
        else:
            current.append(piece)
    return [], None


def _fitting(given: list[str], parameters: Sequence[str]) -> list[str]:
    """As many arguments as parameters: the rest joined for a variadic macro, missing ones empty."""
    if parameters and parameters[-1] == "__VA_ARGS__":
        fixed = len(parameters) - 1
        given = [*given[:fixed], ", ".join(given[fixed:])]
    return [*given, *[""] * (len(parameters) - len(given))][: len(parameters)]
