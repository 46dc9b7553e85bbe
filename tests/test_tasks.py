"""The commands as a user runs them: what they print, what they leave behind, and their exit codes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from invoke.collection import Collection
from invoke.program import Program

import tasks
from pipeline.git import Repository
from tests.gitrepo import commit_files, git
from tests.project import ROOT, copy_project


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, checks_cache: Path) -> Path:
    """A copy of the project with its pocket built."""
    return copy_project(tmp_path_factory.mktemp("project") / "copy", checks_cache)


@pytest.fixture
def project(built: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(tasks, "ROOT", built)
    manifest = (built / "ops_manifest.yaml").read_text()
    yield built
    (built / "ops_manifest.yaml").write_text(manifest)


@pytest.fixture
def run(project: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    def run_command(*words: str) -> Ran:
        program = Program(namespace=Collection.from_module(tasks))
        capfd.readouterr()
        code = 0
        try:
            program.run(["invoke", *words])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return Ran(code, *capfd.readouterr())

    return run_command


def pocket(project: Path) -> Repository:
    return Repository(project / ".pocket" / "pytorch")


def test_every_command_is_listed_with_help() -> None:
    listing = subprocess.run(
        [sys.executable, "-m", "invoke", "--list"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for command in ("migrate", "plan", "check", "survey", "status", "pocket", "conflicts", "refresh"):
        assert f"  {command} " in listing


def test_plan_names_every_edit_and_writes_nothing(run: Run, project: Path) -> None:
    before = pocket(project).refs("refs")
    ran = run("plan", "--op", "acosh")
    assert ran.code == 0 and ran.err == ""
    for edit in (
        "acosh.out: MPS joins CPU and CUDA (acosh_out_mps -> acosh_out)",
        "operations/UnaryOps.mm:10: include ATen/ops/acosh_native.h",
        "kernels/UnaryKernel.metal: acosh is added",
    ):
        assert edit in ran.out
    assert pocket(project).refs("refs") == before and not (project / ".drafts").exists()


def test_the_diff_applies(run: Run, project: Path, tmp_path: Path) -> None:
    diff = run("plan", "--op", "threshold", "--diff").out
    git(tmp_path, "clone", "--quiet", str(project / ".pocket" / "pytorch"), "clone")
    subprocess.run(["git", "apply", "--index", "-"], input=diff, text=True, cwd=tmp_path / "clone", check=True)
    changed = git(tmp_path / "clone", "diff", "--cached", "--numstat").splitlines()
    data = json.loads(run("plan", "--op", "threshold", "--json").out)[0]
    assert changed == [f"{file['added']}\t{file['removed']}\t{file['path']}" for file in data["files"]]
    assert data["complete"] and data["commit"] == pocket(project).resolve("main")


def test_migrate_commits_drafts_and_says_what_remains(run: Run, project: Path) -> None:
    ran = run("migrate", "--op", "sign")
    commit = pocket(project).resolve("migrate/sign")
    assert ran.code == 0
    for line in (
        "branch   migrate/sign (created)",
        f"commit   {commit}",
        "    +18    -0  aten/src/ATen/native/mps/kernels/UnaryKernel.metal",
        f"draft    {project}/.drafts/sign.md",
        "remains  the build and the tests on macOS, a person's approval of the diff, the pull request",
    ):
        assert line in ran.out
    assert "macOS build and tests │ not run" in ran.out
    assert git(project / ".pocket" / "pytorch", "status", "--porcelain") == ""
    draft = (project / ".drafts" / "sign.md").read_text()
    assert draft.startswith("[MPS] Migrate sign to Metal\n\n") and commit[:12] in draft
    again = run("migrate", "--op", "sign")
    assert again.code == 0 and "migrate/sign (nothing changed, the branch stands as it was)" in again.out
    assert pocket(project).resolve("migrate/sign") == commit


def test_the_pocket_leaves_no_trace_in_the_manifest(run: Run, project: Path) -> None:
    before = (project / "ops_manifest.yaml").read_bytes()
    assert run("migrate", "--op", "sgn").code == 0
    assert (project / "ops_manifest.yaml").read_bytes() == before


def test_one_failure_does_not_stop_the_rest(run: Run, project: Path) -> None:
    (project / "kernels" / "frac.metal").write_text("struct frac_functor {\n")
    try:
        ran = run("migrate", "--op", "frac", "--op", "signbit", "--json")
    finally:
        shutil.copy(ROOT / "kernels" / "frac.metal", project / "kernels")
    frac, signbit = json.loads(ran.out)
    assert ran.code == 1
    assert not frac["succeeded"] and "kernels/frac.metal:1" in frac["error"] and frac["commit"] is None
    assert signbit["succeeded"] and signbit["commit"] == pocket(project).resolve("migrate/signbit")


def test_a_persons_commit_is_reported_and_kept(run: Run, project: Path, tmp_path: Path) -> None:
    run("migrate", "--op", "asinh")
    worktree = tmp_path / "person"
    git(project / ".pocket" / "pytorch", "worktree", "add", "--quiet", str(worktree), "migrate/asinh")
    theirs = commit_files(worktree, {"note.txt": "mine\n"}, "Mine")
    git(project / ".pocket" / "pytorch", "worktree", "remove", str(worktree))
    ran = run("migrate", "--op", "asinh")
    assert ran.code == 1 and "left alone" in ran.out and "by ada@example.org is not the pipeline's" in ran.out
    assert pocket(project).resolve("migrate/asinh") == theirs


def test_an_operator_outside_the_manifest_is_planned_as_far_as_the_tree_tells(run: Run, project: Path) -> None:
    manifest = project / "ops_manifest.yaml"
    manifest.write_text(manifest.read_text().partition("  - name: sgn\n")[0])
    ran = run("plan", "--op", "frac", "--json")
    data = json.loads(ran.out)[0]
    assert ran.code == 1 and not data["complete"]
    assert any("frac.out: MPS joins" in edit["what"] for edit in data["edits"])
    assert any("there is no kernels/frac.metal" in gap for gap in data["not_planned"])
    ran = run("migrate", "--op", "frac")
    assert ran.code == 2 and ran.err.startswith("error: ops_manifest.yaml: no operator is called 'frac'")


def test_conflicts_and_groups(run: Run) -> None:
    data = json.loads(run("conflicts", "--op", "sign", "--op", "sgn", "--op", "threshold", "--json").out)
    assert [conflict["operators"] for conflict in data["conflicts"]] == [["sign", "sgn"]]
    assert sorted(len(group) for group in data["groups"]) == [1, 2] and ["sign", "sgn"] not in data["groups"]
    assert "sign and sgn conflict in aten/src/ATen/native" in run("conflicts", "--op", "sign", "--op", "sgn").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["plan"], 2, "error: no operator is named; write --op NAME (repeatable) or --all"),
        (["plan", "--op", "nothing"], 2, "error: ops_manifest.yaml: no operator is called 'nothing'"),
        (["plan", "--op", "sign", "--source", "nowhere"], 2, "error: nowhere: not a git repository"),
        (["plan", "--op", "sign", "--source", "wheel:x"], 2, "error: 'x' is not a release of torch"),
        (["plan", "--no-such-option"], 2, "error: No idea what '--no-such-option' is!"),
        (["no-such-command"], 2, "error: No idea what 'no-such-command' is!"),
    ],
)
def test_wrong_use_is_one_line_and_exits_2(run: Run, words: list[str], code: int, message: str) -> None:
    ran = run(*words)
    assert ran.code == code and ran.err.startswith(message) and ran.err.count("\n") == 1 and ran.out == ""


def test_a_broken_manifest_is_one_line(run: Run, project: Path) -> None:
    manifest = project / "ops_manifest.yaml"
    manifest.write_text(manifest.read_text().replace("kind: unary\n", "kinds: unary\n", 1))
    ran = run("plan", "--op", "sign")
    assert ran.code == 2 and ran.err.startswith("error: ops_manifest.yaml:") and "unknown key 'kinds'" in ran.err


def test_a_tree_without_the_target_says_so(run: Run, tmp_path: Path, project: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(project / ".pocket" / "pytorch"), "old")
    git(tmp_path / "old", "rm", "--quiet", "aten/src/ATen/native/mps/operations/UnaryKernel.mm")
    git(tmp_path / "old", "commit", "--quiet", "-m", "Older")
    ran = run("plan", "--op", "sign", "--source", str(tmp_path / "old"))
    assert ran.code == 1 and "operations/UnaryKernel.mm: " in ran.out and "has no such file to put sign into" in ran.out
    assert "sign.out: MPS joins CPU and CUDA" in ran.out


def test_check_writes_sarif_and_runs_the_rules_asked_for(run: Run, tmp_path: Path) -> None:
    ran = run(
        "check", "--op", "sign", "--rule", "rows/*", "--skip-rule", "rows/mps-twice", "--sarif", str(tmp_path / "s")
    )
    assert ran.code == 0
    assert re.search(r"host +│ not run │ skipped: none of its rules are", ran.out)
    log = json.loads((tmp_path / "s").read_text())
    assert log["version"] == "2.1.0" and log["runs"][0]["results"] == []
    wrong = run("check", "--op", "sign", "--rule", "row/*")
    assert (wrong.code, wrong.err.splitlines()) == (
        2,
        ["error: no rule matches 'row/*'; docs/rules.md lists them, e.g. `contract/*`"],
    )


def test_an_accepted_finding_shows_in_the_evidence(run: Run, project: Path) -> None:
    manifest = project / "ops_manifest.yaml"
    entry = "  - name: sign\n"
    suppress = "    suppress: [{rule: rows/mps-twice, reason: it is meant}]\n"
    manifest.write_text(manifest.read_text().replace(entry, entry + suppress, 1))
    ran = run("check", "--op", "sign", "--rule", "rows/*")
    assert "warning manifest/unused-suppression: sign suppresses rows/mps-twice, which found nothing" in ran.out
    manifest.write_text(manifest.read_text().replace("rows/mps-twice", "rows/mps-thrice", 1))
    ran = run("check", "--op", "sign", "--rule", "rows/*")
    assert ran.code == 2 and "sign suppresses 'rows/mps-thrice', which is no rule" in ran.err
