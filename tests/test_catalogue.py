"""Every operator that is ready passes the quick checks; `invoke check --all` runs them all."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from pipeline.checks.completeness import check_completeness
from pipeline.checks.contract import check as contract
from pipeline.checks.contract.worker import hold
from pipeline.checks.run import export_headers
from pipeline.checks.style import check_style
from pipeline.findings import CheckResult, Outcome
from pipeline.manifest import NO_FRAGMENT, Dispatch, Manifest, Operator, State
from pipeline.manifest_file import load_manifest
from pipeline.migration import Fragments, plan
from pipeline.pocket.contents import pocket_files
from pipeline.rules import accept
from pipeline.snapshot import Snapshot
from pipeline.source import MemoryTree
from tests.project import ROOT


@cache
def manifest() -> Manifest:
    return load_manifest(ROOT / "ops_manifest.yaml")


@cache
def pocket() -> Snapshot:
    return Snapshot(MemoryTree(dict(pocket_files())))


def text(path: str) -> str | None:
    if path == NO_FRAGMENT:
        return ""
    return (ROOT / path).read_text() if path else None


def complaints(operator: Operator, result: CheckResult) -> list[str]:
    """Findings that the manifest does not accept, or why the check did not run."""
    result = accept(result, operator)
    found = [str(finding) for finding in result.findings if finding.severity.value != "note"]
    return found or ([result.summary] if result.outcome is Outcome.FAILED else [])


READY = [each for each in manifest().operators if each.status.state not in (State.LISTED, State.HELD)]


@pytest.mark.parametrize("operator", READY, ids=lambda operator: operator.name)
def test_an_operator_that_is_ready_passes(operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "_in_own_process", hold)
    changeset = plan(operator, Fragments(text(operator.kernel), text(operator.host)), pocket())
    headers = export_headers(changeset.after(), tmp_path)
    results = [check_completeness(changeset), check_style(changeset), contract.check_contract(changeset, headers)]
    assert [each for result in results for each in complaints(operator, result)] == []
    own_code = operator.dispatch is not Dispatch.DROP and operator.host != NO_FRAGMENT
    assert [each.check for each in results if each.outcome is Outcome.NOT_RUN] == ([] if own_code else ["contract"])
