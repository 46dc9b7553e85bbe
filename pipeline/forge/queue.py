"""Which branches may become pull requests now, and why the others wait. Pure: everything it needs is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pipeline.forge.approval import Approval
from pipeline.forge.claims import FREE, Claim, ClaimState
from pipeline.forge.model import PullRequest
from pipeline.manifest import Limits, State, Status
from pipeline.source import KERNELS, OPERATIONS

# A person, or upstream, has the last word on these.
_CLOSED = (State.HELD, State.REJECTED, State.SUPERSEDED, State.LANDED, State.REVERTED)


@dataclass(frozen=True)
class Candidate:
    """An operator with a branch. `files` are those its commit changes; `blocked` is a reason found by others, such as a
    person's commit on the branch."""

    operator: str
    commit: str
    files: frozenset[str]
    approval: Approval | None = None
    claim: Claim = FREE
    pulls: tuple[PullRequest, ...] = ()
    depends_on: tuple[str, ...] = ()
    status: Status = field(default_factory=Status)
    blocked: str = ""

    @property
    def open_pull(self) -> PullRequest | None:
        return next((pull for pull in self.pulls if pull.open), None)


@dataclass(frozen=True)
class Decision:
    """`wait` is empty when the operator may be proposed (or its pull request brought up to date) now."""

    operator: str
    wait: str = ""


@dataclass(frozen=True)
class Rules:
    """`signed`: an approval has to be signed. `asked` are operators that a person named, which go before all others.
    `merge` tells whether two commits merge without conflict."""

    limits: Limits
    signed: bool
    merge: Callable[[str, str], bool]
    asked: frozenset[str] = frozenset()


@dataclass
class _Room:
    """What is open, and grows as decisions are made."""

    in_flight: dict[str, Candidate]
    open_now: int
    today: int


def decide(
    candidates: Sequence[Candidate],
    states: Mapping[str, State],
    pulls: Sequence[PullRequest],
    rules: Rules,
    now: datetime,
) -> list[Decision]:
    """One decision a candidate, in the order to carry them out. `pulls` are all of ours, `states` the manifest's.

    Dependencies first, then operators asked for by name, then the given order; what was decided earlier counts against
    the limits and conflicts of what follows.
    """
    room = _Room(
        in_flight={candidate.operator: candidate for candidate in candidates if candidate.open_pull is not None},
        open_now=sum(pull.open for pull in pulls),
        today=sum(pull.created > now - timedelta(days=1) for pull in pulls),
    )
    decisions = []
    for candidate in _in_order(candidates, rules.asked):
        wait = _reason_to_wait(candidate, states, rules)
        if not wait and candidate.open_pull is None:
            wait = _no_room(candidate, room, rules)
            if not wait:
                room.in_flight[candidate.operator] = candidate
                room.open_now, room.today = room.open_now + 1, room.today + 1
        decisions.append(Decision(candidate.operator, wait))
    return decisions


def _in_order(candidates: Sequence[Candidate], asked: frozenset[str]) -> list[Candidate]:
    waiting = sorted(candidates, key=lambda candidate: candidate.operator not in asked)
    names = {candidate.operator for candidate in waiting}
    ordered: list[Candidate] = []
    while waiting:
        done = {candidate.operator for candidate in ordered}
        ready = [item for item in waiting if set(item.depends_on) & names <= done] or waiting[:1]
        ordered.append(ready[0])
        waiting.remove(ready[0])
    return ordered


def _reason_to_wait(candidate: Candidate, states: Mapping[str, State], rules: Rules) -> str:
    if candidate.blocked:
        return candidate.blocked
    if candidate.claim.state is not ClaimState.FREE and candidate.open_pull is None:
        return f"{candidate.claim.state.value} by {candidate.claim.link} ({candidate.claim.evidence})"
    if candidate.status.state in _CLOSED:
        about = ", ".join(part for part in (candidate.status.reason, candidate.status.link) if part)
        return f"it is {candidate.status.state.value}" + (f" ({about})" if about else "")
    waits_for = [name for name in candidate.depends_on if states.get(name) is not State.LANDED]
    if waits_for:
        return f"it depends on {', '.join(waits_for)}, not landed yet"
    if candidate.approval is None:
        return f"nobody approved commit {candidate.commit[:12]}"
    if rules.signed and not candidate.approval.signed:
        return f"the approval by {candidate.approval.by} is not signed with that person's key in `approvers`"
    return ""


def _no_room(candidate: Candidate, room: _Room, rules: Rules) -> str:
    limits = rules.limits
    clash = [name for name, other in room.in_flight.items() if not rules.merge(other.commit, candidate.commit)]
    if clash:
        return f"its branch conflicts with that of {', '.join(sorted(clash))}, which is open"
    if room.open_now >= limits.open_pull_requests:
        return f"{room.open_now} pull requests are open, the limit is {limits.open_pull_requests}"
    if room.today >= limits.new_per_day:
        return f"{room.today} pull requests were opened in the last 24 hours, the limit is {limits.new_per_day}"
    for path in sorted(filter(_is_counted, candidate.files)):
        users = sorted(name for name, other in room.in_flight.items() if path in other.files)
        if len(users) >= limits.per_file:
            return f"{', '.join(users)} already change {path}, the limit is {limits.per_file}"
    return ""


def _is_counted(path: str) -> bool:
    """Code that reviewers read together. Every migration changes native_functions.yaml and the test lists, each in its
    own place, so those are not counted."""
    return path.startswith((OPERATIONS, KERNELS))
