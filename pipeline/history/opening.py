"""From what the user writes behind --source to the moments of a history, ready to be counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.git import Repository
from pipeline.history.commits import Moment, moments, tagged_moments
from pipeline.history.count import Point, count_moments
from pipeline.open_source import is_url, open_source
from pipeline.snapshot import HOST_FOLDERS
from pipeline.source import NATIVE_FUNCTIONS, NATIVE_HEADERS
from pipeline.source_git import fetch_missing

_READ_PATHS = (NATIVE_FUNCTIONS, f":(glob){NATIVE_HEADERS}/*.h", f":(glob){NATIVE_HEADERS}/*.cpp", *HOST_FOLDERS)


@dataclass(frozen=True)
class History:
    label: str
    moments: Sequence[Moment]
    repository: Repository

    def points(self) -> Iterator[Point]:
        return count_moments(self.repository, self.moments)


def open_history(spec: str, root: Path, tags: str = "", *, every_parent: bool = False) -> History:
    """`tags` is a pattern of tags, RELEASES, or empty for every commit that touches what is counted.

    Raises UsageError when the source is no repository with a history.
    """
    if is_url(spec):
        hint = f"run `git clone --filter=blob:none --no-checkout {spec.partition('@')[0]}` and name the clone"
        raise UsageError("a URL is fetched without its history", path=spec, hint=hint)
    source = open_source(spec, root)
    repository, commit = source.repository, source.tree.commit
    if repository is None or commit is None:
        raise UsageError("has no history", path=source.tree.label, hint="name a repository")
    label = source.tree.label
    if repository.run("rev-parse", "--is-shallow-repository").strip() == b"true":
        label += " (a shallow clone: older commits are not there)"
    if tags:
        found = tagged_moments(repository, tags)
        fetch_missing(repository, ["--no-walk", *(moment.commit for moment in found)], _READ_PATHS)
    else:
        found = moments(repository, commit, every_parent=every_parent)
        way = [] if every_parent else ["--first-parent"]
        fetch_missing(repository, [*way, commit], _READ_PATHS)
    return History(label, found, repository)
