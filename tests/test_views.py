"""The commands that look, as a user runs them: status, history and page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from invoke.collection import Collection
from invoke.program import Program

import tasks
from pipeline import record
from pipeline.manifest import Operator, State, Status
from pipeline.manifest_file import save_status
from pipeline.runner.build import Build, Level, Verdict
from pipeline.runner.junit import TestOutcome, TestResult
from pipeline.runner.kept import mac_records
from pipeline.runner.read import Reading, Timing
from pipeline.runner.train import Plan
from pipeline.runner.yard import Result
from pipeline.source import NATIVE_FUNCTIONS, OPERATIONS
from tests.forge_site import make_manifest
from tests.gitrepo import commit_files, make_repository
from tests.page_inputs import make_mac_record, make_record

ROOT = Path(__file__).parents[1]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("kernels", "stubs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in ("ops_manifest.yaml", "README.md"):
        shutil.copy(ROOT / file, tmp_path)
    monkeypatch.setattr(tasks, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(project: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    def run_command(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = 0
        try:
            Program(namespace=Collection.from_module(tasks)).run(["invoke", *words])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return code, *capfd.readouterr()

    return run_command


def test_status_follows_the_manifest_and_what_ran_here(run: Run, project: Path) -> None:
    save_status(
        project / "ops_manifest.yaml", "sign", Status(State.TESTED, image="macos-15", at="2026-11-29T06:00:00Z")
    )
    record.save(project, make_record())
    code, out, err = run("status", "--state", "tested", "--file", "UnaryKernel")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (code, err) == (0, "") and len(lines) == 3
    assert lines[1].startswith("sign unary tested numerics failed, 1 passed passed on macos-15")
    assert lines[1].endswith("invoke approve --op sign --by NAME")
    data = json.loads(run("status", "--state", "tested", "--json")[1])
    assert [row["operator"] for row in data["operators"]] == ["sign"] and data["waiting"]["a person's approval"] == 1
    table = run("status", "--state", "tested", "--markdown")[1].splitlines()
    assert len(table) == 5 and table[2].startswith("| `sign` | unary | tested | numerics failed, 1 passed |")
    assert run("status", "--state", "done")[0] == 2


def test_the_table_in_the_readme_is_brought_up_to_date(run: Run, project: Path) -> None:
    save_status(project / "ops_manifest.yaml", "sign", Status(State.LANDED, at="2026-11-29T06:00:00Z"))
    assert run("status", "--readme") == (0, "written into README.md\n", "")
    assert (
        "| `sign` | unary | landed | not run | not run |  |  | 2026-11-29 |  |" in (project / "README.md").read_text()
    )
    assert run("status", "--readme") == (0, "README.md says so already\n", "")
    (project / "README.md").unlink()
    assert run("status", "--readme")[::2] == (2, "error: README.md: does not exist\n")


def test_a_history_and_a_page_that_shows_it(run: Run, project: Path, tmp_path: Path) -> None:
    row = "- func: sign.out(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: sign_out\n    MPS: sign_out_mps\n"
    code = "namespace at::native {\nvoid sign_out_mps() {\n  runMPSGraph();\n}\n}\n"
    folder = tmp_path / "pytorch"
    make_repository(folder, {NATIVE_FUNCTIONS: row, f"{OPERATIONS}/UnaryOps.mm": code})
    collapsed = row.replace("CPU, CUDA: sign_out\n    MPS: sign_out_mps", "CPU, CUDA, MPS: sign_out")
    commit_files(folder, {NATIVE_FUNCTIONS: collapsed, f"{OPERATIONS}/UnaryOps.mm": ""}, "Migrate sign")
    code_, out, _ = run("history", "--source", str(folder), "--plot", "burn-down.svg")
    assert code_ == 0 and [line.split()[2:6] for line in out.splitlines()[1:3]] == [
        *(["1", "0", "1", "Begin"], ["0", "1", "0", "-1"]),
    ]
    assert out.splitlines()[-1].endswith("2 commits; 1 rows on MPSGraph at first, 1 at most, 0 now")
    assert (project / "burn-down.svg").read_text().startswith("<svg ")
    (project / "history.json").write_text(run("history", "--source", str(folder), "--json")[1])
    record.save(project, make_record())
    record.save(project, make_mac_record())
    code_, out, _ = run("page", "--out", "site", "--history", "history.json")
    pages = len(list((project / "site").rglob("*.html")))
    assert (code_, out) == (0, f"{pages} pages in site, to be opened at site/index.html\n")
    index = (project / "site" / "index.html").read_text()
    assert "2 commits; 1 rows on MPSGraph at first" in index and "Migrate sign" in index
    assert "macos-15, Apple M1" in (project / "site" / "operator" / "sign.html").read_text()
    assert run("page", "--out", ".")[0] == 2
    assert run("page", "--history", "README.md")[::2] == (
        *(2, "error: README.md: is not a history; write it with `invoke history --source PATH --json`\n"),
    )


def test_of_a_build_each_operator_keeps_what_says_something_of_it() -> None:
    one, two, info = "mish", "sign", "nn_functional_mish"
    operators = Operator(one, opinfo=("nn.functional.mish",)), Operator(two, opinfo=("sign",))
    manifest = replace(make_manifest(), operators=operators)
    timings = tuple(Timing(name, "float32", 1000, 2.0, 0.1, 1.0, 0.1) for name in (info, f"{info}_variant", "other"))
    failed = TestResult("TestOps", "test_x", TestOutcome.FAILED)
    build = Build("3" * 40, Level.FULL, Verdict.TESTS_FAILED, "https://x/1", "1 of 9 tests failed", "macos-15", "M1")
    broken = Build("4" * 40, Level.FULL, Verdict.INFRASTRUCTURE, "https://x/2")
    nothing = Reading(Verdict.INFRASTRUCTURE, "lost")
    result = Result(
        plan=Plan(),
        builds={(one, two): (build, Reading(build.verdict, "", (failed,), timings)), (two,): (broken, nothing)},
        saved_minutes=0,
    )
    kept = list(mac_records(result, manifest, "2026-11-30T02:00:00Z"))
    assert [(each.operator, each.commit, each.failed) for each in kept] == [
        *((name, "3" * 40, ["TestOps.test_x"]) for name in (one, two)),
    ]
    assert [timing["operator"] for timing in kept[0].timings] == [info, f"{info}_variant"]
