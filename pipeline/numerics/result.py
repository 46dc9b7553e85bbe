"""The result of a check, as one value that can be stored."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.findings import CheckResult, Finding, Outcome, Severity

CHECK = "numerics"


@dataclass(frozen=True)
class NumericsResult:
    """The line of the evidence table, and the data behind it for `--json`."""

    result: CheckResult
    data: dict[str, Any]

    def to_json(self) -> str:
        fields = asdict(self.result)
        fields["outcome"] = self.result.outcome.value
        for entry, finding in zip(fields["findings"], self.result.findings, strict=True):
            entry["severity"] = finding.severity.value
        return json.dumps({"result": fields, "data": self.data})

    @classmethod
    def from_json(cls, text: str) -> NumericsResult:
        """Raises ValueError or KeyError for a text that `to_json` did not write."""
        stored = json.loads(text)
        fields = stored["result"]
        findings = tuple(Finding(**{**entry, "severity": Severity(entry["severity"])}) for entry in fields["findings"])
        result = CheckResult(
            fields["check"],
            Outcome(fields["outcome"]),
            fields["summary"],
            findings,
            tuple(fields["not_covered"]),
        )
        return cls(result, stored["data"])
