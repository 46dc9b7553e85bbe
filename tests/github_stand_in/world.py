"""Repositories, pull requests, issues and workflow runs, and GitHub's rules about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from pipeline.git import GitError, Repository


class ApiError(Exception):
    """An answer that is not a success; `errors` as in GitHub's validation errors."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: list[dict[str, str]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.errors = errors or []
        self.headers = dict(headers or {})


def invalid(resource: str, **error: str) -> ApiError:
    """422, docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api "Validation Failed"."""
    return ApiError(422, "Validation Failed", [{"resource": resource, **error}])


@dataclass(frozen=True)
class Actor:
    """Who a token speaks for. An integration (GITHUB_TOKEN, an app) is not a user: `GET /user` answers it 403."""

    login: str
    writes: frozenset[str] = frozenset()
    integration: bool = False
    reads_only: bool = False


@dataclass
class Comment:
    id: int
    issue: int
    user: str
    body: str
    at: datetime


@dataclass
class Issue:
    """An issue; pull requests are issues too and share their numbers."""

    number: int
    title: str
    body: str
    user: str
    at: datetime
    state: str = "open"
    labels: list[str] = field(default_factory=list)
    closed_by: str | None = None
    closed_at: datetime | None = None
    updated: datetime | None = None


@dataclass
class Pull(Issue):
    id: int = 0
    head_repo: str = ""
    head: str = ""
    base: str = ""
    sha: str = ""
    draft: bool = False
    reviewers: list[str] = field(default_factory=list)
    reviews: list[tuple[str, str, str]] = field(default_factory=list)  # (login, state, body)


@dataclass
class Run:
    id: int
    number: int
    workflow: str
    title: str
    ref: str
    sha: str
    inputs: dict[str, str]
    at: datetime
    ended: datetime | None = None
    status: str = "queued"
    conclusion: str | None = None
    attempt: int = 1
    steps: list[tuple[str, str]] = field(default_factory=list)  # (name, conclusion) of the only job


@dataclass
class Artifact:
    id: int
    run: int
    name: str
    archive: bytes
    expired: bool = False


@dataclass
class Repo:
    full_name: str
    id: int
    git: Repository
    parent: str | None = None
    default: str = "main"
    issues: dict[int, Issue] = field(default_factory=dict)
    comments: list[Comment] = field(default_factory=list)
    collaborators: set[str] = field(default_factory=set)
    checks: list[tuple[str, str, str, str | None]] = field(default_factory=list)  # (sha, name, status, conclusion)
    runs: list[Run] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    enabled: list[str] = field(default_factory=list)

    @property
    def owner(self) -> str:
        return self.full_name.split("/")[0]

    @property
    def pulls(self) -> list[Pull]:
        return [issue for issue in self.issues.values() if isinstance(issue, Pull)]

    def branch(self, name: str) -> str | None:
        return self.git.ref(f"refs/heads/{name}")


class World:
    """All state. `now` is the only clock; tests move it."""

    def __init__(self, root: Path, now: datetime = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)) -> None:
        self.root = root
        self.now = now
        self.repos: dict[str, Repo] = {}
        self.tokens: dict[str, Actor] = {}
        self.ghosts: set[str] = set()  # accounts that were deleted: GitHub gives null in their place
        self._ids = count(1001)
        self.blob_host = ""
        self._merge_states: set[tuple[str, str]] = set()

    def new_id(self) -> int:
        return next(self._ids)

    def advance(self, **spans: float) -> None:
        self.now += timedelta(**spans)

    # Repositories

    def add_repo(self, full_name: str, source: Path | None = None, parent: str | None = None) -> Repo:
        path = self.root / f"{full_name}.git"
        path.parent.mkdir(parents=True, exist_ok=True)
        here = Repository(self.root)
        if source is None:
            here.run("init", "-q", "--bare", "-b", "main", str(path))
        else:
            here.run("clone", "-q", "--bare", str(source), str(path))
        repo = self.repos[full_name] = Repo(full_name, self.new_id(), Repository(path), parent)
        repo.git.run("config", "http.receivepack", "true")
        repo.git.run("config", "uploadpack.allowAnySHA1InWant", "true")
        repo.git.run("config", "uploadpack.allowFilter", "true")
        return repo

    def fork(self, full_name: str, owner: str) -> Repo:
        """Forks are asynchronous on GitHub (202); here they are there at once."""
        name = f"{owner}/{full_name.split('/')[1]}"
        return self.repos.get(name) or self.add_repo(name, self.repos[full_name].git.path, full_name)

    def repo(self, full_name: str) -> Repo:
        if full_name not in self.repos:
            raise ApiError(404, "Not Found")
        return self.repos[full_name]

    def may_write(self, actor: Actor, repo: Repo) -> bool:
        return not actor.reads_only and (actor.login == repo.owner or repo.full_name in actor.writes)

    # Pull requests

    def open_pull(self, repo: Repo, actor: Actor, body: Mapping[str, Any]) -> Pull:
        """docs.github.com/rest/pulls/pulls#create-a-pull-request; the three 422 answers are what GitHub sends."""
        if actor.reads_only:
            raise forbidden()
        owner, _, branch = str(body["head"]).rpartition(":")
        head_repo = self._head_repo(repo, owner or repo.owner)
        sha = head_repo.branch(branch) if head_repo else None
        base_sha = repo.branch(str(body["base"]))
        if base_sha is None:
            raise invalid("PullRequest", field="base", code="invalid")
        if head_repo is None or sha is None:
            raise invalid("PullRequest", field="head", code="invalid")
        if any(
            pull.state == "open"
            and (pull.head_repo, pull.head, pull.base) == (head_repo.full_name, branch, body["base"])
            for pull in repo.pulls
        ):
            raise invalid("PullRequest", code="custom", message=f"A pull request already exists for {body['head']}.")
        number = max(repo.issues, default=0) + 1
        pull = Pull(
            number=number,
            title=str(body["title"]),
            body=str(body.get("body") or ""),
            user=actor.login,
            at=self.now,
            id=self.new_id(),
            head_repo=head_repo.full_name,
            head=branch,
            base=str(body["base"]),
            draft=bool(body.get("draft")),
        )
        self._fetch_head(repo, pull, head_repo)
        if not repo.git.run("rev-list", "-1", f"{base_sha}..{sha}").strip():
            message = f"No commits between {repo.owner}:{body['base']} and {body['head']}"
            raise invalid("PullRequest", code="custom", message=message)
        repo.issues[number] = pull
        return pull

    def refresh(self, repo: Repo, pull: Pull) -> None:
        """An open pull request follows its branch; when the branch is deleted, GitHub closes it."""
        if pull.state != "open":
            return
        head_repo = self.repos.get(pull.head_repo)
        sha = head_repo.branch(pull.head) if head_repo else None
        if head_repo is None or sha is None:
            self.set_state(pull, "closed", pull.user)
        elif sha != pull.sha:
            self._fetch_head(repo, pull, head_repo)
            pull.updated = self.now

    def set_state(self, issue: Issue, state: str, login: str) -> None:
        if issue.state == state:
            return
        issue.state, issue.updated = state, self.now
        issue.closed_by = login if state == "closed" else None
        issue.closed_at = self.now if state == "closed" else None

    def mergeable(self, repo: Repo, pull: Pull) -> bool | None:
        """None at first: GitHub computes it in the background (docs.github.com/rest/pulls/pulls#get-a-pull-request)."""
        base = repo.branch(pull.base) or ""
        if (base, pull.sha) not in self._merge_states:
            self._merge_states.add((base, pull.sha))
            return None
        try:
            repo.git.run("merge-tree", "--write-tree", base, pull.sha)
        except GitError:
            return False
        return True

    def _head_repo(self, repo: Repo, owner: str) -> Repo | None:
        if owner == repo.owner:
            return repo
        kin = (other for other in self.repos.values() if other.parent == repo.full_name)
        return next((fork for fork in kin if fork.owner == owner), None)

    def _fetch_head(self, repo: Repo, pull: Pull, head_repo: Repo) -> None:
        refspec = f"+refs/heads/{pull.head}:refs/pull/{pull.number}/head"
        repo.git.run("fetch", "-q", str(head_repo.git.path), refspec)
        pull.sha = repo.git.resolve(f"refs/pull/{pull.number}/head")

    # Issues

    def add_issue(self, repo: Repo, title: str, body: str, user: str) -> Issue:
        number = max(repo.issues, default=0) + 1
        issue = repo.issues[number] = Issue(number, title, body, user, self.now)
        return issue

    def add_comment(self, repo: Repo, issue: Issue, user: str, body: str) -> Comment:
        comment = Comment(self.new_id(), issue.number, user, body, self.now)
        repo.comments.append(comment)
        issue.updated = self.now
        return comment


def forbidden() -> ApiError:
    return ApiError(403, "Resource not accessible by personal access token")
