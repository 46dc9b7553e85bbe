"""Which operators of a tree still run on MPSGraph, where, and what stands between each and a Metal kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pipeline.dispatch_stubs import Stub
from pipeline.edits.definitions import definitions, registrations
from pipeline.edits.dispatch import collapse_splices
from pipeline.edits.hostfile import Place
from pipeline.errors import Refusal
from pipeline.graph_code import GraphCode
from pipeline.native_functions import Entry, Row
from pipeline.operator_kind import Difficulty, kind_of
from pipeline.snapshot import Snapshot
from pipeline.source import SourceTree
from pipeline.stub_calls import stub_by_name, stub_calls

_KEY = "MPS"


class Backend(Enum):
    """What MPS runs. COMPOSED is code that only calls operators or makes views; UNKNOWN, code that is not at hand."""

    GRAPH = "MPSGraph"
    NATIVE = "native"
    COMPOSED = "composed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class SurveyRow:
    """One operator overload with an MPS row.

    `function` is what the row names; `shared` says that CPU or CUDA name it too. `path` and `line` are where the code
    stands that MPS runs: the function, or the registration of a shared function's stub. `way` are the calls from there
    to the graph. `stubs` are those that the function of CPU and CUDA calls; `stubs_by_name`: only their names say so.
    `obstacle` is why the row cannot join the shared one, empty where it can.
    """

    func: str
    function: str
    backend: Backend
    shared: bool
    path: str | None
    line: int | None
    way: tuple[str, ...]
    stubs: tuple[str, ...]
    stubs_by_name: bool
    kind: str
    difficulty: Difficulty
    obstacle: str


def survey(tree: SourceTree) -> tuple[SurveyRow, ...]:
    """One row per operator that names MPS in its dispatch table, in the file's order."""
    return survey_snapshot(Snapshot(tree))


def survey_snapshot(snapshot: Snapshot) -> tuple[SurveyRow, ...]:
    """As `survey`, on a tree that is parsed already."""
    surveyor = _Surveyor(snapshot)
    rows = ((entry, entry.row(_KEY)) for entry in snapshot.functions.entries.values())
    return tuple(surveyor.row(entry, row) for entry, row in rows if row is not None)


def graphs_per_file(rows: tuple[SurveyRow, ...]) -> dict[str, int]:
    """How many of `rows` run a graph from each host file, most first."""
    counts = Counter(row.path for row in rows if row.backend is Backend.GRAPH and row.path is not None)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


class _Surveyor:
    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.graphs = GraphCode(snapshot.host)
        self.stubs: Mapping[str, Stub] = snapshot.stubs
        self.calls = stub_calls(snapshot.tree, self.stubs)

    def row(self, entry: Entry, row: Row) -> SurveyRow:
        function = row.kernel.rpartition("::")[2]
        shared = not {"CPU", "CUDA"}.isdisjoint(row.keys)
        stubs, by_name = self._stubs(entry, row)
        found = definitions(self.snapshot.host, function)
        if not found and shared:
            found = tuple(place for stub in stubs for place in registrations(self.snapshot.host, stub))
        places = [definition.place for definition in found]
        way = self.graphs.way(places)
        kind = kind_of(entry, self.stubs[stubs[0]] if stubs else None)
        return SurveyRow(
            func=entry.func,
            function=row.kernel,
            backend=self._backend(places, way, function if shared else ""),
            shared=shared,
            path=found[0].path if found else None,
            line=found[0].line if found else None,
            way=way,
            stubs=stubs,
            stubs_by_name=by_name,
            kind=kind.name,
            difficulty=kind.difficulty,
            obstacle=self._obstacle(entry),
        )

    def _backend(self, places: list[Place], way: tuple[str, ...], shared_function: str) -> Backend:
        if way:
            return Backend.GRAPH
        if places:
            return Backend.NATIVE if self.graphs.encodes(places) else Backend.COMPOSED
        composed = shared_function in self.calls and not self.calls[shared_function]
        return Backend.COMPOSED if composed else Backend.UNKNOWN

    def _stubs(self, entry: Entry, row: Row) -> tuple[tuple[str, ...], bool]:
        """The stubs of the function that CPU and CUDA share, the one called as the operator is first."""
        kernel = row.kernel if "CPU" in row.keys else entry.shared_kernel
        if kernel is None:
            return (), False
        kernel = kernel.rpartition("::")[2]
        named = stub_by_name(entry.func, kernel, self.stubs)
        if kernel not in self.calls:
            return ((named,), True) if named else ((), False)
        called = self.calls[kernel]
        return ((named, *(stub for stub in called if stub != named)) if named in called else called), False

    def _obstacle(self, entry: Entry) -> str:
        try:
            collapse_splices(self.snapshot.functions, entry.func)
        except Refusal as refused:
            return refused.message
        return ""
