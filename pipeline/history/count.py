"""The rows of native_functions.yaml that run on MPSGraph, counted at many commits of one repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.errors import PipelineError
from pipeline.git import Repository
from pipeline.history.commits import Moment
from pipeline.history.host_calls import HostCalls, host_calls
from pipeline.history.objects import Files, ObjectReader
from pipeline.history.rows import MpsRow, mps_rows
from pipeline.history.stub_table import StubTable
from pipeline.source import NATIVE_FUNCTIONS


@dataclass(frozen=True)
class Counts:
    """Rows that name MPS. `own`: MPS alone runs the function; `shared`: CPU or CUDA run it too. `own_graph` and
    `shared_graph` reach a call that runs an MPSGraph. `unseen`: the function of an own row stands in no host file.
    """

    own: int
    shared: int
    own_graph: int
    shared_graph: int
    unseen: int

    @property
    def graph(self) -> int:
        return self.own_graph + self.shared_graph


@dataclass(frozen=True)
class Point:
    """The counts at one moment; None where the commit could not be read, for the reason in `problem`.

    With counts, `problem` names a host file that could not be read and was left out.
    """

    moment: Moment
    counts: Counts | None
    problem: str = ""


def count_moments(repository: Repository, wanted: Iterable[Moment]) -> Iterator[Point]:
    """One point per moment, in their order. Files that did not change are not read again."""
    counter = _Counter(ObjectReader(repository))
    for moment in wanted:
        yield counter.point(moment)


class _Counter:
    """Keeps what the last commit said of the rows, of the host files and of the stubs, as long as it stays true."""

    def __init__(self, objects: ObjectReader) -> None:
        self._objects = objects
        self._stubs = StubTable(objects)
        self._files = Files("", {}, {}, {})
        self._rows: tuple[MpsRow, ...] = ()
        self._host = HostCalls({})
        self._counts = Counts(0, 0, 0, 0, 0)

    def point(self, moment: Moment) -> Point:
        try:
            files = self._objects.files(moment.commit)
            if files != self._files:
                self._turn_to(files)
            return Point(moment, self._counts, self._host.unreadable)
        except PipelineError as error:
            return Point(moment, None, str(error))

    def _turn_to(self, files: Files) -> None:
        known, self._files = self._files, Files("", {}, {}, {})
        if files.rows != known.rows:
            self._rows = mps_rows(self._objects.text(files.rows, NATIVE_FUNCTIONS))
        if files.host != known.host:
            self._host = host_calls({path: self._objects.host_text(name, path) for path, name in files.host.items()})
        self._stubs.turn_to(files)
        self._counts = self._count()
        self._files = files

    def _count(self) -> Counts:
        host = self._host
        bodies = {row.entry.func: host.defining(row.function) for row in self._rows}
        stubs = self._stubs.called(row for row in self._rows if row.shared and not bodies[row.entry.func])
        bodies |= {func: host.registering(called) for func, called in stubs.items()}
        own = [bodies[row.entry.func] for row in self._rows if not row.shared]
        shared = [bodies[row.entry.func] for row in self._rows if row.shared]
        return Counts(
            own=len(own),
            shared=len(shared),
            own_graph=sum(not host.on_graph.isdisjoint(found) for found in own),
            shared_graph=sum(not host.on_graph.isdisjoint(found) for found in shared),
            unseen=sum(not found for found in own),
        )
