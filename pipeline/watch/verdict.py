"""What one save came to, and in what it differs from the save before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.findings import CheckResult, Finding, Outcome


@dataclass(frozen=True)
class Verdict:
    """The results of the checks that ran. `passed` asks that none failed and none could not run."""

    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        return all(result.outcome is Outcome.PASSED for result in self.results)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for result in self.results for finding in result.findings)


@dataclass(frozen=True)
class Difference:
    """The findings of a save: those that the one before did not have, those both have, and those that are gone."""

    new: tuple[Finding, ...]
    still: tuple[Finding, ...]
    gone: tuple[Finding, ...]

    @classmethod
    def between(cls, before: Verdict | None, after: Verdict) -> Difference:
        """A finding stays the same while lines above it come and go."""
        earlier = before.findings if before else ()
        return cls(
            new=_without(after.findings, earlier),
            still=tuple(each for each in after.findings if _key(each) in set(map(_key, earlier))),
            gone=_without(earlier, after.findings),
        )


def _without(findings: Sequence[Finding], others: Sequence[Finding]) -> tuple[Finding, ...]:
    known = set(map(_key, others))
    return tuple(finding for finding in findings if _key(finding) not in known)


def _key(finding: Finding) -> tuple[str, str, str | None]:
    return finding.rule, finding.message, finding.path
