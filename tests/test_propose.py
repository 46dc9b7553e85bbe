"""From an approved branch to a draft pull request, whatever happens on the way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import PipelineError
from pipeline.forge.propose import Proposed, Request, propose
from pipeline.git import ZERO, RefChange
from pipeline.manifest import Limits, State, Status
from tests.forge_site import (
    FORK,
    HOST,
    ROWS,
    TOKEN,
    UPSTREAM,
    Site,
    make_key,
    make_manifest,
    open_site,
    text_of,
    with_status,
)
from tests.github_stand_in.people import commit, land
from tests.github_stand_in.server import Fault
from tests.github_stand_in.world import Actor

LABELLED = make_manifest(labels=("module: mps",), reviewers=("rev",), limits=Limits(5, 5, 5))
ABS_DRAFT = "#1 draft: [MPS] Migrate abs to Metal <- migrate/abs"
ABS_BRANCH = "migrate/abs  mps-to-metal: [MPS] Migrate abs to Metal"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        opened.upstream.collaborators.add("rev")
        yield opened


def approved(site: Site, *names: str) -> None:
    for name in names:
        site.branch(name)
        site.approve(name)


def waits(results: list[Proposed]) -> dict[str, str]:
    return {result.operator: result.wait for result in results if result.wait}


def test_first_run_then_nothing(site: Site) -> None:
    approved(site, "abs")
    [first] = site.propose(manifest=LABELLED)
    assert first.steps == ("Push", "Open", "EditBody")
    assert site.graph() == f"{ABS_BRANCH}\n{ABS_DRAFT}"
    assert len(first.notes) == 2 and "could not label pull request" in first.notes[0]
    written = len(site.stand_in.written())
    [second] = site.propose(manifest=LABELLED)
    assert second.steps == () and second.pull == first.pull
    assert len(site.stand_in.written()) == written


def test_with_rights_upstream(site: Site) -> None:
    site.world.tokens[TOKEN] = Actor("robot", frozenset({UPSTREAM}))
    approved(site, "abs")
    site.propose(manifest=LABELLED)
    assert site.graph() == f"{ABS_BRANCH}\n{ABS_DRAFT} [module: mps] reviewers rev"
    site.upstream.pulls[0].labels.clear()
    site.propose(manifest=LABELLED)
    assert site.upstream.pulls[0].labels == [], "a label that a person took off stays off"


def test_the_approval_travels_with_the_branch(site: Site) -> None:
    approved(site, "abs")
    site.propose()
    head = site.local.resolve("migrate/abs")
    assert site.fork.git.ref(f"refs/approvals/abs/{head}") is not None


def test_ready_on_request_only(site: Site) -> None:
    approved(site, "abs")
    site.propose("abs")
    assert site.upstream.pulls[0].draft
    [result] = site.propose("abs", ready=True)
    assert result.steps == ("MarkReady",)
    assert site.graph().endswith("#1 open: [MPS] Migrate abs to Metal <- migrate/abs")


@pytest.mark.parametrize("kind", ["none", "unsigned", "stranger", "older commit", "another operator"])
def test_nothing_becomes_public_without_approval_of_exactly_this_commit(site: Site, kind: str) -> None:
    site.branch("abs")
    head = site.local.resolve("migrate/abs")
    text = "nobody approved commit"
    if kind == "unsigned":
        site.approve("abs")
        unsign(site, "abs", head)
        text = "not signed"
    if kind == "stranger":
        site.approve("abs", key=make_key(site.folder / "keys", "stranger"))
        text = "not signed"
    if kind == "older commit":
        site.approve("abs")
        site.branch("abs", note=" More.")
    if kind == "another operator":
        site.branch("sign")
        site.approve("sign")
        record = site.local.ref(f"refs/approvals/sign/{site.local.resolve('migrate/sign')}")
        site.local.move_refs([RefChange(f"refs/approvals/abs/{head}", ZERO, record or "")])
    assert text in waits(site.propose("abs"))["abs"]
    assert site.graph() == "" and site.stand_in.written() == []


def unsign(site: Site, name: str, head: str) -> None:
    """The same record without its signature, as the pipeline itself could write it."""
    ref = f"refs/approvals/{name}/{head}"
    record = site.local.ref(ref) or ""
    text = site.local.run("cat-file", "tag", record)
    bare = text[: text.index(b"-----BEGIN")]
    made = site.local.run("mktag", stdin=bare).decode().strip()
    site.local.move_refs([RefChange(ref, record, made)])


def test_a_new_approved_commit_brings_the_pull_request_up_to_date(site: Site) -> None:
    """The part between our marks follows; what a person wrote around it stays."""
    approved(site, "abs")
    site.propose()
    pull = site.upstream.pulls[0]
    pull.body = pull.body.replace("Prose.", "Prose, and a word by a person.")
    site.branch("abs", note=" Again.")
    assert "nobody approved" in waits(site.propose())["abs"]
    site.approve("abs")
    [result] = site.propose()
    head = site.local.resolve("migrate/abs")
    assert result.steps == ("Push", "EditBody")
    assert site.fork.branch("migrate/abs") == head
    assert pull.body.startswith("Prose, and a word by a person.") and f"Evidence for {head}" in pull.body
    assert site.graph() == f"{ABS_BRANCH}\n{ABS_DRAFT}"


def test_a_person_rewrote_the_whole_text(site: Site) -> None:
    approved(site, "abs")
    site.propose()
    site.upstream.pulls[0].body = "All mine."
    site.branch("abs", note=" Again.")
    site.approve("abs")
    site.propose()
    site.propose()
    assert site.upstream.pulls[0].body == "All mine."
    assert len(site.upstream.pulls) == 1


def test_a_persons_commit_on_the_fork_is_never_overwritten(site: Site) -> None:
    approved(site, "abs")
    site.propose()
    theirs = commit(site.world, site.fork, "migrate/abs", {"fix.txt": b"1"}, "Fix a typo")
    site.branch("abs", note=" Again.")
    site.approve("abs")
    assert "on the fork, commit" in waits(site.propose())["abs"]
    assert site.fork.branch("migrate/abs") == theirs


def test_a_commit_that_arrives_during_the_run(site: Site) -> None:
    """The lease fails: nothing is pushed, the message names the branch, the next run leaves it alone."""
    approved(site, "abs")
    site.propose()
    site.branch("abs", note=" Again.")
    site.approve("abs")
    place = site.place()
    push, theirs = place.fork.push, ""

    def race(changes: object) -> None:
        nonlocal theirs
        theirs = commit(site.world, site.fork, "migrate/abs", {"fix.txt": b"1"}, "Fix a typo")
        push(changes)  # type: ignore[arg-type]

    object.__setattr__(place.fork, "push", race)
    with pytest.raises(PipelineError, match="refs/heads/migrate/abs moved on robot/pytorch in the meantime"):
        propose(place, text_of, Request())
    assert site.fork.branch("migrate/abs") == theirs


def test_closed_by_a_person_stays_closed(site: Site) -> None:
    approved(site, "abs")
    site.propose()
    site.world.set_state(site.upstream.pulls[0], "closed", "reviewer")
    assert "rejected (closed by reviewer" in waits(site.propose())["abs"]
    site.branch("abs", note=" Again.")
    site.approve("abs")
    assert "rejected" in waits(site.propose())["abs"]
    assert len(site.upstream.pulls) == 1


def test_a_person_takes_a_closed_one_up_again(site: Site) -> None:
    approved(site, "abs")
    [first] = site.propose()
    assert first.pull is not None
    site.world.set_state(site.upstream.pulls[0], "closed", "reviewer")
    again = with_status(LABELLED, "abs", Status(State.READY, link=first.pull.url, reason="asked for in review"))
    site.propose(manifest=again)
    assert [pull.state for pull in site.upstream.pulls] == ["closed", "open"]


def test_overtaken_before_opening(site: Site) -> None:
    approved(site, "abs")
    host = site.upstream.git.read("main", HOST) or b""
    gone = host.replace(b"TORCH_IMPL_FUNC(abs_out_mps)() {}\n", b"")
    theirs = commit(site.world, site.upstream, "main", {HOST: gone}, "[MPS] Move abs (#77)")
    wait = waits(site.propose())["abs"]
    assert "conflicts with upstream's main" in wait
    commit(site.world, site.upstream, "main", {HOST: host}, 'Revert "[MPS] Move abs (#77)"')
    assert waits(site.propose()) == {}
    assert theirs != site.upstream.branch("main")


def test_claimed_by_an_open_pull_request(site: Site) -> None:
    """Told by the diff: the title says nothing of abs."""
    eve = site.world.fork(UPSTREAM, "eve")
    rows = (site.upstream.git.read("main", ROWS) or b"").replace(b"    MPS: abs_out_mps\n", b"")
    commit(site.world, eve, "faster", {ROWS: rows}, "Faster", base="main")
    body = {"head": "eve:faster", "base": "main", "title": "Speed things up", "body": ""}
    site.world.open_pull(site.upstream, Actor("eve"), body).labels.append("ciflow/mps")
    approved(site, "abs", "sign")
    results = site.propose()
    link = f"{site.stand_in.base}/pytorch/pytorch/pull/1"
    assert waits(results) == {"abs": f"claimed by {link} ({ROWS}: abs_out_mps)"}
    assert [pull.head for pull in site.upstream.pulls] == ["faster", "migrate/sign"]
    site.propose("abs", ignored=(1,))
    assert [pull.head for pull in site.upstream.pulls] == ["faster", "migrate/sign", "migrate/abs"]


def test_limits_and_order(site: Site) -> None:
    approved(site, "abs", "sign", "frac")
    tight = make_manifest(limits=Limits(open_pull_requests=5, new_per_day=1, per_file=5))
    assert waits(site.propose(manifest=tight)) == {
        "sign": "1 pull requests were opened in the last 24 hours, the limit is 1",
        "frac": "1 pull requests were opened in the last 24 hours, the limit is 1",
    }
    site.world.advance(hours=25)
    few = make_manifest(limits=Limits(open_pull_requests=2, new_per_day=9, per_file=9))
    assert list(waits(site.propose(manifest=few))) == ["frac"]
    site.world.advance(hours=25)
    shared = make_manifest(limits=Limits(open_pull_requests=9, new_per_day=9, per_file=2))
    assert f"already change {HOST}, the limit is 2" in waits(site.propose(manifest=shared))["frac"]


def test_upstream_moved_under_the_branch(site: Site) -> None:
    """Elsewhere in a file: it still merges and stays approved. In the same lines: it has to be planned again."""
    approved(site, "abs", "sign")
    rows = site.upstream.git.read("main", ROWS) or b""
    commit(site.world, site.upstream, "main", {ROWS: rows.replace(b"func: frac.out", b"func: frac.other")}, "Rename")
    assert waits(site.propose("sign")) == {}
    commit(site.world, site.upstream, "main", {ROWS: rows.replace(b"CPU, CUDA: abs_out", b"CPU, XPU: abs_out")}, "Add")
    assert waits(site.propose("abs")) == {"abs": "it conflicts with upstream's main; plan it again"}


def test_planned_on_something_that_is_not_upstream(site: Site) -> None:
    """A branch of the pocket, whose history has nothing to do with PyTorch's, must never go to a fork of PyTorch."""
    site.branch("abs")
    [entry] = site.local.log("migrate/abs", limit=1)
    text = site.local.run("show", "-s", "--format=%B", entry.commit)
    orphan = commit(site.world, site.upstream, "elsewhere", {ROWS: b"x"}, "Begin elsewhere", who="x <bot@example.org>")
    site.remote(UPSTREAM).fetch("refs/heads/elsewhere")
    tree = site.local.run("rev-parse", f"{orphan}^{{tree}}").decode().strip()
    message = text.replace(entry.trailers["Planned-From"].encode(), orphan.encode())
    made = site.local.run(
        *("-c", "user.name=r", "-c", "user.email=bot@example.org", "commit-tree", tree, "-p", orphan, "-F", "-"),
        stdin=message,
    )
    site.local.move_refs([RefChange("refs/heads/migrate/abs", entry.commit, made.decode().strip())])
    site.approve("abs")
    assert "upstream's main does not hold" in waits(site.propose())["abs"]
    assert site.graph() == ""


@pytest.mark.parametrize(
    ("fault", "steps"),
    [
        (Fault("POST", "/pulls$", 502, after=True), 3),
        (Fault("POST", "/pulls$", 502), 3),
        (Fault("PATCH", "/pulls/1$", 503, after=True), 3),
    ],
)
def test_lost_answers(site: Site, fault: Fault, steps: int) -> None:
    approved(site, "abs")
    site.stand_in.faults.append(fault)
    [result] = site.propose(manifest=LABELLED)
    assert len(result.steps) == steps
    assert site.graph() == f"{ABS_BRANCH}\n{ABS_DRAFT}"


def test_no_fork(site: Site) -> None:
    approved(site, "abs")
    del site.world.repos[FORK]
    (site.world.root / f"{FORK}.git").rename(site.world.root / "gone.git")
    with pytest.raises(PipelineError, match="fork the upstream repository first"):
        site.propose()


def test_an_operator_without_a_branch(site: Site) -> None:
    with pytest.raises(PipelineError, match="abs has no branch; run `invoke migrate --op abs` first"):
        site.propose("abs")


def test_killed_after_every_single_outside_effect(site: Site) -> None:
    """The wire is cut right after each write, its answer lost; every run adds exactly one effect, none twice."""
    site.world.tokens[TOKEN] = Actor("robot", frozenset({UPSTREAM}))
    approved(site, "abs")
    results: list[Proposed] = []
    while not results:
        site.stand_in.unplug_at = site.stand_in.writes + 1
        with contextlib.suppress(PipelineError):
            results = site.propose("abs", ready=True, manifest=LABELLED)
        site.stand_in.plug_in()
    assert results[0].steps == ()
    assert site.stand_in.written() == [
        "PUSH /robot/pytorch.git/git-receive-pack",
        "POST /repos/pytorch/pytorch/pulls",
        "POST /repos/pytorch/pytorch/issues/1/labels",
        "POST /repos/pytorch/pytorch/pulls/1/requested_reviewers",
        "PATCH /repos/pytorch/pytorch/pulls/1",
        "POST /graphql",
    ]
    ready = "#1 open: [MPS] Migrate abs to Metal <- migrate/abs [module: mps] reviewers rev"
    assert site.graph() == f"{ABS_BRANCH}\n{ready}"


def test_landed(site: Site) -> None:
    approved(site, "abs")
    site.propose()
    land(site.world, site.upstream, site.upstream.pulls[0])
    assert "is landed" in waits(site.propose())["abs"]
    assert len(site.upstream.pulls) == 1
