"""The scripts that workflows end with: one commit of the manifest, and schedules that stay alive."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forge_site import BOT, TOKEN, Site, open_site
from tests.github_stand_in.people import commit
from tests.github_stand_in.world import Actor
from tests.gitrepo import git

SCRIPTS = Path(__file__).parents[1] / "workflows"
FILES = {"ops_manifest.yaml": b"a: 1\n", "README.md": b"read\n", ".github/workflows/sync.yml": b"name: s\non: push\n"}
FILES[".github/workflows/migrate.yml"] = FILES[".github/workflows/sync.yml"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        commit(opened.world, opened.world.add_repo(BOT), "main", FILES, "Begin")
        git(tmp_path, "clone", "-q", f"{opened.stand_in.base}/{BOT}.git", "work")
        yield opened


def run(site: Site, script: str, **changed: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "TOKEN": TOKEN,
        "GITHUB_SERVER_URL": site.stand_in.base,
        "GITHUB_API_URL": site.stand_in.base,
        "GITHUB_REF_NAME": "main",
        "GITHUB_REPOSITORY": BOT,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        **changed,
    }
    done = subprocess.run(
        ["bash", str(SCRIPTS / script)],
        cwd=site.folder / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert TOKEN not in done.stdout + done.stderr
    return done


def manifest(site: Site) -> Path:
    return site.folder / "work" / "ops_manifest.yaml"


def pushed(site: Site) -> str:
    return site.world.repos[BOT].git.run("log", "--format=%an: %s", "main").decode()


def test_one_commit_and_only_when_something_changed(site: Site) -> None:
    assert run(site, "commit-manifest.sh").stdout == "nothing to record\n"
    manifest(site).write_text("a: 2\n")
    (site.folder / "work" / "scratch").write_text("not ours to commit")
    done = run(site, "commit-manifest.sh")
    assert (done.returncode, done.stdout) == (0, "recorded\n"), done.stderr
    assert pushed(site) == "mps-to-metal: Record the statuses of operators\nAda: Begin\n"
    bot = site.world.repos[BOT].git
    assert bot.read("main", "ops_manifest.yaml") == b"a: 2\n" and bot.read("main", "scratch") is None


def test_somebody_pushed_in_between(site: Site) -> None:
    commit(site.world, site.world.repos[BOT], "main", {"notes.txt": b"1"}, "Note")
    manifest(site).write_text("a: 2\n")
    done = run(site, "commit-manifest.sh")
    assert done.returncode == 0, done.stderr
    assert pushed(site).splitlines() == ["mps-to-metal: Record the statuses of operators", "Ada: Note", "Ada: Begin"]


def test_somebody_changed_the_same_line(site: Site) -> None:
    commit(site.world, site.world.repos[BOT], "main", {"ops_manifest.yaml": b"a: 3\n"}, "By hand")
    manifest(site).write_text("a: 2\n")
    assert run(site, "commit-manifest.sh").returncode != 0
    assert pushed(site).splitlines()[0] == "Ada: By hand"


def test_a_token_without_rights(site: Site) -> None:
    site.world.tokens[TOKEN] = Actor("robot", reads_only=True)
    manifest(site).write_text("a: 2\n")
    assert run(site, "commit-manifest.sh").returncode != 0
    assert run(site, "keep-alive.sh").returncode != 0


def test_schedules_are_enabled_again(site: Site) -> None:
    done = run(site, "keep-alive.sh")
    assert done.returncode == 0, done.stderr
    assert site.world.repos[BOT].enabled == ["migrate.yml", "sync.yml"]
