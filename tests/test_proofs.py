"""Tests that passed on a Mac although expected to fail: kept, and planned again without the expectation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.campaign import Campaign
from pipeline.changeset import EditKind
from pipeline.edits.forecast import MacRun
from pipeline.errors import UsageError
from pipeline.manifest import Expectations
from pipeline.migration import plan
from pipeline.proofs import load_proof, save_proof
from pipeline.runner.build import Verdict
from pipeline.runner.junit import TestOutcome, TestResult
from pipeline.runner.read import Reading
from pipeline.source import COMMON_MPS, OPINFOS

ROOT = Path(__file__).parents[1]
REF = "test_python_ref__refs_nn_functional_threshold_mps_float32"


def reading(**outcomes: TestOutcome) -> Reading:
    tests = tuple(TestResult("TestCommonMPS", name, outcome) for name, outcome in outcomes.items())
    return Reading(Verdict.UNEXPECTED_SUCCESS, "", tests)


def test_kept_and_read_again(tmp_path: Path) -> None:
    assert load_proof(tmp_path, "sign") is None
    assert save_proof(tmp_path, "sign", reading(a=TestOutcome.PASSED, b=TestOutcome.EXPECTED_FAILURE), "u") is None
    run = reading(a=TestOutcome.UNEXPECTED_SUCCESS, b=TestOutcome.EXPECTED_FAILURE, c=TestOutcome.FAILED)
    path = save_proof(tmp_path, "sign", run, "https://run/1")
    assert path is not None and "https://run/1" in path.read_text()
    expected = MacRun(frozenset({("TestCommonMPS", "a")}), frozenset({("TestCommonMPS", "b")}))
    assert load_proof(tmp_path, "sign") == expected
    for wrong in ("", "{}", "[1]", '{"passed_unexpectedly": [1], "failed_as_expected": []}'):
        path.write_text(wrong)
        with pytest.raises(UsageError, match="is not the record of a macOS run"):
            load_proof(tmp_path, "sign")


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return Campaign.open(ROOT, "pocket")


def planned(campaign: Campaign, name: str, *tests: str, policy: Expectations = Expectations.PREDICTED) -> list[str]:
    operator = replace(campaign.manifest.operator(name), expectations=policy)
    proof = MacRun(frozenset((test.split(".")[0], test.split(".")[1]) for test in tests))
    changeset = plan(operator, replace(campaign.fragments(operator), proof=proof), campaign.snapshot)
    return [edit.what for edit in changeset.edits if edit.kind is EditKind.EXPECTATION and "Mac" in edit.what]


def test_a_refuted_expectation_goes(campaign: Campaign) -> None:
    assert planned(campaign, "threshold") == []
    [edit] = planned(campaign, "threshold", f"TestCommonMPS.{REF}")
    assert edit == "_refs.nn.functional.threshold: expected failure goes: it passed on a Mac"
    assert planned(campaign, "threshold", f"TestCommonMPS.{REF}", policy=Expectations.PROVEN) == [edit]
    assert planned(campaign, "threshold", f"TestCommonMPS.{REF}", policy=Expectations.KEEP) == []
    assert planned(campaign, "sign", f"TestCommonMPS.{REF}") == [], "it is another operator's"


def test_only_for_the_dtypes_that_passed(campaign: Campaign) -> None:
    operator = campaign.manifest.operator("softplus")
    proof = MacRun(frozenset({("TestConsistencyMPS", "test_output_match_nn_functional_softplus_mps_int32")}))
    changeset = plan(operator, replace(campaign.fragments(operator), proof=proof), campaign.snapshot)
    [changed] = [file for file in changeset.files if file.path == COMMON_MPS]
    assert OPINFOS not in changeset.paths()
    removed = [line for line in changed.diff().splitlines() if line.startswith("-") and "---" not in line]
    assert [line.strip("- ,") for line in removed] == ["torch.int32"]
    assert any("stays for the dtypes that did not pass" in note for note in changeset.left)
