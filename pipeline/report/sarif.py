"""Evidence as SARIF 2.1.0, which GitHub's code scanning reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import UsageError
from pipeline.findings import Evidence, Finding, Outcome
from pipeline.manifest import MANIFEST, Manifest
from pipeline.rules import PAGE, Rule, catalogue

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_TOOL = "mps-to-metal"
# Where findings stand: paths in PyTorch's tree, and those of fragments and the manifest in this repository.
_SOURCE, _PROJECT = "SOURCE", "PROJECT"
_SOURCE_FOLDERS = ("aten/", "c10/", "torch/", "test/", "torchgen/")


@dataclass(frozen=True)
class Checked:
    """One operator's evidence. `place` is the path and line (1-based) of its entry in the manifest."""

    operator: str
    evidence: Evidence
    place: tuple[str, int]


def sarif_log(checked: Sequence[Checked], source: str) -> dict[str, Any]:
    """One run over all operators; `source` names the tree. Every check that did not run is a notification."""
    rules = list(catalogue().values())
    index = {rule.id: at for at, rule in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": _TOOL, "rules": [_rule(rule) for rule in rules]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            _SOURCE: {"description": {"text": f"PyTorch's source: {source}"}},
            _PROJECT: {"description": {"text": "the folder of ops_manifest.yaml"}},
        },
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": list(_not_run(checked))}],
        "results": [
            _result(finding, index, each) for each in checked for result in each.evidence.results
            for finding in result.findings
        ],
    }  # fmt: skip
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def write_sarif(path: Path, results: Iterable[tuple[str, Evidence]], manifest: Manifest, source: str) -> None:
    """Operators' names with their evidence. Raises UsageError where the file cannot be written."""
    lines = {operator.name: operator.line for operator in manifest.operators}
    checked = [Checked(name, evidence, (MANIFEST, lines.get(name, 1))) for name, evidence in results]
    try:
        path.write_text(json.dumps(sarif_log(checked, source), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", path=str(path)) from None


def _rule(rule: Rule) -> dict[str, Any]:
    text = f"{rule.meaning} {rule.remedy}"
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.meaning},
        "help": {"text": text, "markdown": f"{text} See {PAGE}#{rule.check}."},
    }


def _result(finding: Finding, index: dict[str, int], checked: Checked) -> dict[str, Any]:
    text = f"{checked.operator}: {finding.message}"
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": finding.severity.value,
        "message": {"text": f"{text} ({finding.hint})" if finding.hint else text},
        "locations": [_location(finding, checked)],
        # Lines move with every rebase; a finding stays the same one.
        "partialFingerprints": {"findingHash/v1": _digest(checked.operator, finding)},
    }
    if finding.rule in index:
        result["ruleIndex"] = index[finding.rule]
    if finding.accepted:
        result["suppressions"] = [{"kind": "external", "justification": finding.accepted}]
    return result


def _location(finding: Finding, checked: Checked) -> dict[str, Any]:
    """GitHub wants a place for every result: what has none stands at the operator's entry in the manifest."""
    path, line = (finding.path, finding.line) if finding.path else checked.place
    base = _SOURCE if path.startswith(_SOURCE_FOLDERS) else _PROJECT
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": path, "uriBaseId": base},
            "region": {"startLine": max(line or 1, 1)},
        }
    }


def _digest(operator: str, finding: Finding) -> str:
    return hashlib.sha256("\0".join((operator, finding.rule, finding.path or "", finding.message)).encode()).hexdigest()


def _not_run(checked: Iterable[Checked]) -> Iterable[dict[str, Any]]:
    for each in checked:
        for result in each.evidence.results:
            if result.outcome is Outcome.NOT_RUN:
                yield {
                    "level": "note",
                    "message": {"text": f"{each.operator}: {result.check} was not run: {result.summary}"},
                    "associatedRule": {"id": result.check},
                }
