"""What the last runs found of an operator, kept as JSON beside its draft: on a CPU, and on a Mac."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from pipeline.errors import UsageError

DRAFTS = ".drafts"
_MAC = ".macos"


@dataclass(frozen=True)
class Record:
    """One operator in a run of `invoke migrate`. `evidence` is what `invoke check --json` prints.

    `commit` is empty where nothing was committed, and `error` says why. `at` is in UTC, `2026-11-30T02:00:00Z`;
    `machine` and `torch` say what the checks ran on.
    """

    operator: str
    source: str
    base: str
    at: str
    commit: str
    error: str
    evidence: Sequence[Mapping[str, Any]]
    left: Sequence[str]
    diff: str
    machine: str
    torch: str


@dataclass(frozen=True)
class MacRecord:
    """One operator in a build on a macOS runner. `timings` are rows of pipeline.runner.read.Timing."""

    operator: str
    commit: str
    at: str
    level: str
    verdict: str
    summary: str
    link: str
    image: str
    chip: str
    failed: Sequence[str]
    timings: Sequence[Mapping[str, Any]]


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def here() -> dict[str, str]:
    """The fields of a Record that say what this is."""
    return {"machine": f"{platform.system()} {platform.machine()}", "torch": metadata.version("torch")}


def save(root: Path, record: Record | MacRecord) -> None:
    """Into the drafts' folder below `root`, all at once."""
    path = root / DRAFTS / f"{record.operator}{_MAC if isinstance(record, MacRecord) else ''}.json"
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(f".part{os.getpid()}")
    part.write_text(json.dumps(asdict(record), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(path)


def load_records(root: Path) -> dict[str, Record]:
    """By operator. Raises UsageError for a file that `save` did not write."""
    return {name: Record(**data) for name, data in _contents(root, Record, "").items()}


def load_mac_records(root: Path) -> dict[str, MacRecord]:
    """By operator. Raises UsageError for a file that `save` did not write."""
    return {name: MacRecord(**data) for name, data in _contents(root, MacRecord, _MAC).items()}


def _contents(root: Path, kind: type[Record] | type[MacRecord], ending: str) -> dict[str, dict[str, Any]]:
    found = {}
    keys = {field.name for field in fields(kind)}
    for path in sorted((root / DRAFTS).glob(f"*{ending}.json")):
        name = path.name.removesuffix(f"{ending}.json")
        if "." in name:
            continue  # the other kind
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            data = None
        if not isinstance(data, dict) or data.keys() != keys or data["operator"] != name:
            raise UsageError("is not what a run wrote", path=f"{DRAFTS}/{path.name}", hint="delete it and run again")
        found[name] = data
    return found
