"""What a save came to, on a terminal: one line, and the findings as a difference from the save before."""

from __future__ import annotations

import time

from rich.console import Console

from pipeline.findings import Finding, Outcome, Severity
from pipeline.numerics.result import CHECK
from pipeline.report.plan import say
from pipeline.watch.subject import Subject
from pipeline.watch.verdict import Difference, Verdict

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: ""}


def print_beginning(console: Console, subject: Subject) -> None:
    files = " and ".join(
        path for path in (subject.operator.kernel, subject.operator.host if subject.stub else "") if path
    )
    say(console, f"watching {files} on {subject.dtype.torch_name} alone; Ctrl-C ends")


def print_verdict(console: Console, verdict: Verdict, difference: Difference, seconds: float) -> None:
    """`seconds` is how long ago the files were saved, or the first check was begun."""
    checks = ", ".join(f"{result.check} {result.outcome.value}" for result in verdict.results)
    why = "; ".join(each.summary for each in verdict.results if each.check == CHECK or each.outcome is Outcome.NOT_RUN)
    clock = time.strftime("%H:%M:%S")
    say(console, f"{clock} {checks} after {seconds:.1f} s: {why}", "green" if verdict.passed else "red")
    for mark, findings in (("+", difference.new), (" ", difference.still)):
        for finding in findings:
            say(console, f"  {mark} {finding}", _STYLES[finding.severity])
    for finding in difference.gone:
        say(console, f"  - {_short(finding)}", "dim")


def print_end(console: Console, subject: Subject) -> None:
    say(console, f"ended; `invoke check --op {subject.operator.name}` runs every check on every dtype")


def _short(finding: Finding) -> str:
    return f"{finding.severity.value} {finding.rule}: {finding.message}"
