from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.branches import BranchResult, Planned, Written, commit_message, write_branches
from pipeline.changeset import Changeset, Edit, EditKind, FileChange
from pipeline.findings import CheckResult, Evidence, Outcome
from pipeline.git import Identity, Repository
from pipeline.manifest import Operator, Workflow
from pipeline.source_git import open_path
from tests.gitrepo import commit_files, git, make_repository

BOT = Identity("A Bot", "bot@example.org")
EVIDENCE = Evidence((CheckResult("rows", Outcome.PASSED, "read"), CheckResult.not_run("host", "no compiler")))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "repo", {"a.txt": "one\n", "b.txt": "two\n"})


def plan(repository: Repository, name: str, content: str, base: str = "main") -> Planned:
    tree = open_path(repository.path, base)
    change = FileChange("a.txt", tree.read("a.txt"), content.encode())
    edits = (Edit(EditKind.ROW, "a.txt", 1, f"{name}.out joins CPU, CUDA"),)
    return Planned(Changeset(Operator(name, notes="NaN stays NaN."), tree, (change,), edits), EVIDENCE)


def write(repository: Repository, *planned: Planned) -> list[BranchResult]:
    return write_branches(repository, planned, BOT)


def test_one_commit_per_operator_on_its_branch(repository: Repository) -> None:
    sign, frac = write(repository, plan(repository, "sign", "s\n"), plan(repository, "frac", "f\n"))
    assert (sign.written, sign.branch, frac.written) == (Written.CREATED, "migrate/sign", Written.CREATED)
    assert git(repository.path, "show", "migrate/frac:a.txt") == "f"
    assert git(repository.path, "rev-parse", "migrate/sign~1") == repository.resolve("main")
    base = repository.resolve("main")
    assert git(repository.path, "show", "-s", "--format=%B", "migrate/sign") == (
        "[MPS] Migrate sign to Metal\n\n"
        "Moves sign from MPSGraph to a handwritten Metal kernel, so that no graph\n"
        "is compiled per input shape. In native_functions.yaml: sign.out joins\n"
        "CPU, CUDA. NaN stays NaN.\n\n"
        f"Migrated-Op: sign\nPlanned-From: {base}\nEvidence: rows passed; host not run; macOS not run"
    )


def test_again_changes_nothing_and_says_so(repository: Repository) -> None:
    first = write(repository, plan(repository, "sign", "s\n"))
    again = write(repository, plan(repository, "sign", "s\n"))
    assert [result.written for result in again] == [Written.UNCHANGED]
    assert again[0].commit == first[0].commit


def test_the_same_plan_gives_the_same_commit_in_another_clone(repository: Repository, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(repository.path), "clone")
    there = Repository(tmp_path / "clone")
    assert (
        write(repository, plan(repository, "sign", "s\n"))[0].commit
        == write(there, plan(there, "sign", "s\n"))[0].commit
    )


def test_a_new_plan_replaces_the_old_one_also_on_a_new_base(repository: Repository) -> None:
    write(repository, plan(repository, "sign", "s\n"))
    commit_files(repository.path, {"b.txt": "moved\n"}, "Upstream moves")
    (moved,) = write(repository, plan(repository, "sign", "s\n"))
    assert moved.written is Written.UPDATED
    assert git(repository.path, "rev-parse", "migrate/sign~1") == repository.resolve("main")


PEOPLE = {
    "commits on top": [["commit", "--quiet", "--allow-empty", "-m", "Mend it"]],
    "amends": [["commit", "--quiet", "--amend", "--no-edit", "--allow-empty"]],
}


@pytest.mark.parametrize("how", PEOPLE)
def test_a_persons_commit_is_left_alone(repository: Repository, tmp_path: Path, how: str) -> None:
    write(repository, plan(repository, "sign", "s\n"))
    worktree = tmp_path / "person"
    git(repository.path, "worktree", "add", "--quiet", str(worktree), "migrate/sign")
    for command in PEOPLE[how]:
        git(worktree, *command)
    theirs = git(worktree, "rev-parse", "HEAD")
    git(repository.path, "worktree", "remove", str(worktree))
    (result,) = write(repository, plan(repository, "sign", "other\n"))
    assert result == BranchResult("sign", "migrate/sign", theirs, Written.LEFT_ALONE, result.reason)
    assert f"commit {theirs[:12]} by ada@example.org is not the pipeline's" in result.reason
    assert repository.resolve("migrate/sign") == theirs


def test_a_commit_in_the_bots_name_without_its_trailer_is_a_persons(repository: Repository) -> None:
    bot = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", BOT.name), ("EMAIL", BOT.email))
    }
    git(repository.path, "checkout", "--quiet", "-b", "migrate/sign")
    commit_files(repository.path, {"a.txt": "by hand\n"}, "By hand", identity=bot)
    git(repository.path, "checkout", "--quiet", "main")
    (result,) = write(repository, plan(repository, "sign", "s\n"))
    assert result.written is Written.LEFT_ALONE and "bot@example.org is not the pipeline's" in result.reason


def test_a_branch_made_by_someone_else_is_left_alone_and_the_others_are_written(repository: Repository) -> None:
    git(repository.path, "branch", "migrate/sign")
    sign, frac = write(repository, plan(repository, "sign", "s\n"), plan(repository, "frac", "f\n"))
    assert (sign.written, frac.written) == (Written.LEFT_ALONE, Written.CREATED)


def test_a_branch_checked_out_somewhere_is_left_alone(repository: Repository) -> None:
    write(repository, plan(repository, "sign", "s\n"))
    git(repository.path, "checkout", "--quiet", "migrate/sign")
    (result,) = write(repository, plan(repository, "sign", "t\n", base="main"))
    assert (result.written, result.reason) == (Written.LEFT_ALONE, "it is checked out in a worktree")


def test_a_plan_with_gaps_is_never_committed(repository: Repository) -> None:
    planned = plan(repository, "sign", "s\n")
    with pytest.raises(ValueError, match="cannot be committed"):
        write(repository, replace(planned, changeset=replace(planned.changeset, gaps=("no kernel",))))


def test_a_new_operator_is_added_not_migrated(repository: Repository) -> None:
    planned = plan(repository, "heaviside", "h\n")
    changeset = replace(planned.changeset, operator=Operator("heaviside", workflow=Workflow.NEW))
    assert commit_message(changeset, EVIDENCE).startswith("[MPS] Add heaviside\n\nAdds heaviside to the MPS backend")
