"""The legacy side of a host file (`.mm`): where a function is defined, and its removal with all that dies with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pipeline.edits.cut import groups_of, with_surroundings, without
from pipeline.edits.hostfile import Entry, HostFile, HostFiles, included
from pipeline.edits.includes import Headers, dead_includes
from pipeline.edits.items import Item, Kind
from pipeline.edits.liveness import Liveness, Place
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal

_CONTENT = (
    Kind.FUNCTION,
    Kind.DECLARATION,
    Kind.TYPE,
    Kind.ALIAS,
    Kind.VARIABLE,
    Kind.CALL,
    Kind.METHOD,
    Kind.OTHER,
)
_NATIVE = ("at", "native")


@dataclass(frozen=True)
class Definition:
    """Where a native function has its body; `macro` is the macro whose call generates it, empty where written out."""

    path: str
    line: int
    macro: str
    place: Place


@dataclass(frozen=True)
class RemovedItem:
    """`kind` as of `objcpp.Kind`, `name` what the item declared, or the path of an include."""

    path: str
    line: int
    kind: str
    name: str


@dataclass(frozen=True)
class Removal:
    """The files that change, None for one without content left; what was removed; functions that were not found."""

    files: Mapping[str, str | None]
    removed: tuple[RemovedItem, ...]
    missing: tuple[str, ...]


def definitions(host: HostFiles, function: str) -> tuple[Definition, ...]:
    """Where namespace at::native defines `function`, written out or by a macro line, each overload on its own."""
    found = []
    for path in host.paths:
        for index, entry in enumerate(host[path].entries):
            if function in entry.functions and _in_native(entry.item):
                macro = entry.item.macro if entry.item.kind is Kind.CALL else ""
                found.append(Definition(path, entry.item.line, macro, Place(path, index)))
    return tuple(found)


def registrations(host: HostFiles, stub: str) -> tuple[Definition, ...]:
    """Where `stub` is registered, by a line of its own or by a macro line."""
    found = []
    for path in host.paths:
        for index, entry in enumerate(host[path].entries):
            if any(registration.stub == stub for registration in entry.registrations):
                macro = entry.item.macro if len(entry.parts) > 1 else ""
                found.append(Definition(path, entry.item.line, macro, Place(path, index)))
    return tuple(found)


def remove_legacy(
    host: HostFiles,
    functions: Collection[str],
    stubs: Collection[str] = (),
    kept: Collection[str] = (),
    headers: Headers | None = None,
) -> Removal:
    """Removes legacy functions, registrations of stubs, and all that only they needed.

    `host` holds every file that may name something of the others. `kept` are the functions that native_functions.yaml
    still names after the edit. Only deletes lines; a second run finds nothing to do. Raises Refusal where code that
    stays calls a removed function, where one macro line also defines something that stays, and where an item shares its
    line with other code.
    """
    targets = [*(definitions(host, name) for name in functions), *(registrations(host, name) for name in stubs)]
    removed = {definition.place for found in targets for definition in found}
    missing = tuple(name for name, found in zip((*functions, *stubs), targets, strict=True) if not found)
    for place in sorted(removed):
        _refuse_partial(host[place.path].entries[place.index], place, {*functions, *stubs})
    removed |= _declarations(host, functions)
    liveness = Liveness(host, kept)
    dead = removed | liveness.died(removed)
    for user in liveness.users(set(functions) - set(missing), dead):
        name = next(name for name in functions if name in host[user.path].entries[user.index].uses)
        raise Refusal(f"still uses {name}", path=user.path, line=host[user.path].items[user.index].line)
    return _cut(host, dead, headers or Headers(), missing)


def _in_native(item: Item) -> bool:
    return tuple(name for name in item.scope if name) == _NATIVE


def _refuse_partial(entry: Entry, place: Place, names: Collection[str]) -> None:
    """A macro line goes as a whole or not at all."""
    if entry.item.kind is not Kind.CALL:
        return
    also = [
        *(name for part in entry.parts if part.kind is Kind.FUNCTION and not part.internal for name in part.names),
        *(registration.stub for registration in entry.registrations),
    ]
    for name in also:
        if name not in names:
            raise Refusal(
                f"{entry.item.macro} here also makes {name}",
                path=place.path,
                line=entry.item.line,
                hint=f"remove {name} too",
            )


def _declarations(host: HostFiles, functions: Collection[str]) -> set[Place]:
    return {
        Place(path, index)
        for path in host.paths
        for index, item in enumerate(host[path].items)
        if item.kind is Kind.DECLARATION and _in_native(item) and set(item.names) & set(functions)
    }


def _cut(host: HostFiles, dead: Collection[Place], headers: Headers, missing: tuple[str, ...]) -> Removal:
    gone = {
        path: _with_followers(host, host[path], {place.index for place in dead if place.path == path}, headers)
        for path in sorted({place.path for place in dead})
    }
    deleted = {path for path, indexes in gone.items() if _without_content(host[path], indexes)}
    names = {path.removeprefix("aten/src/") for path in deleted if host[path].is_header}
    for path in set(host.paths) - deleted if names else ():
        file = host[path]
        including = {index for index, item in enumerate(file.items) if included(item) in names}
        if including:
            gone[path] = with_surroundings(file.items, gone.get(path, frozenset()) | including)
    files: dict[str, str | None] = dict.fromkeys(deleted)
    for path in gone.keys() - deleted:
        files[path] = without(host[path].items, gone[path], path)
        split(files[path] or "", path)
    removed = [
        RemovedItem(path, item.line, item.kind.value, included(item) or ", ".join(item.names) or item.macro)
        for path, indexes in sorted(gone.items())
        for index, item in enumerate(host[path].items)
        if index in indexes and item.kind not in (Kind.BLANK, Kind.CLOSE)
    ]
    return Removal(dict(sorted(files.items())), tuple(removed), missing)


def _with_followers(host: HostFiles, file: HostFile, dead: set[int], headers: Headers) -> frozenset[int]:
    """`dead` items of one file with the includes and usings that only they needed, and their surroundings."""
    dead = dead | _twins(file, dead)
    dead |= dead_includes(file, dead, headers)
    dead |= _dead_usings(host, file, dead)
    return with_surroundings(file.items, dead)


def _twins(file: HostFile, dead: Collection[int]) -> set[int]:
    """`#include <ATen/native/mps/X_metallib.h>` beside a library variable that died: it declares the same name."""
    found: set[int] = set()
    for group in groups_of(file.items):
        inside = [index for index in range(group[0], group[-1]) if file.items[index].kind is not Kind.BLANK]
        includes = {index for index in inside if included(file.items[index]).endswith("_metallib.h")}
        rest = set(inside) - includes - set(group)
        if includes and rest and rest <= set(dead):
            found |= includes
    return found


def _dead_usings(host: HostFiles, file: HostFile, dead: Collection[int]) -> set[int]:
    """`using namespace` lines that only dead items drew on, as far as the names of the namespace are known."""
    found: set[int] = set()
    for index, item in enumerate(file.items):
        if item.kind is not Kind.USING or index in dead:
            continue
        names = host.names_in(file.path, item.names[0])
        users = {at for at, entry in enumerate(file.entries) if at != index and not names.isdisjoint(entry.uses)}
        if users and users <= set(dead):
            found.add(index)
    return found


def _without_content(file: HostFile, gone: Collection[int]) -> bool:
    left = [item for index, item in enumerate(file.items) if index not in gone]
    return not any(item.kind in _CONTENT or (file.is_header and item.kind is Kind.DEFINE) for item in left)
