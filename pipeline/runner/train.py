"""Several operators in one macOS build, and bisection when it fails. Pure: what is known in, the next builds out.

A build costs runner minutes, not operators. A train of n passes in one build; with one bad operator among n it takes
about 2 log2(n) more. Results are kept by set of operators, so a plan goes on after a restart from whatever is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from pipeline.runner.build import Verdict

Members = tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """What a build of a set of operators said; `blamed` are those whose own tests failed."""

    verdict: Verdict
    blamed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """`builds` to run next (empty when all is told); `good`, `bad` operators; `together` fail only in company."""

    builds: tuple[Members, ...] = ()
    good: Members = ()
    bad: Members = ()
    together: tuple[Members, ...] = ()


def make_trains(operators: Sequence[str], conflict: Callable[[str, str], bool], capacity: int) -> list[Members]:
    """Split operators into trains of at most `capacity`, none with two whose branches conflict; first fit, in order."""
    if capacity < 1:
        raise ValueError("a train holds at least one operator")
    trains: list[list[str]] = []
    for operator in operators:
        for train in trains:
            if len(train) < capacity and not any(conflict(member, operator) for member in train):
                train.append(operator)
                break
        else:
            trains.append([operator])
    return [tuple(train) for train in trains]


def next_builds(train: Collection[str], known: Mapping[frozenset[str], Known]) -> Plan:
    """Where a train stands. An infrastructure failure tells nothing: that build is wanted again.

    Operators that their own tests blame are taken out at once and the rest is built again without them; a failure that
    names nobody (a build error, a test of no operator) is halved.
    """
    return _resolve(tuple(sorted(train)), known)


def _resolve(members: Members, known: Mapping[frozenset[str], Known]) -> Plan:
    if not members:
        return Plan()
    told = known.get(frozenset(members))
    if told is None or told.verdict in (Verdict.RUNNING, Verdict.INFRASTRUCTURE):
        return Plan(builds=(members,))
    if told.verdict in (Verdict.PASSED, Verdict.UNEXPECTED_SUCCESS):
        return Plan(good=members)
    if len(members) == 1:
        return Plan(bad=members)
    blamed = tuple(member for member in members if member in told.blamed)
    if blamed and len(blamed) < len(members):
        rest = _resolve(tuple(member for member in members if member not in blamed), known)
        return _joined(rest, Plan(bad=blamed))
    half = len(members) // 2
    halves = [_resolve(part, known) for part in (members[:half], members[half:])]
    plan = _joined(*halves)
    if not plan.builds and not plan.bad and not plan.together:
        return Plan(good=(), together=(members,))
    return plan


def _joined(*plans: Plan) -> Plan:
    return Plan(
        builds=tuple(build for plan in plans for build in plan.builds),
        good=tuple(sorted(name for plan in plans for name in plan.good)),
        bad=tuple(sorted(name for plan in plans for name in plan.bad)),
        together=tuple(group for plan in plans for group in plan.together),
    )


def minutes_saved(trains: Sequence[Members], builds: int, minutes_per_build: float) -> float:
    """Runner minutes that one build per operator would have taken beyond the `builds` that were made."""
    return (sum(len(train) for train in trains) - builds) * minutes_per_build
