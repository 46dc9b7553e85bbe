"""Drafts to files, never over what somebody wrote; and the manifest entry that belongs to them, as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pipeline.authoring.propose import as_entry
from pipeline.errors import UsageError
from pipeline.manifest import Operator


def write_files(root: Path, files: Mapping[str, str], *, force: bool = False) -> None:
    """Write every file below `root`, or none. Raises UsageError where one exists, unless `force` is set."""
    there = [path for path in files if (root / path).exists()]
    if there and not force:
        raise UsageError("exists already, so nothing is written", path=there[0], hint="write --force to replace it")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with (root / path).open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)


def entry_text(operator: Operator) -> str:
    """The entry as it stands in the list of operators."""
    dumped = yaml.safe_dump([as_entry(operator)], sort_keys=False, allow_unicode=True, width=110)
    return "".join(f"  {line}\n" for line in dumped.splitlines())


def missing_keys(listed: Operator, drafted: Operator) -> dict[str, Any]:
    """What the draft takes for granted that the manifest's own entry does not say."""
    wanted = as_entry(drafted)
    known = as_entry(listed)
    return {key: wanted[key] for key in ("dispatch", "stub", "into", "new_file") if wanted.get(key) != known.get(key)}
