"""Pull requests on GitHub, through PyGithub. Every creation looks first, and again after an answer that was lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import github
from github.NamedUser import NamedUser
from github.PullRequest import PullRequest as GithubPullRequest
from github.Repository import Repository as GithubRepository

from pipeline.forge.clock import Clock
from pipeline.forge.errors import Forbidden, Invalid, Uncertain
from pipeline.forge.marker import find_marker
from pipeline.forge.model import ChangedFile, Foreign, Issue, NewPullRequest, PullRequest, Standing
from pipeline.forge.session import asking

_PAUSES = (2.0, 8.0, 30.0)  # seconds before looking again after a lost answer
_FAILED = frozenset({"failure", "timed_out", "cancelled", "action_required", "startup_failure"})

T = TypeVar("T")


def _login(person: NamedUser | None) -> str:
    """Empty for an account that was deleted."""
    return person.login if person is not None else ""


def _nothing() -> None:
    """For calls that may be repeated as they are."""


class GitHubForge:
    """Pull requests of `fork` ("owner/name") at `upstream`, into its branch `base`."""

    def __init__(self, client: github.Github, upstream: str, base: str, fork: str, clock: Clock) -> None:
        self.upstream, self.base, self.fork = upstream, base, fork
        self._client = client
        self._clock = clock

    @property
    def _repository(self) -> GithubRepository:
        return self._client.get_repo(self.upstream)

    @property
    def _fork_owner(self) -> str:
        return self.fork.split("/")[0]

    def login(self) -> str:
        """Whose token it is; empty for an app, which `GET /user` refuses."""
        try:
            with asking("ask whose token this is"):
                return self._client.get_user().login
        except Forbidden:
            return ""

    def own_pull_requests(self, branches: Sequence[str]) -> list[PullRequest]:
        """By creator and marker in one listing, then by branch: a text may have been edited, the token changed."""
        found: dict[int, PullRequest] = {}
        login = self.login()
        if login:
            with asking(f"list the pull requests of {login} at {self.upstream}"):
                issues = list(self._repository.get_issues(state="all", creator=self._client.get_user(login)))
            for issue in issues:
                if issue.pull_request is not None and find_marker(issue.body or ""):
                    pull = self._pull(issue.number)
                    if pull is not None:
                        found[pull.number] = pull
        known = {pull.branch for pull in found.values()}
        for branch in branches:
            if branch not in known:
                found |= {pull.number: pull for pull in self.pull_requests_of(branch)}
        return sorted(found.values(), key=lambda pull: pull.number)

    def pull_requests_of(self, branch: str) -> list[PullRequest]:
        """Every pull request from that branch of the fork, open or closed, oldest first."""
        with asking(f"look up pull requests of {self._fork_owner}:{branch} at {self.upstream}"):
            listed = list(self._repository.get_pulls(state="all", head=f"{self._fork_owner}:{branch}"))
        pulls = [self._pull(item.number) for item in listed]
        return sorted((pull for pull in pulls if pull is not None), key=lambda pull: pull.number)

    def open_pull_request(self, new: NewPullRequest) -> PullRequest:
        def look() -> PullRequest | None:
            return next((pull for pull in self.pull_requests_of(new.branch) if pull.open), None)

        def create() -> PullRequest:
            with asking(f"open a pull request of {self._fork_owner}:{new.branch} at {self.upstream}"):
                made = self._repository.create_pull(
                    base=self.base,
                    head=f"{self._fork_owner}:{new.branch}",
                    title=new.title,
                    body=new.body,
                    draft=True,
                    maintainer_can_modify=True,
                )
            return self._as_pull_request(made, closed_by="")

        return self._create(look, create)

    def edit_body(self, number: int, body: str) -> None:
        with asking(f"edit pull request {self.upstream}#{number}"):
            self._lazy_pull(number).edit(body=body)

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        def add() -> None:
            with asking(f"label pull request {self.upstream}#{number}"):
                self._lazy_pull(number).add_to_labels(*labels)

        self._create(_nothing, add)

    def request_reviews(self, number: int, logins: Sequence[str]) -> None:
        def request() -> None:
            with asking(f"ask for reviews of {self.upstream}#{number}"):
                self._lazy_pull(number).create_review_request(reviewers=list(logins))

        try:
            self._create(_nothing, request)
        except Invalid as error:
            raise Forbidden(error.message, hint="name collaborators of the upstream repository") from None

    def mark_ready(self, number: int) -> None:
        def look() -> bool | None:
            with asking(f"read pull request {self.upstream}#{number}"):
                return None if self._lazy_pull(number).draft else True

        def mark() -> bool:
            with asking(f"mark {self.upstream}#{number} ready for review"):
                self._lazy_pull(number).mark_ready_for_review()
            return True

        self._create(look, mark)

    def close(self, number: int, reason: str) -> None:
        """The comment first: a pull request never closes without its reason."""

        def look() -> bool | None:
            with asking(f"read the comments of {self.upstream}#{number}"):
                comments = [comment.body for comment in self._repository.get_issue(number).get_comments()]
            return True if reason in comments else None

        def create() -> bool:
            with asking(f"comment on {self.upstream}#{number}"):
                self._repository.get_issue(number).create_comment(reason)
            return True

        self._create(look, create)
        with asking(f"close pull request {self.upstream}#{number}"):
            self._lazy_pull(number).edit(state="closed")

    def standing(self, pull: PullRequest) -> Standing:
        with asking(f"read reviews and checks of {self.upstream}#{pull.number}"):
            latest = {
                _login(review.user): review.state
                for review in self._lazy_pull(pull.number).get_reviews()
                if review.state in ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")
            }
            runs = list(self._repository.get_commit(pull.commit).get_check_runs())
        return Standing(
            approved_by=tuple(sorted(who for who, state in latest.items() if state == "APPROVED")),
            changes_requested_by=tuple(sorted(who for who, state in latest.items() if state == "CHANGES_REQUESTED")),
            failed_checks=tuple(sorted(run.name for run in runs if run.conclusion in _FAILED)),
            pending_checks=tuple(sorted(run.name for run in runs if run.status != "completed")),
        )

    def foreign_pull_requests(self, labels: Sequence[str]) -> list[Foreign]:
        """One listing a label, because GitHub takes several labels as "all of them"."""
        found: dict[int, Foreign] = {}
        for label in labels:
            with asking(f"list open pull requests labelled {label!r} at {self.upstream}"):
                issues = list(self._repository.get_issues(state="open", labels=[label]))
            for issue in issues:
                if issue.pull_request is not None:
                    found[issue.number] = Foreign(
                        issue.number,
                        issue.pull_request.html_url,
                        issue.title,
                        _login(issue.user),
                        issue.updated_at.isoformat(),
                    )
        return [found[number] for number in sorted(found)]

    def changed_files(self, number: int) -> list[ChangedFile]:
        with asking(f"read the files of {self.upstream}#{number}"):
            files = list(self._lazy_pull(number).get_files())
        return [ChangedFile(item.filename, item.patch or None) for item in files]

    def issue(self, number: int) -> Issue:
        with asking(f"read issue {self.upstream}#{number}"):
            found = self._repository.get_issue(number)
            comments = tuple(comment.body or "" for comment in found.get_comments())
            return Issue(number, found.html_url, found.body or "", comments)

    def edit_issue(self, number: int, body: str) -> None:
        with asking(f"edit issue {self.upstream}#{number}"):
            self._repository.get_issue(number).edit(body=body)

    def _lazy_pull(self, number: int) -> GithubPullRequest:
        return self._repository.get_pull(number)

    def _pull(self, number: int) -> PullRequest | None:
        """The pull request, unless its head is not in our fork: anybody can write our marker into a text."""
        with asking(f"read pull request {self.upstream}#{number}"):
            found = self._repository.get_pull(number)
            if found.head.repo is None or found.head.repo.full_name != self.fork:
                return None
            closed_by = ""
            if found.state == "closed":
                person = self._repository.get_issue(number).closed_by
                closed_by = _login(person)
            return self._as_pull_request(found, closed_by)

    def _as_pull_request(self, found: GithubPullRequest, closed_by: str) -> PullRequest:
        return PullRequest(
            number=found.number,
            url=found.html_url,
            open=found.state == "open",
            draft=found.draft,
            title=found.title,
            body=found.body or "",
            branch=found.head.ref,
            commit=found.head.sha,
            author=_login(found.user),
            created=found.created_at,
            labels=tuple(label.name for label in found.labels),
            reviewers=tuple(person.login for person in found.requested_reviewers),
            closed_by=closed_by,
            mergeable=found.mergeable,
        )

    def _create(self, look: Callable[[], T | None], create: Callable[[], T]) -> T:
        """Create what is not there yet; after a lost answer, or a "there already", look before anything else."""
        found = look()
        if found is not None:
            return found
        for pause in _PAUSES:
            try:
                return create()
            except (Uncertain, Invalid) as error:
                found = look()
                if found is not None:
                    return found
                if isinstance(error, Invalid):
                    raise
                self._clock.sleep(pause)
        return create()
