"""A commit of a git repository as a source tree, and repositories fetched by URL without their history or checkout."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.git import GitError, Repository
from pipeline.source import (
    COMMON_MPS,
    METAL_HEADERS,
    NATIVE_HEADERS,
    OPINFO_DEFINITIONS,
    OPINFOS,
    MissingFileError,
)

# What planning reads; a blobless repository fetches these in one go instead of one by one.
_READ_PATHS = (NATIVE_HEADERS, METAL_HEADERS, COMMON_MPS, OPINFOS, OPINFO_DEFINITIONS)


class GitTree:
    """The files of one commit, read from the object database."""

    def __init__(self, repository: Repository, commit: str, label: str) -> None:
        self.repository = repository
        self.commit: str | None = commit
        self.label = label
        self._commit = commit
        self._read: dict[str, bytes | None] = {}

    def read(self, path: str) -> bytes:
        content = self._content(path)
        if content is None:
            raise MissingFileError(f"no such file in {self.label}", path=path)
        return content

    def has(self, path: str) -> bool:
        return self._content(path) is not None

    def files(self, prefix: str = "") -> tuple[str, ...]:
        return self.repository.files(self._commit, prefix)

    def _content(self, path: str) -> bytes | None:
        if path not in self._read:
            self._read[path] = self.repository.read(self._commit, path)
        return self._read[path]


def open_path(path: Path, ref: str) -> GitTree:
    """A commit of the repository at `path`, bare or not. Raises UsageError when it is none or lacks the commit."""
    repository = Repository(path)
    try:
        folders = repository.run("rev-parse", "--path-format=absolute", "--git-dir", "--show-cdup").decode().split("\n")
    except GitError:
        folders = [""]
    inside_another = len(folders) > 1 and bool(folders[1])
    bare_elsewhere = not (path / ".git").exists() and Path(folders[0]) != path.resolve()
    if inside_another or bare_elsewhere or not path.is_dir():
        raise UsageError("not a git repository", path=str(path), hint="name the folder that holds .git, or a bare one")
    try:
        commit = repository.resolve(ref)
    except GitError as error:
        raise UsageError(error.message, path=str(path), hint="write PATH@REF with a branch, tag or commit") from None
    return GitTree(repository, commit, f"{path}@{commit[:12]}")


def open_url(url: str, ref: str, cache: Path) -> GitTree:
    """The newest commit of a remote branch or tag: no history, no checkout, and only the files planning reads.

    Raises UsageError with git's own words when the remote cannot be read.
    """
    folder = cache / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.git"
    folder.mkdir(parents=True, exist_ok=True)
    repository = Repository(folder)
    repository.run("init", "--quiet", "--bare")
    for key, value in (("url", url), ("promisor", "true"), ("partialclonefilter", "blob:none")):
        repository.run("config", f"remote.origin.{key}", value)
    fetched = f"refs/fetched/{hashlib.sha256(ref.encode()).hexdigest()[:16]}"
    try:
        repository.run(
            "fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "origin", f"+{ref}:{fetched}"
        )
        commit = repository.resolve(fetched)
        fetch_missing(repository, ["-1", commit], _READ_PATHS)
    except GitError as error:
        raise UsageError(
            error.message, path=url, hint="write URL@REF with a branch or tag of that repository"
        ) from None
    return GitTree(repository, commit, f"{url}@{commit[:12]}")


def fetch_missing(repository: Repository, revisions: Sequence[str], paths: Sequence[str]) -> None:
    """Fetch in one go what a partial clone lacks of `paths`, instead of one object at a time; `revisions` are arguments
    of git rev-list. Nothing happens in a full clone. Raises GitError when the remote does not answer.
    """
    try:
        promisor = repository.run("config", "--get-regexp", r"^remote\..*\.promisor$", "true").decode()
    except GitError:
        return
    remote = promisor.split()[0].removeprefix("remote.").removesuffix(".promisor")
    listing = repository.run("rev-list", "--objects", "--missing=print", *revisions, "--", *paths).decode()
    missing = [line[1:] for line in listing.splitlines() if line.startswith("?")]
    if missing:
        repository.run(
            *("-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head"),
            *("--recurse-submodules=no", "--filter=blob:none", "--stdin", remote),
            stdin="\n".join(missing).encode() + b"\n",
        )
