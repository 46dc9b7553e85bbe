"""Kernels with planted faults: `tests/kernels/X.metal` is right, and wrong in one way per number of `FAULT`."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import torch

from pipeline.findings import Outcome
from pipeline.numerics.check import run
from pipeline.numerics.job import Job
from pipeline.numerics.result import NumericsResult

KERNELS = Path(__file__).parent / "kernels"
TORCH_HEADERS = Path(torch.__file__).parent / "include"


def job(operator: str, fault: int = 0, *, include: Path | None = None, dtypes: tuple[str, ...] = ()) -> Job:
    """The check of `tests/kernels/OPERATOR.metal`, with its stub where there is one."""
    stub = KERNELS / f"{operator}.mm"
    source = f"#define FAULT {fault}\n{(KERNELS / f'{operator}.metal').read_text()}"
    text = stub.read_text() if stub.exists() else None
    folders = (str(include),) if include else ()
    return Job(operator, source, text, folders, dtypes=dtypes, kernel_path=f"kernels/{operator}.metal")


def check(
    operator: str, fault: int = 0, *, include: Path | None = None, dtypes: tuple[str, ...] = ()
) -> NumericsResult:
    return run(job(operator, fault, include=include, dtypes=dtypes))


def assert_silent(result: NumericsResult, *besides: str) -> None:
    """Passed, without a warning but of the rules in `besides`."""
    assert result.result.outcome is Outcome.PASSED, [str(finding) for finding in result.result.findings]
    allowed = {"numerics/unguarded-dtype", *besides}
    assert [str(finding) for finding in result.result.findings if finding.rule not in allowed] == []


def messages(result: NumericsResult, rule: str) -> list[str]:
    return [finding.message for finding in result.result.findings if finding.rule == rule]


def changed_headers(folder: Path, header: str, kernel: str, changes: Iterable[tuple[str, str]]) -> Path:
    """A copy of torch's Metal headers, with replacements in the body of one kernel template of `header`."""
    for part in ("c10/metal", "ATen/native/mps/kernels"):
        shutil.copytree(TORCH_HEADERS / part, folder / part, dirs_exist_ok=True)
    path = folder / header
    text = path.read_text()
    start = text.index("{", text.rindex(f"kernel void {kernel}("))
    end = text.index("\n}\n", start)
    body = text[start:end]
    for old, new in changes:
        assert old in body, f"{kernel} does not say {old}"
        body = body.replace(old, new)
    path.write_text(text[:start] + body + text[end:])
    return folder
