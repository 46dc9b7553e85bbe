"""Real temporary repositories for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from pipeline.git import Repository

AUTHOR = "Ada Example <ada@example.org>"
_IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada Example",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada Example",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "PATH": "/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin",
}


def git(folder: Path, *args: str, identity: Mapping[str, str] = {}) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *args], check=False, capture_output=True, text=True, env={**_IDENTITY, **identity}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def make_repository(folder: Path, files: Mapping[str, str]) -> Repository:
    """A repository with one commit of `files` on main."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit_files(folder, files, "Begin")
    return Repository(folder)


def commit_files(folder: Path, files: Mapping[str, str], message: str, identity: Mapping[str, str] = {}) -> str:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message, identity=identity)
    return git(folder, "rev-parse", "HEAD")
