"""What an operator waits for, and the command or the person that takes it on. From its entry in the manifest alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.manifest import Dispatch, Manifest, Operator, State

DONE = ""


@dataclass(frozen=True)
class NextStep:
    """`waits_for` is a kind of thing, the same for many operators, and DONE where nothing is left to do."""

    what: str
    waits_for: str


def next_step(operator: Operator, manifest: Manifest) -> NextStep:
    """States are those that `invoke sync` records; a claim written by hand stops an operator as one that it finds."""
    state = operator.status.state
    early = state in (State.LISTED, State.READY, State.CHECKED, State.BRANCHED, State.BUILT, State.TESTED)
    if early and operator.claim:
        return NextStep(f"ask in {short_link(operator.claim)}", "someone else's pull request")
    if state is State.APPROVED:
        missing = [name for name in operator.depends_on if manifest.operator(name).status.state is not State.LANDED]
        if missing:
            return NextStep(f"wait until {', '.join(missing)} landed", "another operator")
    return _STEPS[state](operator)


def short_link(link: str) -> str:
    """`#190327` of a pull request's or an issue's address, else the address itself."""
    number = link.rstrip("/").rpartition("/")[2]
    return f"#{number}" if number.isdecimal() and "://" in link else link


def _listed(operator: Operator) -> NextStep:
    if operator.status.reason:
        return NextStep(operator.status.reason, "a person's decision")
    needed = {f"kernels/{operator.name}.metal": operator.kernel, f"stubs/{operator.name}.mm": operator.host}
    missing = [path for path, fragment in needed.items() if not fragment]
    if operator.dispatch is Dispatch.DROP or not missing:
        return NextStep("set its state to ready", "a person's decision")
    return NextStep(f"write {' and '.join(missing)}", "a kernel")


def _migrate(operator: Operator) -> NextStep:
    return NextStep(f"invoke migrate --op {operator.name}", "a plan and its checks")


def _branched(operator: Operator) -> NextStep:
    if operator.status.reason:
        return NextStep(operator.status.reason, "a repair")
    return NextStep(f"invoke build --op {operator.name}", "a Mac")


def _built(operator: Operator) -> NextStep:
    if operator.status.reason:
        return NextStep(operator.status.reason, "a repair")
    return NextStep(f"invoke build --op {operator.name} --level full", "a Mac")


def _tested(operator: Operator) -> NextStep:
    return NextStep(f"invoke approve --op {operator.name} --by NAME", "a person's approval")


def _approved(operator: Operator) -> NextStep:
    return NextStep(f"invoke propose --op {operator.name}", "a pull request")


def _proposed(operator: Operator) -> NextStep:
    return NextStep(f"review of {short_link(operator.status.link)}", "a review upstream")


def _done(operator: Operator) -> NextStep:
    return NextStep("", DONE)


def _decision(operator: Operator) -> NextStep:
    return NextStep(operator.status.reason or "say why in its reason", "a person's decision")


def _held(operator: Operator) -> NextStep:
    claimed = operator.status.reason.startswith("claimed") or bool(operator.claim)
    what = operator.status.reason or "say why in its reason"
    return NextStep(what, "someone else's pull request" if claimed else "a person's decision")


_STEPS: dict[State, Callable[[Operator], NextStep]] = {
    State.LISTED: _listed,
    State.READY: _migrate,
    State.CHECKED: _migrate,
    State.BRANCHED: _branched,
    State.BUILT: _built,
    State.TESTED: _tested,
    State.APPROVED: _approved,
    State.PROPOSED: _proposed,
    State.LANDED: _done,
    State.SUPERSEDED: _done,
    State.REJECTED: _decision,
    State.REVERTED: _decision,
    State.HELD: _held,
}
