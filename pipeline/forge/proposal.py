"""From an approved branch to a draft pull request, in steps each of which may be the last before a crash.

`next_step` looks at what is there and names the one thing that is missing; `carry_out` does it. Run again, they go on
where they stopped: nothing is kept but what git and GitHub show.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pipeline.forge.approval import Approval
from pipeline.forge.marker import Marker, Stage, find_marker, replace_ours, set_marker
from pipeline.forge.model import Forge, NewPullRequest, PullRequest
from pipeline.forge.remote import Remote
from pipeline.git import ZERO, RefChange


@dataclass(frozen=True)
class Text:
    """`body` holds, between our marks, the part that is ours to rewrite (`ours`), with the marker in it."""

    title: str
    body: str
    ours: str


@dataclass(frozen=True)
class Proposal:
    """What an operator's pull request should be."""

    operator: str
    branch: str
    commit: str
    approval: Approval
    text: Text
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    ready: bool = False


@dataclass(frozen=True)
class Push:
    changes: tuple[RefChange, ...]


@dataclass(frozen=True)
class Open:
    new: NewPullRequest


@dataclass(frozen=True)
class EditBody:
    number: int
    body: str


@dataclass(frozen=True)
class AddLabels:
    number: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class AskReviewers:
    number: int
    logins: tuple[str, ...]


@dataclass(frozen=True)
class MarkReady:
    number: int


Step = Push | Open | EditBody | AddLabels | AskReviewers | MarkReady


def next_step(
    proposal: Proposal, remote: Mapping[str, str], pull: PullRequest | None, refused: Collection[Step] = ()
) -> Step | None:
    """The one thing to do now, or None when all is done.

    `remote` holds the fork's refs, `pull` the open pull request, `refused` the steps that the token may not take. The
    approval travels with the branch: who approved what stays provable on the fork.
    """
    wanted = {f"refs/heads/{proposal.branch}": proposal.commit, proposal.approval.ref: proposal.approval.record}
    changes = tuple(
        RefChange(ref, remote.get(ref, ZERO), name) for ref, name in wanted.items() if remote.get(ref) != name
    )
    if changes:
        return Push(changes)
    if pull is None:
        return Open(NewPullRequest(proposal.branch, proposal.text.title, proposal.text.body))
    marker = pull.marker
    if marker is not None and marker.commit != proposal.commit:
        body = _brought_up_to_date(pull.body, proposal, marker)
        if body != pull.body:
            return EditBody(pull.number, body)
    if marker is not None and marker.stage is Stage.OPENING:
        return _dressing(proposal, pull, marker, refused)
    return MarkReady(pull.number) if proposal.ready and pull.draft else None


def _dressing(proposal: Proposal, pull: PullRequest, marker: Marker, refused: Collection[Step]) -> Step:
    """Labels and reviewers once, then the stage that says so: what a person takes off later stays off."""
    labels = AddLabels(pull.number, tuple(label for label in proposal.labels if label not in pull.labels))
    if labels.labels and labels not in refused:
        return labels
    reviewers = AskReviewers(pull.number, tuple(login for login in proposal.reviewers if login not in pull.reviewers))
    if reviewers.logins and reviewers not in refused:
        return reviewers
    return EditBody(pull.number, set_marker(pull.body, Marker(marker.operator, marker.commit, Stage.OPEN)))


def _brought_up_to_date(body: str, proposal: Proposal, marker: Marker) -> str:
    """Our part renewed for the new commit; when a person took our marks away, only the marker follows."""
    renewed = replace_ours(body, proposal.text.ours)
    text = body if renewed is None else renewed
    return set_marker(text, Marker(marker.operator, proposal.commit, marker.stage)) if find_marker(text) else body


def carry_out(step: Step, forge: Forge, remote: Remote) -> None:
    """Do one step. Raises Forbidden for labels and reviewers that the token may not set."""
    match step:
        case Push(changes):
            remote.push(changes)
        case Open(new):
            forge.open_pull_request(new)
        case EditBody(number, body):
            forge.edit_body(number, body)
        case AddLabels(number, labels):
            forge.add_labels(number, labels)
        case AskReviewers(number, logins):
            forge.request_reviews(number, logins)
        case MarkReady(number):
            forge.mark_ready(number)
