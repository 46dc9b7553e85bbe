"""The GitHub Actions workflows: installed as copies under .github/workflows, where GitHub looks for them."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import UsageError

SOURCE = "workflows"
INSTALLED = ".github/workflows"


def install(root: Path) -> list[Path]:
    """Copy every workflow of ROOT/workflows to where GitHub reads it; returns the files that changed.

    Raises UsageError when there is none.
    """
    sources = sorted((root / SOURCE).glob("*.yml"))
    if not sources:
        raise UsageError("holds no workflow", path=str(root / SOURCE), hint="run this in the pipeline's own repository")
    changed = []
    for source in sources:
        target = root / INSTALLED / source.name
        content = source.read_bytes()
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            changed.append(target)
    return changed


def differing(root: Path) -> list[str]:
    """Names of workflows whose installed copy is missing or another text."""
    return [
        source.name
        for source in sorted((root / SOURCE).glob("*.yml"))
        if not (root / INSTALLED / source.name).is_file()
        or (root / INSTALLED / source.name).read_bytes() != source.read_bytes()
    ]
