"""What follows dead code out of its file: includes and `using namespace` lines that nothing else needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pipeline.edits.cut import groups_of
from pipeline.edits.hostfile import Entry, HostFile, HostFiles, included
from pipeline.edits.includes import OPERATOR_HEADER, UMBRELLA_HEADERS, Headers
from pipeline.edits.items import Kind


def followers(
    host: HostFiles, file: HostFile, dead: Collection[int], coming: Sequence[Entry], headers: Headers
) -> frozenset[int]:
    """Includes and `using namespace` lines of `file` that only the items in `dead` needed, by index.

    `coming` is code about to be added, which may need them too.
    """
    found = _twins(file, dead)
    found |= _dead_includes(file, found | set(dead), coming, headers)
    return frozenset(found | _dead_usings(host, file, found | set(dead), coming))


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


def _dead_usings(host: HostFiles, file: HostFile, dead: Collection[int], coming: Sequence[Entry]) -> set[int]:
    """`using namespace` lines that only dead items drew on, as far as the names of the namespace are known."""
    found: set[int] = set()
    for index, item in enumerate(file.items):
        if item.kind is not Kind.USING or index in dead:
            continue
        names = host.names_in(file.path, item.names[0])
        users = {at for at, entry in enumerate(file.entries) if at != index and not names.isdisjoint(entry.uses)}
        if users and users <= set(dead) and all(names.isdisjoint(entry.uses) for entry in coming):
            found.add(index)
    return found


def _dead_includes(file: HostFile, dead: Collection[int], coming: Sequence[Entry], headers: Headers) -> set[int]:
    """The includes that served only items in `dead` and do not serve what is `coming`.

    An include stays when what it declares is not known, when nothing used it before either, or when the file gets
    something through it that it gets nowhere else.
    """
    gone = [file.entries[index] for index in dead]
    after = [*coming, *(entry for index, entry in enumerate(file.entries) if index not in dead)]
    found = {
        index
        for index, item in enumerate(file.items)
        if item.kind is Kind.INCLUDE
        and index not in dead
        and headers.serves(included(item), gone)
        and not headers.serves(included(item), after)
    }
    used = frozenset().union(*(entry.selectors for entry in after)) if found else frozenset()
    for index in sorted(found):
        path = included(file.items[index])
        if not OPERATOR_HEADER.fullmatch(path):
            rest = [
                included(item) for at, item in enumerate(file.items) if at not in found and item.kind is Kind.INCLUDE
            ]
            elsewhere = frozenset().union(*(headers.reaches(include) for include in rest if include != path))
            if (headers.reaches(path) & used) - elsewhere:
                found.discard(index)
    return found | _umbrellas(file, found | set(dead))


def _umbrellas(file: HostFile, dead: Collection[int]) -> set[int]:
    """Includes of `ATen/Functions.h` and its like whose counterparts for single operators have all died."""
    found: set[int] = set()
    for group in groups_of(file.items):
        whole, single = range(group[0] + 1, group[1]), range(group[1] + 1, group[-1])
        operators = [index for index in single if file.items[index].kind is Kind.INCLUDE]
        umbrellas = [index for index in whole if included(file.items[index]) in UMBRELLA_HEADERS]
        if umbrellas and operators and all(index in dead for index in operators):
            found.update(umbrellas)
    return found
