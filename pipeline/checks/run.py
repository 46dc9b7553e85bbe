"""All checks of a planned change, in the order of the evidence table."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.changeset import Changeset
from pipeline.checks.completeness import check_completeness
from pipeline.checks.host import check_host
from pipeline.checks.numerics import check_numerics
from pipeline.checks.rows import check_rows
from pipeline.errors import PipelineError
from pipeline.findings import CheckResult, Evidence
from pipeline.migration import Fragments
from pipeline.numerics.job import Job
from pipeline.source import KERNELS, METAL_HEADERS, SourceTree


@dataclass(frozen=True)
class Subject:
    """What is checked: a planned change and the fragments it came from. `cache` keeps what checks compile."""

    changeset: Changeset
    fragments: Fragments
    cache: Path


def run_checks(subject: Subject) -> Evidence:
    return Evidence(tuple(_run(name, check, subject) for name, check in CHECKS.items()))


def check_kernel(
    operator: str, fragments: Fragments, kernel_path: str, tree: SourceTree, cache: Path, device: str
) -> Evidence:
    """What can be said of a kernel and a stub alone, without a plan that places them."""
    include = str(export_headers(tree, cache / "headers"))
    job = Job(operator, fragments.kernel or "", fragments.host, (include,), device, kernel_path=kernel_path)
    return Evidence((check_numerics(job).result,))


def _run(name: str, check: Callable[[Subject], CheckResult], subject: Subject) -> CheckResult:
    """A check that breaks has not run; it does not stop the others."""
    try:
        return check(subject)
    except PipelineError as error:
        return CheckResult.not_run(name, str(error))


def _rows(subject: Subject) -> CheckResult:
    return check_rows(subject.changeset)


def _completeness(subject: Subject) -> CheckResult:
    return check_completeness(subject.changeset)


def _host(subject: Subject) -> CheckResult:
    changeset = subject.changeset
    return check_host(changeset.after(), changeset.paths(), subject.cache / "host", changeset.base)


def _numerics(subject: Subject) -> CheckResult:
    operator, fragments = subject.changeset.operator, subject.fragments
    if not fragments.kernel:
        return CheckResult.not_run("numerics", "the operator needs no kernel of its own")
    include = str(export_headers(subject.changeset.after(), subject.cache / "headers"))
    job = Job(operator.name, fragments.kernel, fragments.host, (include,), kernel_path=operator.kernel)
    return check_numerics(job).result


CHECKS: Mapping[str, Callable[[Subject], CheckResult]] = {
    "rows": _rows,
    "completeness": _completeness,
    "host": _host,
    "numerics": _numerics,
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
