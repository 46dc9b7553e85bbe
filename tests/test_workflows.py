"""The workflows are valid, safe, pinned, and installed as they are."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.errors import UsageError
from pipeline.workflows import differing, install

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "workflows").glob("*.yml"))
BIN = Path(sys.executable).parent
WORKFLOWS: dict[str, dict[Any, Any]] = {path.name: yaml.safe_load(path.read_text()) for path in FILES}


def check(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in WORKFLOWS[name]["jobs"].values() for step in job["steps"]]


def test_there_are_four() -> None:
    assert list(WORKFLOWS) == ["ci.yml", "macos.yml", "migrate.yml", "sync.yml"]


def test_actionlint() -> None:
    check(BIN / "actionlint", "-shellcheck", BIN / "shellcheck", *FILES)


def test_shellcheck() -> None:
    check(BIN / "shellcheck", *sorted((ROOT / "workflows").glob("*.sh")))


def test_zizmor() -> None:
    check(BIN / "zizmor", "--offline", "--quiet", "--persona=pedantic", *FILES)


def test_the_published_schema() -> None:
    check(BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *FILES)


@pytest.mark.parametrize("name", list(WORKFLOWS))
def test_actions_are_pinned_to_commits_and_say_which_version(name: str) -> None:
    uses = re.findall(r"uses: (\S+)(.*)", (ROOT / "workflows" / name).read_text())
    assert len(uses) == sum("uses" in step for step in steps(name)) > 0
    for action, comment in uses:
        assert re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action


def test_one_action_has_one_pin() -> None:
    pins: dict[str, set[str]] = {}
    for name in WORKFLOWS:
        for action, commit in re.findall(
            r"uses: (actions/[\w-]+)[\w/-]*@(\S+)", (ROOT / "workflows" / name).read_text()
        ):
            pins.setdefault(action, set()).add(commit)
    assert {action: len(commits) for action, commits in pins.items()} == dict.fromkeys(pins, 1)


@pytest.mark.parametrize("name", list(WORKFLOWS))
def test_least_permissions(name: str) -> None:
    """None by default; only the one writer of the manifest may write, and only where a comment says why."""
    assert WORKFLOWS[name]["permissions"] == {}
    writers = {
        (name, job, right)
        for job, about in WORKFLOWS[name]["jobs"].items()
        for right, value in about["permissions"].items()
        if value != "read"
    }
    assert writers <= {
        ("migrate.yml", "record", "contents"),
        ("sync.yml", "sync", "contents"),
        ("sync.yml", "sync", "actions"),
    }


@pytest.mark.parametrize("name", list(WORKFLOWS))
def test_nothing_from_outside_is_spliced_into_a_script(name: str) -> None:
    for step in steps(name):
        assert "${{" not in step.get("run", ""), step["name"]
    assert "pull_request_target" not in WORKFLOWS[name][True]
    for step in steps(name):
        if "checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False, step["name"]


@pytest.mark.parametrize("name", list(WORKFLOWS))
def test_every_job_ends(name: str) -> None:
    assert all("timeout-minutes" in job for job in WORKFLOWS[name]["jobs"].values())


def test_the_manifest_has_one_writer_at_a_time() -> None:
    record = WORKFLOWS["migrate.yml"]["jobs"]["record"]["concurrency"]["group"]
    assert record == WORKFLOWS["sync.yml"]["concurrency"]["group"] == "manifest"
    writers = [step for name in WORKFLOWS for step in steps(name) if "commit-manifest.sh" in step.get("run", "")]
    assert len(writers) == 2


def test_installed_copies_are_equal() -> None:
    assert differing(ROOT) == []


def test_install(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no workflow"):
        install(tmp_path)
    shutil.copytree(ROOT / "workflows", tmp_path / "workflows")
    assert [path.name for path in install(tmp_path)] == list(WORKFLOWS)
    assert install(tmp_path) == [] and differing(tmp_path) == []
    (tmp_path / ".github/workflows/ci.yml").write_text("changed")
    assert differing(tmp_path) == ["ci.yml"]
    assert [path.name for path in install(tmp_path)] == ["ci.yml"]
