"""migrate.yml and sync.yml carried out step by step by a local runner, on the pocket behind the GitHub stand-in.

What is stood in for: the actions themselves (the runner checks out by copying a clone) and `make setup`. macos.yml is
not run: its steps need Apple hardware.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pipeline.metal.cache import CACHE_VARIABLE
from pipeline.pocket import build
from tests.forge_site import ADA, BOT, FORK, TOKEN, UPSTREAM, make_key
from tests.github_stand_in.people import commit
from tests.github_stand_in.server import StandIn, serve
from tests.github_stand_in.world import Actor
from tests.gitrepo import git

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
GITHUB_TOKEN = "ghs_" + "TokenOfTheAction" + "y" * 20
MANIFEST = """\
upstream: {repository: pytorch/pytorch, base: main}
author: {name: mps-to-metal, email: bot@example.org}
fork: robot/pytorch
operators:
  - name: sign
    rows: [sign.out]
    stub: sign_stub
    into: UnaryKernel
    opinfo: [sign]
    status: {state: ready}
  - name: frac
    rows: [frac.out]
    stub: frac_stub
    into: UnaryKernel
    status: {state: listed, reason: not yet}
"""
NOTHING = """\
name: Nothing
description: in place of an action
runs:
  using: composite
  steps:
    - {shell: bash, run: "true"}
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """Upstream with the pocket's files, a fork of it, and this project as the bot's repository."""
    folder = tmp_path_factory.mktemp("workflows")
    with serve(folder / "hub") as stand_in:
        world = stand_in.world
        world.tokens[TOKEN] = Actor("robot")
        world.tokens[GITHUB_TOKEN] = Actor("robot", integration=True)
        world.add_repo(UPSTREAM, build(ROOT).parent / "origin.git")
        world.fork(UPSTREAM, "robot")
        key = make_key(folder / "keys")
        public = key.with_suffix(".pub").read_text().split()
        listing = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        files: dict[str, bytes | None] = {
            name: (ROOT / name).read_bytes() for name in listing if (ROOT / name).is_file()
        }
        files |= {
            "Makefile": b"setup:\n\t@ln -s $(VENV) .venv\n",
            "ops_manifest.yaml": MANIFEST.encode(),
            "README.md": b"bot\n",
        }
        files["approvers"] = f"{ADA.name} {public[0]} {public[1]}\n".encode()
        commit(world, world.add_repo(BOT), "main", files, "Begin")
        subprocess.run(["git", "clone", "-q", f"{stand_in.base}/{BOT}.git", str(folder / "clone")], check=True)
        (folder / "nothing").mkdir()
        (folder / "nothing" / "action.yml").write_text(NOTHING)
        yield stand_in
        assert not stand_in.broken, "\n".join(stand_in.broken)


def run(hub: StandIn, workflow: str) -> str:
    """The output of a whole run; every job has to succeed, and no token may show."""
    folder = hub.world.root.parent
    uses = set(re.findall(r"uses: (\S+)", (ROOT / "workflows" / workflow).read_text()))
    subprocess.run(["git", "-C", str(folder / "clone"), "pull", "-q"], check=True)
    environment = {
        "GITHUB_API_URL": hub.base,
        "GITHUB_SERVER_URL": hub.base,
        "GITHUB_REPOSITORY": BOT,
        "VENV": str(BIN.parent),
        CACHE_VARIABLE: os.environ[CACHE_VARIABLE],
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    done = subprocess.run(
        [
            str(BIN / "act"),
            "workflow_dispatch",
            f"--workflows=.github/workflows/{workflow}",
            "--platform=ubuntu-24.04=-self-hosted",
            f"--secret=GITHUB_TOKEN={GITHUB_TOKEN}",
            f"--secret=PIPELINE_TOKEN={TOKEN}",
            f"--var=SOURCE={hub.base}/{UPSTREAM}.git@main",
            *(f"--local-repository={action}={folder / 'nothing'}" for action in uses),
            *(f"--env={name}={value}" for name, value in environment.items()),
        ],
        cwd=folder / "clone",
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "act-cache"), "HOME": str(folder)},
    )
    output = done.stdout + done.stderr
    assert TOKEN not in output and GITHUB_TOKEN not in output
    assert done.returncode == 0, output[-6000:]
    return output


def states(hub: StandIn) -> dict[str, str]:
    text = hub.world.repos[BOT].git.read("main", "ops_manifest.yaml") or b""
    return {entry["name"]: entry["status"]["state"] for entry in yaml.safe_load(text)["operators"]}


def test_from_the_schedule_to_a_draft(hub: StandIn) -> None:
    """Migrated on schedule; approved by a person on their machine; proposed and recorded on schedule."""
    output = run(hub, "migrate.yml")
    assert "sign: pushed" in output
    fork, bot = hub.world.repos[FORK], hub.world.repos[BOT]
    head = fork.branch("migrate/sign")
    assert head is not None and fork.branch("migrate/frac") is None
    assert states(hub) == {"sign": "branched", "frac": "listed"}
    assert hub.world.repos[UPSTREAM].pulls == []

    approve_as_a_person(hub)
    assert fork.git.ref(f"refs/approvals/sign/{head}")

    run(hub, "sync.yml")
    [pull] = hub.world.repos[UPSTREAM].pulls
    assert (pull.title, pull.head, pull.draft) == ("[MPS] Migrate sign to Metal", "migrate/sign", True)
    assert "ada read the exact diff" in pull.body
    assert states(hub) == {"sign": "proposed", "frac": "listed"}
    assert bot.enabled == ["migrate.yml", "sync.yml"]
    log = bot.git.run("log", "--format=%an: %s", "main").decode().splitlines()
    assert log == ["mps-to-metal: Record the statuses of operators"] * 2 + ["Ada: Begin"]


def approve_as_a_person(hub: StandIn) -> None:
    folder = hub.world.root.parent
    machine = folder / "machine"
    subprocess.run(["git", "clone", "-q", f"{hub.base}/{BOT}.git", str(machine)], check=True)
    subprocess.run(["git", "clone", "-q", f"{hub.base}/{UPSTREAM}.git", str(folder / "pytorch")], check=True)
    words = ["approve", "--op", "sign", "--by", "ada", "--email", ADA.email, "--key", str(folder / "keys" / "ada")]
    environment = {**os.environ, "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": hub.base, "GITHUB_SERVER_URL": hub.base}
    environment.pop("GITHUB_ACTIONS", None)
    done = subprocess.run(
        [sys.executable, "-m", "invoke", *words, "--source", str(folder / "pytorch")],
        cwd=machine,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "+    CPU, CUDA, MPS: sign_out" in done.stdout and "approved: " in done.stdout
    assert TOKEN not in done.stdout + done.stderr
    found = subprocess.run(
        ["grep", "-rlaF", TOKEN, str(machine), str(folder / "pytorch")], capture_output=True, check=False
    )
    assert found.stdout == b""
    shutil.rmtree(machine)
