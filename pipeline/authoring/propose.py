"""The manifest entry for an operator, as far as a tree tells it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from pipeline.dispatch_stubs import Stub
from pipeline.errors import Refusal, UsageError
from pipeline.manifest import Dispatch, Operator, State, Targets, Workflow, targets_of
from pipeline.native_functions import Entry
from pipeline.operator_kind import kind_of
from pipeline.snapshot import Snapshot
from pipeline.source import KERNELS, NATIVE_FUNCTIONS, OPERATIONS
from pipeline.stub_calls import stub_by_name, stub_calls
from pipeline.survey import Backend, SurveyRow

_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")


def propose(name: str, snapshot: Snapshot, rows: Sequence[SurveyRow]) -> Operator:
    """The entry of an operator of native_functions.yaml; `rows` is the survey of the same tree.

    Raises UsageError for a name that the tree does not know, Refusal for an operator that needs no kernel.
    """
    entries = overloads(snapshot, name)
    if not entries:
        names = {func.partition(".")[0] for func in snapshot.functions.entries}
        near = ", ".join(difflib.get_close_matches(name, names, n=3))
        raise UsageError(
            f"neither the manifest nor {snapshot.tree.label} has an operator {name!r}",
            hint=f"is it {near}?" if near else "write it as in native_functions.yaml",
        )
    surveyed = [row for row in rows if row.func.partition(".")[0] == name]
    own = [row for row in surveyed if not row.shared and row.backend is not Backend.NATIVE]
    graphs = [row for row in surveyed if row.shared and row.backend is Backend.GRAPH]
    if own:
        return _of_own_rows(name, snapshot, own)
    if graphs:
        return _entry(name, snapshot, graphs, Dispatch.KEEP, graphs[0].stubs)
    if surveyed:
        first = surveyed[0]
        where = f"in {first.path}:{first.line}" if first.path else "with CPU and CUDA"
        raise Refusal(
            f"{name} does not run on MPSGraph: MPS runs {first.function} {where}", hint="nothing is to be drafted"
        )
    return _new(name, snapshot, entries)


def overloads(snapshot: Snapshot, name: str) -> list[Entry]:
    return [entry for func, entry in snapshot.functions.entries.items() if func.partition(".")[0] == name]


def as_entry(operator: Operator) -> dict[str, Any]:
    """The entry as the manifest's YAML writes it, listed until its code passes the checks."""
    usual = Dispatch.ADD if operator.workflow is Workflow.NEW else Dispatch.COLLAPSE
    fields: dict[str, Any] = {
        "name": operator.name,
        "workflow": "" if operator.workflow is Workflow.MIGRATE else operator.workflow.value,
        "kind": operator.kind,
        "dispatch": "" if operator.dispatch is usual else operator.dispatch.value,
        "rows": list(operator.rows),
        "stub": operator.stub,
        **_stem(operator.into),
        "opinfo": list(operator.opinfo),
        "status": {"state": State.LISTED.value},
    }
    return {key: value for key, value in fields.items() if value}


def _stem(into: Targets | None) -> Mapping[str, str]:
    if into is None:
        return {}
    return {"new_file" if into.may_be_new else "into": PurePosixPath(into.host).stem}


def _of_own_rows(name: str, snapshot: Snapshot, own: Sequence[SurveyRow]) -> Operator:
    free = [row for row in own if not row.obstacle]
    if free:
        stubs = next((row.stubs for row in free if row.stubs), ())
        return _entry(name, snapshot, free, Dispatch.COLLAPSE, stubs)
    entry = snapshot.functions.entry(own[0].func)
    keys = {key for row in entry.rows for key in row.keys}
    composed = not {"CPU", "CUDA"} & keys and any(key in keys for key in _COMPOSITE)
    return _entry(name, snapshot, own, Dispatch.DROP if composed else Dispatch.KEEP, ())


def _new(name: str, snapshot: Snapshot, entries: Sequence[Entry]) -> Operator:
    """An operator that MPS lacks: its rows are those that CPU has and no composite serves."""
    rows = [entry for entry in entries if entry.row("CPU") and not any(entry.row(key) for key in _COMPOSITE)]
    if not rows:
        raise Refusal(
            f"{name} has no row for the CPU: it is made of other operators, or of none that MPS could have",
            path=NATIVE_FUNCTIONS,
            line=entries[0].line,
            hint="draft the operators that it calls",
        )
    stub = next((found for entry in rows if (found := _stub_of(snapshot, entry))), None)
    return _described(
        name, snapshot, tuple(entry.func for entry in rows), Dispatch.ADD, stub, Workflow.NEW, _camel(name)
    )


def _stub_of(snapshot: Snapshot, entry: Entry) -> str | None:
    kernel = entry.shared_kernel
    if kernel is None:
        return None
    called = stub_calls(snapshot.tree, snapshot.stubs).get(kernel)
    named = stub_by_name(entry.func, kernel, snapshot.stubs)
    if called is None or named in called:
        return named
    return called[0] if called else None


def _entry(
    name: str, snapshot: Snapshot, rows: Sequence[SurveyRow], dispatch: Dispatch, stubs: Sequence[str]
) -> Operator:
    legacy = next((PurePosixPath(row.path).stem for row in rows if row.path), _camel(name))
    named = () if dispatch is Dispatch.KEEP and stubs else tuple(row.func for row in rows)
    return _described(
        name, snapshot, named, dispatch, stubs[0] if stubs else None, Workflow.MIGRATE, legacy, rows[0].func
    )


def _described(
    name: str,
    snapshot: Snapshot,
    rows: tuple[str, ...],
    dispatch: Dispatch,
    stub: str | None,
    workflow: Workflow,
    stem: str,
    func: str = "",
) -> Operator:
    """`stem` is that of the host file which the code goes into where its stub names none."""
    declared = snapshot.stubs.get(stub) if stub else None
    kind = kind_of(snapshot.functions.entry(func or rows[0]), declared).name
    tested = {name, name.strip("_")}
    opinfos = (each.name for each in snapshot.expectations.opinfos if any(map(each.concerns, tested)))
    return Operator(
        name=name,
        workflow=workflow,
        kind=kind,
        dispatch=dispatch,
        rows=rows,
        stub=stub or "",
        into=_targets(snapshot, stem if declared is None or kind == "loss" else _home(snapshot, declared) or stem),
        opinfo=tuple(dict.fromkeys(name for name in opinfos if not name.startswith(("_refs.", "_foreach_")))),
    )


def _targets(snapshot: Snapshot, stem: str) -> Targets:
    there = snapshot.tree.has(f"{KERNELS}/{stem}.metal") and snapshot.tree.has(f"{OPERATIONS}/{stem}.mm")
    return targets_of(stem, may_be_new=not there)


def _home(snapshot: Snapshot, stub: Stub) -> str | None:
    """The stem whose `.mm` registers most stubs of the same header and has a `.metal` beside it."""
    places = (
        PurePosixPath(place.path).stem
        for other in snapshot.stubs.values()
        if other.header == stub.header
        for place in snapshot.host.registering.get(other.name, ())
    )
    return _commonest(stem for stem in places if snapshot.tree.has(f"{KERNELS}/{stem}.metal"))


def _commonest(names: Iterable[str]) -> str | None:
    counts = Counter(names)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else None


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
