"""Rules: every id has an entry in docs/rules.md, rules can be selected, findings can be accepted, never silently."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.checks.run import CHECKS, CHECKS_OF_A_KERNEL
from pipeline.errors import UsageError
from pipeline.findings import CheckResult, Finding, Outcome, Severity
from pipeline.manifest import MANIFEST, Operator, Suppression
from pipeline.rules import EVERY_RULE, Selection, accept, catalogue, require_known_suppressions

ROOT = Path(__file__).parent.parent
# Named after what is wrong with a value, so not written out in the code.
COMPUTED = {"numerics/value"}


def ids_in_code() -> set[str]:
    checks = "|".join([*CHECKS, "manifest"])
    literal = re.compile(rf'"((?:{checks})/[a-z0-9-]+)"')
    sources = (path.read_text() for path in (ROOT / "pipeline").rglob("*.py"))
    return {rule for text in sources for rule in literal.findall(text)}


def test_every_rule_has_an_entry_and_every_entry_a_rule() -> None:
    assert ids_in_code() | COMPUTED == set(catalogue())


def test_every_entry_is_whole_and_stands_under_its_check() -> None:
    page = (ROOT / "docs/rules.md").read_text()
    assert len(re.findall(r"^\| `", page, re.MULTILINE)) == len(catalogue())
    sections = re.split(r"^## (\w+)\n", page, flags=re.MULTILINE)[1:]
    for check, text in zip(sections[::2], sections[1::2], strict=True):
        assert {rule.id for rule in catalogue().values() if f"| `{rule.id}` |" in text} == {
            rule.id for rule in catalogue().values() if rule.check == check
        }
    for rule in catalogue().values():
        assert rule.meaning.endswith(".") and rule.remedy.endswith("."), rule.id


def test_every_check_is_explained() -> None:
    assert {rule.check for rule in catalogue().values()} == {*CHECKS, "manifest"}
    assert CHECKS_OF_A_KERNEL.keys() <= CHECKS.keys()


def result(*findings: Finding) -> CheckResult:
    return CheckResult.from_findings("rows", "compared", findings)


TWICE = Finding("rows/mps-twice", Severity.ERROR, "twice", "a.yaml", 3)
LEFT = Finding("rows/legacy-name-left", Severity.ERROR, "left", "a.yaml", 9)


@pytest.mark.parametrize(
    ("only", "skip", "kept", "runs"),
    [
        ((), (), ["rows/mps-twice", "rows/legacy-name-left"], True),
        (("rows/*",), (), ["rows/mps-twice", "rows/legacy-name-left"], True),
        (("rows/mps-*", "host/*"), (), ["rows/mps-twice"], True),
        ((), ("*/legacy-*",), ["rows/mps-twice"], True),
        (("rows/*",), ("rows/mps-twice",), ["rows/legacy-name-left"], True),
        (("host/*",), (), [], False),
        ((), ("rows/*",), [], False),
    ],
)
def test_selection(only: tuple[str, ...], skip: tuple[str, ...], kept: list[str], runs: bool) -> None:
    selection = Selection.of(only, skip)
    assert selection.runs("rows") is runs
    chosen = selection.of_result(result(TWICE, LEFT))
    assert [finding.rule for finding in chosen.findings] == kept
    assert chosen.outcome is (Outcome.FAILED if kept else Outcome.PASSED)


def test_a_pass_in_part_says_what_it_left_out() -> None:
    chosen = Selection.of((), ("rows/mps-twice", "rows/torch*")).of_result(result(TWICE))
    assert chosen.outcome is Outcome.PASSED
    assert chosen.not_covered == (
        "rules that were not asked for: rows/mps-twice, rows/torchgen, rows/torchgen-too-old",
    )
    assert EVERY_RULE.of_result(result(TWICE)) == result(TWICE)
    idle = CheckResult.not_run("rows", "no yaml")
    assert Selection.of((), ("rows/mps-twice",)).of_result(idle) == idle


def test_a_glob_that_matches_nothing_is_wrong_use() -> None:
    with pytest.raises(UsageError, match=r"no rule matches 'row/\*'.*docs/rules.md"):
        Selection.of(("row/*",), ())
    with pytest.raises(UsageError):
        Selection.of((), ("rows/mps-thrice",))


def operator(*rules: str) -> Operator:
    return Operator("sign", suppress=tuple(Suppression(rule, "it is meant") for rule in rules), line=12)


def test_an_accepted_finding_is_a_note_with_its_reason() -> None:
    accepted = accept(result(TWICE, LEFT), operator("rows/mps-twice"))
    assert accepted.outcome is Outcome.FAILED
    assert [finding.severity for finding in accepted.findings] == [Severity.NOTE, Severity.ERROR]
    assert str(accepted.findings[0]) == "a.yaml:3: note rows/mps-twice: twice (accepted: it is meant)"
    assert accepted.summary == "compared; accepted rows/mps-twice: it is meant"
    both = accept(result(TWICE, LEFT), operator("rows/mps-twice", "rows/legacy-name-left", "host/unused"))
    assert both.outcome is Outcome.PASSED and len(both.findings) == 2


def test_a_suppression_that_nothing_meets_is_said() -> None:
    idle = accept(result(LEFT), operator("rows/mps-twice"))
    assert [str(finding) for finding in idle.findings[1:]] == [
        f"{MANIFEST}:12: warning manifest/unused-suppression: sign suppresses rows/mps-twice, which found nothing "
        "(remove it)"
    ]
    skipped = CheckResult.not_run("rows", "skipped")
    assert accept(skipped, operator("rows/mps-twice")) == skipped


def test_a_suppression_of_no_rule_is_wrong_use() -> None:
    require_known_suppressions(operator("rows/mps-twice"))
    with pytest.raises(UsageError, match=rf"{MANIFEST}:12: sign suppresses 'rows/\*', which is no rule"):
        require_known_suppressions(operator("rows/*"))
