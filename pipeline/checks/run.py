"""All checks of a planned change, in the order of the evidence table."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from pipeline.changeset import Changeset
from pipeline.checks.completeness import check_completeness
from pipeline.checks.contract import check_contract, check_contract_of_fragments
from pipeline.checks.host import check_host
from pipeline.checks.numerics import check_numerics
from pipeline.checks.remembered import key_of_change, key_of_tree, remembered
from pipeline.checks.rows import check_rows
from pipeline.checks.style import check_style, check_style_of_fragments
from pipeline.errors import PipelineError
from pipeline.findings import CheckResult, Evidence, Severity
from pipeline.manifest import Operator
from pipeline.migration import Fragments, Samples
from pipeline.numerics.job import Job
from pipeline.rules import EVERY_RULE, Selection, accept
from pipeline.source import KERNELS, METAL_HEADERS, SourceTree


@dataclass(frozen=True)
class Subject:
    """What is checked: a planned change and the fragments it came from. `cache` keeps what checks compile."""

    changeset: Changeset
    fragments: Fragments
    cache: Path


@dataclass(frozen=True)
class Alone:
    """A kernel and a stub without a plan that places them. The operator's `kernel` and `host` are their paths."""

    operator: Operator
    fragments: Fragments
    tree: SourceTree
    cache: Path
    device: str = "cpu"


def run_checks(subject: Subject, selection: Selection = EVERY_RULE) -> Evidence:
    """What ran before on the same content is remembered."""

    def run(name: str, check: Callable[[Subject], CheckResult]) -> CheckResult:
        key = key_of_change(name, subject.changeset, subject.fragments)
        return remembered(subject.cache / "results", key, partial(check, subject))

    operator = subject.changeset.operator
    return side_by_side(
        {name: partial(_run, name, partial(run, name, check), operator, selection) for name, check in CHECKS.items()}
    )


def run_samples(subject: Subject) -> Samples:
    """For which dtypes the kernel agrees with the CPU; none where it could not be run."""
    try:
        result = _processors().submit(_numerics, subject).result()
    except PipelineError:
        return Samples(frozenset(), frozenset())
    wrong = {finding.rule for finding in result.findings if finding.severity is Severity.ERROR}
    reports = result.data.get("reports", ())
    differs = frozenset(dtype for report in reports if report["rule"] in wrong for dtype in report["dtypes"])
    return Samples(frozenset(result.data.get("dtypes", ())) - differs, differs)


def check_kernel(alone: Alone, selection: Selection = EVERY_RULE) -> Evidence:
    """What can be said without a plan."""

    def run(name: str, check: Callable[[Alone], CheckResult]) -> CheckResult:
        key = key_of_tree(name, alone.operator, alone.tree, alone.fragments, alone.device)
        return remembered(alone.cache / "results", key, partial(check, alone))

    return side_by_side(
        {
            name: partial(_run, name, partial(run, name, check), alone.operator, selection)
            for name, check in CHECKS_OF_A_KERNEL.items()
        }
    )


def side_by_side(checks: Mapping[str, Callable[[], CheckResult]]) -> Evidence:
    """The results in the order given. The first error is raised, and of the checks that wait none is begun then."""
    begun = {name: _processors().submit(checks[name]) for name in _IN_PROCESSES if name in checks}
    try:
        results = {name: check() for name, check in checks.items() if name not in begun}
        results |= {name: future.result() for name, future in begun.items()}
    finally:
        for future in begun.values():
            future.cancel()
    return Evidence(tuple(results[name] for name in checks))


@cache
def _processors() -> ThreadPoolExecutor:
    """One thread per processor for the checks of all operators: a check may take 600 MiB."""
    return ThreadPoolExecutor(os.cpu_count())


def _run(name: str, check: Callable[[], CheckResult], operator: Operator, selection: Selection) -> CheckResult:
    """A check that breaks has not run; it does not stop the others."""
    if not selection.runs(name):
        return CheckResult.not_run(name, "skipped: none of its rules are asked for")
    try:
        return accept(selection.of_result(check()), operator)
    except PipelineError as error:
        return CheckResult.not_run(name, str(error))


def _rows(subject: Subject) -> CheckResult:
    return check_rows(subject.changeset)


def _completeness(subject: Subject) -> CheckResult:
    return check_completeness(subject.changeset)


def _host(subject: Subject) -> CheckResult:
    changeset = subject.changeset
    return check_host(changeset.after(), changeset.paths(), subject.cache / "host", changeset.base)


def _contract(subject: Subject) -> CheckResult:
    return check_contract(subject.changeset, export_headers(subject.changeset.after(), subject.cache / "headers"))


def _contract_alone(alone: Alone) -> CheckResult:
    headers = export_headers(alone.tree, alone.cache / "headers")
    fragments = alone.fragments
    return check_contract_of_fragments(
        alone.operator, fragments.kernel or "", fragments.host or "", alone.tree, headers
    )


def _style(subject: Subject) -> CheckResult:
    return check_style(subject.changeset)


def _style_alone(alone: Alone) -> CheckResult:
    operator, fragments = alone.operator, alone.fragments
    kernel = (operator.kernel, fragments.kernel or "")
    return check_style_of_fragments(kernel, (operator.host, fragments.host or ""), alone.tree)


def _numerics(subject: Subject) -> CheckResult:
    changeset = subject.changeset
    if not subject.fragments.kernel:
        return CheckResult.not_run("numerics", "the operator needs no kernel of its own")
    return _numerics_alone(Alone(changeset.operator, subject.fragments, changeset.after(), subject.cache))


def _numerics_alone(alone: Alone) -> CheckResult:
    operator, fragments = alone.operator, alone.fragments
    include = str(export_headers(alone.tree, alone.cache / "headers"))
    job = Job(
        operator.name,
        fragments.kernel or "",
        fragments.host,
        (include,),
        alone.device,
        kernel_path=operator.kernel,
        stub_path=operator.host if fragments.host else "",
    )
    found = check_numerics(job)
    return replace(found.result, data=found.data)


CHECKS: Mapping[str, Callable[[Subject], CheckResult]] = {
    "rows": _rows,
    "completeness": _completeness,
    "host": _host,
    "contract": _contract,
    "style": _style,
    "numerics": _numerics,
}

# These wait for processes of their own; the longest is begun first.
_IN_PROCESSES = ("numerics", "host", "contract")

CHECKS_OF_A_KERNEL: Mapping[str, Callable[[Alone], CheckResult]] = {
    "contract": _contract_alone,
    "style": _style_alone,
    "numerics": _numerics_alone,
}


def export_headers(tree: SourceTree, cache: Path) -> Path:
    """The tree's Metal headers as a folder to include from, named after their content. Safe with parallel runs."""
    headers = {
        path.removeprefix("aten/src/"): tree.read(path)
        for prefix in (METAL_HEADERS, KERNELS)
        for path in tree.files(prefix)
        if path.endswith(".h")
    }
    digest = hashlib.sha256()
    for path, content in sorted(headers.items()):
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    folder = cache / digest.hexdigest()[:24]
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="part-", dir=cache))
        for path, content in headers.items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_bytes(content)
        try:
            fresh.rename(folder)
        except OSError:  # another run was first
            shutil.rmtree(fresh)
    return folder
