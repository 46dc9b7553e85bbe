"""A copy of the project to run commands in: its own manifest, kernels, stubs and pocket; the code is the checkout's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from pipeline.pocket import build

ROOT = Path(__file__).parent.parent


def copy_project(root: Path, cache: Path) -> Path:
    """`cache` is shared with other copies: what checks compile depends on contents, not on the copy."""
    root.mkdir(parents=True, exist_ok=True)
    (root / ".cache").symlink_to(cache)
    for folder in ("kernels", "stubs"):
        shutil.copytree(ROOT / folder, root / folder)
    for file in ("ops_manifest.yaml", ".clang-format"):
        shutil.copy(ROOT / file, root)
    (root / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "rules.md", root / "docs")
    for package in ("pipeline", "tasks"):
        (root / package).symlink_to(ROOT / package)
    build(root)
    return root


def start(root: Path, *words: str) -> subprocess.Popen[str]:
    """`invoke WORDS` as a process of its own group, so that it can be killed with all it started."""
    return subprocess.Popen(
        [sys.executable, "-m", "invoke", *words],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
