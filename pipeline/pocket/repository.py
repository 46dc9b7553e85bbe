"""Writes the pocket's repository and its bare `origin`, and replaces both when what they are made from has changed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock

from pipeline.git import ZERO, GitError, Identity, NewCommit, RefChange, Repository
from pipeline.pocket.contents import RELEASE, pocket_files, wheel_commit

BRANCH = "main"
_AUTHOR = Identity("Pocket PyTorch", "pocket@mps-to-metal.invalid")
_WHEN = "1767225600 +0000"
_REPOSITORY = "pytorch"
_ORIGIN = "origin.git"
_STAMP = "made-from"
# Named in full: where a folder is gone, git would go up and answer for the repository around it.
_GIT_FOLDERS = (f"{_REPOSITORY}/.git", _ORIGIN)


def build(root: Path) -> Path:
    """The repository at ROOT/.pocket/pytorch, with its remote `origin` at ROOT/.pocket/origin.git, both on `main`.

    Nothing is written when both are current. The same wheel and the same package give the same commit. When either
    changed, repositories that hold other commits are not lost: the pair is moved to ROOT/.pocket/before-XXXXXXXX.
    Raises PipelineError when the right torch is not installed.
    """
    files = pocket_files()
    made_from = _digest(files)
    folder = root / ".pocket"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if not _is_current(folder, made_from):
            _sweep(folder)
            _replace(folder, files, made_from)
    return folder / _REPOSITORY


def _digest(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _is_current(folder: Path, made_from: str) -> bool:
    """The stamp is written last, so with it everything was; a person may have deleted a repository since.

    `main` may have moved on: merging a migration there is how the next one is tried on top of it.
    """
    try:
        return (folder / _STAMP).read_text() == made_from and all(
            Repository(folder / name).ref(f"refs/heads/{BRANCH}") for name in _GIT_FOLDERS
        )
    except (OSError, GitError):
        return False


def _sweep(folder: Path) -> None:
    """Remove what a killed run left; the lock says that nobody is working on it."""
    for left in folder.glob("building-*"):
        shutil.rmtree(left, ignore_errors=True)


def _replace(folder: Path, files: Mapping[str, bytes], made_from: str) -> None:
    building = Path(tempfile.mkdtemp(prefix="building-", dir=folder))
    _write(building, files)
    stamp = building / _STAMP
    stamp.write_text(made_from)
    (folder / _STAMP).unlink(missing_ok=True)
    _set_aside(folder)
    for name in (_ORIGIN, _REPOSITORY, _STAMP):
        (building / name).rename(folder / name)
    building.rmdir()


def _write(building: Path, files: Mapping[str, bytes]) -> None:
    origin = Repository(building / _ORIGIN)
    origin.path.mkdir()
    origin.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1", f"--initial-branch={BRANCH}")
    message = (
        f"PyTorch {RELEASE}: what a migration of MPS operators reads\n\n"
        f"Taken from the wheel built from {wheel_commit()}: native_functions.yaml, OpInfo and the headers.\n"
        "The host files and Metal kernels, which no wheel holds, were written for this repository.\n"
    )
    [commit] = origin.write_commits([NewCommit(None, files, message, _AUTHOR, _WHEN)])
    origin.move_refs([RefChange(f"refs/heads/{BRANCH}", ZERO, commit)])
    Repository(building).run(
        *("clone", "--quiet", "--no-hardlinks", "--template=", "--config=core.autocrlf=false", _ORIGIN, _REPOSITORY)
    )
    # Relative, so that the folder can be moved or copied as a whole.
    Repository(building / _REPOSITORY).run("remote", "set-url", "origin", f"../{_ORIGIN}")


def _set_aside(folder: Path) -> None:
    """Move away the repositories of older content together, or drop them where everything in them is ours."""
    older = [folder / name for name in (_REPOSITORY, _ORIGIN) if (folder / name).exists()]
    if any(_has_work(folder / name) for name in _GIT_FOLDERS):
        aside = Path(tempfile.mkdtemp(prefix="before-", dir=folder))
        for path in older:
            path.rename(aside / path.name)
    else:
        for path in older:
            shutil.rmtree(path)


def _has_work(path: Path) -> bool:
    """Whether a branch holds a commit that was not written here."""
    try:
        authors = Repository(path).run("log", "--branches", "--format=%ae").decode().split()
    except GitError:
        return False
    return set(authors) != {_AUTHOR.email}
