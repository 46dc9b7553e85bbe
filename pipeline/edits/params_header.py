"""The header that a kernel file and its host file share: structs of scalars handed to a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.edits.items import Item, Kind
from pipeline.edits.kernel_file import shape
from pipeline.edits.kernel_fragment import Piece
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal

_PRAGMA = "#pragma once"
_COMMON = "#include <c10/metal/common.h>"


def add_params(header: str | None, params: Iterable[Piece], path: str, neighbour: str | None = None) -> str:
    """The header with those structs after its own; a new one gets the guards that `neighbour`, of the same folder, has.

    A struct that stands there already in the same form is not added again. Raises Refusal where its form differs.
    """
    text = _guards_of(neighbour) if header is None else header
    for piece in params:
        text = _with_struct(text, piece, path)
    return text


def _with_struct(header: str, piece: Piece, path: str) -> str:
    items = split(header, path)
    name = piece.item.names[0]
    known = next((item for item in items if item.kind is Kind.TYPE and name in item.names), None)
    if known is not None:
        if shape(known.code) != shape(piece.item.code):
            raise Refusal(f"{name} has another form here", path=path, line=known.line,
                          hint="give the fragment's struct a name of its own")  # fmt: skip
        return header
    start, end = _content(items)
    head, body, tail = ("".join(item.text for item in part) for part in (items[:start], items[start:end], items[end:]))
    if "c10::metal::" in piece.item.code and _COMMON not in head + body:
        head = head.rstrip("\n") + f"\n{_COMMON}\n"
    return (head + body).rstrip("\n") + f"\n\n{piece.text}{tail}"


def _guards_of(neighbour: str | None) -> str:
    """An empty header, guarded as the neighbour is: `#pragma once`, within an `#if` where it stands in one."""
    items = split(neighbour or "")
    if not any(item.code == _PRAGMA for item in items):
        return f"{_PRAGMA}\n"
    _, end = _content(items)
    pragma = next(index for index, item in enumerate(items) if item.code == _PRAGMA)
    guards = [item.text for item in items[: pragma + 1] if item.kind is not Kind.COMMENT]
    return "".join([*guards, *(item.text for item in items[end:])])


def _content(items: Sequence[Item]) -> tuple[int, int]:
    """From after `#pragma once` and the includes to after the last item in the same `#if` branch."""
    start = next((index + 1 for index, item in enumerate(items) if item.code == _PRAGMA), 0)
    depth = len(items[start - 1].parents) if start else 0
    while start < len(items) and items[start].kind is Kind.INCLUDE:
        start += 1
    end = start
    for index in range(start, len(items)):
        item = items[index]
        if len(item.parents) < depth:
            break
        if item.kind is not Kind.BLANK:
            end = index + 1
    return start, end
