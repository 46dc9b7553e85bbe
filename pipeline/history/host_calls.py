"""What host files call, file by file, so that a commit costs no more than the files that it changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from pipeline.edits.definitions import in_native
from pipeline.edits.hostfile import HostFile, HostFiles, UnreadableFile
from pipeline.edits.items import Kind
from pipeline.graph_code import BODIES, RUNS, callees

Body = tuple[str, int]
"""An item of a file: path and index."""


@dataclass(frozen=True)
class FileCalls:
    """`natives` and `registers`: function or stub -> items. `local` and `external`: where a name has its body, for this
    file and for others. `calls`: item -> names; `runs`: the items that run a graph themselves.
    """

    natives: Mapping[str, tuple[int, ...]]
    registers: Mapping[str, tuple[int, ...]]
    local: Mapping[str, tuple[int, ...]]
    external: Mapping[str, tuple[int, ...]]
    calls: tuple[frozenset[str], ...]
    runs: frozenset[int]
    unreadable: str = ""


class HostCalls:
    """The MPS back end at one commit; the same rules as graph_code.GraphCode, for every row at once."""

    def __init__(self, files: Mapping[str, FileCalls]) -> None:
        self.files = files
        self._external: dict[str, list[Body]] = defaultdict(list)
        self._natives: dict[str, list[Body]] = defaultdict(list)
        self._registers: dict[str, list[Body]] = defaultdict(list)
        for path in sorted(files):
            for table, names in (
                (self._external, files[path].external),
                (self._natives, files[path].natives),
                (self._registers, files[path].registers),
            ):
                for name, items in names.items():
                    table[name] += ((path, item) for item in items)

    def defining(self, function: str) -> list[Body]:
        return self._natives.get(function, [])

    def registering(self, stubs: Iterable[str]) -> list[Body]:
        return [body for stub in stubs for body in self._registers.get(stub, ())]

    @property
    def unreadable(self) -> str:
        """Why one of the files could not be read; empty when all could."""
        return next((file.unreadable for file in self.files.values() if file.unreadable), "")

    @cached_property
    def on_graph(self) -> frozenset[Body]:
        """The bodies from which a call that runs a graph is reached, among native functions, registrations and what
        they call."""
        callers: dict[Body, list[Body]] = defaultdict(list)
        starts = (body for table in (self._natives, self._registers) for found in table.values() for body in found)
        waiting = list(dict.fromkeys(starts))
        seen = set(waiting)
        reached = []
        for body in waiting:
            path, item = body
            file = self.files[path]
            if item in file.runs:
                reached.append(body)
                continue
            for called in self._called(path, file, item):
                callers[called].append(body)
                if called not in seen:
                    seen.add(called)
                    waiting.append(called)
        on_graph = set(reached)
        for body in reached:
            fresh = [caller for caller in callers[body] if caller not in on_graph]
            on_graph.update(fresh)
            reached += fresh
        return frozenset(on_graph)

    def _called(self, path: str, file: FileCalls, item: int) -> Iterable[Body]:
        for name in file.calls[item]:
            if name in file.local:
                yield from ((path, index) for index in file.local[name])
            else:
                yield from self._external.get(name, ())


_known: WeakKeyDictionary[HostFile, FileCalls] = WeakKeyDictionary()


def host_calls(texts: Mapping[str, str]) -> HostCalls:
    """From the texts of all host files and headers of a commit. A file that was seen before is not read again."""
    host = HostFiles(texts)
    return HostCalls({path: _calls(host[path]) for path in host.paths})


def _calls(file: HostFile) -> FileCalls:
    if file not in _known:
        _known[file] = _read(file)
    return _known[file]


def _read(file: HostFile) -> FileCalls:
    tables: list[dict[str, list[int]]] = [defaultdict(list) for _ in range(4)]
    natives, registers, local, external = tables
    for index, entry in enumerate(file.entries):
        for name in entry.functions if in_native(entry.item) else ():
            natives[name].append(index)
        for registration in entry.registrations:
            registers[registration.stub].append(index)
        for part in entry.parts:
            if part.kind not in BODIES and (part.kind is not Kind.TYPE or file.is_header):
                continue
            for name in part.names:
                local[name].append(index)
                if part.kind is Kind.FUNCTION and (file.is_header or not part.internal):
                    external[name].append(index)
    frozen = [{name: tuple(dict.fromkeys(items)) for name, items in table.items()} for table in tables]
    return FileCalls(
        natives=frozen[0],
        registers=frozen[1],
        local=frozen[2],
        external=frozen[3],
        calls=tuple(callees(entry) for entry in file.entries),
        runs=frozenset(index for index, entry in enumerate(file.entries) if entry.selectors & RUNS),
        unreadable=str(file.refusal) if isinstance(file, UnreadableFile) else "",
    )
