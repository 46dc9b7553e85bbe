"""An operator's status from what git and GitHub show. Pure; the manifest's record only settles what they cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.forge.approval import Approval
from pipeline.forge.claims import FREE, Claim, ClaimState
from pipeline.forge.marker import Stage
from pipeline.forge.model import PullRequest
from pipeline.forge.overview import Head, Landing
from pipeline.manifest import State, Status
from pipeline.runner.build import Build, Level, Verdict

MERGE_BOTS = frozenset({"pytorchmergebot", "pytorchbot"})
MERGED_LABEL = "Merged"
_EARLY = (
    State.LISTED,
    State.READY,
    State.CHECKED,
    State.BRANCHED,
    State.BUILT,
    State.TESTED,
    State.APPROVED,
)
_FINAL = (State.REJECTED, State.SUPERSEDED, State.LANDED, State.REVERTED)
_PUBLIC = (State.PROPOSED, State.LANDED, State.REVERTED, State.REJECTED)
_CLAIMED = "claimed: "


@dataclass(frozen=True)
class Seen:
    """All that is known of an operator. `pulls` and `landings` are oldest first; `written`: its fragments exist."""

    operator: str
    recorded: Status
    written: bool
    head: Head | None = None
    pulls: tuple[PullRequest, ...] = ()
    landings: tuple[Landing, ...] = ()
    approval: Approval | None = None
    build: Build | None = None
    claim: Claim = FREE


def status_of(seen: Seen, now: datetime) -> Status:
    """The status to record; the recorded one when nothing but the time would change."""
    status = _with_evidence(seen, _from_pulls(seen) or _from_claims(seen) or _from_branch(seen))
    if replace(seen.recorded, at="") == replace(status, at=""):
        return seen.recorded
    return replace(status, at=now.strftime("%Y-%m-%dT%H:%M:%SZ"))


def reconsidered(recorded: Status, pull: PullRequest) -> bool:
    """Whether a person took a closed pull request up again: wrote an early state with its link into the manifest."""
    return recorded.state in _EARLY and recorded.link == pull.url


def overtaken(seen: Seen) -> bool:
    """Whether an open pull request of ours has been made pointless by somebody's landed commit."""
    return seen.claim.state is ClaimState.LANDED and bool(seen.pulls) and seen.pulls[-1].open


def _with_evidence(seen: Seen, status: Status) -> Status:
    """What the branch's commit and its build say goes along into the states that follow."""
    if status.state not in _PUBLIC:
        return status
    head, build = seen.head, seen.build
    return replace(
        status,
        evidence=head.evidence if head is not None else seen.recorded.evidence,
        image=build.image if build is not None else seen.recorded.image,
    )


def _from_pulls(seen: Seen) -> Status | None:
    if not seen.pulls or reconsidered(seen.recorded, seen.pulls[-1]):
        return None
    latest = seen.pulls[-1]
    last = seen.landings[-1] if seen.landings else None
    if latest.open and (last is None or last.number != latest.number):
        return _from_open(seen, latest)
    if last is not None and not last.revert:
        return Status(State.LANDED, commit=last.commit, link=_link(seen, last.number))
    if last is not None and last.number == latest.number:
        return Status(State.REVERTED, commit=last.commit, link=latest.url, reason="reverted upstream")
    return _from_closed(seen, latest)


def _from_open(seen: Seen, pull: PullRequest) -> Status:
    if seen.claim.state is ClaimState.LANDED:
        return _superseded(seen.claim)
    if seen.recorded.state is State.HELD and not seen.recorded.reason.startswith(_CLAIMED):
        return seen.recorded
    stand = "draft" if pull.draft else "ready for review"
    return Status(State.PROPOSED, commit=pull.commit, link=pull.url, reason=stand)


def _from_closed(seen: Seen, pull: PullRequest) -> Status:
    if seen.recorded.state is State.SUPERSEDED:
        return seen.recorded
    if pull.marker is not None and pull.marker.stage is Stage.SUPERSEDED:
        landed = seen.claim.state is ClaimState.LANDED
        return _superseded(seen.claim) if landed else Status(State.SUPERSEDED, link=pull.url, reason="overtaken")
    if pull.closed_by in MERGE_BOTS or MERGED_LABEL in pull.labels:
        reason = "closed by the merge bot; its commit is not on main yet"
        return Status(State.PROPOSED, commit=pull.commit, link=pull.url, reason=reason)
    return Status(State.REJECTED, commit=pull.commit, link=pull.url, reason=f"closed by {pull.closed_by or 'someone'}")


def _from_claims(seen: Seen) -> Status | None:
    if seen.claim.state is ClaimState.LANDED:
        return _superseded(seen.claim)
    if seen.recorded.state is State.HELD and not seen.recorded.reason.startswith(_CLAIMED):
        return seen.recorded
    if seen.claim.state is ClaimState.CLAIMED:
        return Status(State.HELD, link=seen.claim.link, reason=f"{_CLAIMED}{seen.claim.evidence}")
    if seen.recorded.state in _FINAL and not seen.pulls:
        return seen.recorded
    return None


def _from_branch(seen: Seen) -> Status:
    kept = {"link": seen.recorded.link, "reason": seen.recorded.reason} if _is_second_try(seen) else {}
    if seen.head is None:
        if _still_true(seen):
            return seen.recorded
        return Status(State.READY if seen.written else State.LISTED, **kept)
    status = Status(State.BRANCHED, commit=seen.head.commit, evidence=seen.head.evidence, **kept)
    if seen.approval is not None and seen.approval.commit == seen.head.commit:
        return replace(_with_build(status, seen.build), state=State.APPROVED, reason=f"by {seen.approval.by}")
    if seen.head.foreign:
        return replace(status, reason=seen.head.foreign)
    return _with_build(status, seen.build)


def _still_true(seen: Seen) -> bool:
    """Without a branch: what a person wrote (listed, for a reason) and what a check found stand."""
    if seen.recorded.state is State.LISTED:
        return bool(seen.recorded.reason) or not seen.written
    return seen.recorded.state in (State.READY, State.CHECKED) and seen.written


def _is_second_try(seen: Seen) -> bool:
    return bool(seen.pulls) and reconsidered(seen.recorded, seen.pulls[-1])


def _with_build(status: Status, build: Build | None) -> Status:
    """A shader-level run compiles and runs the kernel only: BUILT. TESTED needs PyTorch built and its tests passed."""
    if build is None or build.commit != status.commit:
        return status
    link = status.link or build.link
    if build.verdict is Verdict.PASSED:
        state = State.TESTED if build.level is Level.FULL else State.BUILT
        return replace(status, state=state, link=link, image=build.image)
    if build.verdict in (Verdict.TESTS_FAILED, Verdict.UNEXPECTED_SUCCESS):
        return replace(status, state=State.BUILT, link=link, image=build.image, reason=build.summary)
    if build.verdict is Verdict.BUILD_FAILED:
        return replace(status, link=link, image=build.image, reason=build.summary)
    return status


def _superseded(claim: Claim) -> Status:
    return Status(State.SUPERSEDED, link=claim.link, reason=claim.evidence)


def _link(seen: Seen, number: int) -> str:
    return next((pull.url for pull in seen.pulls if pull.number == number), "")
