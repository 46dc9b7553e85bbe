"""The commits of a history that are worth counting at: those that touch the rows or the MPS back end, or the tags."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from pipeline.errors import UsageError
from pipeline.git import Repository
from pipeline.snapshot import HOST_FOLDERS
from pipeline.source import NATIVE_FUNCTIONS

_RELEASE = re.compile(r"v?\d+\.\d+(\.\d+)?")
RELEASES = "releases"
"""As a pattern of tags: those that read `v1.2.3`, release candidates left out."""


@dataclass(frozen=True)
class Moment:
    """A commit, when it was committed, and what to call it: its tag, or the first line of its message."""

    commit: str
    at: datetime
    name: str


def moments(repository: Repository, head: str, *, every_parent: bool = False) -> list[Moment]:
    """The commits up to `head` that touch what is counted, oldest first; along first parents unless told otherwise."""
    way = ["--full-history"] if every_parent else ["--first-parent"]
    form = "--format=%H%x00%ct%x00%s%x00"
    log = repository.run("log", "--topo-order", "--reverse", *way, form, head, "--", NATIVE_FUNCTIONS, *HOST_FOLDERS)
    fields = log.decode(errors="replace").split("\0")
    records = zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
    return [_moment(commit.strip(), seconds, subject) for commit, seconds, subject in records]


def tagged_moments(repository: Repository, pattern: str) -> list[Moment]:
    """The commits of the tags that match, oldest first. Raises UsageError when none does."""
    form = "--format=%(refname:strip=2)%00%(objecttype)%00%(objectname)%00%(*objecttype)%00%(*objectname)"
    listing = repository.run("for-each-ref", form, "refs/tags").decode(errors="replace")
    tags: dict[str, str] = {}
    for name, kind, own, peeled_kind, peeled in (line.split("\0") for line in listing.splitlines()):
        if "commit" in (kind, peeled_kind) and _matches(name, pattern):
            tags[name] = peeled or own
    if not tags:
        raise UsageError(f"no tag matches {pattern!r}", path=str(repository.path), hint="fetch the tags first")
    dates = repository.run("show", "-s", "--format=%ct", *(f"{tag}^{{commit}}" for tag in tags)).decode().split()
    found = [_moment(commit, date, name) for (name, commit), date in zip(tags.items(), dates, strict=True)]
    return sorted(found, key=lambda moment: (moment.at, moment.name))


def _matches(name: str, pattern: str) -> bool:
    if pattern == RELEASES:
        return _RELEASE.fullmatch(name) is not None
    return fnmatch.fnmatchcase(name, pattern)


def _moment(commit: str, seconds: str, name: str) -> Moment:
    return Moment(commit, datetime.fromtimestamp(int(seconds), UTC), name)
