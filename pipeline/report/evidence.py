"""The evidence table: each check, its outcome, and the reason."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.findings import CheckResult, Evidence, Outcome
from pipeline.report.plan import say

_STYLES = {Outcome.PASSED: "green", Outcome.FAILED: "red", Outcome.NOT_RUN: "yellow"}
MACOS_NOT_RUN = CheckResult.not_run("macOS build and tests", "no Mac has built this; a CPU pass is not a test on MPS")


def print_evidence(console: Console, evidence: Evidence) -> None:
    table = Table("check", "outcome", "what ran, or why not", title="Evidence", title_justify="left")
    for result in rows(evidence):
        table.add_row(result.check, Text(result.outcome.value, _STYLES[result.outcome]), result.summary)
    console.print(table)
    for result in evidence.results:
        for finding in result.findings:
            say(console, f"  {finding}")


def rows(evidence: Evidence) -> tuple[CheckResult, ...]:
    """The checks that ran here and the one that cannot."""
    return (*evidence.results, MACOS_NOT_RUN)


def evidence_as_data(evidence: Evidence) -> list[dict[str, object]]:
    return [
        {
            "check": result.check,
            "outcome": result.outcome.value,
            "summary": result.summary,
            "not_covered": list(result.not_covered),
            "findings": [
                {
                    "rule": finding.rule,
                    "severity": finding.severity.value,
                    "path": finding.path,
                    "line": finding.line,
                    "message": finding.message,
                    "hint": finding.hint,
                    "accepted": finding.accepted,
                }
                for finding in result.findings
            ],
            "data": _plain(result.data),
        }
        for result in rows(evidence)
    ]


def _plain(value: object) -> object:
    """In JSON's types: it has no infinities and no NaN."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
