"""Which host code runs an MPSGraph, in its own body or in what it calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from pipeline.edits.hostfile import Entry, HostFiles, Place
from pipeline.edits.items import Kind

# Where every graph is run: the helper of OperationUtils and the method of MPSStream below it.
RUNS = frozenset({"runMPSGraph", "executeMPSGraph"})
# How a host file gets work to the GPU without a graph: Metal encoders, the kernels of a library, Apple's MPS kernels.
_ENCODES = frozenset(
    {
        "commandEncoder",
        "computeCommandEncoder",
        "blitCommandEncoder",
        "getPipelineStateForFunc",
        "encodeToCommandBuffer",
    }
    | {
        f"exec_{arity}_kernel{form}"
        for arity in ("unary", "binary", "ternary")
        for form in ("", "_raw", "_with_params")
    }
)
# Calls into these go through the dispatcher, or into other libraries: not the code of that name in a host file.
_ELSEWHERE = ("at", "std", "c10", "torch", "fmt", "at::mps", "at::_ops")
BODIES = (Kind.FUNCTION, Kind.VARIABLE)


class GraphCode:
    """The calls among host files, by name: macros evaluated, a function of the same file before one of another.

    Calls through the dispatcher (`at::add`) are not followed, and a branch taken at run time counts as taken.
    """

    def __init__(self, host: HostFiles) -> None:
        self._entries: dict[Place, Entry] = {}
        self._local: dict[tuple[str, str], list[Place]] = defaultdict(list)
        self._external: dict[str, list[Place]] = defaultdict(list)
        for path in host.paths:
            file = host[path]
            for index, entry in enumerate(file.entries):
                self._enter(Place(path, index), entry, file.is_header)

    def way(self, starts: Iterable[Place]) -> tuple[str, ...]:
        """The names on a shortest way from one of `starts` to a call that runs a graph; empty where there is none."""
        return self._search(starts, RUNS)

    def encodes(self, starts: Iterable[Place]) -> bool:
        """Whether some of `starts` encodes work for the GPU itself, in what it calls included."""
        return bool(self._search(starts, _ENCODES))

    def _search(self, starts: Iterable[Place], marks: frozenset[str]) -> tuple[str, ...]:
        came_from: dict[Place, tuple[Place, str] | None] = dict.fromkeys(starts)
        waiting = list(came_from)
        for place in waiting:
            entry = self._entries[place]
            for name in sorted(marks & entry.selectors):
                return (*self._names(place, came_from), name)
            for name in sorted(callees(entry)):
                for called in self._local.get((place.path, name)) or self._external.get(name) or ():
                    if called not in came_from:
                        came_from[called] = (place, name)
                        waiting.append(called)
        return ()

    def _enter(self, place: Place, entry: Entry, in_header: bool) -> None:
        self._entries[place] = entry
        for part in entry.parts:
            if part.kind not in BODIES and (part.kind is not Kind.TYPE or in_header):
                continue
            for name in part.names:
                self._local[place.path, name].append(place)
                if part.kind is Kind.FUNCTION and (in_header or not part.internal):
                    self._external[name].append(place)

    @staticmethod
    def _names(place: Place, came_from: dict[Place, tuple[Place, str] | None]) -> Iterator[str]:
        names: list[str] = []
        while (step := came_from[place]) is not None:
            place, name = step
            names.append(name)
        return reversed(names)


def callees(entry: Entry) -> frozenset[str]:
    """The names an entry mentions, except those it only takes from another library or the dispatcher."""
    foreign = {call.name for call in entry.calls if call.scope in _ELSEWHERE}
    own = {call.name for call in entry.calls if call.scope not in _ELSEWHERE}
    return entry.uses - (foreign - own)
