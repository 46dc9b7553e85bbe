"""GitHub through PyGithub: pull requests, and every way in which an answer can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.errors import PipelineError, UsageError
from pipeline.forge.errors import Forbidden, ForgeError, Invalid, RateLimited, Uncertain
from pipeline.forge.github import GitHubForge
from pipeline.forge.marker import Marker, Stage
from pipeline.forge.model import NewPullRequest, PullRequest
from pipeline.forge.session import Credentials
from pipeline.git import ZERO, RefChange
from tests.forge_site import FORK, HOST, KERNEL, ROWS, TOKEN, UPSTREAM, Site, open_site
from tests.github_stand_in.people import commit, land
from tests.github_stand_in.server import Fault
from tests.github_stand_in.world import Actor

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        yield opened


def push(site: Site, name: str) -> str:
    made = site.branch(name)
    ref = f"refs/heads/migrate/{name}"
    site.remote().push([RefChange(ref, site.remote().refs(ref).get(ref, ZERO), made)])
    return made


def draft(site: Site, name: str) -> NewPullRequest:
    marker = Marker(name, site.local.resolve(f"migrate/{name}"), Stage.OPENING)
    return NewPullRequest(f"migrate/{name}", f"[MPS] Migrate {name} to Metal", f"Prose.\n\n{marker}")


def opened(site: Site, name: str = "abs") -> PullRequest:
    push(site, name)
    return site.forge().open_pull_request(draft(site, name))


def test_a_pull_request_across_forks(site: Site) -> None:
    pull = opened(site)
    assert (pull.number, pull.open, pull.draft, pull.author) == (1, True, True, "robot")
    assert pull.branch == "migrate/abs" and pull.commit == site.local.resolve("migrate/abs")
    assert pull.marker == Marker("abs", pull.commit, Stage.OPENING)
    assert site.graph() == (
        "migrate/abs  mps-to-metal: [MPS] Migrate abs to Metal\n#1 draft: [MPS] Migrate abs to Metal <- migrate/abs"
    )


def test_opening_twice_gives_the_same_pull_request(site: Site) -> None:
    first = opened(site)
    assert site.forge().open_pull_request(draft(site, "abs")).number == first.number
    assert len(site.upstream.pulls) == 1


def test_a_branch_that_is_not_there(site: Site) -> None:
    site.branch("abs")
    with pytest.raises(Invalid, match=r"open a pull request of robot:migrate/abs at pytorch/pytorch.*422"):
        site.forge().open_pull_request(draft(site, "abs"))


@pytest.mark.parametrize("status", [500, 502, 503])
@pytest.mark.parametrize("after", [False, True])
def test_a_lost_answer_makes_no_duplicate(site: Site, status: int, after: bool) -> None:
    push(site, "abs")
    site.stand_in.faults.append(Fault("POST", "/pulls$", status, "Bad gateway", after=after))
    assert site.forge().open_pull_request(draft(site, "abs")).number == 1
    assert len(site.upstream.pulls) == 1


def test_another_run_was_quicker(site: Site) -> None:
    """The look-up finds nothing, then the creation is answered 422: the other run's pull request is taken."""
    push(site, "abs")
    forge, create = site.forge(), site.world.open_pull
    new = draft(site, "abs")
    body = {"head": "robot:migrate/abs", "base": "main", "title": "theirs", "body": new.body, "draft": True}

    def race(repo: object, actor: object, asked: object) -> object:
        site.world.open_pull = create  # type: ignore[method-assign]
        create(site.upstream, Actor("robot"), body)
        return create(repo, actor, asked)  # type: ignore[arg-type]

    site.world.open_pull = race  # type: ignore[method-assign, assignment]
    assert forge.open_pull_request(new).title == "theirs"
    assert len(site.upstream.pulls) == 1


@pytest.mark.parametrize(
    ("status", "message", "headers", "waits"),
    [
        (403, SECONDARY, {"retry-after": "7"}, 7),
        (403, SECONDARY, {}, 60),
        (429, SECONDARY, {"retry-after": "9"}, 9),
        (429, SECONDARY, {}, 60),
    ],
)
def test_secondary_rate_limits_are_waited_out(
    site: Site, status: int, message: str, headers: dict[str, str], waits: float
) -> None:
    push(site, "abs")
    site.stand_in.faults.append(Fault("POST", "/pulls$", status, message, headers))
    assert site.forge().open_pull_request(draft(site, "abs")).number == 1
    assert site.clock.slept == [waits]
    assert len(site.upstream.pulls) == 1


def test_the_primary_rate_limit_names_the_wait(site: Site) -> None:
    opened(site)
    site.stand_in.remaining = 0
    with pytest.raises(RateLimited, match="rate limit"):
        site.forge().own_pull_requests([])


def test_a_primary_rate_limit_that_ends_soon_is_waited_out(site: Site) -> None:
    opened(site)
    site.stand_in.remaining, site.stand_in.reset_in = 0, 30

    def sleep(seconds: float) -> None:
        site.clock.slept.append(seconds)
        site.stand_in.remaining = 5000

    forge = site.forge()
    site.clock.sleep = sleep  # type: ignore[method-assign]
    assert [pull.number for pull in forge.own_pull_requests([])] == [1]
    assert site.clock.slept == [pytest.approx(31, abs=2)]


def test_a_deleted_account(site: Site) -> None:
    pull = opened(site)
    site.upstream.pulls[0].labels.append("ciflow/mps")
    site.world.ghosts.add("robot")
    assert [found.author for found in site.forge().foreign_pull_requests(["ciflow/mps"])] == [""]
    site.upstream.pulls[0].reviews.append(("robot", "APPROVED", ""))
    assert site.forge().standing(pull).approved_by == ("",)


@pytest.mark.parametrize("method", ["PATCH", "GET"])
def test_idempotent_calls_are_repeated(site: Site, method: str) -> None:
    pull = opened(site)
    path = "/pulls/1$" if method == "PATCH" else "/issues"
    site.stand_in.faults.append(Fault(method, path, 502, times=2))
    site.forge().edit_body(pull.number, pull.body + "\nmore")
    [found] = site.forge().own_pull_requests([])
    assert found.body.endswith("more")


def test_a_server_that_stays_broken(site: Site) -> None:
    push(site, "abs")
    site.stand_in.faults.append(Fault("POST", "/pulls$", 502, "Bad gateway", times=99))
    with pytest.raises(Uncertain, match="502 Bad gateway"):
        site.forge().open_pull_request(draft(site, "abs"))


@pytest.mark.parametrize(
    ("actor", "error", "text"),
    [
        (None, ForgeError, "401 Bad credentials; the token is wrong or has expired"),
        (Actor("robot", reads_only=True), Forbidden, "403 Resource not accessible.*the right it lacks"),
    ],
)
def test_tokens_without_rights(site: Site, actor: Actor | None, error: type[PipelineError], text: str) -> None:
    push(site, "abs")
    if actor is None:
        del site.world.tokens[TOKEN]
    else:
        site.world.tokens[TOKEN] = actor
    with pytest.raises(error, match=text):
        site.forge().open_pull_request(draft(site, "abs"))
    assert site.upstream.pulls == []


def test_labels_and_reviewers_need_rights_upstream(site: Site) -> None:
    pull = opened(site)
    site.upstream.collaborators.add("ada")
    for ask in (lambda forge: forge.add_labels(pull.number, ["module: mps"]), _ask_ada):
        with pytest.raises(Forbidden):
            ask(site.forge())
    site.world.tokens[TOKEN] = Actor("robot", frozenset({UPSTREAM}))
    site.forge().add_labels(pull.number, ["module: mps"])
    _ask_ada(site.forge())
    assert (site.upstream.pulls[0].labels, site.upstream.pulls[0].reviewers) == (["module: mps"], ["ada"])
    with pytest.raises(Forbidden, match="not a collaborator"):
        site.forge().request_reviews(pull.number, ["stranger"])


def _ask_ada(forge: GitHubForge) -> None:
    forge.request_reviews(1, ["ada"])


def test_ready_and_closed(site: Site) -> None:
    pull = opened(site)
    site.stand_in.faults.append(Fault("POST", "/graphql", 502, after=True))
    site.forge().mark_ready(pull.number)
    assert not site.upstream.pulls[0].draft
    site.stand_in.faults.append(Fault("POST", "/comments", 502, after=True))
    site.forge().close(pull.number, "Overtaken by #9.")
    site.forge().close(pull.number, "Overtaken by #9.")
    assert [comment.body for comment in site.upstream.comments] == ["Overtaken by #9."]
    [found] = site.forge().own_pull_requests([])
    assert (found.open, found.closed_by) == (False, "robot")


def test_own_pull_requests_are_ours_alone(site: Site) -> None:
    """A marker in somebody's text does not make it ours; ours is found by branch when its text lost the marker."""
    pull = opened(site)
    theirs = site.world.fork(UPSTREAM, "eve")
    commit(site.world, theirs, "migrate/abs", {"x": b"1"}, "Mine")
    body = {"head": "eve:migrate/abs", "base": "main", "title": "t", "body": pull.body}
    site.world.open_pull(site.upstream, Actor("eve"), body)
    assert [found.number for found in site.forge().own_pull_requests(["migrate/abs"])] == [1]
    site.upstream.issues[1].body = "rewritten"
    assert [found.number for found in site.forge().own_pull_requests(["migrate/abs"])] == [1]


def test_an_app_has_no_login(site: Site) -> None:
    site.world.tokens[TOKEN] = Actor("robot", integration=True)
    opened(site)
    assert site.forge().login() == ""
    assert [found.number for found in site.forge().own_pull_requests(["migrate/abs"])] == [1]


def test_more_pull_requests_than_a_page(site: Site) -> None:
    for number in range(130):
        site.world.add_issue(site.upstream, f"issue {number}", "", "robot")
    pull = opened(site)
    assert [found.number for found in site.forge().own_pull_requests([])] == [pull.number]


def test_who_closed_it(site: Site) -> None:
    pull = opened(site)
    land(site.world, site.upstream, site.upstream.pulls[0])
    [found] = site.forge().own_pull_requests([])
    assert (found.number, found.open, found.closed_by) == (pull.number, False, "pytorchmergebot")
    assert found.labels == ("Merged",)


def test_mergeable_is_unknown_at_first(site: Site) -> None:
    opened(site)
    commit(site.world, site.upstream, "main", {ROWS: b"all new\n"}, "Rewrite the rows")
    found = [site.forge().own_pull_requests([])[0].mergeable for _ in range(2)]
    assert found == [None, False]


def test_standing(site: Site) -> None:
    pull = opened(site)
    site.upstream.pulls[0].reviews += [
        ("ada", "CHANGES_REQUESTED", ""),
        ("ada", "APPROVED", ""),
        ("bo", "COMMENTED", ""),
    ]
    site.upstream.checks += [
        (pull.commit, "lint", "completed", "failure"),
        (pull.commit, "macos", "in_progress", None),
        (pull.commit, "docs", "completed", "success"),
    ]
    standing = site.forge().standing(pull)
    assert standing.approved_by == ("ada",) and standing.changes_requested_by == ()
    assert (standing.failed_checks, standing.pending_checks) == (("lint",), ("macos",))


def test_other_peoples_pull_requests_and_their_files(site: Site) -> None:
    opened(site)
    site.upstream.pulls[0].labels.append("ciflow/mps")
    [foreign] = site.forge().foreign_pull_requests(["ciflow/mps", "module: mps"])
    assert (foreign.number, foreign.author) == (1, "robot")
    files = {item.path: item.patch or "" for item in site.forge().changed_files(1)}
    assert set(files) == {ROWS, HOST, f"{KERNEL[:-6]}_abs.metal"}
    assert "-    MPS: abs_out_mps\n" in files[ROWS]


def test_a_repository_that_is_not_there(site: Site) -> None:
    forge = site.forge()
    forge.upstream = "pytorch/absent"
    with pytest.raises(ForgeError, match="404 Not Found; check the name"):
        forge.changed_files(1)


def test_an_unreachable_server(site: Site) -> None:
    forge = site.forge()
    site.stand_in.unplug_at = 0
    with pytest.raises(Uncertain, match="check the network"):
        forge.changed_files(1)
    site.stand_in.plug_in()


def test_the_token_hides(site: Site) -> None:
    assert TOKEN not in repr(site.credentials) and TOKEN not in repr(site.remote())
    with pytest.raises(UsageError, match="unencrypted"):
        Credentials.from_environment({"GITHUB_TOKEN": "x", "GITHUB_API_URL": "http://example.org"})
    with pytest.raises(UsageError, match="white space"):
        Credentials.from_environment({"GITHUB_TOKEN": "a b"})
    assert Credentials.from_environment({"GITHUB_TOKEN": " "}) is None


@pytest.mark.parametrize(
    ("break_it", "text"),
    [
        (lambda site: site.world.tokens.clear(), "the token may not push there"),
        (lambda site: site.world.tokens.update({TOKEN: Actor("robot", reads_only=True)}), "the token may not push"),
        (lambda site: site.world.repos.pop(FORK), "fork the upstream repository first"),
    ],
)
def test_pushes_that_are_refused(site: Site, break_it: Callable[[Site], object], text: str) -> None:
    made = site.branch("abs")
    before = site.fork.git
    break_it(site)
    with pytest.raises(PipelineError, match=text):
        site.remote().push([RefChange("refs/heads/migrate/abs", ZERO, made)])
    assert before.ref("refs/heads/migrate/abs") is None


def test_a_push_is_all_or_nothing(site: Site) -> None:
    """Somebody pushed to one of two branches in between: neither moves."""
    push(site, "abs")
    theirs = commit(site.world, site.fork, "migrate/abs", {"x": b"1"}, "Fix it")
    old = site.local.resolve("migrate/abs")
    new = {name: site.branch(name, note=" Again.") for name in ("abs", "sign")}
    changes = [
        RefChange("refs/heads/migrate/abs", old, new["abs"]),
        RefChange("refs/heads/migrate/sign", ZERO, new["sign"]),
    ]
    with pytest.raises(PipelineError, match=r"refs/heads/migrate/abs moved on robot/pytorch in the meantime"):
        site.remote().push(changes)
    assert site.fork.branch("migrate/abs") == theirs and site.fork.branch("migrate/sign") is None
