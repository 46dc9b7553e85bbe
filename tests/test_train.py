"""Trains: one build for several operators, bisection when it fails, the same commit for the same members."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import PipelineError
from pipeline.git import NewCommit
from pipeline.runner.build import Verdict
from pipeline.runner.train import Known, Plan, make_trains, minutes_saved, next_builds
from pipeline.runner.train_commit import couple, members_of
from tests.forge_site import HOST, ROBOT, ROWS, Site, open_site

NAMES = [f"op{number:02}" for number in range(24)]


class Mac:
    """Answers builds: operators in `bad` break every build they are in, `pairs` only together; tests tell `named`."""

    def __init__(self, bad: set[str], named: set[str], pairs: set[frozenset[str]], flaky: int = 0) -> None:
        self.bad, self.named, self.pairs, self.flaky = bad, named, pairs, flaky
        self.builds = 0

    def answer(self, members: tuple[str, ...]) -> Known:
        self.builds += 1
        if self.flaky and self.builds % self.flaky == 0:
            return Known(Verdict.INFRASTRUCTURE)
        inside = set(members)
        broken = self.bad & inside
        if broken or any(pair <= inside for pair in self.pairs):
            return Known(Verdict.TESTS_FAILED, frozenset(broken & self.named))
        return Known(Verdict.PASSED)


def run(train: list[str], mac: Mac) -> Plan:
    """Build what the plan wants until it wants nothing; forgets all but the results in between, as after a restart."""
    known: dict[frozenset[str], Known] = {}
    for _ in range(500):
        plan = next_builds(train, known)
        if not plan.builds:
            return plan
        for members in plan.builds:
            known[frozenset(members)] = mac.answer(members)
    raise AssertionError("it does not come to an end")


operators = st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=24)


@given(operators, st.sets(st.sampled_from(NAMES), max_size=4), st.sets(st.sampled_from(NAMES)), st.sampled_from([0, 3]))
def test_every_bad_operator_is_found_and_no_good_one_blamed(
    train: list[str], bad: set[str], named: set[str], flaky: int
) -> None:
    plan = run(train, Mac(bad, named, set(), flaky))
    assert set(plan.bad) == bad & set(train)
    assert set(plan.good) == set(train) - bad
    assert plan.together == ()


@given(operators, st.sets(st.sampled_from(NAMES), min_size=2, max_size=2))
def test_operators_that_fail_only_together(train: list[str], pair: set[str]) -> None:
    plan = run(train, Mac(set(), set(), {frozenset(pair)}))
    assert plan.bad == ()
    if pair <= set(train):
        [group] = plan.together
        assert pair <= set(group)
        assert set(plan.good) | set(group) == set(train)
    else:
        assert set(plan.good) == set(train)


def test_one_bad_among_many_costs_few_builds() -> None:
    mac = Mac({"op07"}, set(), set())
    run(NAMES, mac)
    assert mac.builds <= 1 + 2 * math.ceil(math.log2(len(NAMES)))
    mac = Mac({"op07"}, {"op07"}, set())
    run(NAMES, mac)
    assert mac.builds == 2, "a test that names the operator spares the bisection"


def test_a_passing_train_saves_all_but_one_build() -> None:
    trains = make_trains(NAMES, lambda a, b: False, capacity=24)
    assert trains == [tuple(NAMES)]
    assert minutes_saved(trains, builds=1, minutes_per_build=50.0) == 23 * 50.0


@given(operators, st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))), st.integers(1, 8))
def test_trains_hold_everything_once_and_no_conflict(
    names: list[str], conflicts: set[tuple[str, str]], capacity: int
) -> None:
    def conflict(one: str, other: str) -> bool:
        return (one, other) in conflicts or (other, one) in conflicts

    trains = make_trains(names, conflict, capacity)
    assert sorted(name for train in trains for name in train) == sorted(names)
    for train in trains:
        assert len(train) <= capacity
        assert not any(conflict(one, other) for one in train for other in train if one != other)


def test_a_train_without_room() -> None:
    with pytest.raises(ValueError, match="at least one"):
        make_trains(NAMES, lambda a, b: False, capacity=0)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        yield opened


def test_a_train_is_one_commit_and_always_the_same(site: Site) -> None:
    heads = {name: site.branch(name) for name in ("sign", "abs", "frac")}
    train = couple(site.local, heads, ROBOT)
    assert couple(site.local, dict(reversed(heads.items())), ROBOT) == train
    assert members_of(site.local, train) == heads
    assert members_of(site.local, heads["abs"]) == {}
    host = site.local.read(train, HOST) or b""
    assert b"TORCH_IMPL_FUNC" not in host and host.count(b"REGISTER_DISPATCH") == 3
    assert (site.local.read(train, ROWS) or b"").count(b"CPU, CUDA, MPS") == 3
    assert site.local.refs("refs/heads/train") == {}


def test_one_member_is_its_own_train(site: Site) -> None:
    head = site.branch("abs")
    assert couple(site.local, {"abs": head}, ROBOT) == head


def test_members_that_conflict(site: Site) -> None:
    ours = site.branch("abs")
    text = (site.local.read(ours, HOST) or b"").replace(b"abs_kernel", b"abs_other_kernel")
    base = site.upstream.branch("main") or ""
    [clash] = site.local.write_commits([NewCommit(base, {HOST: text}, "Other", ROBOT, site.local.date(base))])
    with pytest.raises(PipelineError, match="sign conflicts with abs; build it alone"):
        couple(site.local, {"abs": ours, "sign": clash}, ROBOT)
