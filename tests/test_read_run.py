"""What a macOS run says, and whose fault it was."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipeline.runner import benchmark, machine, read
from pipeline.runner.build import Verdict
from pipeline.runner.junit import NotJUnit, TestOutcome, read_junit
from pipeline.runner.read import Finished, blamed_operators, read_run
from pipeline.runner.selection import expression

WORKFLOW = Path(__file__).parents[1] / "workflows" / "macos.yml"
CASE = b'<testcase classname="TestConsistencyMPS" name="test_output_match_%s_mps_float32">%s</testcase>'
FAILURE = b'<failure message="AssertionError: Tensor-likes are not close!">trace</failure>'
UNEXPECTED = b'<failure message="Unexpected success"/>'
SKIPPED = b'<skipped message="needs macOS 15"/>'


def report(*cases: bytes) -> bytes:
    return b"<testsuites><testsuite>" + b"".join(cases) + b"</testsuite></testsuites>"


def run(conclusion: str, *cases: bytes, steps: dict[str, str] | None = None, **files: bytes) -> Finished:
    xml = {"test_mps.xml": report(*cases)} if cases else {}
    return Finished(conclusion, steps or {}, {**xml, **{name.replace("__", "."): text for name, text in files.items()}})


TEST_FAILED = {"Check out": "success", "Build": "success", "Test the Metal backend": "failure"}


@pytest.mark.parametrize(
    ("finished", "verdict", "summary"),
    [
        (run("success", CASE % (b"abs", b"")), Verdict.PASSED, "1 tests passed"),
        (run("success", CASE % (b"abs", b""), CASE % (b"sign", SKIPPED)), Verdict.PASSED, "1 tests passed, 1 skipped"),
        (
            run("failure", CASE % (b"abs", FAILURE), CASE % (b"sign", b""), steps=TEST_FAILED),
            Verdict.TESTS_FAILED,
            "1 of 2 tests failed: test_output_match_abs_mps_float32",
        ),
        (
            run("failure", CASE % (b"abs", UNEXPECTED), steps=TEST_FAILED),
            Verdict.UNEXPECTED_SUCCESS,
            "1 tests passed that were expected to fail: test_output_match_abs_mps_float32",
        ),
        (
            run("failure", CASE % (b"abs", UNEXPECTED), CASE % (b"abs", FAILURE), steps=TEST_FAILED),
            Verdict.TESTS_FAILED,
            "1 of 2 tests failed: test_output_match_abs_mps_float32",
        ),
        (
            run("failure", steps={"Build": "failure"}, build__log=b"[1/9]\nUnaryOps.mm:7:3: error: no x\nmore"),
            Verdict.BUILD_FAILED,
            "the build failed: UnaryOps.mm:7:3: error: no x",
        ),
        (run("failure", steps={"Build": "failure"}), Verdict.BUILD_FAILED, "no error line in build.log"),
        (run("failure", steps={"Check out PyTorch": "failure"}), Verdict.INFRASTRUCTURE, "'Check out PyTorch'"),
        (run("failure", steps={"Upload the results": "failure"}), Verdict.INFRASTRUCTURE, "Upload"),
        (run("cancelled", CASE % (b"abs", FAILURE)), Verdict.INFRASTRUCTURE, "'cancelled'"),
        (run("timed_out"), Verdict.INFRASTRUCTURE, "'timed_out'"),
        (run("startup_failure"), Verdict.INFRASTRUCTURE, "'startup_failure'"),
        (run("success"), Verdict.INFRASTRUCTURE, "no test ran"),
        (run("success", CASE % (b"abs", SKIPPED)), Verdict.INFRASTRUCTURE, "no test ran"),
        (run("failure", CASE % (b"abs", b""), steps=TEST_FAILED), Verdict.INFRASTRUCTURE, "although no test did"),
        (run("success", t__xml=report(CASE % (b"abs", b""))[:-20]), Verdict.INFRASTRUCTURE, "cannot be read"),
        (run("success", CASE % (b"abs", b""), benchmark__json=b'{"rows": [{}]}'), Verdict.INFRASTRUCTURE, "cannot be"),
        (run("success", CASE % (b"abs", b""), machine__json=b"not json"), Verdict.PASSED, "1 tests passed"),
    ],
)
def test_verdicts(finished: Finished, verdict: Verdict, summary: str) -> None:
    reading = read_run(finished)
    assert reading.verdict is verdict and summary in reading.summary


def test_what_real_runners_write(tmp_path: Path) -> None:
    """unittest's expected failures run by pytest, as PyTorch's own tests are."""
    (tmp_path / "test_x.py").write_text(
        textwrap.dedent("""
            import unittest
            class TestX(unittest.TestCase):
                @unittest.expectedFailure
                def test_marked_but_passes(self): pass
                @unittest.expectedFailure
                def test_marked_and_fails(self): self.fail()
                def test_fails(self): self.assertEqual(1, 2)
                def test_errs(self): raise RuntimeError("boom & <bust>")
                @unittest.skip("no Mac")
                def test_skipped(self): pass
                def test_passes(self): pass
        """)
    )
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml=out.xml", "test_x.py"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    found = {test.name: test.outcome for test in read_junit((tmp_path / "out.xml").read_bytes())}
    assert found == {
        "test_marked_but_passes": TestOutcome.UNEXPECTED_SUCCESS,
        "test_marked_and_fails": TestOutcome.EXPECTED_FAILURE,
        "test_fails": TestOutcome.FAILED,
        "test_errs": TestOutcome.FAILED,
        "test_skipped": TestOutcome.SKIPPED,
        "test_passes": TestOutcome.PASSED,
    }


def test_the_other_way_to_say_unexpected_success() -> None:
    [test] = read_junit(report(CASE % (b"abs", b'<error type="UnexpectedSuccess" message=""/>')))
    assert test.outcome is TestOutcome.UNEXPECTED_SUCCESS
    reading = read_run(run("failure", CASE % (b"abs", UNEXPECTED), steps=TEST_FAILED))
    assert reading.expectations_to_remove == ("TestConsistencyMPS.test_output_match_abs_mps_float32",)


BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'
OUTSIDE = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&a;"/></testsuite>'


@pytest.mark.parametrize("content", [BOMB, OUTSIDE, b"", b"\xff\xfe", b"<html/>", b"<testsuite>", b"<?xml x='y'?>"])
def test_what_is_no_report(content: bytes) -> None:
    with pytest.raises(NotJUnit):
        read_junit(content)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_report_or_refused(content: bytes) -> None:
    try:
        read_junit(content)
    except NotJUnit:
        return


def test_blame_by_name() -> None:
    """A failure of logical_not is none of `not`, one of copysign none of `sign`, one of max_pool2d none of `max`."""
    reading = read_run(
        run(
            "failure",
            CASE % (b"nn_functional_mish", FAILURE),
            CASE % (b"logical_not", FAILURE),
            CASE % (b"copysign", FAILURE),
            CASE % (b"nn_functional_max_pool2d", FAILURE),
            CASE % (b"abs", b""),
            steps=TEST_FAILED,
        )
    )
    opinfo = {
        "mish": ["nn.functional.mish"],
        "not": ["not"],
        "logical_not": ["logical_not"],
        "sign": ["sign"],
        "abs": ["abs"],
        "max": ["max", "max_binary"],
    }
    assert blamed_operators(reading, opinfo) == {"mish", "logical_not"}


def shader(outcome: str) -> bytes:
    rows = [{"check": "numerics", "outcome": outcome, "summary": "912 calls"}]
    rows.append({"check": "macOS build and tests", "outcome": "not run", "summary": ""})
    return json.dumps([{"operator": "abs", "evidence": rows}]).encode()


def test_the_shader_level_reads_what_check_printed() -> None:
    passed = read_run(run("success", check__json=shader("passed")))
    assert (passed.verdict, passed.summary) == (Verdict.PASSED, "1 tests passed, 1 skipped")
    failed = read_run(run("failure", steps={"Check the kernel": "failure"}, check__json=shader("failed")))
    assert failed.verdict is Verdict.TESTS_FAILED and "check_abs_mps: numerics" in failed.summary
    assert blamed_operators(failed, {"abs": [], "sign": ["sign"]}) == {"abs"}
    cut_off = read_run(run("failure", steps={"Check the kernel": "failure"}, check__json=b"[{"))
    assert cut_off.verdict is Verdict.INFRASTRUCTURE


def test_selection() -> None:
    assert (
        expression(["sign", "nn.functional.mish", "sign"])
        == "_sign_ or test_sign or _nn_functional_mish_ or test_nn_functional_mish"
    )
    for wrong in ([], ["sign or 1"], ["a-b"], [""]):
        with pytest.raises(ValueError, match="OpInfo"):
            expression(wrong)


def test_step_names_are_those_of_the_workflow() -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    names = {step["name"] for job in jobs.values() for step in job["steps"]}
    assert names >= read.BUILD_STEPS | read.TEST_STEPS


def test_the_benchmark_runs(tmp_path: Path) -> None:
    """On a CPU, which shows that it measures and compares, not what a Mac would measure."""
    old = benchmark.measure(["sign", "hypot"], "cpu", sizes=(16, 64), repeats=3)
    assert {(row["operator"], row["dtype"], row["elements"]) for row in old["rows"]} >= {
        ("sign", "float32", 16),
        ("hypot", "bfloat16", 64),
    }
    assert all(row["us"] > 0 and row["spread_us"] >= 0 for row in old["rows"])
    for name in ("old", "new"):
        (tmp_path / name).write_text(json.dumps(old))
    paths = [str(tmp_path / name) for name in ("old", "new", "out")]
    assert benchmark.main(["compare", *paths]) == 0
    reading = read_run(run("success", CASE % (b"sign", b""), benchmark__json=(tmp_path / "out").read_bytes()))
    assert len(reading.timings) == len(old["rows"])
    assert reading.timings[0].old_us == reading.timings[0].new_us
    assert benchmark.main(["measure"]) == 2


def test_the_machine_describes_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ImageOS", "macos15")
    monkeypatch.setenv("ImageVersion", "20260101.1")
    about = machine.describe()
    assert about["image"] == "macos15 20260101.1" and about["chip"] and about["system"]
    reading = read_run(run("success", CASE % (b"abs", b""), machine__json=json.dumps(about).encode()))
    assert (reading.machine.image, reading.machine.chip) == (about["image"], about["chip"])
