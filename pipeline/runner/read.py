"""What a finished run says: which tests failed, and whose fault it is. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.runner.build import Verdict
from pipeline.runner.junit import NotJUnit, TestOutcome, TestResult, read_junit

# Names of steps of workflows/macos.yml; a test holds the two equal.
BUILD_STEPS = frozenset({"Build"})
TEST_STEPS = frozenset({"Check the kernel", "Test the Metal backend", "Test the operators"})
_BROKEN = frozenset({"cancelled", "timed_out", "startup_failure", "stale", "action_required", "neutral", "skipped"})


@dataclass(frozen=True)
class Timing:
    """One row of the benchmark: microseconds per call, median and half the interquartile range."""

    operator: str
    dtype: str
    elements: int
    old_us: float
    old_spread_us: float
    new_us: float
    new_spread_us: float


@dataclass(frozen=True)
class Machine:
    """What the run ran on, as the runner itself describes it."""

    image: str = ""
    chip: str = ""
    system: str = ""


@dataclass(frozen=True)
class Finished:
    """A completed run: GitHub's conclusion, the conclusion of each step, and the files of its artifacts."""

    conclusion: str
    steps: Mapping[str, str]
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Reading:
    verdict: Verdict
    summary: str
    tests: tuple[TestResult, ...] = ()
    timings: tuple[Timing, ...] = ()
    machine: Machine = Machine()

    def of(self, outcome: TestOutcome) -> tuple[TestResult, ...]:
        return tuple(test for test in self.tests if test.outcome is outcome)

    @property
    def expectations_to_remove(self) -> tuple[str, ...]:
        """Tests that were expected to fail and passed: plan again without those expectations."""
        return tuple(f"{test.suite}.{test.name}" for test in self.of(TestOutcome.UNEXPECTED_SUCCESS))


def read_run(run: Finished) -> Reading:
    """The verdict. Only a failed build step or a failed test blames the change; everything else is infrastructure."""
    machine = _machine(run.files)
    try:
        tests = _tests(run.files)
        timings = _timings(run.files)
    except (NotJUnit, ValueError, KeyError, TypeError) as error:
        return Reading(Verdict.INFRASTRUCTURE, f"its results cannot be read: {error}", machine=machine)
    failed_steps = [name for name, conclusion in run.steps.items() if conclusion == "failure"]
    blamed = [name for name in failed_steps if name in BUILD_STEPS | TEST_STEPS]
    if run.conclusion in _BROKEN or (failed_steps and not blamed):
        where = failed_steps[0] if failed_steps else run.conclusion
        return Reading(Verdict.INFRASTRUCTURE, f"the run ended in {where!r}", tests, timings, machine)
    if failed_steps and failed_steps[0] in BUILD_STEPS:
        return Reading(Verdict.BUILD_FAILED, f"the build failed: {_first_error(run.files)}", tests, timings, machine)
    return _judge(run, tests, timings, machine)


def _judge(run: Finished, tests: tuple[TestResult, ...], timings: tuple[Timing, ...], machine: Machine) -> Reading:
    ran = [test for test in tests if test.outcome is not TestOutcome.SKIPPED]
    failed = _named(tests, TestOutcome.FAILED)
    unexpected = _named(tests, TestOutcome.UNEXPECTED_SUCCESS)
    if failed:
        text = f"{len(failed)} of {len(ran)} tests failed: {_some(failed)}"
        return Reading(Verdict.TESTS_FAILED, text, tests, timings, machine)
    if unexpected:
        text = f"{len(unexpected)} tests passed that were expected to fail: {_some(unexpected)}"
        return Reading(Verdict.UNEXPECTED_SUCCESS, text, tests, timings, machine)
    if not ran:
        return Reading(Verdict.INFRASTRUCTURE, "no test ran", tests, timings, machine)
    if run.conclusion != "success":
        return Reading(Verdict.INFRASTRUCTURE, "it failed although no test did", tests, timings, machine)
    counts = {
        "tests passed": len(_named(tests, TestOutcome.PASSED)),
        "failed as expected": len(_named(tests, TestOutcome.EXPECTED_FAILURE)),
        "skipped": len(tests) - len(ran),
    }
    text = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return Reading(Verdict.PASSED, text, tests, timings, machine)


def blamed_operators(reading: Reading, opinfo: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Operators whose own tests failed, by the OpInfo name in the test's name; `opinfo`: operator -> its OpInfo names.

    A test is named `..._NAME_DEVICE_DTYPE`, NAME being OpInfo's `formatted_name` with dots as underscores
    (torch/testing/_internal/common_device_type.py): a failure of `max_pool2d` is none of `max`. The longest name wins.
    """
    by_name = {name: name for name in opinfo}
    by_name |= {info.replace(".", "_"): operator for operator, infos in opinfo.items() for info in infos}
    longest_first = sorted(by_name, key=len, reverse=True)
    blamed = set()
    for test in reading.of(TestOutcome.FAILED):
        own = (name for name in longest_first if re.search(rf"_{re.escape(name)}_(?:mps|cpu|meta)(?:_|:|$)", test.name))
        found = next(own, None)
        if found is not None:
            blamed.add(by_name[found])
    return frozenset(blamed)


def _tests(files: Mapping[str, bytes]) -> tuple[TestResult, ...]:
    reports = sorted(name for name in files if name.endswith(".xml"))
    tests = tuple(test for name in reports for test in read_junit(files[name]))
    return tests + _checks(files.get("check.json"))


def _checks(content: bytes | None) -> tuple[TestResult, ...]:
    """What `invoke check --json` printed on the runner: one result per operator and check."""
    if content is None:
        return ()
    outcomes = {"passed": TestOutcome.PASSED, "failed": TestOutcome.FAILED, "not run": TestOutcome.SKIPPED}
    return tuple(
        TestResult("check", f"check_{item['operator']}_mps: {row['check']}", outcomes[row["outcome"]], row["summary"])
        for item in json.loads(content)
        for row in item["evidence"]
    )


def _timings(files: Mapping[str, bytes]) -> tuple[Timing, ...]:
    content = files.get("benchmark.json")
    if content is None:
        return ()
    rows = json.loads(content)["rows"]
    return tuple(
        Timing(
            operator=str(row["operator"]),
            dtype=str(row["dtype"]),
            elements=int(row["elements"]),
            **{key: float(row[key]) for key in ("old_us", "old_spread_us", "new_us", "new_spread_us")},
        )
        for row in rows
    )


def _machine(files: Mapping[str, bytes]) -> Machine:
    try:
        about = json.loads(files.get("machine.json", b"{}"))
        return Machine(*(str(about.get(key, ""))[:100] for key in ("image", "chip", "system")))
    except (ValueError, AttributeError):
        return Machine()


def _first_error(files: Mapping[str, bytes]) -> str:
    for line in files.get("build.log", b"").decode(errors="replace").splitlines():
        if "error:" in line or line.startswith("FAILED:"):
            return line.strip()[:300]
    return "no error line in build.log"


def _named(tests: Iterable[TestResult], outcome: TestOutcome) -> list[str]:
    return [test.name for test in tests if test.outcome is outcome]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
