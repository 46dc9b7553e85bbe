"""A kernel fragment, `kernels/X.metal`: what goes into a kernel file, a shared header and the list of includes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.edits.items import Item, Kind
from pipeline.edits.kernel_file import Call, KernelFile
from pipeline.errors import Refusal

_PARAMS = re.compile(r"\w*Params")
_REGISTERING = (Kind.CALL, Kind.DECLARATION)
_USING = re.compile(r"using\s+namespace\s+([\w:]+)\s*;")


@dataclass(frozen=True)
class Piece:
    """One item with the comments above it; `text` ends in a line break. `apart`: a blank line stood above."""

    text: str
    item: Item
    apart: bool

    @property
    def call(self) -> Call | None:
        return Call.of(self.item) if self.item.kind is Kind.CALL else None


@dataclass(frozen=True)
class KernelFragment:
    """`definitions` come before the first registration and its macros and aliases, `registrations` is the rest.

    `includes` are paths, `c10/metal/indexing.h`; `namespaces` those of `using namespace` lines.
    """

    path: str
    file: KernelFile
    includes: tuple[str, ...]
    namespaces: tuple[str, ...]
    params: tuple[Piece, ...]
    definitions: tuple[Piece, ...]
    registrations: tuple[Piece, ...]


def read_kernel_fragment(text: str, path: str = "") -> KernelFragment:
    """Raises Refusal for what a fragment must not hold: scopes, and an `#if` outside of a body."""
    file = KernelFile(text, path)
    includes = tuple(included(item) for item in file.items if item.kind is Kind.INCLUDE)
    namespaces: list[str] = []
    pieces: list[Piece] = []
    above, apart = "", False
    for item in file.items:
        using = _USING.fullmatch(item.code) if item.kind is Kind.USING else None
        if item.kind in (Kind.OPEN, Kind.CLOSE, Kind.IF, Kind.DIRECTIVE):
            raise Refusal("a kernel fragment has no namespace, #if or pragma of its own", path=path, line=item.line,
                          hint="write plain items; #if may stand within a body")  # fmt: skip
        if using:
            namespaces.append(using[1])
        if item.kind is Kind.COMMENT:
            above += item.text
        elif item.kind is Kind.BLANK:
            above += "\n" if above else ""
            apart = True
        else:
            if item.kind is not Kind.INCLUDE and not using:
                pieces.append(Piece(above + item.text.rstrip() + "\n", item, apart))
            above, apart = "", False
    params = tuple(piece for piece in pieces if _is_params(piece.item))
    pieces = [piece for piece in pieces if piece not in params]
    first = next((index for index, piece in enumerate(pieces) if piece.item.kind in _REGISTERING), len(pieces))
    while first and pieces[first - 1].item.kind in (Kind.DEFINE, Kind.ALIAS):
        first -= 1
    if not pieces:
        raise Refusal("the fragment defines nothing", path=path, hint="write a functor and its REGISTER_ lines")
    return KernelFragment(path, file, includes, tuple(namespaces), params, tuple(pieces[:first]), tuple(pieces[first:]))


def _is_params(item: Item) -> bool:
    return item.kind is Kind.TYPE and all(_PARAMS.fullmatch(name) for name in item.names)


def included(item: Item) -> str:
    """The path that an include names."""
    return item.code.split(maxsplit=1)[1].strip().strip('<>"')
