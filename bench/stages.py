"""Where the time of one migration goes, stage by stage. Run: python -m bench.stages [OPERATOR...] [--write]

Every operator is measured in a process of its own with empty caches, check by check; then a whole `invoke check` with
empty caches, and `invoke check` and `invoke migrate` with all of it known. Prints a table as Markdown, and with --write
puts it into docs/performance.md.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.report import machine, replace_section
from pipeline.campaign import Campaign
from pipeline.checks.run import CHECKS, Subject
from pipeline.metal.cache import CACHE_VARIABLE
from tests.project import copy_project

ROOT = Path(__file__).parents[1]
Result = TypeVar("Result")
OPERATORS = ("sign", "pow", "addcmul", "binary_cross_entropy", "softmax_backward", "heaviside")
_INVOKE = [str(Path(sys.executable).parent / "invoke")]


def main(words: list[str]) -> None:
    if "--one" in words:
        print(json.dumps(measure(words[-1])))
        return
    names = [word for word in words if not word.startswith("--")] or list(OPERATORS)
    measured = {name: _measure_apart(name) for name in names}
    text = table(measured)
    print(text)
    if "--write" in words:
        replace_section(ROOT / "docs" / "performance.md", "stages", f"{machine()}\n\n{text}")


def measure(name: str) -> dict[str, float]:
    """Seconds of each stage, and the peak memory in MiB of this process or any that it started."""
    seconds: dict[str, float] = {}

    def timed(stage: str, work: Callable[[], Result]) -> Result:
        start = time.perf_counter()
        result = work()
        seconds[stage] = time.perf_counter() - start
        return result

    campaign = timed("open", lambda: Campaign.open(ROOT, "pocket"))
    operator = campaign.manifest.operator(name)
    changeset = timed("plan", lambda: campaign.first_plan(operator))
    with tempfile.TemporaryDirectory() as folder:
        subject = Subject(changeset, campaign.fragments(operator), Path(folder))
        for check, run in CHECKS.items():
            timed(check, partial(run, subject))
    used = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {**seconds, "peak MiB": max(used) / 2**10}


def _measure_apart(name: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "bench.stages", "--one", name]
        env = {**os.environ, "XDG_CACHE_HOME": cache}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    cold = {"`invoke check`, cold": _cold([*_INVOKE, "check", "--op", name])}
    known = {f"`invoke {task}`, all known": _warm([*_INVOKE, task, "--op", name]) for task in ("check", "migrate")}
    return {**json.loads(done.stdout), **cold, **known}


def _cold(command: list[str]) -> float:
    """In a copy of the project, pocket included, where nothing was checked before."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        kept.mkdir()
        root = copy_project(Path(folder) / "project", kept)
        caches = {"XDG_CACHE_HOME": str(kept), CACHE_VARIABLE: str(kept / "metal")}
        return _run(command, root, PYTHONPATH=str(ROOT), **caches)


def _warm(command: list[str]) -> float:
    _run(command)
    return statistics.median(_run(command) for _ in range(3))


def _run(command: list[str], root: Path = ROOT, **settings: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=root, env={**os.environ, **settings}, capture_output=True, check=True)
    return time.perf_counter() - start


def table(measured: dict[str, dict[str, float]]) -> str:
    """One row per stage, one column per operator; seconds, but for memory."""
    stages = list(next(iter(measured.values())))
    lines = ["| seconds | " + " | ".join(measured) + " |", "|---" + "|---:" * len(measured) + "|"]
    for stage in stages:
        digits = 0 if stage.endswith("MiB") else 2
        lines.append(f"| {stage} | " + " | ".join(f"{each[stage]:.{digits}f}" for each in measured.values()) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
