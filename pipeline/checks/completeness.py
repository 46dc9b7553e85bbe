"""Nothing of the old path is left beside the new one, and nothing of the new one is missing."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.changeset import Changeset
from pipeline.checks.leftovers import expectation_findings, graph_findings, helper_findings
from pipeline.edits.definitions import definitions, registrations
from pipeline.findings import CheckResult, Finding, Severity
from pipeline.manifest import Dispatch
from pipeline.snapshot import Snapshot
from pipeline.source import KERNELS, MPS, OPERATIONS, SourceTree

_CHECK = "completeness"
# The globs of upstream's aten/src/ATen/CMakeLists.txt, for a tree that lacks the file.
_USUAL_GLOBS = ("native/mps/*.mm", "native/mps/operations/*.mm", "native/mps/kernels/*.metal")
_BUILD_FILE = "aten/src/ATen/CMakeLists.txt"
_BUILT = (".mm", ".metal", ".cpp")


@dataclass(frozen=True)
class _Glob:
    """A pattern of CMake's file(GLOB) or, with `recurses`, file(GLOB_RECURSE), which looks into folders below too."""

    pattern: str
    recurses: bool

    def finds(self, path: str) -> bool:
        deep = self.recurses or path.count("/") == self.pattern.count("/")
        return deep and fnmatch.fnmatch(path, self.pattern)


def check_completeness(changeset: Changeset) -> CheckResult:
    before, after = Snapshot(changeset.base), Snapshot(changeset.after())
    findings = [
        *_definitions_left(changeset, after),
        *_includes_left(changeset, after),
        *_registration(changeset, after),
        *graph_findings(changeset, after),
        *helper_findings(changeset, before, after),
        *expectation_findings(changeset, after),
        *_unbuilt(changeset, after.tree),
    ]
    summary = (
        f"{len(changeset.legacy)} legacy functions, graphs and helpers looked for in {len(after.host.paths)} host "
        f"files; {'registration, ' if changeset.operator.stub else ''}expectations and build globs"
    )
    return CheckResult.from_findings(_CHECK, summary, findings)


def _definitions_left(changeset: Changeset, after: Snapshot) -> Iterator[Finding]:
    """With `dispatch: keep` the function keeps its name and gets a Metal body, so its definition has to be there."""
    kept = changeset.operator.dispatch is Dispatch.KEEP
    for name in changeset.legacy:
        found = definitions(after.host, name)
        if kept and not found:
            yield _error(
                "completeness/definition-missing", f"the row still names {name}, which no host file defines", OPERATIONS
            )
        for definition in () if kept else found:
            yield _error(
                "completeness/legacy-definition-left",
                f"{name} is still defined",
                definition.path,
                definition.line,
                "remove it",
            )
        for path in () if kept else after.host.paths:
            for entry in after.host[path].entries:
                if name in entry.uses and name not in entry.functions:
                    yield _error("completeness/legacy-mention-left", f"{name} is still named", path, entry.item.line)


def _includes_left(changeset: Changeset, after: Snapshot) -> Iterator[Finding]:
    """The `*_native.h` of an operator whose function left this file; others were there before and stay."""
    operators = {func.partition(".")[0].removesuffix("_") for func in changeset.rows}
    for path in changeset.paths():
        if not path.endswith(".mm") or not after.tree.has(path):
            continue
        entries = after.host[path].entries
        for entry in entries:
            include = re.search(r"ATen/ops/(\w+)_native\.h", entry.item.code)
            if include and include.group(1) in operators and not after.headers.serves(include.group(), entries):
                yield _error(
                    "completeness/include-left", f"nothing here needs {include.group()} any more", path, entry.item.line
                )


def _registration(changeset: Changeset, after: Snapshot) -> Iterator[Finding]:
    stub = changeset.operator.stub
    if not stub or changeset.operator.dispatch is Dispatch.DROP:
        return
    found = registrations(after.host, stub)
    if not found:
        yield _error("completeness/not-registered", f"no host file registers {stub} for MPS", OPERATIONS)
    for again in found[1:]:
        yield _error(
            "completeness/registered-twice", f"{stub} is registered here too", again.path, again.line, "keep one"
        )


def _unbuilt(changeset: Changeset, after: SourceTree) -> Iterator[Finding]:
    globs = _build_globs(after)
    for change in changeset.files:
        if change.before is not None or not change.path.startswith(MPS) or not change.path.endswith(_BUILT):
            continue
        relative = change.path.removeprefix("aten/src/ATen/")
        if not any(glob.finds(relative) for glob in globs):
            yield _error(
                "completeness/not-built",
                "no glob of the build finds this new file",
                change.path,
                hint=f"put it in {KERNELS} or {OPERATIONS}",
            )


def _build_globs(tree: SourceTree) -> tuple[_Glob, ...]:
    found: list[_Glob] = []
    if tree.has(_BUILD_FILE):
        text = tree.read(_BUILD_FILE).decode()
        for recurses, patterns in re.findall(r"file\(\s*GLOB(_RECURSE)?\b([^)]*)\)", text):
            found += [_Glob(each, bool(recurses)) for each in re.findall(r'"(native/mps/[^"]*)"', patterns)]
    return tuple(found) or tuple(_Glob(each, recurses=False) for each in _USUAL_GLOBS)


def _error(rule: str, message: str, path: str, line: int | None = None, hint: str = "") -> Finding:
    return Finding(rule, Severity.ERROR, message, path, line, hint)
