"""The rules findings name: what docs/rules.md says of each, which are asked for, which are accepted and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.findings import CheckResult, Finding, Outcome, Severity
from pipeline.manifest import MANIFEST, Operator

PAGE = "docs/rules.md"
_PAGE = Path(__file__).parent.parent / PAGE
_ROW = re.compile(r"^\| `(?P<id>[a-z]+/[a-z0-9-]+)` \| (?P<meaning>.*?) \| (?P<remedy>.*?) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Rule:
    """One row of the page, texts in Markdown."""

    id: str
    meaning: str
    remedy: str

    @property
    def check(self) -> str:
        return self.id.partition("/")[0]


@cache
def catalogue() -> Mapping[str, Rule]:
    """Every rule by its id, in the page's order."""
    rules = (Rule(**match.groupdict()) for match in _ROW.finditer(_PAGE.read_text(encoding="utf-8")))
    return {rule.id: rule for rule in rules}


@dataclass(frozen=True)
class Selection:
    """The rules asked for, as globs: all where `only` is empty, less those in `skip`."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()

    @classmethod
    def of(cls, only: Iterable[str], skip: Iterable[str]) -> Selection:
        """Raises UsageError for a glob that no rule matches."""
        selection = cls(tuple(only), tuple(skip))
        for glob in (*selection.only, *selection.skip):
            if not any(fnmatchcase(rule, glob) for rule in catalogue()):
                raise UsageError(f"no rule matches {glob!r}", hint=f"{PAGE} lists them, e.g. `contract/*`")
        return selection

    def includes(self, rule: str) -> bool:
        asked = not self.only or any(fnmatchcase(rule, glob) for glob in self.only)
        return asked and not any(fnmatchcase(rule, glob) for glob in self.skip)

    def runs(self, check: str) -> bool:
        """Whether any rule of the check is asked for; a check of which no rule is known always runs."""
        known = [rule.id for rule in catalogue().values() if rule.check == check]
        return not known or any(map(self.includes, known))

    def of_result(self, result: CheckResult) -> CheckResult:
        """The result without findings that were not asked for; it says which rules it leaves out."""
        left_out = [
            rule.id for rule in catalogue().values() if rule.check == result.check and not self.includes(rule.id)
        ]
        if result.outcome is Outcome.NOT_RUN or not left_out:
            return result
        findings = [finding for finding in result.findings if self.includes(finding.rule)]
        notes = (*result.not_covered, f"rules that were not asked for: {', '.join(left_out)}")
        return CheckResult.from_findings(result.check, result.summary, findings, notes, result.data)


EVERY_RULE = Selection()


def require_known_suppressions(operator: Operator) -> None:
    """Raises UsageError for a suppression of a rule that does not exist."""
    for suppression in operator.suppress:
        if suppression.rule not in catalogue():
            raise UsageError(
                f"{operator.name} suppresses {suppression.rule!r}, which is no rule",
                path=MANIFEST,
                line=operator.line,
                hint=f"{PAGE} lists them",
            )


def accept(result: CheckResult, operator: Operator) -> CheckResult:
    """The result with the findings that the manifest accepts turned into notes that carry the reason.

    A suppression of one of the check's rules that met no finding is a warning.
    """
    reasons = {each.rule: each.reason for each in operator.suppress if each.rule.partition("/")[0] == result.check}
    if result.outcome is Outcome.NOT_RUN or not reasons:
        return result
    findings = [
        replace(finding, severity=Severity.NOTE, accepted=reasons[finding.rule]) if finding.rule in reasons else finding
        for finding in result.findings
    ]
    met = [finding.rule for finding in findings if finding.accepted]
    findings += [_unused(rule, operator) for rule in reasons if rule not in met]
    summary = "; ".join([result.summary, *(f"accepted {rule}: {reasons[rule]}" for rule in dict.fromkeys(met))])
    return CheckResult.from_findings(result.check, summary, findings, result.not_covered, result.data)


def _unused(rule: str, operator: Operator) -> Finding:
    message = f"{operator.name} suppresses {rule}, which found nothing"
    return Finding(
        "manifest/unused-suppression", Severity.WARNING, message, MANIFEST, operator.line or None, "remove it"
    )
