"""What a reviewer upstream reads: prose, evidence that claims no more than was run, disclosure, and no mentions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.changeset import Changeset, Edit, EditKind, FileChange
from pipeline.errors import UsageError
from pipeline.findings import CheckResult, Evidence, Finding, Outcome, Severity
from pipeline.forge.marker import BEGIN, END, Marker, Stage, find_marker, replace_ours, set_marker, without_mentions
from pipeline.manifest import Dispatch, Operator, Suppression, Workflow
from pipeline.report.pull_request import MacRun, Subject, pull_request_text, render_pull_request
from pipeline.rules import accept
from pipeline.runner.build import Build, Level, Verdict
from pipeline.runner.read import Machine, Reading, Timing
from pipeline.source import MemoryTree

COMMIT = "c" * 40
MARKER = Marker("sign", COMMIT, Stage.OPENING)
OPERATOR = Operator("sign", notes="NaN gives NaN, as on CPU. Thanks @ada, see #12.\n\nFixes #34")
EVIDENCE = Evidence(
    (
        CheckResult("rows", Outcome.PASSED, "torchgen | parses it", not_covered=("nothing | else",)),
        CheckResult("numerics", Outcome.PASSED, "912 calls on CPU", (Finding("n/x", Severity.NOTE, "slow"),)),
        CheckResult.not_run("style", "no clang-format"),
    )
)
PASSED = Build(COMMIT, Level.FULL, Verdict.PASSED, "https://run/1", "40 tests passed", "macos-15", "Apple M1")
TIMINGS = (Timing("sign", "float32", 100_000, 20.0, 1.0, 5.0, 0.5),)
MAC = MacRun(PASSED, Reading(Verdict.PASSED, "40 tests passed", (), TIMINGS, Machine("macos-15", "Apple M1", "15.2")))


def changeset(operator: Operator = OPERATOR) -> Changeset:
    return Changeset(
        operator,
        MemoryTree({}),
        (FileChange("a.yaml", b"1\n", b"2\n"),),
        (Edit(EditKind.ROW, "a.yaml", 1, "CPU, CUDA, MPS: sign_out"),),
        left=("xfail of sign in common_mps.py",),
    )


def text(operator: Operator = OPERATOR, mac: MacRun | None = None, own: Path | None = None, **more: object) -> str:
    subject = replace(Subject(changeset(operator), EVIDENCE, COMMIT, mac), **more)  # type: ignore[arg-type]
    return pull_request_text(subject, MARKER, own).body


def test_conventions() -> None:
    made = pull_request_text(Subject(changeset(), EVIDENCE, COMMIT), MARKER)
    assert made.title == "[MPS] Migrate sign to Metal"
    assert find_marker(made.body) == MARKER
    assert (
        made.body.index("`sign` still runs on MPSGraph") < made.body.index("### Evidence") < made.body.index("Disclos")
    )
    assert "Fixes #34" in made.body and "CPU, CUDA, MPS: sign_out" in made.body
    assert "| rows | passed | torchgen \\| parses it |" in made.body
    assert "| style | not run | no clang-format |" in made.body
    assert "- xfail of sign in common_mps.py" in made.body


def test_nobody_is_mentioned() -> None:
    assert "@" not in text() and "Thanks ada" in text()
    code = "call `a @ b` or\n```\n@decorated\n```\nof me@example.org and @team/people"
    assert without_mentions(code) == "call `a @ b` or\n```\n@decorated\n```\nof me@example.org and team/people"


def test_without_a_mac_it_says_so() -> None:
    body = text()
    assert "No Mac has built or run commit cccccccccccc yet." in body and "No benchmark was run." in body
    assert "| macOS build and tests | not run |" in body


def test_with_a_mac() -> None:
    body = text(mac=MAC)
    assert "| macOS build and tests | passed | 40 tests passed on macos-15, Apple M1: https://run/1 |" in body
    assert "| sign | float32 | 100,000 | 20.0 ± 1.0 | 5.0 ± 0.5 | 0.25 |" in body
    assert "No Mac has built" not in body and "No benchmark" not in body


@pytest.mark.parametrize(
    ("verdict", "row"),
    [
        (Verdict.TESTS_FAILED, "| macOS build and tests | failed |"),
        (Verdict.BUILD_FAILED, "| macOS build and tests | failed |"),
        (Verdict.INFRASTRUCTURE, "| macOS build and tests | not run |"),
    ],
)
def test_what_a_mac_did_not_pass(verdict: Verdict, row: str) -> None:
    assert row in text(mac=replace(MAC, build=replace(PASSED, verdict=verdict)))


def test_a_shader_run_is_not_a_build() -> None:
    body = text(mac=replace(MAC, build=replace(PASSED, level=Level.SHADER)))
    assert "macOS build and tests" not in body and "| macOS shader (released wheel) | passed |" in body


def test_disclosure_names_who_approved_what() -> None:
    assert "A person has to read and approve" in text()
    assert "Ada read the exact diff of commit cccccccccccc and approved it" in text(approved_by="Ada")


@pytest.mark.parametrize(
    ("operator", "opening"),
    [
        (replace(OPERATOR, workflow=Workflow.NEW, dispatch=Dispatch.ADD), "`sign` has no implementation on MPS."),
        (replace(OPERATOR, dispatch=Dispatch.KEEP), "`sign` is dispatched to MPS already"),
    ],
)
def test_a_template_per_kind(operator: Operator, opening: str) -> None:
    assert text(operator).startswith(opening)


def test_accepted_findings_show_their_reason() -> None:
    operator = replace(OPERATOR, suppress=(Suppression("style/opmath", "the operation is exact"),))
    finding = Finding("style/opmath", Severity.ERROR, "half is computed in half", "kernels/sign.metal", 3)
    evidence = Evidence((accept(CheckResult.from_findings("style", "formatted", [finding]), operator),))
    body = text(operator, evidence=evidence)
    assert "| style | passed | formatted; accepted style/opmath: the operation is exact |" in body
    assert (
        "Accepted, with the reason:\n"
        "- kernels/sign.metal:3: note style/opmath: half is computed in half (accepted: the operation is exact)\n"
        in body
    )
    assert "Findings:" not in body


def test_claims_that_a_person_looked_past() -> None:
    assert "#7 was left in 2024." in text(claims=("#7 was left in 2024.",))


def test_a_users_own_template(tmp_path: Path) -> None:
    (tmp_path / "migrate.md.j2").write_text("Moves {{ operator.name }}.")
    body = text(own=tmp_path)
    assert body.startswith("Moves sign.\n\n") and "### Evidence" in body
    assert text(replace(OPERATOR, dispatch=Dispatch.KEEP), own=tmp_path).startswith("`sign` is dispatched")
    for wrong in ("{{ operator.nam }}", "{% if %}", "{{ nothing }}"):
        (tmp_path / "migrate.md.j2").write_text(wrong)
        with pytest.raises(UsageError, match=r"migrate.md.j2.*correct the template"):
            text(own=tmp_path)


def test_the_draft_file_reads_the_same() -> None:
    made = render_pull_request(changeset(), EVIDENCE, COMMIT)
    assert made.startswith("[MPS] Migrate sign to Metal\n\n`sign` still runs") and "### Disclosure" in made
    assert BEGIN not in made and END not in made


def test_our_part_is_found_again_and_replaced() -> None:
    body = text()
    assert (
        replace_ours(f"before\n{body}after", "new") == f"before\n{body[: body.index(BEGIN)]}{BEGIN}\nnew\n{END}\nafter"
    )
    for broken in ("", BEGIN, END + BEGIN, body + body):
        assert replace_ours(broken, "new") is None
    assert find_marker("<!-- mps-to-metal operator=x commit=short stage=open -->") is None
    assert find_marker(f"<!-- mps-to-metal operator=x commit={COMMIT} stage=odd -->") is None
    assert find_marker(set_marker(body, replace(MARKER, stage=Stage.OPEN))) == replace(MARKER, stage=Stage.OPEN)
    with pytest.raises(ValueError, match="no marker"):
        set_marker("text", MARKER)
