"""Placing a stub fragment: its functions and registrations among their kin in a host file, or in a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from pipeline.edits.cut import codes
from pipeline.edits.fragment import Fragment, Piece, shape
from pipeline.edits.hostfile import HostFile, Registration
from pipeline.edits.includes import Headers, place_includes
from pipeline.edits.items import Item, Kind
from pipeline.edits.lexer import tokens
from pipeline.edits.objcpp import split
from pipeline.edits.placement import NATIVE, Insertions, Placement
from pipeline.edits.preprocessor import Macro, expand
from pipeline.errors import Refusal

_UTILITIES = "ATen/native/mps/OperationUtils.h"
_LIBRARY = """
#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/{stem}_metallib.h>
#endif
"""
_NEW_FILE = """\
#define TORCH_ASSERT_ONLY_METHOD_OPERATORS

namespace at::native {

} // namespace at::native
"""


def insert_stub(
    text: str,
    fragment: Fragment,
    *,
    path: str,
    headers: Headers | None = None,
    params_headers: Mapping[str, str] | None = None,
    library: str = "",
) -> str:
    """The host file at `path` with the fragment's includes, functions and registrations; only adds lines.

    `params_headers` are texts of shared headers by include path (`ATen/native/mps/kernels/Activation.h`); one that
    declares a type the fragment names is included. `library` is the stem of the `.metal` file with the kernels, needed
    where the file has no shader library yet; by default its own stem. What is there already stays as it is, so a second
    run changes nothing. Raises Refusal where a name or a registration clashes, and where there is no at::native.
    """
    file = HostFile(path, text)
    missing = _missing(file, fitted(file, fragment))
    insertions = Insertions(file.items)
    placement = Placement(file, insertions)
    wanted = [*fragment.includes, *params_includes(fragment, params_headers or {})]
    if _library_scope(file) is None and "lib" in fragment.identifiers:
        index = _below_opening(file)
        block = _LIBRARY.format(stem=library or PurePosixPath(path).stem)
        insertions.add(index, block if file.items[index].kind is Kind.BLANK else f"{block}\n")
        wanted.append(_UTILITIES)
    for index, added in place_includes(file.items, wanted, headers or Headers()):
        insertions.add(index, added)
    _add(file, missing, placement)
    result = insertions.applied()
    there = iter(codes(split(result, path)))
    for item in file.items:
        if codes([item]) and item.code not in there:
            raise Refusal("does not end before what is inserted", path=path, line=item.line, hint="end it there")
    return result


def new_host_file(
    path: str, fragment: Fragment, params_headers: Mapping[str, str] | None = None, library: str = ""
) -> str:
    """A host file of its own for the fragment, with its shader library if the fragment names `lib`."""
    return insert_stub(_NEW_FILE, fragment, path=path, params_headers=params_headers, library=library)


def params_includes(fragment: Fragment, params_headers: Mapping[str, str]) -> list[str]:
    """The shared headers that declare a type the fragment names."""
    return [
        include
        for include, text in sorted(params_headers.items())
        if any(item.kind is Kind.TYPE and set(item.names) & fragment.identifiers for item in split(text, include))
    ]


def fitted(file: HostFile, fragment: Fragment) -> Fragment:
    """The fragment with the shader library named as the file's at::native sees it."""
    scope = _library_scope(file)
    return replace(fragment, pieces=tuple(_qualified(piece, scope) for piece in fragment.pieces))


def _library_scope(file: HostFile) -> str | None:
    """How at::native names the scope of the file's `lib`: "" or "mps"; None where the file has no library."""
    found = next((item for item in file.items if "lib" in item.names), None)
    if found is None:
        return None
    scope = tuple(name for name in found.scope if name)
    inner = "::".join(scope[len(NATIVE) :])
    usings = {
        item.names[0] for item in file.items if item.kind is Kind.USING and item.scope in (NATIVE[:1], NATIVE, ())
    }
    return "" if usings & {inner, "::".join(scope)} else inner


def _qualified(piece: Piece, scope: str | None) -> Piece:
    """The piece with `lib` written as `mps::lib` where that is its scope."""
    if not scope or "lib" not in piece.item.identifiers:
        return piece
    text = piece.text
    found = list(tokens(text))
    for at in range(len(found) - 1, -1, -1):
        if (
            found[at].text == "lib"
            and found[at].kind == "word"
            and (not at or found[at - 1].text not in (".", "->", "::"))
        ):
            text = f"{text[: found[at].start]}{scope}::{text[found[at].start :]}"
    comment = piece.text[: len(piece.text) - len(piece.item.text.rstrip()) - 1]
    code = text[len(comment) :].strip()
    return Piece(text, replace(piece.item, text=code + "\n", code=code))


def is_registered(file: HostFile, fragment: Fragment, wanted: Registration) -> bool:
    """The file registers the stub already, for the same code under whatever name."""
    piece = fragment.definition(wanted.function)
    known = _registration(file, wanted.stub)
    if piece is None or known is None:
        return known is not None and known[0] == wanted.function.rpartition("::")[2]
    return any(_alike(item, piece) for item in _functions(file, known[0]))


def _missing(file: HostFile, fragment: Fragment) -> Fragment:
    """What of the fragment the file does not have. Raises Refusal where it has something else under the same name."""
    there = [known for known in fragment.registrations if is_registered(file, fragment, known)]
    wanted = tuple(known for known in fragment.registrations if known not in there)
    for registration in wanted:
        known = _registration(file, registration.stub)
        if known is not None:
            raise Refusal(f"registers {known[0]} for {registration.stub}", path=file.path, line=known[1],
                          hint="remove that registration first")  # fmt: skip
    names = {known.function for known in there}
    pieces = tuple(piece for piece in fragment.pieces if names.isdisjoint(piece.names) and not _defined(file, piece))
    return replace(fragment, pieces=pieces, registrations=wanted)


def _registration(file: HostFile, stub: str) -> tuple[str, int] | None:
    """The function that the file registers for a stub, and the line."""
    for entry in file.entries:
        for known in entry.registrations:
            if known.stub == stub:
                return known.function.rpartition("::")[2], entry.item.line
    return None


def _functions(file: HostFile, name: str) -> list[Item]:
    return [part for entry in file.entries for part in entry.parts if part.kind is Kind.FUNCTION and name in part.names]


def _alike(item: Item, piece: Piece) -> bool:
    """Two functions that differ in their names alone."""
    return _nameless(shape(item.code), item.names) == _nameless(piece.shape, piece.names)


def _nameless(words: Sequence[str], names: Sequence[str]) -> list[str]:
    return ["" if word in names else word for word in words]


def _defined(file: HostFile, piece: Piece) -> bool:
    """The file has the piece. Raises Refusal where it has something else of that name."""
    clash = None
    for entry in file.entries:
        if any(part.names == piece.names and shape(part.code) == piece.shape for part in entry.parts):
            return True
        if not set(entry.defines).isdisjoint(piece.names):
            clash = entry.item.line
    if clash is not None:
        raise Refusal(f"defines another {' and '.join(piece.names)}", path=file.path, line=clash,
                      hint="give the one in the fragment its own name, or replace this one")  # fmt: skip
    return False


def _below_opening(file: HostFile) -> int:
    """Below the line that opens at::native and the usings that follow it."""
    index = next(
        index
        for index, item in enumerate(file.items)
        if item.kind is Kind.OPEN and (*item.scope, *item.names) == NATIVE
    )
    while file.items[index + 1].kind is Kind.USING:
        index += 1
    return index + 1


def _add(file: HostFile, missing: Fragment, placement: Placement) -> None:
    """Puts a stub that a macro of the file would make as a line of that macro, all else written out."""
    plain: list[Registration] = []
    made: set[str] = set()
    for registration in missing.registrations:
        piece = missing.definition(registration.function)
        line = _macro_line(file, missing, piece, registration) if piece else None
        if line is None:
            plain.append(registration)
        else:
            placement.add_macro_line(*line)
            made.add(registration.function)
    for piece in missing.pieces:
        if made.isdisjoint(piece.names):
            placement.add_function(piece.text, piece.names[0] if piece.names else "")
    placement.add_registrations(plain)


def _macro_line(file: HostFile, fragment: Fragment, piece: Piece, registration: Registration) -> tuple[str, str] | None:
    """Macro and argument whose expansion is this function and this registration, names of the function apart."""
    used_by_others = any(
        other is not piece and registration.function in other.item.identifiers for other in fragment.pieces
    )
    if used_by_others or piece.text.strip() != piece.item.code:
        return None
    argument = registration.stub.removesuffix("_stub")
    for macro in file.own_macros:
        if macro.parameters is not None and len(macro.parameters) == 1 and _makes(macro, argument, piece, registration):
            return macro.name, argument
    return None


def _makes(macro: Macro, argument: str, piece: Piece, registration: Registration) -> bool:
    expansion = HostFile("", expand(f"{macro.name}({argument})", {macro.name: macro}))
    functions = [entry.item for entry in expansion.entries if entry.item.kind is Kind.FUNCTION]
    registrations = [known for entry in expansion.entries for known in entry.registrations]
    others = [item for item in expansion.items if item.kind not in (Kind.FUNCTION, Kind.CALL, Kind.BLANK)]
    return (
        len(functions) == 1
        and not others
        and _alike(functions[0], piece)
        and [(known.stub, known.function) for known in registrations] == [(registration.stub, functions[0].names[0])]
    )
