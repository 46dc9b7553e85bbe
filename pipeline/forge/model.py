"""What the pipeline knows of pull requests, wherever they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pipeline.forge.marker import Marker, find_marker


@dataclass(frozen=True)
class PullRequest:
    """`branch` and `commit` are its head; `mergeable` is None while the forge has not worked it out.

    `reviewers` are those asked and not heard yet. `closed_by` is the login of who closed it, empty while open or where
    the forge does not say.
    """

    number: int
    url: str
    open: bool
    draft: bool
    title: str
    body: str
    branch: str
    commit: str
    author: str
    created: datetime
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    closed_by: str = ""
    mergeable: bool | None = None

    @property
    def marker(self) -> Marker | None:
        return find_marker(self.body)


@dataclass(frozen=True)
class NewPullRequest:
    branch: str
    title: str
    body: str


@dataclass(frozen=True)
class ChangedFile:
    """One file of a pull request's diff; `patch` (the hunks) is None where the forge leaves it out for its size."""

    path: str
    patch: str | None


@dataclass(frozen=True)
class Foreign:
    """Someone's open pull request, as listed: `version` changes whenever anything about it does."""

    number: int
    url: str
    title: str
    author: str
    version: str


@dataclass(frozen=True)
class Issue:
    number: int
    url: str
    body: str
    comments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Standing:
    """What reviewers and checks say of a pull request: logins, and names of checks."""

    approved_by: tuple[str, ...] = ()
    changes_requested_by: tuple[str, ...] = ()
    failed_checks: tuple[str, ...] = ()
    pending_checks: tuple[str, ...] = ()


class Forge(Protocol):
    """Every method that changes something may be called again after it was cut short; nothing happens twice."""

    def own_pull_requests(self, branches: Sequence[str]) -> list[PullRequest]:
        """All pull requests of ours, open and closed, oldest first. `branches`: where to look besides the marker."""

    def pull_requests_of(self, branch: str) -> list[PullRequest]:
        """Those from one branch, open and closed, oldest first."""

    def open_pull_request(self, new: NewPullRequest) -> PullRequest:
        """Open a draft, or return the one that is open for that branch already."""

    def edit_body(self, number: int, body: str) -> None: ...

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        """Raises Forbidden where the token may not."""

    def request_reviews(self, number: int, logins: Sequence[str]) -> None:
        """Raises Forbidden where the token may not, or a login cannot review."""

    def mark_ready(self, number: int) -> None: ...

    def close(self, number: int, reason: str) -> None:
        """Close with a comment that says why."""

    def standing(self, pull: PullRequest) -> Standing: ...

    def foreign_pull_requests(self, labels: Sequence[str]) -> list[Foreign]:
        """Open pull requests that carry any of the labels."""

    def changed_files(self, number: int) -> list[ChangedFile]: ...

    def issue(self, number: int) -> Issue: ...

    def edit_issue(self, number: int, body: str) -> None: ...
