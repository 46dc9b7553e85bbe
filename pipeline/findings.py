"""What a check says, what it looked at, and what it did not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Outcome(Enum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """One fault, named by a rule such as `rows/legacy-name-left` that docs/rules.md explains.

    `path` is relative to the source tree, or to the manifest for a fragment; `line` is 1-based. `accepted` is the
    manifest's reason to let it be.
    """

    rule: str
    severity: Severity
    message: str
    path: str | None = None
    line: int | None = None
    hint: str = ""
    accepted: str = ""

    def __str__(self) -> str:
        where = self.path or ""
        if self.line is not None:
            where += f":{self.line}"
        text = f"{self.severity.value} {self.rule}: {self.message}"
        if where:
            text = f"{where}: {text}"
        if self.accepted:
            return f"{text} (accepted: {self.accepted})"
        return f"{text} ({self.hint})" if self.hint else text


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check: one line of the evidence table.

    `summary` says what ran and on what (or why it did not run); `not_covered` lists what a pass does not show. `data`
    is what the check knows beyond that, in JSON's types, for `--json` and the page.
    """

    check: str
    outcome: Outcome
    summary: str
    findings: tuple[Finding, ...] = ()
    not_covered: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        worst = any(finding.severity is Severity.ERROR for finding in self.findings)
        if worst and self.outcome is Outcome.PASSED:
            raise ValueError(f"check {self.check} cannot pass with an error among its findings")

    @classmethod
    def from_findings(
        cls,
        check: str,
        summary: str,
        findings: Iterable[Finding],
        not_covered: Iterable[str] = (),
        data: Mapping[str, Any] | None = None,
    ) -> CheckResult:
        """Failed when any finding is an error, else passed."""
        found = tuple(findings)
        failed = any(finding.severity is Severity.ERROR for finding in found)
        return cls(check, Outcome.FAILED if failed else Outcome.PASSED, summary, found, tuple(not_covered), data or {})

    @classmethod
    def not_run(cls, check: str, reason: str) -> CheckResult:
        return cls(check, Outcome.NOT_RUN, reason)


@dataclass(frozen=True)
class Evidence:
    """The results of all checks on one planned change."""

    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        """No check failed; a check that did not run does not count as a failure."""
        return all(result.outcome is not Outcome.FAILED for result in self.results)
