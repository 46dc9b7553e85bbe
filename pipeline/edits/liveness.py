"""What of the host files is dead once some items go: helpers, types, macros, declarations and category methods."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property

from pipeline.edits.hostfile import Entry, HostFile, HostFiles, Place
from pipeline.edits.items import Kind

_CATEGORY = re.compile(r"@(interface|implementation)\s+\w+\s*\(\s*(\w+)\s*\)")
_CLASS = re.compile(r"@(?:interface|implementation)\s+\w+\b(?!\s*\()")
_RUNTIME = "aten/src/ATen/mps/"  # allocator, streams and hooks: used from everywhere, never part of an operator
_LAYOUT = (Kind.BLANK, Kind.COMMENT)
_PLAIN = (Kind.TYPE, Kind.ALIAS, Kind.VARIABLE, Kind.DEFINE)


class Liveness:
    """Which items of `host` some other code needs.

    An item that only declares something is live when a live item mentions one of its names: in its own file, or in any
    file when the name has external linkage. All other items are live by themselves. What nothing mentions to begin with
    also counts as needed: why it is there is not known.
    """

    def __init__(self, host: HostFiles) -> None:
        self.host = host
        self._entries: dict[Place, Entry] = {}
        self._candidates: set[Place] = set()
        self._names: dict[Place, tuple[str, ...]] = {}
        self._children: dict[Place, list[Place]] = defaultdict(list)
        self._local: dict[str, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
        self._external: dict[str, list[Place]] = defaultdict(list)
        self._named: dict[str, list[Place]] = defaultdict(list)
        self._methods: dict[str, list[Place]] = defaultdict(list)
        files = [host[path] for path in host.paths]
        self._defined = {name for file in files for entry in file.entries for name in entry.functions}
        self._categories = _implemented_categories(files)
        for file in files:
            for index in range(len(file.items)):
                self._enter(file, index)

    def died(self, removed: Collection[Place], used_elsewhere: Collection[str] = ()) -> frozenset[Place]:
        """The items that only `removed` needed, in turn included, `removed` itself not.

        `used_elsewhere` are names that code outside of these files mentions, or code about to be added to them.
        """
        gone, elsewhere = frozenset(removed), frozenset(used_elsewhere)
        below = self._reached(gone)
        # An item that is not below `removed` is as live without it as it was, and so is what it needs.
        needed = [
            place
            for place in below
            if not self._needed_by[place] <= below or not elsewhere.isdisjoint(self._names.get(place, ()))
        ]
        return frozenset(below - gone - self._reached(needed, gone))

    def unneeded(self, used_elsewhere: Collection[str] = ()) -> frozenset[Place]:
        """The items that nothing needs, neither these files nor `used_elsewhere`."""
        roots = self._entries.keys() - self._candidates
        return frozenset(self._candidates - self._reached(roots, used_elsewhere=frozenset(used_elsewhere)))

    def users(self, names: Collection[str], gone: Collection[Place]) -> tuple[Place, ...]:
        """Items outside of `gone` that mention one of `names`, by path and place."""
        found = {place for name in names for place in self._mentioning.get(name, ()) if place not in gone}
        return tuple(sorted(place for place in found if set(names).isdisjoint(self._entries[place].item.names)))

    def _enter(self, file: HostFile, index: int) -> None:
        place, entry = Place(file.path, index), file.entries[index]
        self._entries[place] = entry
        for parent in reversed(entry.item.parents):
            if _CLASS.match(file.items[parent].code) and Place(file.path, parent) in self._candidates:
                self._children[Place(file.path, parent)].append(place)
                self._candidates.add(place)
                return
        names = self._declared(file, entry)
        if not names:
            return
        self._candidates.add(place)
        self._names[place] = names
        for name in names:
            self._named[name].append(place)
            if entry.item.kind is Kind.METHOD:
                self._methods[name].append(place)
            elif file.is_header or not all(part.internal for part in entry.parts if part.kind not in _LAYOUT):
                self._external[name].append(place)
            else:
                self._local[file.path][name].append(place)

    def _declared(self, file: HostFile, entry: Entry) -> tuple[str, ...]:
        """The names by which an item is needed, none for an item that is live by itself."""
        item = entry.item
        if item.kind is Kind.METHOD:
            category = next((_CATEGORY.match(file.items[parent].code) for parent in reversed(item.parents)), None)
            return item.names if category and category[2] in self._categories else ()
        if item.kind is Kind.DECLARATION:
            defined_here = not file.is_header or not self._defined.isdisjoint(item.names)
            return item.names if defined_here and not file.path.startswith(_RUNTIME) else ()
        if file.is_header or file.path.startswith(_RUNTIME):
            return ()
        if item.kind is Kind.OPEN:
            return item.names if _CLASS.match(item.code) else ()
        if all(self._only_declares(part.kind, part.macro, part.names) for part in entry.parts):
            return tuple(name for part in entry.parts for name in part.names)
        return ()

    @staticmethod
    def _only_declares(kind: Kind, macro: str, names: tuple[str, ...]) -> bool:
        if kind is Kind.FUNCTION:
            return not macro and names not in ((), ("operator",))
        return kind in _PLAIN or kind in _LAYOUT or kind is Kind.DECLARATION

    @cached_property
    def _needs(self) -> dict[Place, frozenset[Place]]:
        """What each item keeps alive directly."""
        needs: dict[Place, frozenset[Place]] = {}
        external, methods = self._external.keys(), self._methods.keys()
        for place, entry in self._entries.items():
            local = self._local.get(place.path, {})
            found = set(self._children.get(place, ()))
            found.update(*(local[name] for name in entry.uses & local.keys()))
            found.update(*(self._external[name] for name in entry.uses & external))
            found.update(*(self._methods[name] for name in entry.selectors & methods))
            if found:
                needs[place] = frozenset(found)
        return needs

    @cached_property
    def _needed_by(self) -> dict[Place, frozenset[Place]]:
        """What keeps each item alive directly."""
        found: dict[Place, set[Place]] = {place: set() for place in self._entries}
        for place, needed in self._needs.items():
            for other in needed:
                found[other].add(place)
        return {place: frozenset(others) for place, others in found.items()}

    @cached_property
    def _mentioning(self) -> dict[str, list[Place]]:
        """Name -> the items that mention it."""
        found: dict[str, list[Place]] = defaultdict(list)
        for place, entry in self._entries.items():
            for name in entry.uses:
                found[name].append(place)
        return found

    def _reached(
        self,
        roots: Iterable[Place],
        gone: frozenset[Place] = frozenset(),
        used_elsewhere: frozenset[str] = frozenset(),
    ) -> set[Place]:
        """Everything that `roots` and the names `used_elsewhere` need, `roots` included."""
        reached = set(roots)
        reached.update(*(self._named[name] for name in used_elsewhere & self._named.keys()))
        reached.difference_update(gone)
        waiting = list(reached)
        while waiting:
            further = self._needs.get(waiting.pop(), frozenset()) - reached - gone
            reached |= further
            waiting.extend(further)
        return reached


@functools.lru_cache(maxsize=8)
def liveness_of(host: HostFiles) -> Liveness:
    """The liveness of these files, worked out once for all the edits planned on them."""
    return Liveness(host)


def _implemented_categories(files: Iterable[HostFile]) -> frozenset[str]:
    """Names of class categories that these files both declare and implement: the project's own, not Apple's."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for item in file.items:
            category = _CATEGORY.match(item.code) if item.kind is Kind.OPEN else None
            if category:
                found[category[2]].add(category[1])
    return frozenset(name for name, forms in found.items() if len(forms) == 2)
