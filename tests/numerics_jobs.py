"""Checks of the project's own operators, with something changed in the kernel or the stub."""

from __future__ import annotations

from dataclasses import replace

from pipeline.numerics.job import Job
from pipeline.numerics.result import NumericsResult
from tests.project import ROOT


def ours(operator: str, *dtypes: str) -> Job:
    kernel, stub = (ROOT / folder / f"{operator}{end}" for folder, end in (("kernels", ".metal"), ("stubs", ".mm")))
    return Job(operator, kernel.read_text(), stub.read_text(), dtypes=dtypes, kernel_path=f"kernels/{operator}.metal")


def changed(job: Job, part: str, old: str, new: str) -> Job:
    """With the one `old` in the "kernel" or the "stub" replaced."""
    text = job.kernel if part == "kernel" else job.stub or ""
    assert text.count(old) == 1, f"{job.operator} says {old} {text.count(old)} times"
    return (
        replace(job, kernel=text.replace(old, new)) if part == "kernel" else replace(job, stub=text.replace(old, new))
    )


def rules(result: NumericsResult) -> set[str]:
    return {finding.rule for finding in result.result.findings}


def shown(result: NumericsResult) -> str:
    return "\n".join(map(str, result.result.findings))
