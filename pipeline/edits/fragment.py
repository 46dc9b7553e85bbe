"""A stub fragment, `stubs/X.mm`: the includes, functions and dispatch registrations that go into a host file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pipeline.edits.hostfile import Registration, included, registration_of
from pipeline.edits.items import Item, Kind
from pipeline.edits.lexer import identifiers, tokens
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal

_UMBRELLA_GUARD = "AT_PER_OPERATOR_HEADERS"


@dataclass(frozen=True)
class Piece:
    """A function or helper with the comment above it; `line` is 1-based in the fragment."""

    text: str
    item: Item

    @property
    def names(self) -> tuple[str, ...]:
        return self.item.names

    @property
    def line(self) -> int:
        return self.item.line

    @cached_property
    def shape(self) -> tuple[str, ...]:
        return shape(self.item.code)


@dataclass(frozen=True)
class Fragment:
    """`includes` are paths as written between the brackets, in order; `pieces` and `registrations` likewise."""

    path: str
    includes: tuple[str, ...]
    pieces: tuple[Piece, ...]
    registrations: tuple[Registration, ...]

    @property
    def identifiers(self) -> frozenset[str]:
        return frozenset().union(*(identifiers(piece.item.code) for piece in self.pieces))

    @property
    def native_functions(self) -> tuple[str, ...]:
        """The functions it defines for dispatch rows to name, TORCH_IMPL_FUNC included."""
        functions = (piece.item for piece in self.pieces if piece.item.kind is Kind.FUNCTION)
        return tuple(name for item in functions if not item.internal for name in item.names)

    def definition(self, function: str) -> Piece | None:
        return next((piece for piece in self.pieces if function in piece.names), None)


def read_fragment(text: str, path: str = "") -> Fragment:
    """Raises Refusal for what a fragment must not hold: a namespace, or an `#if` that guards more than includes."""
    items = split(text, path)
    includes: list[str] = []
    pieces: list[Piece] = []
    registrations: list[Registration] = []
    comment = ""
    for item in items:
        registration = registration_of(item)
        _refuse_foreign(item, path)
        if item.kind is Kind.INCLUDE:
            includes.append(included(item))
        elif registration is not None:
            registrations.append(registration)
        elif item.kind not in _LAYOUT and not item.code.startswith("#define TORCH_ASSERT"):
            pieces.append(Piece(comment + item.text.rstrip() + "\n", item))
        comment = item.text if item.kind is Kind.COMMENT else ""
    if not pieces and not registrations:
        raise Refusal(
            "the fragment defines nothing", path=path, hint="write the function and its REGISTER_DISPATCH line"
        )
    return Fragment(path, tuple(includes), tuple(pieces), tuple(registrations))


_LAYOUT = (Kind.BLANK, Kind.COMMENT, Kind.IF, Kind.ELSE, Kind.ENDIF, Kind.DIRECTIVE)


def _refuse_foreign(item: Item, path: str) -> None:
    """Raises Refusal for what has no place in a fragment."""
    if item.kind in (Kind.OPEN, Kind.CLOSE):
        raise Refusal("a fragment opens no scope", path=path, line=item.line,
                      hint="leave the namespace out: the code lands in at::native")  # fmt: skip
    if item.kind is Kind.IF and _UMBRELLA_GUARD not in item.identifiers:
        raise Refusal("a fragment has no #if of its own", path=path, line=item.line,
                      hint="write the code for all systems")  # fmt: skip
    if item.kind is Kind.OTHER or not item.whole_lines or (item.kind is Kind.INCLUDE and not included(item)):
        raise Refusal("cannot be read as a declaration on lines of its own", path=path, line=item.line)


def shape(code: str) -> tuple[str, ...]:
    """The tokens of a piece of code: equal for texts that differ in white space alone."""
    return tuple(token.text for token in tokens(code))
