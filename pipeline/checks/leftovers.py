"""What a migration should have taken with it: a graph that still runs, helpers nobody calls, void expectations."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.changeset import Changeset
from pipeline.edits.definitions import Definition, definitions, registrations
from pipeline.edits.expectation_reader import Expectation, read_file
from pipeline.edits.forecast import KernelFacts, Verdict, predict
from pipeline.edits.hostfile import Place
from pipeline.edits.liveness import liveness_of
from pipeline.findings import Finding, Severity
from pipeline.graph_code import GraphCode
from pipeline.manifest import Dispatch, Expectations
from pipeline.native_functions import NativeFunctions
from pipeline.snapshot import Snapshot


def graph_findings(changeset: Changeset, after: Snapshot) -> Iterator[Finding]:
    """The function that MPS runs now, or anything it calls, still reaches MPSGraph (pytorch #195872)."""
    if changeset.operator.dispatch is Dispatch.DROP:
        return
    graphs = GraphCode(after.host)
    for name, places in _now_run(changeset, after).items():
        way = graphs.way(place.place for place in places)
        if way:
            what = f"{name} still runs a graph: {' -> '.join(way)}"
            hint = "call the Metal kernel in every case"
            yield _error("completeness/graph-kept", what, places[0].path, places[0].line, hint)


def _now_run(changeset: Changeset, after: Snapshot) -> dict[str, tuple[Definition, ...]]:
    """The functions and the stub that serve the changed rows, with where they are defined or registered."""
    rows = (after.functions.entries[func].row("MPS") for func in changeset.rows if func in after.functions.entries)
    names = {row.kernel.rpartition("::")[2] for row in rows if row is not None}
    if changeset.operator.dispatch is Dispatch.KEEP:
        names.update(changeset.legacy)
    found = {name: definitions(after.host, name) for name in sorted(names)}
    if changeset.operator.stub:
        found[changeset.operator.stub] = registrations(after.host, changeset.operator.stub)
    return {name: places for name, places in found.items() if places}


def helper_findings(changeset: Changeset, before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """A helper, type, macro or category method that something needed before the change, and nothing does now."""
    unneeded_before = {_key(before, place) for place in _unneeded(before)}
    for place in sorted(_unneeded(after)):
        if place.path not in changeset.paths() or place.path not in before.host.texts:
            continue
        key, item = _key(after, place), after.host[place.path].items[place.index]
        stood = any(key == (place.path, each.kind.value, each.names) for each in before.host[place.path].items)
        if stood and key not in unneeded_before:
            what = f"nothing needs {', '.join(item.names) or item.kind.value} any more"
            yield _error("completeness/helper-left", what, place.path, item.line, "remove it with what needed it")


def _unneeded(snapshot: Snapshot) -> frozenset[Place]:
    return liveness_of(snapshot.host).unneeded(_named_by_rows(snapshot.functions))


def _named_by_rows(functions: NativeFunctions) -> set[str]:
    return {row.kernel.rpartition("::")[2] for entry in functions.entries.values() for row in entry.rows}


def _key(snapshot: Snapshot, place: Place) -> tuple[str, str, tuple[str, ...]]:
    item = snapshot.host[place.path].items[place.index]
    return place.path, item.kind.value, item.names


def expectation_findings(changeset: Changeset, after: Snapshot) -> Iterator[Finding]:
    """Expectations that the plan makes void are gone, and none is added: upstream takes none with a migration."""
    operator = changeset.operator
    for change in changeset.files:
        if not change.path.endswith(".py") or change.after is None:
            continue
        before = read_file(change.path, change.before or b"").found
        known = [_meaning(each) for each, _ in before]
        for expectation, _ in read_file(change.path, change.after).found:
            if _meaning(expectation) in known:
                known.remove(_meaning(expectation))
            elif not any(_narrows(expectation, each) for each, _ in before):
                what = f"a {expectation.kind.value} is added for {expectation.key}"
                hint = "make the kernel pass, or narrow dtypesIfMPS"
                yield _error("completeness/expectation-added", what, change.path, expectation.line, hint)
    if operator.expectations is not Expectations.PREDICTED:
        return
    facts = KernelFacts(shared_path=operator.dispatch is Dispatch.COLLAPSE)
    for expectation in after.expectations.concerning(operator.name, *operator.opinfo):
        for judgement in predict(expectation, facts):
            if judgement.verdict is Verdict.PREDICTED:
                what = f"a {expectation.kind.value} of {expectation.key} is void: {judgement.reason}"
                yield _error("completeness/expectation-left", what, expectation.path, expectation.line, "remove it")


def _meaning(expectation: Expectation) -> tuple[object, ...]:
    return (*_scope(expectation), expectation.dtypes)


def _narrows(expectation: Expectation, before: Expectation) -> bool:
    """The same with fewer dtypes."""
    if _scope(expectation) != _scope(before) or expectation.dtypes is None:
        return False
    return before.dtypes is None or set(expectation.dtypes) <= set(before.dtypes)


def _scope(expectation: Expectation) -> tuple[object, ...]:
    where = (expectation.container, expectation.test_class, expectation.test)
    return (expectation.kind, expectation.name, expectation.variant, *where)


def _error(rule: str, message: str, path: str, line: int, hint: str) -> Finding:
    return Finding(rule, Severity.ERROR, message, path, line, hint)
