"""What is to be held together, as data that another process can be given; and its result, as text."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from pipeline.findings import CheckResult, Finding, Outcome, Severity

CHECK = "contract"
_CODE = ("exec_kernel", "metal", "numerics", "stub_interpreter", "checks/contract")


@dataclass(frozen=True)
class Job:
    """One operator's host code and the shader that its library is made of.

    `stub` is the text of the host code, empty where it is to be implied by the names the kernel registers; `functions`
    are those that dispatch rows name, empty where the stub registers for dispatch. `kernel_before` is the shader before
    the change, empty for a new one or a fragment on its own. `headers` are texts that may define params structs;
    `include` is the folder that holds `c10/metal`. `claimed` are the dtypes that OpInfo claims for MPS, such as
    "float32"; None where that is not known.
    """

    operator: str
    stub: str
    stub_path: str
    functions: tuple[str, ...]
    kernel: str
    kernel_path: str
    kernel_before: str
    headers: tuple[str, ...]
    include: str
    claimed: tuple[str, ...] | None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        fields = json.loads(text)
        lists = {
            name: None if fields[name] is None else tuple(fields[name]) for name in ("functions", "headers", "claimed")
        }
        return cls(**{**fields, **lists})

    def key(self) -> str:
        """A digest of all that the result depends on; `include` is a folder that is named after its content."""
        digest = hashlib.sha256(self.to_json().encode())
        digest.update(f"{metadata.version('torch')} {platform.machine()}".encode())
        root = Path(__file__).parents[2]
        for package in _CODE:
            for path in sorted((root / package).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    digest.update(f"\0{path.relative_to(root)}\0".encode() + path.read_bytes())
        return digest.hexdigest()


def result_to_json(result: CheckResult) -> str:
    fields = asdict(result)
    fields["outcome"] = result.outcome.value
    for entry, finding in zip(fields["findings"], result.findings, strict=True):
        entry["severity"] = finding.severity.value
    return json.dumps(fields)


def result_from_json(text: str) -> CheckResult:
    """Raises ValueError or KeyError for a text that `result_to_json` did not write."""
    fields = json.loads(text)
    findings = tuple(Finding(**{**entry, "severity": Severity(entry["severity"])}) for entry in fields["findings"])
    notes = tuple(fields["not_covered"])
    return CheckResult(fields["check"], Outcome(fields["outcome"]), fields["summary"], findings, notes)
