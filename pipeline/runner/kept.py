"""What of a finished build is kept per operator, for the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from pipeline.manifest import Manifest, Operator
from pipeline.record import MacRecord
from pipeline.runner.build import Verdict
from pipeline.runner.junit import TestOutcome
from pipeline.runner.read import Timing
from pipeline.runner.yard import Result

_NOTHING = (Verdict.RUNNING, Verdict.INFRASTRUCTURE)


def mac_records(result: Result, manifest: Manifest, at: str) -> Iterator[MacRecord]:
    """One record per operator and build that says something of it; of a bisected train, the smaller build comes later.

    `at` is the time in UTC, `2026-11-30T02:00:00Z`.
    """
    for members, (build, reading) in result.builds.items():
        for name in () if build.verdict in _NOTHING else members:
            operator = manifest.operator(name)
            yield MacRecord(
                operator=name,
                commit=build.commit,
                at=at,
                level=build.level.value,
                verdict=build.verdict.value,
                summary=build.summary,
                link=build.link,
                image=build.image,
                chip=build.chip,
                failed=[f"{test.suite}.{test.name}" for test in reading.of(TestOutcome.FAILED)],
                timings=[asdict(timing) for timing in reading.timings if _is_of(timing, operator)],
            )


def _is_of(timing: Timing, operator: Operator) -> bool:
    """The benchmark names OpInfo's `formatted_name`: dots as underscores, and the variant behind it."""
    names = [info.replace(".", "_") for info in operator.opinfo]
    return any(timing.operator == name or timing.operator.startswith(f"{name}_") for name in names)
