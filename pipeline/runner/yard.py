"""Trains carried out: couple, push, build, bisect, until every operator is told good or bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.forge.overview import TRAINS, merges
from pipeline.forge.place import Place
from pipeline.git import ZERO, RefChange
from pipeline.manifest import Operator
from pipeline.runner.build import Build, Level, Request
from pipeline.runner.github import MacRunner
from pipeline.runner.read import Reading, blamed_operators
from pipeline.runner.train import Known, Members, Plan, make_trains, minutes_saved, next_builds
from pipeline.runner.train_commit import couple


@dataclass(frozen=True)
class Result:
    """What became of a set of operators: the plan with nothing left to build, and every build that was read for it."""

    plan: Plan
    builds: Mapping[Members, tuple[Build, Reading]]
    saved_minutes: float


@dataclass(frozen=True)
class Yard:
    """`heads`: operator -> the commit of its branch; `operators`: their entries, for the OpInfo names."""

    place: Place
    runner: MacRunner
    heads: Mapping[str, str]
    operators: Mapping[str, Operator]
    level: Level

    def run(self, names: Sequence[str], capacity: int, tell: Callable[[str], None]) -> Result:
        """Build the operators in trains of at most `capacity`. Started again, it finds the builds that were made."""
        trains = make_trains(names, self._conflict, capacity)
        known: dict[frozenset[str], Known] = {}
        builds: dict[Members, tuple[Build, Reading]] = {}
        plans = [self._finish(train, known, builds, tell) for train in trains]
        minutes = [build.minutes for build, _ in builds.values()]
        mean = sum(minutes) / len(minutes) if minutes else 0.0
        return Result(
            plan=Plan(
                good=tuple(name for plan in plans for name in plan.good),
                bad=tuple(name for plan in plans for name in plan.bad),
                together=tuple(group for plan in plans for group in plan.together),
            ),
            builds=builds,
            saved_minutes=minutes_saved(trains, len(builds), mean),
        )

    def _finish(
        self,
        train: Members,
        known: dict[frozenset[str], Known],
        builds: dict[Members, tuple[Build, Reading]],
        tell: Callable[[str], None],
    ) -> Plan:
        while True:
            plan = next_builds(train, known)
            if not plan.builds or all(members in builds for members in plan.builds):
                return plan  # what is still wanted was tried, and its runners failed every time
            for members in plan.builds:
                builds[members] = build, reading = self._build(members, tell)
                blamed = blamed_operators(reading, {name: self.operators[name].opinfo for name in members})
                known[frozenset(members)] = Known(build.verdict, blamed)

    def _build(self, members: Members, tell: Callable[[str], None]) -> tuple[Build, Reading]:
        place = self.place
        commit = couple(place.repository, {name: self.heads[name] for name in members}, place.manifest.author)
        ref = f"{TRAINS}{commit[:12]}"
        if place.fork.refs(ref).get(ref) != commit:
            place.fork.push([RefChange(ref, ZERO, commit)])
        opinfo = tuple(dict.fromkeys(info for name in members for info in self.operators[name].opinfo))
        return self.runner.build(Request(commit, members, opinfo, self.level), tell)

    def _conflict(self, one: str, other: str) -> bool:
        return not merges(self.place.repository, self.heads[one], self.heads[other])
