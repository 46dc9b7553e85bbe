"""Checking on every save: what counts as a save, what differs from the one before, and the command as users run it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.campaign import Campaign
from pipeline.errors import PipelineError, UsageError
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.findings import CheckResult, Finding, Outcome, Severity
from pipeline.numerics.job import Job
from pipeline.numerics.result import NumericsResult
from pipeline.rules import Selection
from pipeline.watch import Difference, Saves, Subject, Verdict, WarmProcess, subject_of
from pipeline.watch.subject import kernels_of
from tests.project import ROOT, copy_project, start

SIGN = (ROOT / "kernels/sign.metal").read_text()
WRONG = SIGN.replace("return ", "return T(1) + ", 1)


def finding(rule: str, message: str, line: int = 1) -> Finding:
    return Finding(rule, Severity.ERROR, message, "kernels/x.metal", line)


def verdict(*findings: Finding) -> Verdict:
    return Verdict((CheckResult.from_findings("numerics", "ran", findings),))


def test_the_difference_is_what_is_new_what_stays_and_what_is_gone() -> None:
    nan, zero, value = (finding(f"numerics/{rule}", "x") for rule in ("nan", "sign-of-zero", "value"))
    moved = replace(zero, line=9)
    assert Difference.between(None, verdict(nan, zero)) == Difference((nan, zero), (), ())
    assert Difference.between(verdict(nan, zero), verdict(moved, value)) == Difference((value,), (moved,), (nan,))
    assert Difference.between(verdict(nan), verdict()) == Difference((), (), (nan,))


def test_a_check_that_did_not_run_is_no_pass() -> None:
    assert verdict().passed and not verdict(finding("numerics/nan", "x")).passed
    assert not Verdict((CheckResult.not_run("numerics", "broke"),)).passed


def saved_within(saves: Saves, seconds: float) -> float | None:
    """The next save, None where none comes. The thread that waits for it ends with the test run."""
    found: list[float] = []
    waiting = threading.Thread(target=lambda: found.append(next(iter(saves))), daemon=True)
    waiting.start()
    waiting.join(seconds)
    return found[0] if found else None


def rewrite(path: Path) -> None:
    path.write_text("2")


def rename_over(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_text("2")
    other.rename(path)


def remove_first(path: Path) -> None:
    path.unlink()
    time.sleep(0.3)
    path.write_text("2")


def copy_with_an_old_time(path: Path) -> None:
    path.write_text("22")
    os.utime(path, (1, 1))


@pytest.mark.parametrize("save", [rewrite, rename_over, remove_first, copy_with_an_old_time])
def test_a_save_is_seen_however_an_editor_writes(tmp_path: Path, save: object) -> None:
    kernel, stub = tmp_path / "x.metal", tmp_path / "x.mm"
    kernel.write_text("1")
    stub.write_text("1")
    saves = Saves((kernel, stub))
    assert callable(save)
    threading.Timer(0.2, save, [stub]).start()
    saved = saved_within(saves, 10)
    assert saved is not None and abs(time.time() - saved) < 5


@pytest.mark.parametrize("state", ["untouched", "empty", "gone"])
def test_no_save_is_seen_where_there_is_nothing_to_check(tmp_path: Path, state: str) -> None:
    kernel = tmp_path / "x.metal"
    kernel.write_text("1")
    saves = Saves((kernel,))
    if state == "empty":
        kernel.write_text("")
    elif state == "gone":
        kernel.unlink()
    assert saved_within(saves, 0.5) is None


@pytest.mark.parametrize(
    ("dtype", "needed", "spared"),
    [
        (
            Dtype.FLOAT32,
            ("a_dense_float_float", "a_float", "flip_4B", "a_dense_cast_float_long"),
            ("a_half", "a_float2"),
        ),
        (Dtype.COMPLEX64, ("a_dense_float2_float2", "a_dense_float_float2"), ("a_dense_float_float", "a_half2")),
        (Dtype.BOOL, ("a_dense_bool_float", "a_bool_Params_long"), ("a_dense_float_float",)),
    ],
)
def test_only_kernels_of_the_dtype_are_compiled(dtype: Dtype, needed: tuple[str, ...], spared: tuple[str, ...]) -> None:
    pattern = re.compile(kernels_of(dtype))
    assert all(map(pattern.search, needed)) and not any(map(pattern.search, spared))


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmProcess]:
    with WarmProcess() as process:
        yield process


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, checks_cache: Path) -> Path:
    return copy_project(tmp_path_factory.mktemp("watched") / "copy", checks_cache)


@pytest.fixture
def subject(project: Path, tmp_path: Path) -> Subject:
    """sign with a kernel of its own, and numerics alone."""
    kernel = tmp_path / "sign.metal"
    kernel.write_text(SIGN)
    return subject_of(Campaign.open(project, "pocket"), "sign", str(kernel), "", "", Selection(("numerics/*",)))


def rules(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.findings}


def test_the_verdict_follows_the_file(warm: WarmProcess, subject: Subject) -> None:
    assert subject.dtype is Dtype.FLOAT32 and subject.check(warm.check).passed
    subject.kernel.write_text(WRONG)
    assert rules(subject.check(warm.check)) >= {"numerics/value"}
    subject.kernel.write_text(SIGN.replace("struct", "struct struct", 1))
    assert rules(subject.check(warm.check)) == {"numerics/does-not-compile"}
    subject.kernel.write_text(SIGN)
    assert subject.check(warm.check).passed


def test_a_kernel_that_is_not_there_is_looked_for_among_all(warm: WarmProcess, subject: Subject) -> None:
    """Names that say nothing of the dtype, or of another one, are compiled on second thoughts."""
    asked: list[Job] = []

    def counting(job: Job) -> NumericsResult:
        asked.append(job)
        return warm.check(job)

    subject.kernel.write_text(SIGN.replace("REGISTER_UNARY_OP(sign, float, float);", ""))
    assert "numerics/missing-kernel" in rules(subject.check(counting))
    assert [bool(job.only) for job in asked] == [True, False]


def test_a_dtype_that_nothing_serves_is_no_pass(warm: WarmProcess, subject: Subject) -> None:
    [result] = replace(subject, dtype=Dtype.COMPLEX64).check(warm.check).results
    assert result.outcome is Outcome.NOT_RUN and "nothing runs on complex64" in result.summary


def test_a_kernel_that_dies_is_a_finding_and_the_next_save_is_checked(warm: WarmProcess, subject: Subject) -> None:
    endless = "volatile int n = 1;\n    while (n) {\n    }\n    return"
    subject.kernel.write_text(SIGN.replace("return", endless, 1))
    stop = threading.Event()

    def kill_the_copy() -> None:
        while not stop.wait(1.5):
            for child in children(warm._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    killer = threading.Thread(target=kill_the_copy)
    killer.start()
    try:
        verdict = subject.check(warm.check)
    finally:
        stop.set()
        killer.join()
    assert rules(verdict) == {"numerics/crash"} and "signal 9" in verdict.findings[0].message
    subject.kernel.write_text(SIGN)
    assert subject.check(warm.check).passed


def children(process: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(each) for each in found.stdout.split()]


def test_a_process_that_ended_is_reported() -> None:
    with WarmProcess() as process:
        process._process.kill()
        process._process.wait()
        with pytest.raises(PipelineError, match="the numerical check of sign broke"):
            process.check(Job("sign", SIGN))


def test_a_file_that_is_not_text_is_no_crash(subject: Subject) -> None:
    subject.kernel.write_bytes(b"\xff\xfe")
    [result] = subject.check(lambda job: pytest.fail("nothing to run")).results
    assert result.outcome is Outcome.NOT_RUN and "cannot be read" in result.summary


@pytest.mark.parametrize(
    ("name", "kernel", "dtype", "said"),
    [
        ("sign", "", "float23", "MPS has no dtype 'float23'"),
        ("sub", "", "", "there is no kernel of sub to watch; the operator needs none"),
        ("cumprod", "", "", "there is no kernel of cumprod to watch; `invoke draft --op cumprod` starts one"),
        ("sign", "none.metal", "", "there is no kernel of sign to watch"),
    ],
)
def test_what_cannot_be_watched_is_said(project: Path, name: str, kernel: str, dtype: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        subject_of(Campaign.open(project, "pocket"), name, kernel, "", dtype)


def test_without_a_dtype_the_kernel_tells(project: Path) -> None:
    campaign = Campaign.open(project, "pocket")
    assert subject_of(campaign, "sgn", "", "", "").dtype is Dtype.COMPLEX64
    assert subject_of(campaign, "sign", "", "", "int64").dtype is Dtype.INT64


class Watching:
    """`invoke check --watch` in a project, read line by line."""

    def __init__(self, project: Path, *words: str) -> None:
        self.process = start(project, "check", "--watch", *words)

    def until(self, pattern: str) -> list[str]:
        assert self.process.stdout is not None
        lines: list[str] = []
        for line in self.process.stdout:
            lines.append(line.rstrip())
            if re.search(pattern, line):
                return lines
        raise AssertionError(f"no {pattern!r} in {lines}: {self.process.stderr and self.process.stderr.read()}")

    def interrupt(self) -> tuple[int, str, str]:
        """As a terminal does: the whole group of processes gets the signal."""
        os.killpg(self.process.pid, signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def test_an_edit_is_checked_and_the_end_is_the_last_verdict(project: Path) -> None:
    kernel = project / "kernels/sign.metal"
    watching = Watching(project, "--op", "sign")
    try:
        [beginning, first] = watching.until("numerics")
        assert beginning == "watching kernels/sign.metal and stubs/sign.mm on float32 alone; Ctrl-C ends"
        assert re.match(r"\d\d:\d\d:\d\d numerics passed, style passed after [\d.]+ s: ", first)
        kernel.write_text(WRONG)
        assert "numerics failed" in watching.until("numerics (passed|failed)")[-1]
        assert watching.until("numerics/value")[-1].startswith("  + kernels/sign.metal: error numerics/value: sign on ")
        kernel.write_text(SIGN)
        assert "numerics passed" in watching.until("numerics (passed|failed)")[-1]
        assert watching.until("numerics/value")[-1].startswith("  - error numerics/value: sign on ")
        code, out, err = watching.interrupt()
    finally:
        kernel.write_text(SIGN)
        watching.process.kill()
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "ended; `invoke check --op sign` runs every check on every dtype"


def test_an_interrupt_before_the_first_verdict_is_clean(project: Path) -> None:
    watching = Watching(project, "--op", "sign", "--dtype", "float16")
    try:
        watching.until("on float16 alone")
        code, out, err = watching.interrupt()
    finally:
        watching.process.kill()
    assert (code, err) == (1, "") and "Traceback" not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--op", "sign", "--op", "sgn"), "--watch takes one operator; write --op NAME once"),
        (("--op", "sign", "--json"), "--watch goes with --op, --dtype, --kernel, --stub, --source and rules only"),
    ],
)
def test_options_that_do_not_go_with_watching(project: Path, words: tuple[str, ...], said: str) -> None:
    process = start(project, "check", "--watch", *words)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip()) == (2, f"error: {said}")
