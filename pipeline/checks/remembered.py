"""Results of checks that ran before on the same content, kept as files beside each other."""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pipeline.changeset import Changeset
from pipeline.findings import CheckResult, Evidence, Finding, Outcome, Severity
from pipeline.manifest import Operator
from pipeline.source import MemoryTree, SourceTree

_KEPT = 3000
_ROOT = Path(__file__).parents[2]
# What checks call, beside this project's own code.
_PACKAGES = ("torch", "ziglang", "clang-format", "ruff", "ruamel.yaml", "PyYAML", "libcst")
# What no check looks at: a status that moves on is no reason to check again.
_OF_NO_ACCOUNT = ("status", "claim", "notes", "suppress", "depends_on", "line")


def remembered(folder: Path, key: str | None, check: Callable[[], CheckResult]) -> CheckResult:
    """The result known under `key`, else that of `check`, which is kept unless it did not run. None: nothing is."""
    entry = folder / f"{key}.json"
    if key is not None:
        try:
            return result_from_json(entry.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError):
            pass
    result = check()
    if key is not None and result.outcome is not Outcome.NOT_RUN:
        _save(entry, result_to_json(result))
    return result


def remembered_evidence(
    folder: Path, key: str | None, check: Callable[[], Evidence], asked: Callable[[str], bool]
) -> Evidence:
    """The same for all checks at once; kept unless one that is `asked` for did not run."""
    entry = folder / f"{key}.json"
    if key is not None:
        try:
            return Evidence(tuple(map(_from_stored, json.loads(entry.read_text(encoding="utf-8"))["evidence"])))
        except (OSError, ValueError, KeyError):
            pass
    evidence = check()
    if key is not None and not any(each.outcome is Outcome.NOT_RUN and asked(each.check) for each in evidence.results):
        _save(entry, json.dumps({"evidence": [_stored(each) for each in evidence.results]}))
    return evidence


def key_of_change(check: str, changeset: Changeset, *more: object) -> str | None:
    """A digest of all that a check of the change depends on; None where the tree under it has no identity."""
    base = _identity(changeset.base)
    if base is None:
        return None
    files = [each for change in changeset.files for each in (change.path, change.after)]
    known = (changeset.rows, changeset.legacy, changeset.gaps, *files)
    return _digest(check, base, _operator(changeset.operator), *known, *more)


def key_of_tree(check: str, operator: Operator, tree: SourceTree, *more: object) -> str | None:
    """The same for what is checked alone, against a tree."""
    base = _identity(tree)
    return None if base is None else _digest(check, base, _operator(operator), *more)


def _identity(tree: SourceTree) -> str | None:
    """The commit, with the files laid over it."""
    if isinstance(tree, MemoryTree):
        below = _identity(tree.below) if tree.below is not None else ""
        overlay = (each for path, content in sorted(tree.overlay.items()) for each in (path, content))
        return None if below is None else _digest_of(below, *overlay)
    return tree.commit


def _operator(operator: Operator) -> str:
    return repr([getattr(operator, item.name) for item in fields(operator) if item.name not in _OF_NO_ACCOUNT])


def _digest(*parts: object) -> str:
    return _digest_of(_surroundings(), *parts)


def _digest_of(*parts: object) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode(errors="surrogateescape")
        digest.update(f"{len(data)} {type(part).__name__} ".encode() + data)
    return digest.hexdigest()


@cache
def _surroundings() -> str:
    """This project's code, the packages it calls, and the kind of machine."""
    files = [_ROOT / ".clang-format", *_own_code()]
    contents = [each for path in files for each in (str(path.relative_to(_ROOT)), path.read_bytes())]
    versions = [metadata.version(name) for name in _PACKAGES]
    return _digest_of(*contents, *versions, platform.python_version(), platform.system(), platform.machine())


def _own_code() -> Iterator[Path]:
    for path in sorted((_ROOT / "pipeline").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def result_to_json(result: CheckResult) -> str:
    return json.dumps(_stored(result))


def result_from_json(text: str) -> CheckResult:
    """Raises ValueError or KeyError for a text that `result_to_json` did not write."""
    return _from_stored(json.loads(text))


def _stored(result: CheckResult) -> dict[str, Any]:
    stored = asdict(result)
    stored["outcome"] = result.outcome.value
    for entry, finding in zip(stored["findings"], result.findings, strict=True):
        entry["severity"] = finding.severity.value
    return stored


def _from_stored(stored: dict[str, Any]) -> CheckResult:
    findings = tuple(Finding(**{**entry, "severity": Severity(entry["severity"])}) for entry in stored["findings"])
    notes, data = tuple(stored["not_covered"]), stored["data"]
    return CheckResult(stored["check"], Outcome(stored["outcome"]), stored["summary"], findings, notes, data)


def _save(entry: Path, text: str) -> None:
    """Write atomically, and drop the oldest results beyond some thousand."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=entry.parent, suffix=".part", delete=False, encoding="utf-8") as part:
        part.write(text)
    Path(part.name).replace(entry)
    by_age = sorted(entry.parent.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in by_age[_KEPT:]:
        old.unlink(missing_ok=True)
