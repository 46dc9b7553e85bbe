"""What a tree and the manifest say of one operator: all that a draft of its code is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.authoring.functions import Function, functions_of
from pipeline.authoring.legacy import Legacy, legacy_of
from pipeline.authoring.propose import overloads, propose
from pipeline.changeset import Changeset
from pipeline.dispatch_stubs import Stub
from pipeline.edits.opinfos import OpInfo
from pipeline.errors import PipelineError, Refusal
from pipeline.manifest import MANIFEST, NO_FRAGMENT, Dispatch, Manifest, Operator
from pipeline.migration import Fragments, plan
from pipeline.native_functions import Entry
from pipeline.operator_kind import kind_of
from pipeline.snapshot import Snapshot
from pipeline.source import SourceTree
from pipeline.survey import SurveyRow, survey_snapshot


@dataclass(frozen=True)
class Facts:
    """`entries` are the overloads whose MPS code changes, the one that writes into given tensors first.

    `stub` is what the new code is registered for; where there is none, `functions` are to be defined. `change` is the
    plan without the code that is still to be written.
    """

    operator: Operator
    is_listed: bool
    entries: tuple[Entry, ...]
    kind: str
    stub: Stub | None
    functions: tuple[Function, ...]
    legacy: tuple[Legacy, ...]
    opinfos: tuple[OpInfo, ...]
    change: Changeset

    @property
    def entry(self) -> Entry:
        return self.entries[0]


def facts_of(name: str, manifest: Manifest, snapshot: Snapshot) -> Facts:
    """Raises UsageError for an unknown name, Refusal where no code can be drafted, and says why."""
    rows = survey_snapshot(snapshot)
    operator = _completed(name, manifest, snapshot, rows)
    _refuse_without_code(operator)
    entries = _entries(operator, snapshot)
    stub = _stub(operator, snapshot)
    change = plan(operator, Fragments(), snapshot)
    surveyed = [row for row in rows if row.func in {entry.func for entry in entries}]
    legacy = (found for row in surveyed if (found := legacy_of(snapshot.host, row)) is not None)
    return Facts(
        operator=operator,
        is_listed=manifest.has(name),
        entries=entries,
        kind=kind_of(entries[0], stub).name,
        stub=stub,
        functions=() if stub else _functions(operator, entries, change.after()),
        legacy=tuple(dict.fromkeys(legacy)),
        opinfos=_opinfos(operator, snapshot),
        change=change,
    )


def _completed(name: str, manifest: Manifest, snapshot: Snapshot, rows: Sequence[SurveyRow]) -> Operator:
    """The manifest's entry, what it leaves out filled in from the tree."""
    if not manifest.has(name):
        return propose(name, snapshot, rows)
    listed = manifest.operator(name)
    first = next(iter(listed.rows), name).partition(".")[0]
    try:
        proposed = propose(first, snapshot, rows)
    except PipelineError:
        return listed
    # What the manifest takes for granted is no word against what the tree says.
    dispatch = proposed.dispatch if listed.dispatch is Dispatch.COLLAPSE else listed.dispatch
    return replace(
        listed,
        dispatch=dispatch,
        stub=listed.stub or (proposed.stub if dispatch is proposed.dispatch else ""),
        into=listed.into or proposed.into,
        opinfo=listed.opinfo or proposed.opinfo,
    )


def _refuse_without_code(operator: Operator) -> None:
    if operator.dispatch is Dispatch.DROP or operator.kernel == operator.host == NO_FRAGMENT:
        what = "its composite serves MPS" if operator.dispatch is Dispatch.DROP else "kernel and host are none"
        path, line = (MANIFEST, operator.line) if operator.line else (None, None)
        raise Refusal(
            f"{operator.name} needs no code of its own: {what}",
            hint="`invoke plan` shows what changes",
            path=path,
            line=line,
        )


def _entries(operator: Operator, snapshot: Snapshot) -> tuple[Entry, ...]:
    """Those that the manifest names, else those of its name that MPS or, for a new one, the CPU runs itself."""
    key = "CPU" if operator.dispatch is Dispatch.ADD else "MPS"
    found = [snapshot.functions.entry(func) for func in operator.rows] or [
        entry for entry in overloads(snapshot, operator.name) if entry.row(key)
    ]
    if not found:
        raise Refusal(f"no row of {operator.name} names {key}", hint="name its rows in the manifest")
    return tuple(sorted(found, key=lambda entry: "!" not in entry.schema))


def _stub(operator: Operator, snapshot: Snapshot) -> Stub | None:
    if not operator.stub:
        return None
    if operator.stub not in snapshot.stubs:
        raise Refusal(
            f"{snapshot.tree.label} declares no {operator.stub}",
            hint="correct `stub:` in the manifest, or plan on another commit",
        )
    return snapshot.stubs[operator.stub]


def _functions(operator: Operator, entries: Sequence[Entry], after: SourceTree) -> tuple[Function, ...]:
    """What MPS's own rows name once the plan has changed them."""
    found: list[Function] = []
    for entry in entries:
        row = entry.row("MPS")
        if entry.shared_kernel and operator.dispatch is not Dispatch.KEEP:
            raise Refusal(
                f"{entry.func}: CPU and CUDA share {entry.shared_kernel}, and nothing tells which stub that calls",
                hint="name it as `stub:` in the manifest",
            )
        if row is None and operator.dispatch is not Dispatch.ADD:
            raise Refusal(f"{entry.func} has no row for MPS", hint="correct `rows:` in the manifest")
        if row is not None and operator.dispatch is Dispatch.COLLAPSE:
            raise Refusal(
                f"{entry.func} has no row that CPU and CUDA share", hint="write `dispatch: keep` in the manifest"
            )
        name = row.kernel.rpartition("::")[2] if row else f"{entry.func.replace('.', '_')}_mps"
        found += functions_of(after, entry, name)
    if not found:
        raise Refusal(f"torchgen declares no function for {entries[0].func}", hint="`invoke check` says more")
    # Rows of several overloads may name overloaded functions: each is found for each.
    return tuple({(each.name, each.parameters): each for each in reversed(found)}.values())[::-1]


def _opinfos(operator: Operator, snapshot: Snapshot) -> tuple[OpInfo, ...]:
    names = (operator.name, *operator.opinfo, *(func.partition(".")[0] for func in operator.rows))
    return tuple(each for each in snapshot.expectations.opinfos if any(each.concerns(name) for name in names))
