"""Checks run side by side: what that must not change, and an end from the keyboard."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from pipeline.checks.numerics import check_numerics
from pipeline.checks.run import CHECKS, side_by_side
from pipeline.errors import PipelineError
from pipeline.findings import CheckResult
from pipeline.numerics.job import Job
from tests.project import ROOT, copy_project, start

WAITING = ("host", "contract", "numerics")
PROCESSORS = os.cpu_count() or 1
PATIENCE = 20.0  # seconds until a test that hangs is given up

Check = Callable[[], CheckResult]


def passed(name: str) -> CheckResult:
    return CheckResult.from_findings(name, "ran", ())


def fail(name: str) -> CheckResult:
    raise ZeroDivisionError(name)


def checks(others: Mapping[str, Check]) -> dict[str, Check]:
    """All checks; those that are no `others` pass at once."""
    return {name: others.get(name, partial(passed, name)) for name in CHECKS}


@pytest.mark.parametrize("slow", CHECKS)
def test_the_order_is_that_of_the_table_whichever_is_slow(slow: str) -> None:
    def late() -> CheckResult:
        time.sleep(0.1)
        return passed(slow)

    evidence = side_by_side(checks({slow: late}))
    assert [result.check for result in evidence.results] == list(CHECKS)


@pytest.mark.parametrize("waiting", WAITING)
def test_a_check_in_processes_of_its_own_holds_up_none_in_this_one(waiting: str) -> None:
    done = {name: threading.Event() for name in CHECKS if name not in WAITING}

    def last() -> CheckResult:
        assert all(event.wait(PATIENCE) for event in done.values())
        return passed(waiting)

    def note(name: str) -> CheckResult:
        done[name].set()
        return passed(name)

    assert side_by_side(checks({waiting: last, **{name: partial(note, name) for name in done}})).passed


@pytest.mark.parametrize("broken", CHECKS)
def test_an_error_that_no_check_foresees_surfaces(broken: str) -> None:
    with pytest.raises(ZeroDivisionError, match=broken):
        side_by_side(checks({broken: partial(fail, broken)}))
    assert side_by_side(checks({})).passed


def test_after_an_error_no_check_that_waits_is_begun() -> None:
    begun: list[str] = []
    free = threading.Event()

    def hold(name: str) -> CheckResult:
        begun.append(name)
        assert free.wait(PATIENCE)
        return passed(name)

    with ThreadPoolExecutor(PROCESSORS) as operators:
        busy = [operators.submit(side_by_side, {"host": partial(hold, "busy")}) for _ in range(PROCESSORS)]
        while len(begun) < PROCESSORS:
            time.sleep(0.01)
        late = {name: partial(hold, name) for name in WAITING}
        with pytest.raises(ZeroDivisionError):
            side_by_side({"rows": partial(fail, "rows"), **late})
        free.set()
    assert all(future.result().passed for future in busy)
    assert side_by_side({"host": partial(hold, "after")}).passed and set(begun) == {"busy", "after"}


def test_operators_side_by_side_run_no_more_checks_than_there_are_processors() -> None:
    lock, running, seen = threading.Lock(), set[int](), list[int]()

    def count() -> CheckResult:
        with lock:
            running.add(threading.get_ident())
            seen.append(len(running))
        time.sleep(0.02)
        with lock:
            running.remove(threading.get_ident())
        return passed("host")

    with ThreadPoolExecutor(3 * PROCESSORS) as operators:
        found = list(operators.map(side_by_side, [dict.fromkeys(WAITING, count)] * 3 * PROCESSORS))
    assert all(evidence.passed for evidence in found) and max(seen) == PROCESSORS


def test_an_interrupt_from_the_keyboard_ends_what_runs(tmp_path: Path, checks_cache: Path) -> None:
    root = copy_project(tmp_path / "project", checks_cache)
    kernel = root / "kernels" / "sign.metal"
    kernel.write_text(kernel.read_text() + f"// not known yet: {tmp_path}\n")
    process = start(root, "check", "--op", "sign")
    while not worker_of(process.pid):
        assert process.poll() is None, "it ended before the worker was seen"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and not errors
    assert not worker_of(process.pid)


def test_a_process_that_is_interrupted_has_not_crashed(tmp_path: Path) -> None:
    job = Job("sign", (ROOT / "kernels" / "sign.metal").read_text() + f"// not known yet: {tmp_path}\n")
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(check_numerics, job, cache=tmp_path)
        while not (worker := worker_of(os.getpgrp(), os.getpid())):
            assert not found.done(), "it ended before it was seen"
            time.sleep(0.05)
        os.kill(worker, signal.SIGINT)
        with pytest.raises(PipelineError, match="sign was interrupted"):
            found.result(PATIENCE)


def worker_of(group: int, parent: int | None = None) -> int:
    """The process that checks numerics in a process group, 0 where there is none."""
    found = subprocess.run(["ps", "-wweo", "pid=,ppid=,pgid=,args="], capture_output=True, text=True, check=True)
    for process, above, its_group, *command in map(str.split, found.stdout.splitlines()):
        if int(its_group) == group and parent in (None, int(above)) and command[-1:] == ["pipeline.numerics.worker"]:
            return int(process)
    return 0
