"""What happened to an operator and when: from the manifest's own history, and from the runs that were kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml

from pipeline.git import GitError, Repository
from pipeline.manifest import MANIFEST, Operator
from pipeline.record import MacRecord, Record

_VERSIONS = 200


@dataclass(frozen=True, order=True)
class Event:
    """`at` is in UTC, `2026-11-30T02:00:00Z`."""

    at: str
    what: str
    detail: str = ""
    link: str = ""


@dataclass(frozen=True)
class Version:
    """The statuses that the manifest held from `at` on."""

    at: str
    statuses: Mapping[str, Mapping[str, str]]


def manifest_versions(root: Path) -> list[Version]:
    """The newest versions of the manifest that git holds, oldest first; none where `root` is no repository."""
    repository = Repository(root)
    try:
        log = repository.run("log", "--first-parent", f"-{_VERSIONS}", "--format=%H %ct", "--", MANIFEST).decode()
        prefix = repository.run("rev-parse", "--show-prefix").decode().strip()
    except GitError:
        return []
    found = []
    for commit, seconds in (line.split() for line in reversed(log.splitlines())):
        content = repository.read(commit, prefix + MANIFEST)
        at = datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if content is not None:
            found.append(Version(at, _statuses(content)))
    repository.close()
    return found


def timeline(
    operator: Operator, versions: Sequence[Version], record: Record | None, mac: MacRecord | None
) -> tuple[Event, ...]:
    """Oldest first, each thing once."""
    events = {}
    for version in versions:
        status = version.statuses.get(operator.name)
        if status is not None and _key(status) not in events:
            events[_key(status)] = _recorded(status, status.get("at", "") or version.at)
    if operator.status.at:
        current = operator.status.as_mapping()
        events[_key(current)] = _recorded(current, operator.status.at)
    runs = [_checked(record)] if record is not None else []
    if mac is not None:
        runs.append(Event(mac.at, f"macOS, {mac.level} level: {mac.verdict}", mac.summary, mac.link))
    return tuple(sorted([*events.values(), *runs]))


def _statuses(content: bytes) -> dict[str, Mapping[str, str]]:
    """Leniently: an old version of the manifest may hold keys that mean nothing today."""
    try:
        data = yaml.load(content, yaml.CBaseLoader)
        entries = [entry for entry in data["operators"] if isinstance(entry, dict)]
        return {
            str(entry["name"]): {str(key): str(value) for key, value in entry.get("status", {}).items()}
            for entry in entries
        }
    except (yaml.YAMLError, KeyError, TypeError, AttributeError):
        return {}


def _key(status: Mapping[str, str]) -> tuple[str, str, str]:
    return status.get("state", "listed"), status.get("commit", ""), status.get("link", "")


def _recorded(status: Mapping[str, str], at: str) -> Event:
    return Event(at, status.get("state", "listed"), status.get("reason", ""), status.get("link", ""))


def _checked(record: Record) -> Event:
    failed = [str(result["check"]) for result in record.evidence if result["outcome"] == "failed"]
    what = f"checked on a CPU: {', '.join(failed)} failed" if failed else "checked on a CPU: passed"
    if not record.evidence:
        what = "could not be planned"
    return Event(record.at, what, record.error or f"on {record.source}")
