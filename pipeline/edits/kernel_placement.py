"""Where in a kernel file new functors and registrations go: among their kin, in the file's own order and style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.edits.items import Kind
from pipeline.edits.kernel_file import Call, KernelFile

_WORDS_OF_ALL = {"REGISTER", "INSTANTIATE", "OP", "OPS", "KERNEL", "KERNELS"}
_COMPLEX = ("float2", "half2")


@dataclass(frozen=True)
class Place:
    """Before which item to insert, and whether as a paragraph: set off by blank lines."""

    index: int
    paragraph: bool


@dataclass(frozen=True)
class _Run:
    """Registrations that follow each other without a gap; `end` is the index after them and an `#if` that goes on.

    `titled`: a comment stands directly above, so they are of a special sort.
    """

    calls: dict[int, Call]
    end: int
    titled: bool

    @property
    def is_paragraph(self) -> bool:
        """The registrations of an operator or two through one macro, rather than a list of many operators."""
        operators = {call.arguments[:1] for call in self.calls.values()}
        one_macro = len({call.macro for call in self.calls.values()}) == 1
        return one_macro and (len(operators) == 1 or len(self.calls) >= 3 * len(operators))


class KernelPlacement:
    """The places in one kernel file."""

    def __init__(self, file: KernelFile) -> None:
        self.file = file
        self.runs = _runs(file)
        self.clusters = _clusters(file)

    @property
    def interleaved(self) -> bool:
        """Functors stand each above its registrations, not all above all."""
        largest = max((len(cluster) for cluster in self.clusters), default=0)
        return len(self.clusters) > 2 and largest * 2 < sum(map(len, self.clusters))

    def of_registrations(self, calls: Sequence[Call], previous: Place | None = None, *, block: bool = False) -> Place:
        """Where a group of registrations of one macro goes: after its nearest kin.

        What the file registers with no such macro goes with the operator's `previous` group. A `block` holds more than
        registrations and splits no run of them.
        """
        if not self.runs or not calls:
            return Place(len(self.file.items), True)
        if self.interleaved:
            return Place(self._below_macro(self.runs[-1].end, calls), True)
        candidates = [(run, index) for run in self.runs for index in run.calls]
        run, index = max(candidates, key=lambda candidate: self._nearness(calls, *candidate))
        if previous is not None and run.calls[index].macro != calls[0].macro:
            return previous
        if block or run.is_paragraph or run.calls[index].macro != calls[0].macro:
            return Place(self._below_macro(run.end, calls), True)
        return Place(index + 1, False)

    def of_functors(self, before: int) -> int:
        """The index to insert functors at, above the registrations that go to index `before`."""
        above = [cluster for cluster in self.clusters if cluster[-1] < before]
        if self.interleaved or not above:
            return before
        return max(above, key=len)[-1] + 1

    def _nearness(self, calls: Sequence[Call], run: _Run, index: int) -> tuple[bool, bool, int, bool, bool, int]:
        """The same macro counts most, then complex beside complex, a paragraph of that macro, and the last of those."""
        call = run.calls[index]
        is_complex = all(map(_is_complex, calls)) == _is_complex(call)
        kinship = max(_kinship(calls[0].macro, base.macro) for base in (call, *self.file.bases(call)))
        return call.macro == calls[0].macro, is_complex, kinship, not run.titled, run.is_paragraph, index

    def _below_macro(self, index: int, calls: Sequence[Call]) -> int:
        """Not above the definition of a macro that is called."""
        macros = {call.macro for call in calls}
        defined = (i + 1 for i, item in enumerate(self.file.items) if macros & set(item.names))
        return max([index, *defined])


def _runs(file: KernelFile) -> list[_Run]:
    runs: list[_Run] = []
    calls: dict[int, Call] = {}
    for index in range(len(file.items) + 1):
        if index in file.registrations and not file.items[index].parents:
            calls[index] = file.registrations[index]
        elif calls:
            first = min(calls)
            titled = first > 0 and file.items[first - 1].kind is Kind.COMMENT
            runs.append(_Run(calls, _past_guards(file, index), titled))
            calls = {}
    return runs


def _past_guards(file: KernelFile, index: int) -> int:
    """After the `#if` blocks of registrations that follow directly."""
    items = file.items
    while index < len(items) and items[index].kind is Kind.IF:
        end = next(i for i in range(index, len(items)) if items[i].kind is Kind.ENDIF and not items[i].parents) + 1
        inside = [i for i in range(index, end) if items[i].kind is Kind.CALL]
        if not inside or any(i not in file.registrations for i in inside):
            break
        index = end
    return index


def _clusters(file: KernelFile) -> list[list[int]]:
    """The indexes of functors at file level, in groups that registrations stand between."""
    clusters: list[list[int]] = []
    current: list[int] = []
    for index, item in enumerate(file.items):
        if item.kind is Kind.TYPE and not item.parents and any(name.endswith("_functor") for name in item.names):
            current.append(index)
        elif index in file.registrations and current:
            clusters.append(current)
            current = []
    return [*clusters, current] if current else clusters


def _kinship(one: str, other: str) -> int:
    """How many telling words two macros share: UNARY, BINARY, ALPHA, OPMATH."""
    words = set(one.split("_")) - _WORDS_OF_ALL
    return 2 * len(words & set(other.split("_"))) - len(words ^ (set(other.split("_")) - _WORDS_OF_ALL))


def _is_complex(call: Call) -> bool:
    return any(argument in _COMPLEX for argument in call.arguments)
