"""`invoke propose`: approved branches become draft pull requests, one step at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pipeline.errors import PipelineError
from pipeline.forge.approval import Approval, approval_of
from pipeline.forge.errors import Forbidden
from pipeline.forge.marker import Marker, Stage
from pipeline.forge.model import PullRequest
from pipeline.forge.observe import Observed, observe
from pipeline.forge.overview import merges
from pipeline.forge.place import Place
from pipeline.forge.proposal import AddLabels, AskReviewers, Proposal, Step, Text, carry_out, next_step
from pipeline.forge.queue import Candidate, Decision, Rules, decide
from pipeline.forge.track import Seen, status_of

_MOST_STEPS = 8


class Texts(Protocol):
    def __call__(self, operator: str, commit: str, approval: Approval, marker: Marker) -> Text:
        """The text of a pull request for that commit, with the marker in the part that is ours."""


@dataclass(frozen=True)
class Request:
    """What a person asks for: operators by name or all, marked ready, and claims to look past with the reason why."""

    operators: tuple[str, ...] = ()
    ready: bool = False
    ignored: tuple[int, ...] = ()


@dataclass(frozen=True)
class Proposed:
    """What came of one operator: its pull request, or why it waits; `notes` are for the person."""

    operator: str
    pull: PullRequest | None = None
    wait: str = ""
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


def propose(place: Place, texts: Texts, request: Request) -> list[Proposed]:
    """Bring every operator asked for as far as it may go.

    Raises PipelineError when GitHub or git fails on the way: what was done stays done, the next run goes on from there.
    """
    observed = observe(place, ignored=request.ignored)
    for name in request.operators:
        if name not in observed.overview.heads:
            raise PipelineError(f"{name} has no branch", hint=f"run `invoke migrate --op {name}` first")
    decisions = _decide(place, observed, request)
    results = []
    for decision in decisions:
        if request.operators and decision.operator not in request.operators:
            continue
        if decision.wait:
            results.append(Proposed(decision.operator, wait=decision.wait))
        else:
            results.append(_bring_up(place, observed, observed.seen[decision.operator], texts, request))
    return results


def _decide(place: Place, observed: Observed, request: Request) -> list[Decision]:
    now = place.clock.now()
    statuses = {name: status_of(seen, now) for name, seen in observed.seen.items()}
    operators = {operator.name: operator for operator in place.manifest.operators}
    candidates = []
    for name, seen in observed.seen.items():
        if seen.head is None:
            continue
        # An unsigned approval counts as none, but the person should hear that it is there.
        approval = seen.approval or approval_of(place.repository, name, seen.head.commit, place.signers)
        candidates.append(
            Candidate(
                operator=name,
                commit=seen.head.commit,
                files=seen.head.files,
                approval=approval,
                claim=seen.claim,
                pulls=seen.pulls,
                depends_on=operators[name].depends_on if name in operators else (),
                status=statuses[name],
                blocked=seen.head.problem,
            )
        )
    rules = Rules(
        limits=place.manifest.limits,
        signed=place.needs_signature,
        merge=lambda ours, theirs: merges(place.repository, ours, theirs),
        asked=frozenset(request.operators),
    )
    states = {name: status.state for name, status in statuses.items()}
    return decide(candidates, states, observed.overview.all_pulls, rules, now)


def _bring_up(place: Place, observed: Observed, seen: Seen, texts: Texts, request: Request) -> Proposed:
    assert seen.head is not None and seen.approval is not None
    proposal = Proposal(
        operator=seen.operator,
        branch=f"migrate/{seen.operator}",
        commit=seen.head.commit,
        approval=seen.approval,
        text=texts(
            seen.operator, seen.head.commit, seen.approval, Marker(seen.operator, seen.head.commit, Stage.OPENING)
        ),
        labels=place.manifest.labels,
        reviewers=place.manifest.reviewers,
        ready=request.ready,
    )
    notes: list[str] = []
    steps: list[str] = []
    refused: list[Step] = []
    refs = dict(observed.overview.fork_refs)
    pull = next((pull for pull in seen.pulls if pull.open), None)
    while (step := next_step(proposal, refs, pull, refused)) is not None:
        if len(steps) == _MOST_STEPS:
            raise PipelineError(f"{seen.operator}: {steps[-1]} has no effect", hint="look at the pull request")
        try:
            carry_out(step, place.forge, place.fork)
        except Forbidden as error:
            # Most contributors may neither label nor ask for reviews upstream.
            if not isinstance(step, AddLabels | AskReviewers):
                raise
            refused.append(step)
            notes.append(error.message)
            continue
        steps.append(type(step).__name__)
        refs = place.fork.refs(f"refs/heads/{proposal.branch}", proposal.approval.ref)
        pull = _open_pull(place, proposal.branch)
    return Proposed(seen.operator, pull, notes=tuple(notes), steps=tuple(steps))


def _open_pull(place: Place, branch: str) -> PullRequest | None:
    return next((pull for pull in place.forge.pull_requests_of(branch) if pull.open), None)
