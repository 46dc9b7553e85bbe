"""Review, approve, build, propose and sync put together, against the GitHub stand-in."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pipeline.changeset import Changeset, FileChange
from pipeline.desk import Desk
from pipeline.errors import PipelineError, UsageError
from pipeline.findings import CheckResult, Evidence, Outcome
from pipeline.forge.approval import Approver
from pipeline.forge.claims import ClaimState
from pipeline.forge.place import APPROVERS, open_place
from pipeline.forge.propose import Request
from pipeline.forge.session import connect
from pipeline.git import Identity, Repository
from pipeline.manifest import Limits, State
from pipeline.manifest_file import load_manifest
from pipeline.runner.build import Level
from pipeline.runner.github import MacRunner
from pipeline.source_git import GitTree
from tests.forge_site import ADA, BOT, HOST, ROWS, Site, TestClock, make_key, make_manifest, migrated, open_site
from tests.github_stand_in.people import commit
from tests.github_stand_in.runners import finish
from tests.github_stand_in.world import Run
from tests.test_runner import FAILED, MACHINE, PASSED, WORKFLOW
from tests.test_sync import lose_state

LIMITS = Limits(9, 9, 9)


@dataclass(frozen=True)
class SitePlanner:
    """Plans the site's small operators as `Site.branch` commits them."""

    site: Site

    def plan_at(self, operator: str, base: str) -> tuple[Changeset, Evidence]:
        tree = GitTree(self.site.local, base, base[:12])
        files = {path: tree.read(path) for path in (ROWS, HOST)}
        changes = tuple(
            FileChange(path, files.get(path), content) for path, content in migrated(files, operator).items()
        )
        manifest = make_manifest()
        entry = replace(manifest.operator(operator), opinfo=(operator,))
        return Changeset(entry, tree, changes, ()), Evidence(
            (CheckResult("rows", Outcome.PASSED, "torchgen parses it"),)
        )

    def write_again(self, operators: Sequence[str], base: str) -> None:
        for name in operators:
            self.site.branch(name)


class Mac(TestClock):
    """A clock under which macOS runners work: at every sleep the newest queued run ends as `judge` says."""

    __test__ = False
    site: Site
    bad: frozenset[str] = frozenset()
    named: bool = True

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        bot = self.world.repos[BOT]
        for run in bot.runs:
            if run.status == "queued":
                self.world.advance(minutes=50)
                self._end(run)

    def _end(self, run: Run) -> None:
        failing = [name for name in run.inputs["operators"].split("+") if name in self.bad]
        name = f"test_{failing[0]}_mps_x" if failing and self.named else "test_x"
        report = FAILED.replace(b"test_abs", name.encode()) if failing else PASSED
        files = {"test_mps.xml": report, "machine.json": MACHINE}
        steps = {"Test the Metal backend": "failure"} if failing else {}
        conclusion = "failure" if failing else "success"
        finish(self.world, self.world.repos[BOT], run, conclusion, artifacts={"results": files}, steps=steps)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        lose_state(opened)
        bot = opened.world.add_repo(BOT)
        commit(opened.world, bot, "main", {".github/workflows/macos.yml": WORKFLOW.read_bytes()}, "Begin")
        yield opened


def desk(site: Site, runner: bool = False, bad: frozenset[str] = frozenset(), named: bool = True) -> Desk:
    path = site.folder / "bot" / "ops_manifest.yaml"
    clock = Mac(site.world)
    clock.bad, clock.named = bad, named
    mac = MacRunner(connect(site.credentials, clock, pace=0), site.credentials, BOT, clock) if runner else None
    manifest = load_manifest(path)
    operators = tuple(replace(operator, opinfo=(operator.name,)) for operator in manifest.operators)
    return Desk(site.place(replace(manifest, operators=operators)), SitePlanner(site), path, mac)


def approve(site: Site, name: str = "abs", **changed: object) -> None:
    at = desk(site)
    at.approve(at.review(name), replace(Approver(ADA, site.key), **changed))  # type: ignore[arg-type]


def test_from_branch_to_pull_request(site: Site) -> None:
    head = site.branch("abs")
    review = desk(site).review("abs")
    assert review.head.commit == head and review.approval is None
    assert review.diff.startswith("diff --git a/aten/src") and "+    CPU, CUDA, MPS: abs_out" in review.diff
    assert review.evidence == "rows passed; macOS not run"
    approve(site)
    assert site.fork.git.ref(f"refs/approvals/abs/{head}"), "the record is on the fork at once"
    built = desk(site, runner=True).build(["abs"], Level.FULL, 1, lambda text: None)
    assert built.plan.good == ("abs",)
    [result] = desk(site, runner=True).propose(Request(("abs",)))
    assert result.pull is not None and result.pull.title == "[MPS] Migrate abs to Metal"
    body = site.upstream.pulls[0].body
    assert "| macOS build and tests | passed | 1 tests passed on macos-15-arm64 20260101, Apple M1: http" in body
    assert f"ada read the exact diff of commit {head[:12]}" in body
    desk(site, runner=True).sync()
    assert load_manifest(site.folder / "bot/ops_manifest.yaml").operator("abs").status.state is State.PROPOSED


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"who": Identity("mps-to-metal", "x@example.org")}, "is who the pipeline commits as"),
        ({"who": Identity("Bot", "BOT@example.org")}, "is who the pipeline commits as"),
        ({"key": None}, "name your SSH key with --key"),
        ({"key": Path("absent")}, "no such key"),
        ({"who": Identity("eve", "eve@example.org")}, "the signature is not one of eve in `approvers`"),
    ],
)
def test_approvals_that_do_not_count_are_not_recorded(site: Site, changed: dict[str, object], text: str) -> None:
    site.branch("abs")
    with pytest.raises(UsageError, match=text):
        approve(site, "abs", **changed)
    assert site.local.refs("refs/approvals") == {} and site.fork.git.refs("refs/approvals") == {}


def test_a_stranger_cannot_sign(site: Site) -> None:
    site.branch("abs")
    with pytest.raises(UsageError, match="not one of ada"):
        approve(site, key=make_key(site.folder / "keys", "stranger"))


def test_a_file_that_is_no_key(site: Site) -> None:
    site.branch("abs")
    (site.folder / "nokey").write_text("hello\n")
    with pytest.raises(PipelineError, match="the key cannot sign"):
        approve(site, key=site.folder / "nokey")


def test_drafts_on_this_machine_need_no_signature(site: Site) -> None:
    """Without a token and without `approvers`, a record of who said so is enough for a file."""
    (site.folder / "bot" / APPROVERS).unlink()
    manifest = load_manifest(site.folder / "bot" / "ops_manifest.yaml")
    site.local.run("config", "remote.origin.url", str(site.upstream.git.path))
    place = open_place(site.folder / "bot", manifest, site.local, {}, site.clock)
    at = Desk(place, SitePlanner(site), site.folder / "bot" / "ops_manifest.yaml")
    site.branch("abs")
    assert at.propose(Request(("abs",)))[0].wait.startswith("nobody approved")
    at.approve(at.review("abs"), Approver(ADA))
    [result] = at.propose(Request(("abs",), ready=True))
    assert result.steps == ("Push", "Open", "EditBody", "MarkReady")
    [file] = (site.folder / "bot" / ".drafts" / "pull-requests").iterdir()
    assert file.read_text().startswith("---\ntitle: '[MPS] Migrate abs to Metal'\nbranch: migrate/abs\n")
    [again] = at.propose(Request(("abs",)))
    assert again.steps == ()
    at.sync()
    assert load_manifest(at.manifest_path).operator("abs").status.state is State.PROPOSED
    at.place.forge.close(1, "Enough.")
    at.sync()
    assert load_manifest(at.manifest_path).operator("abs").status.state is State.REJECTED
    file.write_text("nonsense")
    with pytest.raises(UsageError, match="is not a pull request as `propose` writes it"):
        at.sync()


def test_the_plan_changed_since_the_approval(site: Site) -> None:
    site.branch("abs")
    approve(site)
    at = desk(site)

    class Other(SitePlanner):
        def plan_at(self, operator: str, base: str) -> tuple[Changeset, Evidence]:
            changeset, evidence = super().plan_at(operator, base)
            return replace(changeset, files=changeset.files[:-1]), evidence

    with pytest.raises(PipelineError, match="changed since commit .* have the new commit approved"):
        replace(at, planner=Other(site)).propose(Request(("abs",)))
    assert site.upstream.pulls == []


def test_a_train_with_a_bad_operator(site: Site) -> None:
    """abs fails; its own test says so, so two builds tell all three, and the good ones count as tested."""
    for name in ("abs", "sign", "frac"):
        site.branch(name)
    told: list[str] = []
    result = desk(site, True, frozenset({"abs"})).build(["abs", "sign", "frac"], Level.FULL, 8, told.append)
    assert (result.plan.good, result.plan.bad) == (("frac", "sign"), ("abs",))
    assert list(result.builds) == [("abs", "frac", "sign"), ("frac", "sign")]
    assert result.saved_minutes == pytest.approx(50, abs=2)
    assert any("full abs+frac+sign @ " in text for text in told)
    again = desk(site, True, frozenset({"abs"})).build(["abs", "sign", "frac"], Level.FULL, 8, told.append)
    assert again.plan == result.plan
    assert len(site.world.repos[BOT].runs) == 2, "started again, it found its builds"
    desk(site, runner=True).sync()
    states = {item.name: item.status for item in load_manifest(site.folder / "bot/ops_manifest.yaml").operators}
    assert {name: status.state for name, status in states.items()} == {
        "abs": State.BRANCHED,
        "sign": State.TESTED,
        "frac": State.TESTED,
    }


def test_a_failure_that_names_nobody_is_bisected(site: Site) -> None:
    for name in ("abs", "sign", "frac"):
        site.branch(name)
    result = desk(site, True, frozenset({"sign"}), named=False).build(["abs", "sign", "frac"], Level.FULL, 8, print)
    assert (result.plan.good, result.plan.bad) == (("abs", "frac"), ("sign",))


def test_building_needs_a_branch_and_a_runner(site: Site) -> None:
    with pytest.raises(PipelineError, match="abs has no branch"):
        desk(site, True).build(["abs"], Level.FULL, 1, print)
    with pytest.raises(UsageError, match="set GITHUB_TOKEN"):
        desk(site).build(["abs"], Level.FULL, 1, print)
    with pytest.raises(PipelineError, match="sign has no branch"):
        desk(site).review("sign")
    with pytest.raises(PipelineError, match="sign has no branch"):
        desk(site).publish(["sign"])


def test_branches_are_published_together(site: Site) -> None:
    heads = {name: site.branch(name) for name in ("abs", "sign")}
    writes = site.stand_in.writes
    results = desk(site).publish([])
    assert {result.operator: result.pushed for result in results} == {"abs": True, "sign": True}
    assert site.stand_in.writes == writes + 1, "one push"
    assert {name: site.fork.branch(f"migrate/{name}") for name in heads} == heads
    assert [result.pushed for result in desk(site).publish(["abs"])] == [False]
    theirs = commit(site.world, site.fork, "migrate/abs", {"fix.txt": b"1"}, "Fix")
    site.branch("abs", note=" Again.")
    [left] = desk(site).publish(["abs"])
    assert "on the fork, commit" in left.reason and site.fork.branch("migrate/abs") == theirs


def test_an_open_pull_request_is_not_changed_by_a_push(site: Site) -> None:
    site.branch("abs")
    approve(site)
    desk(site).propose(Request(("abs",)))
    before = site.fork.branch("migrate/abs")
    new = site.branch("abs", note=" Again.")
    [held] = desk(site).publish(["abs"])
    assert f"approve {new[:12]} first" in held.reason
    assert site.fork.branch("migrate/abs") == before
    approve(site)
    assert [result.pushed for result in desk(site).publish(["abs"])] == [True]


def test_two_runs_at_once(site: Site) -> None:
    busy = pytest.raises(PipelineError, match="another run works on this repository")
    with desk(site).locked(), busy, desk(site).locked():
        pass
    with desk(site).locked():
        pass


def test_two_machines_at_once_open_one_pull_request(site: Site) -> None:
    """Locks do not reach over machines: leases and the look-ups around every creation do."""
    site.branch("abs")
    approve(site)
    errors: list[str] = []

    def work(number: int) -> None:
        clone = Repository(Path(shutil.copytree(site.local.path, site.folder / f"machine{number}.git")))
        at = desk(replace(site, local=clone))
        try:
            at.propose(Request(("abs",)))
        except PipelineError as error:
            errors.append(str(error))
        finally:
            clone.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(site.upstream.pulls) == 1
    assert all("moved on robot/pytorch" in error or "could not push" in error for error in errors), errors


def test_claims(site: Site) -> None:
    found = desk(site).claims()
    assert {name: claim.state for name, claim in found.items()} == dict.fromkeys(found, ClaimState.FREE)
    assert list(found) == ["abs", "sign", "frac"]
