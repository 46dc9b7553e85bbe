"""Statuses out of git and GitHub alone, through everything that can happen to a pull request."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.errors import PipelineError
from pipeline.forge.observe import observe
from pipeline.forge.place import Place
from pipeline.forge.sync import Synced, sync
from pipeline.manifest import Manifest, State, Status
from pipeline.manifest_file import load_manifest, save_new_operators, save_status
from pipeline.runner.build import Build, Level, Verdict
from tests.forge_site import HOST, ROWS, UPSTREAM, Site, open_site
from tests.github_stand_in.people import commit, land, revert
from tests.github_stand_in.world import Actor, Pull

MANIFEST = """\
upstream: {repository: pytorch/pytorch, base: main}
author: {name: mps-to-metal, email: bot@example.org}
fork: robot/pytorch
limits: {open_pull_requests: 9, new_per_day: 9, per_file: 9}
close_superseded: CLOSE
operators:
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        lose_state(opened)
        yield opened


def lose_state(site: Site, close: bool = False, names: Sequence[str] = ("abs", "sign", "frac")) -> None:
    """The manifest as on the first day: every operator's fragments are there, no status."""
    bot = site.folder / "bot"
    entry = "  - {name: NAME, rows: [NAME.out], stub: NAME_stub, into: UnaryKernel}\n"
    entries = "".join(entry.replace("NAME", name) for name in names)
    (bot / "ops_manifest.yaml").write_text(MANIFEST.replace("CLOSE", str(close).lower()) + entries)
    for folder, suffix in (("kernels", "metal"), ("stubs", "mm")):
        (bot / folder).mkdir(exist_ok=True)
        for name in ("abs", "sign", "frac"):
            (bot / folder / f"{name}.{suffix}").write_text("fragment")


@dataclass
class FileRecord:
    path: Path

    def save(self, name: str, status: Status) -> None:
        save_status(self.path, name, status)

    def add(self, name: str, status: Status) -> None:
        save_new_operators(self.path, [{"name": name, "status": status.as_mapping()}])


def manifest(site: Site) -> Manifest:
    return load_manifest(site.folder / "bot" / "ops_manifest.yaml")


def run(site: Site, builds: dict[str, Build] | None = None) -> Synced:
    def again(names: Sequence[str]) -> None:
        for name in names:
            site.branch(name)

    place: Place = site.place(manifest(site))
    return sync(
        place,
        observe(place, lambda overview: builds or {}),
        FileRecord(site.folder / "bot" / "ops_manifest.yaml"),
        again,
    )


def status(site: Site, name: str = "abs") -> Status:
    return manifest(site).operator(name).status


def states(site: Site) -> dict[str, str]:
    return {operator.name: operator.status.state.value for operator in manifest(site).operators}


def proposed(site: Site, name: str = "abs") -> Pull:
    site.branch(name)
    site.approve(name)
    site.propose(name, manifest=manifest(site))
    return site.upstream.pulls[-1]


def test_from_ready_to_proposed(site: Site) -> None:
    run(site)
    assert states(site) == {"abs": "ready", "sign": "ready", "frac": "ready"}
    head = site.branch("abs")
    run(site)
    assert status(site).state is State.BRANCHED and status(site).commit == head
    assert status(site).evidence == "rows passed; macOS not run"
    run(site, {head: Build(head, Level.SHADER, Verdict.PASSED, "https://run/1", image="macos-15")})
    assert (status(site).state, status(site).link, status(site).image) == (State.BUILT, "https://run/1", "macos-15")
    run(site, {head: Build(head, Level.FULL, Verdict.PASSED, "https://run/2", image="macos-15")})
    assert status(site).state is State.TESTED
    site.approve("abs")
    run(site)
    assert (status(site).state, status(site).reason) == (State.APPROVED, "by ada")
    site.propose("abs", manifest=manifest(site))
    run(site)
    assert (status(site).state, status(site).reason) == (State.PROPOSED, "draft")
    assert status(site).link.endswith("/pytorch/pytorch/pull/1")
    assert status(site).at == "2026-01-05T12:00:00Z"


def test_a_second_run_changes_nothing(site: Site) -> None:
    proposed(site)
    run(site)
    before = (site.folder / "bot" / "ops_manifest.yaml").read_bytes()
    writes = site.stand_in.writes
    site.world.advance(hours=3)
    assert run(site).changes == ()
    assert (site.folder / "bot" / "ops_manifest.yaml").read_bytes() == before
    assert site.stand_in.writes == writes


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("verdict", [Verdict.TESTS_FAILED, Verdict.BUILD_FAILED, Verdict.INFRASTRUCTURE])
def test_failed_builds(site: Site, verdict: Verdict, level: Level) -> None:
    head = site.branch("abs")
    run(site, {head: Build(head, level, verdict, "https://run/1", summary="3 of 40 tests failed")})
    expected = State.BUILT if verdict is Verdict.TESTS_FAILED else State.BRANCHED
    assert status(site).state is expected
    assert status(site).reason == ("" if verdict is Verdict.INFRASTRUCTURE else "3 of 40 tests failed")


def test_landed_by_the_merge_bot_then_reverted_then_landed_again(site: Site) -> None:
    pull = proposed(site)
    landed = land(site.world, site.upstream, pull)
    run(site)
    assert (status(site).state, status(site).commit) == (State.LANDED, landed)
    taken_back = revert(site.world, site.upstream, pull, landed)
    run(site)
    assert (status(site).state, status(site).commit) == (State.REVERTED, taken_back)
    site.world.advance(hours=1)
    again = land(site.world, site.upstream, pull)
    run(site)
    assert (status(site).state, status(site).commit) == (State.LANDED, again)


def test_closed_by_the_merge_bot_before_its_commit_is_seen(site: Site) -> None:
    pull = proposed(site)
    pull.labels.append("Merged")
    site.world.set_state(pull, "closed", "pytorchmergebot")
    run(site)
    assert status(site).state is State.PROPOSED
    assert status(site).reason == "closed by the merge bot; its commit is not on main yet"


def test_closed_by_a_person(site: Site) -> None:
    pull = proposed(site)
    site.world.set_state(pull, "closed", "reviewer")
    run(site)
    assert (status(site).state, status(site).reason) == (State.REJECTED, "closed by reviewer")
    site.world.set_state(pull, "open", "reviewer")
    run(site)
    assert status(site).state is State.PROPOSED, "a person opened it again"


def test_every_status_comes_back_when_the_file_is_lost(site: Site) -> None:
    """One operator in each late state; the manifest is reset, the local clone too; git and GitHub know."""
    landed = proposed(site, "abs")
    land(site.world, site.upstream, landed)
    site.world.advance(minutes=5)
    rejected = proposed(site, "sign")
    site.world.set_state(rejected, "closed", "reviewer")
    proposed(site, "frac")
    run(site)
    before = {operator.name: operator.status for operator in manifest(site).operators}
    assert [item.state.value for item in before.values()] == ["landed", "rejected", "proposed"]
    lose_state(site)
    for ref in site.local.refs("refs/heads/migrate"):
        site.local.run("update-ref", "-d", ref)
    for ref in site.local.refs("refs/approvals"):
        site.local.run("update-ref", "-d", ref)
    run(site)
    assert {operator.name: operator.status for operator in manifest(site).operators} == before


def test_operators_that_the_manifest_lost(site: Site) -> None:
    proposed(site, "sign")
    lose_state(site, names=["abs"])
    synced = run(site)
    assert "sign" in {change.operator for change in synced.changes}
    assert states(site) == {"abs": "ready", "sign": "proposed"}


def test_an_operator_whose_fragments_are_gone(site: Site) -> None:
    """Its entry would make the manifest invalid, so it is reported instead."""
    proposed(site, "sign")
    lose_state(site, names=["abs"])
    (site.folder / "bot" / "stubs" / "sign.mm").unlink()
    assert run(site).unrecorded == ("sign",)
    assert states(site) == {"abs": "ready"}


def test_a_held_operator_stays_held(site: Site) -> None:
    held = Status(State.HELD, reason="waits for a decision")
    save_status(site.folder / "bot" / "ops_manifest.yaml", "abs", held)
    site.branch("abs")
    run(site)
    assert status(site) == held


def claim_abs(site: Site) -> Pull:
    eve = site.world.fork(UPSTREAM, "eve")
    host = (site.upstream.git.read("main", HOST) or b"").replace(b"TORCH_IMPL_FUNC(abs_out_mps)() {}\n", b"")
    commit(site.world, eve, "faster", {HOST: host}, "Faster", base="main")
    body = {"head": "eve:faster", "base": "main", "title": "Speed things up", "body": ""}
    pull = site.world.open_pull(site.upstream, Actor("eve"), body)
    pull.labels.append("module: mps")
    return pull


def test_claimed_then_free_again(site: Site) -> None:
    theirs = claim_abs(site)
    site.branch("abs")
    run(site)
    assert status(site).state is State.HELD and status(site).link.endswith("/pull/1")
    assert status(site).reason == f"claimed: {HOST}: abs_out_mps"
    assert status(site, "sign").state is State.READY
    site.world.set_state(theirs, "closed", "eve")
    run(site)
    assert status(site).state is State.BRANCHED


@pytest.mark.parametrize("close", [False, True])
def test_overtaken(site: Site, close: bool) -> None:
    lose_state(site, close=close)
    ours = proposed(site)
    theirs = claim_abs(site)
    landed = land(site.world, site.upstream, theirs)
    synced = run(site)
    assert (status(site).state, status(site).link) == (
        State.SUPERSEDED,
        f"https://github.com/pytorch/pytorch/commit/{landed}",
    )
    assert (ours.state, synced.closed) == (("closed", ("abs",)) if close else ("open", ()))
    said = [comment.body for comment in site.upstream.comments if comment.issue == ours.number]
    assert said == ([f"Closing: {status(site).link} landed the same change ({HOST}: abs_out_mps). "
                     "`abs` needs nothing more from here."] if close else [])  # fmt: skip
    lose_state(site, close=close)
    run(site)
    assert status(site).state is State.SUPERSEDED


def test_closing_what_was_overtaken_survives_a_kill_after_every_effect(site: Site) -> None:
    lose_state(site, close=True)
    ours = proposed(site)
    land(site.world, site.upstream, claim_abs(site))
    effects = len(site.stand_in.written())
    done = False
    while not done:
        site.stand_in.unplug_at = site.stand_in.writes + 1
        with contextlib.suppress(PipelineError):
            run(site)
            done = True
        site.stand_in.plug_in()
    assert site.stand_in.written()[effects:] == [
        f"PATCH /repos/pytorch/pytorch/pulls/{ours.number}",
        f"POST /repos/pytorch/pytorch/issues/{ours.number}/comments",
        f"PATCH /repos/pytorch/pytorch/pulls/{ours.number}",
    ]
    assert ours.state == "closed" and len(site.upstream.comments) == 1
    assert status(site).state is State.SUPERSEDED


def test_stale_branches_are_planned_again_only_when_their_files_moved(site: Site) -> None:
    old = site.branch("abs")
    commit(site.world, site.upstream, "main", {"README.md": b"new\n"}, "Elsewhere")
    assert run(site).again == ()
    rows = site.upstream.git.read("main", ROWS) or b""
    commit(site.world, site.upstream, "main", {ROWS: rows.replace(b"frac.out", b"frac.other")}, "Rows")
    assert run(site).again == ("abs",)
    assert site.local.resolve("migrate/abs") != old
    run(site)
    assert status(site).commit == site.local.resolve("migrate/abs")


def test_an_approved_branch_is_planned_again_only_on_conflict(site: Site) -> None:
    approved = site.branch("abs")
    site.approve("abs")
    rows = site.upstream.git.read("main", ROWS) or b""
    commit(site.world, site.upstream, "main", {ROWS: rows.replace(b"frac.out", b"frac.other")}, "Rows")
    synced = run(site)
    assert (synced.again, synced.stale) == ((), ("abs",))
    host = site.upstream.git.read("main", HOST) or b""
    commit(site.world, site.upstream, "main", {HOST: host.replace(b"// abs\n", b"// absolute\n")}, "Host")
    assert run(site).again == ("abs",)
    assert site.local.resolve("migrate/abs") != approved
    run(site)
    assert status(site).state is State.BRANCHED, "the approval was for the other commit"


def test_a_persons_commit_is_seen_and_left_alone(site: Site) -> None:
    proposed(site)
    theirs = commit(site.world, site.fork, "migrate/abs", {"fix.txt": b"1"}, "Fix a typo")
    rows = site.upstream.git.read("main", ROWS) or b""
    commit(site.world, site.upstream, "main", {ROWS: rows.replace(b"abs_out_mps", b"abs_out_mps2")}, "Rows")
    assert run(site).again == ()
    assert site.fork.branch("migrate/abs") == theirs


def test_reviews_and_checks(site: Site) -> None:
    pull = proposed(site)
    pull.reviews.append(("ada", "APPROVED", ""))
    site.upstream.checks.append((pull.sha, "macos", "completed", "failure"))
    standing = run(site).standings["abs"]
    assert (standing.approved_by, standing.failed_checks) == (("ada",), ("macos",))


def test_what_a_person_wrote_beside_an_operator_stands(site: Site) -> None:
    path = site.folder / "bot" / "ops_manifest.yaml"
    listed = Status(State.LISTED, reason="needs atomics that Metal lacks")
    checked = Status(State.CHECKED, evidence="rows passed", at="2026-01-01T00:00:00Z")
    save_status(path, "abs", listed)
    save_status(path, "sign", checked)
    assert [change.operator for change in run(site).changes] == ["frac"]
    assert (status(site), status(site, "sign")) == (listed, checked)


def test_evidence_goes_along(site: Site) -> None:
    pull = proposed(site)
    head = site.local.resolve("migrate/abs")
    built = {head: Build(head, Level.FULL, Verdict.PASSED, "https://run/1", image="macos-15")}
    run(site, built)
    assert (status(site).evidence, status(site).image) == ("rows passed; macOS not run", "macos-15")
    land(site.world, site.upstream, pull)
    run(site, built)
    assert status(site).state is State.LANDED
    assert (status(site).evidence, status(site).image) == ("rows passed; macOS not run", "macos-15")


def test_landed_by_others_before_anything_was_planned(site: Site) -> None:
    """The row is shared already when we look: the commit of the last days tells who did it."""
    site.world.advance(days=40)
    theirs = claim_abs(site)
    landed = land(site.world, site.upstream, theirs)
    run(site)
    assert status(site).state is State.SUPERSEDED
    assert status(site).link == f"https://github.com/pytorch/pytorch/commit/{landed}"
    assert status(site, "sign").state is State.READY


def test_killed_between_two_saves_of_the_manifest(site: Site) -> None:
    """After every number of saves: the next run writes the rest, and the file is whole at any time."""
    for name in ("abs", "sign", "frac"):
        site.branch(name)

    class Dying(FileRecord):
        left = 0

        def save(self, name: str, status: Status) -> None:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            super().save(name, status)

    path = site.folder / "bot" / "ops_manifest.yaml"
    for saves in range(4):
        lose_state(site)
        dying = Dying(path)
        dying.left = saves
        place = site.place(manifest(site))
        with contextlib.suppress(KeyboardInterrupt):
            sync(place, observe(place), dying, lambda names: None)
        assert list(states(site).values()).count("branched") == saves
        run(site)
        assert set(states(site).values()) == {"branched"}
