"""The edited native_functions.yaml: torchgen parses it, and it differs from the old one exactly as planned.

torchgen accepts some faults silently (MPS in two rows, a misspelt function, an overload left behind): rules of their
own here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from torchgen.gen import parse_native_yaml_struct

from pipeline.changeset import Changeset
from pipeline.collector import collector_paused
from pipeline.errors import PipelineError
from pipeline.findings import CheckResult, Finding, Severity
from pipeline.manifest import Dispatch
from pipeline.native_functions import Entry, NativeFunctions
from pipeline.source import MPS, NATIVE_FUNCTIONS, TAGS, SourceTree

_CHECK = "rows"


def check_rows(changeset: Changeset) -> CheckResult:
    after = changeset.after()
    try:
        old, new = _functions(changeset.base), _functions(after)
    except PipelineError as error:
        return CheckResult.from_findings(_CHECK, "read both files", [_error("rows/unreadable", str(error))])
    findings = [
        *_unplanned(changeset, old, new),
        *_mps_twice(new),
        *_left_behind(changeset, new),
        *_legacy_names(changeset, new),
        *_unknown_kernels(changeset, old, new, after),
        *_torchgen(changeset, after),
    ]
    count = len(changeset.rows)
    summary = f"torchgen parses {len(new.entries)} entries; {count} changed as planned" if not findings else "compared"
    return CheckResult.from_findings(_CHECK, summary, findings)


def _unplanned(changeset: Changeset, old: NativeFunctions, new: NativeFunctions) -> Iterator[Finding]:
    for func in sorted(old.entries.keys() | new.entries.keys()):
        before, after = old.entries.get(func), new.entries.get(func)
        if before is None or after is None:
            yield _error(
                "rows/unplanned-change", f"the entry {func} {'appears' if before is None else 'is gone'}", after
            )
        elif func in changeset.rows:
            wanted = _planned_table(changeset, before)
            if _table(after) != wanted or _rest(after) != _rest(before):
                yield _error(
                    "rows/wrong-change",
                    f"{func} should dispatch {_show(wanted)}, but has {_show(_table(after))}",
                    after,
                )
        elif _table(after) != _table(before) or _rest(after) != _rest(before):
            yield _error("rows/unplanned-change", f"{func} changed, which the plan does not say", after)


def _planned_table(changeset: Changeset, before: Entry) -> dict[str, str]:
    """What each key should run afterwards."""
    table = _table(before)
    mps = table.pop("MPS", None)
    match changeset.operator.dispatch:
        case Dispatch.COLLAPSE:
            return {**table, "MPS": before.shared_kernel or ""}
        case Dispatch.DROP:
            return table
        case Dispatch.ADD:
            return {**table, "MPS": before.shared_kernel or f"{before.func.replace('.', '_')}_mps"}
        case Dispatch.KEEP:
            return {**table, "MPS": mps} if mps else table


def _mps_twice(new: NativeFunctions) -> Iterator[Finding]:
    for entry in new.entries.values():
        rows = [row for row in entry.rows if "MPS" in row.keys]
        if len(rows) > 1:
            yield _error(
                "rows/mps-twice", f"{entry.func} has MPS in two rows; torchgen takes the last", entry, rows[-1].line
            )


def _left_behind(changeset: Changeset, new: NativeFunctions) -> Iterator[Finding]:
    """An overload of the same operator that still names a function the plan takes away."""
    for legacy in changeset.legacy:
        for func in new.naming(legacy):
            entry = new.entries[func]
            row = next(row for row in entry.rows if row.kernel.rpartition("::")[2] == legacy)
            if changeset.operator.dispatch is not Dispatch.KEEP:
                yield _error(
                    "rows/overload-left", f"{func} still runs {legacy}", entry, row.line, "collapse this row too"
                )


def _legacy_names(changeset: Changeset, new: NativeFunctions) -> Iterator[Finding]:
    """A legacy name anywhere else in the file, such as a comment or another key."""
    if changeset.operator.dispatch is Dispatch.KEEP:
        return
    named = {row.kernel_span[1] for entry in new.entries.values() for row in entry.rows}
    for legacy in changeset.legacy:
        for match in re.finditer(rf"\b{re.escape(legacy)}\b", new.text):
            if match.end() not in named:
                line = new.text.count("\n", 0, match.start()) + 1
                yield _error("rows/legacy-name-left", f"{legacy} is still mentioned", None, line, "remove the mention")


def _unknown_kernels(
    changeset: Changeset, old: NativeFunctions, new: NativeFunctions, after: SourceTree
) -> Iterator[Finding]:
    """torchgen only emits a declaration, so a misspelt function is found by the linker, an hour later."""
    known = {row.kernel for entry in old.entries.values() for row in entry.rows}
    for func in changeset.rows:
        entry = new.entries.get(func)
        row = entry.row("MPS") if entry else None
        if row is not None and row.kernel not in known and not _is_defined(row.kernel, after):
            yield _error("rows/unknown-kernel", f"{func} names {row.kernel}, which nothing defines", entry, row.line)


def _is_defined(kernel: str, after: SourceTree) -> bool:
    word = re.compile(rf"\b{re.escape(kernel.rpartition('::')[2])}\b".encode())
    return any(word.search(after.read(path)) for path in after.files(MPS) if path.endswith((".mm", ".cpp", ".h")))


class _LineLoader(yaml.CSafeLoader):
    """torchgen wants every entry's line; its own loader is pure Python and takes seconds."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        return {**super().construct_mapping(node, deep=deep), "__line__": node.start_mark.line + 1}


def _torchgen(changeset: Changeset, after: SourceTree) -> Iterator[Finding]:
    said = _torchgen_says(after)
    if said and _torchgen_says(changeset.base):
        yield Finding(
            "rows/torchgen-too-old", Severity.WARNING, f"torchgen cannot read this tree before the change: {said}"
        )
    elif said:
        yield _error("rows/torchgen", f"torchgen refuses the file: {said}")


def _torchgen_says(tree: SourceTree) -> str:
    """What the installed torchgen has against the tree's file, fed directly: by path it answers from a cache."""
    if not tree.has(TAGS):
        return f"the tree has no {TAGS}"
    tags = {entry["tag"] for entry in yaml.load(tree.read(TAGS), yaml.CSafeLoader)}
    try:
        with collector_paused():
            parse_native_yaml_struct(yaml.load(tree.read(NATIVE_FUNCTIONS), _LineLoader), tags, path=NATIVE_FUNCTIONS)
    except Exception as error:  # torchgen asserts, so anything may come
        return (" ".join(str(error).split()) or type(error).__name__)[:300]
    return ""


def _functions(tree: SourceTree) -> NativeFunctions:
    return NativeFunctions(tree.read(NATIVE_FUNCTIONS).decode())


def _table(entry: Entry) -> dict[str, str]:
    return {key: row.kernel for row in entry.rows for key in row.keys}


def _rest(entry: Entry) -> tuple[object, ...]:
    return (
        entry.schema,
        entry.structured,
        entry.structured_delegate,
        entry.structured_inherits,
        entry.autogen,
        entry.tags,
        entry.ufunc_inner_loop,
    )


def _show(table: dict[str, str]) -> str:
    return ", ".join(f"{key}: {kernel}" for key, kernel in sorted(table.items())) or "nothing"


def _error(rule: str, message: str, entry: Entry | None = None, line: int | None = None, hint: str = "") -> Finding:
    at = line if line is not None else entry.line if entry else None
    return Finding(rule, Severity.ERROR, message, NATIVE_FUNCTIONS, at, hint)
