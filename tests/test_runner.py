"""macOS runs on the GitHub stand-in: asked for once, found again, waited for, read, repeated when nobody's fault."""

from __future__ import annotations

import contextlib
import io
import json
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from pipeline.errors import PipelineError
from pipeline.forge.session import connect
from pipeline.runner.archive import BadArchive, Bounds, unpack
from pipeline.runner.build import Level, Request, Verdict, parse_title
from pipeline.runner.github import MacRunner, Run, fetch_artifact
from tests.forge_site import BOT, TOKEN, Site, TestClock, open_site
from tests.github_stand_in.people import commit
from tests.github_stand_in.runners import add_artifact, finish, zipped
from tests.github_stand_in.server import Fault
from tests.github_stand_in.world import Actor

WORKFLOW = Path(__file__).parents[1] / "workflows" / "macos.yml"
REQUEST = Request("a" * 40, ("abs", "sign"), ("abs", "nn.functional.sign"), Level.FULL)
PASSED = b'<testsuites><testsuite><testcase classname="T" name="test_abs"/></testsuite></testsuites>'
FAILED = PASSED.replace(b"/></testsuite>", b'><failure message="off by 1"/></testcase></testsuite>')
MACHINE = json.dumps({"image": "macos-15-arm64 20260101", "chip": "Apple M1", "system": "15.2"}).encode()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        bot = opened.world.add_repo(BOT)
        commit(opened.world, bot, "main", {".github/workflows/macos.yml": WORKFLOW.read_bytes()}, "Begin")
        yield opened


@pytest.fixture
def runner(site: Site) -> MacRunner:
    return MacRunner(connect(site.credentials, site.clock, pace=0), site.credentials, BOT, site.clock)


class ActingClock(TestClock):
    """Time in which runners work: the N-th sleep carries out the N-th action."""

    __test__ = False
    actions: list[Callable[[], object]]

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.actions:
            self.actions.pop(0)()


def acting(site: Site, *actions: Callable[[], object]) -> MacRunner:
    clock = ActingClock(site.world)
    clock.actions = list(actions)
    return MacRunner(connect(site.credentials, clock, pace=0), site.credentials, BOT, clock)


def end(site: Site, conclusion: str, files: Mapping[str, bytes], **steps: str) -> Callable[[], None]:
    def act() -> None:
        bot = site.world.repos[BOT]
        finish(site.world, bot, bot.runs[0], conclusion, artifacts={"results": files} if files else {}, steps=steps)

    return act


def test_asked_waited_for_and_read(site: Site) -> None:
    runner = acting(site, lambda: None, lambda: None, end(site, "success", {"t.xml": PASSED, "machine.json": MACHINE}))
    build, reading = runner.build(REQUEST)
    assert (build.verdict, build.summary, build.chip) == (Verdict.PASSED, "1 tests passed", "Apple M1")
    assert build.link == f"{site.stand_in.base}/robot/mps-to-metal/actions/runs/{site.world.repos[BOT].runs[0].id}"
    assert reading.machine.image == "macos-15-arm64 20260101"
    assert runner.clock.slept == pytest.approx([20, 26, 33.8])  # type: ignore[attr-defined]
    [run] = site.world.repos[BOT].runs
    assert run.title == REQUEST.title == f"full abs+sign @ {'a' * 40}"
    assert run.inputs["opinfo"] == "abs nn.functional.sign"


def test_the_same_request_is_never_asked_twice(site: Site, runner: MacRunner) -> None:
    first = runner.dispatch(REQUEST)
    assert runner.find(REQUEST) == first
    end(site, "success", {"t.xml": PASSED})()
    for _ in range(2):
        build, _ = runner.build(REQUEST)
        assert build.verdict is Verdict.PASSED
    assert len(site.world.repos[BOT].runs) == 1


def test_killed_while_it_waits_and_started_again(site: Site) -> None:
    def cut() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        acting(site, cut).build(REQUEST)
    build, _ = acting(site, end(site, "success", {"t.xml": PASSED})).build(REQUEST)
    assert build.verdict is Verdict.PASSED and len(site.world.repos[BOT].runs) == 1


def test_killed_right_after_asking(site: Site) -> None:
    site.stand_in.unplug_at = site.stand_in.writes + 1
    with contextlib.suppress(PipelineError):
        acting(site).build(REQUEST)
    site.stand_in.plug_in()
    build, _ = acting(site, end(site, "success", {"t.xml": PASSED})).build(REQUEST)
    assert build.verdict is Verdict.PASSED and len(site.world.repos[BOT].runs) == 1


@pytest.mark.parametrize("after", [True, False])
def test_a_lost_answer_starts_no_second_run(site: Site, runner: MacRunner, after: bool) -> None:
    site.stand_in.faults.append(Fault("POST", "/dispatches$", 502, after=after))
    assert runner.dispatch(REQUEST).title == REQUEST.title
    assert len(site.world.repos[BOT].runs) == 1


def test_infrastructure_is_tried_again_and_never_blamed(site: Site) -> None:
    lost = end(site, "failure", {}, **{"Check out": "failure"})
    build, _ = acting(site, lost, end(site, "success", {"t.xml": PASSED})).build(REQUEST)
    assert build.verdict is Verdict.PASSED
    [run] = site.world.repos[BOT].runs
    assert run.attempt == 2


def test_infrastructure_that_stays_broken(site: Site) -> None:
    lost = end(site, "cancelled", {})
    build, reading = acting(site, *[lost] * 9).build(REQUEST)
    assert build.verdict is Verdict.INFRASTRUCTURE and reading.tests == ()
    assert site.world.repos[BOT].runs[0].attempt == 3


def test_it_does_not_wait_for_ever(site: Site, runner: MacRunner) -> None:
    with pytest.raises(PipelineError, match="has not ended after 8 h; run again to go on waiting"):
        runner.build(REQUEST)


def test_no_right_to_start_a_run(site: Site, runner: MacRunner) -> None:
    site.world.tokens[TOKEN] = Actor("robot", reads_only=True)
    with pytest.raises(PipelineError, match="could not start macos.yml in robot/mps-to-metal: GitHub answered 403"):
        runner.build(REQUEST)


def test_newest_builds_of_commits(site: Site, runner: MacRunner) -> None:
    bot = site.world.repos[BOT]
    shader = Request("b" * 40, ("abs",), ("abs",), Level.SHADER)
    for request, conclusion, files in (
        (REQUEST, "success", {"t.xml": PASSED}),
        (shader, "success", {"t.xml": PASSED}),
        (Request("b" * 40, ("abs",), ("abs",), Level.FULL), "failure", {"t.xml": FAILED}),
        (Request("c" * 40, ("abs",), ("abs",), Level.FULL), "", {}),
    ):
        runner.dispatch(request)
        if conclusion:
            steps = {"Test the operators": "failure"} if conclusion == "failure" else {}
            finish(site.world, bot, bot.runs[0], conclusion, artifacts={"results": files}, steps=steps)
    runner.dispatch(shader)
    finish(site.world, bot, bot.runs[0], "success")
    builds = runner.newest_builds({"a" * 40, "b" * 40, "c" * 40})
    assert {commit[0]: (build.level, build.verdict) for commit, build in builds.items()} == {
        "a": (Level.FULL, Verdict.PASSED),
        "b": (Level.FULL, Verdict.TESTS_FAILED),
    }


def test_titles() -> None:
    assert parse_title(REQUEST.title) == Request(REQUEST.commit, REQUEST.operators, (), Level.FULL)
    assert parse_title("full abs") is None and parse_title("x full abs @ " + "a" * 40) is None


# What is downloaded


def archive(**entries: bytes) -> bytes:
    return zipped({name.replace("__", "/"): content for name, content in entries.items()})


def named(name: str, mode: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        made.writestr(info, b"/etc/passwd")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (named("../../.bashrc"), "leaves the archive"),
        (named("/etc/passwd"), "leaves the archive"),
        (named("a\\..\\..\\x"), "leaves the archive"),
        (named("C:/x"), "leaves the archive"),
        (named("link", stat.S_IFLNK | 0o777), "is a link"),
        (zipped({"big": b"0" * 3000}), "unpacks to more than 2000 bytes"),
        (zipped({str(number): b"" for number in range(6)}), "6 files, at most 5"),
        (b"not a zip", "cannot be unpacked"),
        (b"x" * 5001, "at most 5000"),
        (zipped({"a": b"hello"})[:-30], "cannot be unpacked"),
    ],
    # Bytes would be named by their content, where an archive says when it was made.
    ids=["above", "root", "backslashes", "drive", "link", "bomb", "many", "no archive", "large", "cut off"],
)
def test_bad_archives(content: bytes, reason: str) -> None:
    with pytest.raises(BadArchive, match=reason):
        unpack(content, Bounds(packed=5000, unpacked=2000, files=5))


def test_a_good_archive() -> None:
    assert unpack(archive(junit__t=b"1", x=b"2"), Bounds()) == {"junit/t": b"1", "x": b"2"}


def finished_with(site: Site, runner: MacRunner, content: bytes) -> Run:
    bot = site.world.repos[BOT]
    runner.dispatch(REQUEST)
    finish(site.world, bot, bot.runs[0], "success")
    add_artifact(site.world, bot, bot.runs[0], "results", content)
    run = runner.find(REQUEST)
    assert run is not None
    return run


@pytest.mark.parametrize("content", [named("../x"), b"garbage"], ids=["above", "no archive"])
def test_a_bad_artifact_is_infrastructure(site: Site, runner: MacRunner, content: bytes) -> None:
    reading = runner.read(finished_with(site, runner, content))
    assert reading.verdict is Verdict.INFRASTRUCTURE and "cannot be read" in reading.summary


def test_the_store_gets_no_token_and_may_not_send_more_than_it_said(site: Site, runner: MacRunner) -> None:
    """`assert_sound` fails the test when the store saw a token."""
    run = finished_with(site, runner, zipped({"t.xml": PASSED}))
    assert runner.read(run).verdict is Verdict.PASSED
    number = site.world.repos[BOT].artifacts[0].id
    url = f"{site.stand_in.base}/repos/{BOT}/actions/artifacts/{number}/zip"
    with pytest.raises(BadArchive, match="larger than its size says"):
        fetch_artifact(url, site.credentials, 10)
    with pytest.raises(BadArchive, match="example.org is not where artifacts are kept"):
        fetch_artifact("https://example.org/a.zip", site.credentials, 10)


def test_an_expired_artifact(site: Site, runner: MacRunner) -> None:
    run = finished_with(site, runner, zipped({"t.xml": PASSED}))
    site.world.repos[BOT].artifacts[0].expired = True
    assert "expired" in runner.read(run).summary
