from __future__ import annotations

import pytest

from pipeline.errors import PipelineError
from pipeline.findings import CheckResult, Evidence, Finding, Outcome, Severity

LEFT = Finding("rows/left", Severity.ERROR, "a row is left", "a.yaml", 3, "collapse it")


def test_an_error_fails_the_check_and_a_warning_does_not() -> None:
    warning = Finding("rows/odd", Severity.WARNING, "odd")
    assert CheckResult.from_findings("rows", "read 3 rows", [LEFT]).outcome is Outcome.FAILED
    assert CheckResult.from_findings("rows", "read 3 rows", [warning]).outcome is Outcome.PASSED


def test_a_check_cannot_claim_to_pass_with_an_error() -> None:
    with pytest.raises(ValueError, match="cannot pass"):
        CheckResult("rows", Outcome.PASSED, "read 3 rows", (LEFT,))


def test_what_did_not_run_is_neither_passed_nor_failed() -> None:
    result = CheckResult.not_run("host", "no compiler")
    assert result.outcome is Outcome.NOT_RUN
    assert Evidence((result,)).passed


def test_findings_and_errors_read_as_one_line() -> None:
    assert str(LEFT) == "a.yaml:3: error rows/left: a row is left (collapse it)"
    assert str(PipelineError("no such file", path="a.mm", line=2, hint="write it")) == "a.mm:2: no such file; write it"
