from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import batch
from pipeline.branches import Written
from pipeline.campaign import Campaign
from pipeline.errors import UsageError
from pipeline.git import Repository
from pipeline.manifest import Operator
from pipeline.record import load_records
from tests.gitrepo import commit_files, git
from tests.project import copy_project, start

OPERATORS = ("sign", "sgn", "acosh")


@pytest.fixture
def root(tmp_path: Path, checks_cache: Path) -> Path:
    return copy_project(tmp_path / "project", checks_cache)


@pytest.fixture
def pocket(root: Path) -> Iterator[Repository]:
    repository = Repository(root / ".pocket" / "pytorch")
    yield repository
    repository.close()


def open_campaign(root: Path, *names: str) -> tuple[Campaign, list[Operator]]:
    campaign = Campaign.open(root, "pocket")
    return campaign, [campaign.manifest.operator(name) for name in names]


def test_finished_operators_survive_a_kill_and_the_next_run_goes_on(root: Path, pocket: Repository) -> None:
    words = ["migrate", *(word for name in OPERATORS for word in ("--op", name))]
    process = start(root, *words)
    while not pocket.refs("refs/heads/migrate") and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    finished = pocket.refs("refs/heads/migrate")
    assert finished
    git(pocket.path, "fsck", "--strict", "--no-dangling")
    again = start(root, *words)
    out, err = again.communicate()
    assert again.returncode == 0, err
    after = pocket.refs("refs/heads/migrate")
    assert set(after) == {f"refs/heads/migrate/{name}" for name in OPERATORS}
    assert finished.items() <= after.items()
    assert out.count("nothing changed, the branch stands as it was") == len(finished)


def test_an_interrupt_from_the_keyboard_is_no_traceback(root: Path, pocket: Repository) -> None:
    process = start(root, "migrate", "--op", "sign", "--op", "sgn")
    while not pocket.refs("refs/heads/migrate") and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert "Traceback" not in err and pocket.refs("refs/heads/migrate")


def test_a_stack_holds_one_operator_per_commit_dependencies_first(root: Path, pocket: Repository) -> None:
    campaign, (sign, sgn, acosh) = open_campaign(root, *OPERATORS)
    waiting = replace(sign, depends_on=("acosh",))
    results = list(batch.migrate_stacked(campaign, [waiting, sgn, acosh]))
    assert [result.name for result in results] == ["acosh", "sign", "sgn"]
    assert all(result.succeeded for result in results)
    titles = git(pocket.path, "log", "--format=%s", "main..migrate/sgn").splitlines()
    assert titles == [f"[MPS] Migrate {name} to Metal" for name in ("sgn", "sign", "acosh")]
    for child, parent in (("sgn", "sign"), ("sign", "acosh"), ("acosh", "main")):
        below = parent if parent == "main" else f"migrate/{parent}"
        assert git(pocket.path, "rev-parse", f"migrate/{child}~1") == git(pocket.path, "rev-parse", below)
    again = list(batch.migrate_stacked(campaign, [waiting, sgn, acosh]))
    assert [result.branch.written for result in again if result.branch] == [Written.UNCHANGED] * 3


def test_what_depends_on_a_failure_is_left_out_of_the_stack(root: Path, pocket: Repository) -> None:
    (root / "kernels" / "acosh.metal").write_text("struct acosh_functor {\n")
    campaign, (sign, sgn, acosh) = open_campaign(root, *OPERATORS)
    needy, free = replace(sign, depends_on=("acosh",)), replace(sgn, depends_on=())
    outcome = {result.name: result.error for result in batch.migrate_stacked(campaign, [needy, free, acosh])}
    assert "kernels/acosh.metal:1" in outcome["acosh"]
    assert outcome["sign"] == "it depends on acosh" and outcome["sgn"] == ""
    kept = load_records(root)
    assert {name: record.error for name, record in kept.items()} == outcome
    assert kept["acosh"].commit == kept["sign"].diff == "" and kept["sgn"].commit == pocket.resolve("migrate/sgn")
    diff = git(pocket.path, "diff", f"{kept['sgn'].base}..migrate/sgn", "--", "aten")
    changed = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed and all(line in kept["sgn"].diff.splitlines() for line in changed)
    numerics = next(result for result in kept["sgn"].evidence if result["check"] == "numerics")
    assert "sgn_dense_float2_float2" in numerics["data"]["launched"]
    assert set(pocket.refs("refs/heads/migrate")) == {"refs/heads/migrate/sgn"}


def test_only_branches_whose_files_moved_are_stale(root: Path, pocket: Repository) -> None:
    campaign, operators = open_campaign(root, "sign", "acosh")
    assert all(result.succeeded for result in batch.migrate(campaign, operators))
    assert batch.stale_operators(campaign) == {"sign": (), "acosh": ()}
    git(pocket.path, "branch", "migrate/sgn")  # a person's: it names no commit it was planned from
    commit_files(pocket.path, {"docs/unrelated.txt": "new\n"}, "Unrelated")
    assert batch.stale_operators(open_campaign(root)[0]) == {"sign": (), "acosh": ()}
    legacy = pocket.path / "aten/src/ATen/native/mps/operations/UnaryOps.mm"
    legacy.write_text(legacy.read_text() + "// upstream moves\n")
    commit_files(pocket.path, {}, "Move")
    moved = batch.stale_operators(open_campaign(root)[0])
    assert moved == dict.fromkeys(("sign", "acosh"), ("aten/src/ATen/native/mps/operations/UnaryOps.mm",))


def test_a_tree_without_history_cannot_be_committed_to(root: Path) -> None:
    campaign, operators = open_campaign(root, "sign")
    with pytest.raises(UsageError, match="is not a repository"):
        list(batch.migrate(replace(campaign, source=replace(campaign.source, repository=None)), operators))


def test_the_order_of_a_stack_is_the_given_one_where_nothing_depends() -> None:
    a, b = Operator("a", depends_on=("c",)), Operator("b")
    c, d = Operator("c", depends_on=("d", "absent")), Operator("d")
    assert [operator.name for operator in batch.in_order([a, b, c, d])] == ["d", "c", "a", "b"]


def test_plans_wait_for_the_samples_that_decide_an_expectation(root: Path, pocket: Repository) -> None:
    campaign, operators = open_campaign(root, "sign", "heaviside")
    told: list[str] = []
    sign, heaviside = campaign.plan_all(operators, told.append)
    assert (sign.operator.name, heaviside.operator.name) == ("sign", "heaviside")
    assert sorted(told) == ["heaviside", "sign"]
    assert sign.diff() == campaign.first_plan(operators[0]).diff()
    decided = {edit.what for edit in heaviside.edits} - {edit.what for edit in campaign.first_plan(operators[1]).edits}
    assert decided == {"heaviside: expected failure goes: the kernel agrees with the CPU for all its dtypes"}
