"""The pocket on the installed wheel: what it holds, that it is always the same, that nothing is lost or half done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline import pocket
from pipeline.errors import PipelineError
from pipeline.git import Identity, NewCommit, RefChange, Repository
from pipeline.pocket import contents, repository
from pipeline.source import COMMON_MPS, KERNELS, METAL_HEADERS, NATIVE_FUNCTIONS, OPERATIONS, OPINFOS, TAGS

MAIN = "refs/heads/main"
PERSON = Identity("A Person", "person@example.org")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    found = Repository(pocket.build(tmp_path_factory.mktemp("pocket")))
    yield found
    found.close()


def commit_on(found: Repository, ref: str, path: str) -> str:
    [commit] = found.write_commits(
        [NewCommit(found.resolve("main"), {path: b"theirs\n"}, "Theirs", PERSON, "1770000000 +0000")]
    )
    found.move_refs([RefChange(ref, found.ref(ref) or "0" * 40, commit)])
    return commit


def test_wheel_files_keep_their_bytes(built: Repository) -> None:
    spec = find_spec("torch")
    assert spec is not None and spec.origin is not None
    site = Path(spec.origin).parent
    packaged = site.parent / "torchgen/packaged/ATen/native"
    definitions = "torch/testing/_internal/opinfo/definitions"
    for path, installed in {
        NATIVE_FUNCTIONS: packaged / "native_functions.yaml",
        TAGS: packaged / "tags.yaml",
        OPINFOS: site / "testing/_internal/common_methods_invocations.py",
        COMMON_MPS: site / "testing/_internal/common_mps.py",
        f"{METAL_HEADERS}/indexing.h": site / "include/c10/metal/indexing.h",
        f"{KERNELS}/Activation.h": site / "include/ATen/native/mps/kernels/Activation.h",
        "aten/src/ATen/native/mps/OperationUtils.h": site / "include/ATen/native/mps/OperationUtils.h",
        "aten/src/ATen/native/TensorCompare.h": site / "include/ATen/native/TensorCompare.h",
        f"{definitions}/special.py": site.parent / definitions / "special.py",
    }.items():
        assert built.read("main", path) == installed.read_bytes(), path


def test_host_files_and_kernels_are_there(built: Repository) -> None:
    held = set(built.files("main"))
    for stem in ("UnaryKernel", "BinaryKernel", "ActivationKernel", "PointwiseOps", "TensorCompare"):
        assert {f"{OPERATIONS}/{stem}.mm", f"{KERNELS}/{stem}.metal"} <= held
    for stem in ("UnaryOps", "BinaryOps", "Activation", "LossOps"):
        assert f"{OPERATIONS}/{stem}.mm" in held
    assert not [path for path in held if path.endswith((".pyc", "~")) or "__pycache__" in path]


def test_both_repositories_have_main_and_a_clean_checkout(built: Repository) -> None:
    origin = Repository(built.path.parent / "origin.git")
    assert origin.ref(MAIN) == built.ref(MAIN) == built.ref("refs/remotes/origin/main")
    assert built.run("status", "--porcelain") == b""
    built.run("push", "--quiet", "origin", "main:refs/heads/pushed")
    assert origin.ref("refs/heads/pushed") == built.ref(MAIN)


def test_the_same_wheel_gives_the_same_commit(built: Repository, tmp_path: Path) -> None:
    assert Repository(pocket.build(tmp_path)).ref(MAIN) == built.ref(MAIN)


def test_the_users_git_configuration_changes_nothing(
    built: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    config.write_text("[core]\n\tautocrlf = true\n[init]\n\tdefaultBranch = trunk\n[user]\n\tname = Someone\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    other = Repository(pocket.build(tmp_path))
    assert other.ref(MAIN) == built.ref(MAIN)
    assert b"\r\n" not in (other.path / NATIVE_FUNCTIONS).read_bytes()


def test_a_second_build_writes_nothing_and_keeps_branches(tmp_path: Path) -> None:
    found = Repository(pocket.build(tmp_path))
    branch = commit_on(found, "refs/heads/migrate/sign", "sign.txt")
    merged = commit_on(found, MAIN, "merged.txt")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / ".pocket").rglob("*") if path.name != "lock"}
    pocket.build(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (found.ref("refs/heads/migrate/sign"), found.ref(MAIN)) == (branch, merged)


def test_changed_content_gives_a_new_main_and_sets_work_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Repository(pocket.build(tmp_path))
    old = found.ref(MAIN)
    theirs = commit_on(found, "refs/heads/mine", "mine.txt")
    changed = {**contents.pocket_files(), f"{OPERATIONS}/UnaryOps.mm": b"// changed\n"}
    monkeypatch.setattr(repository, "pocket_files", lambda: changed)
    again = Repository(pocket.build(tmp_path))
    assert again.ref(MAIN) not in (None, old)
    assert again.read("main", f"{OPERATIONS}/UnaryOps.mm") == b"// changed\n"
    [aside] = (tmp_path / ".pocket").glob("before-*")
    kept = Repository(aside / "pytorch")
    assert (kept.ref("refs/heads/mine"), kept.ref(MAIN)) == (theirs, old)
    assert Repository(aside / "origin.git").ref(MAIN) == old


def test_changed_content_without_work_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pocket.build(tmp_path)
    monkeypatch.setattr(repository, "pocket_files", lambda: {"only.txt": b"one\n"})
    assert Repository(pocket.build(tmp_path)).files("main") == ("only.txt",)
    assert {path.name for path in (tmp_path / ".pocket").iterdir()} == {"lock", "made-from", "origin.git", "pytorch"}


@pytest.mark.parametrize("step", ["_write", "_set_aside", "rename"])
def test_a_killed_build_is_made_good_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Stopped at any step, the next run starts over and ends with both repositories."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path if step == "rename" else repository, step, killed)
        with pytest.raises(KeyboardInterrupt):
            pocket.build(tmp_path)
    found = Repository(pocket.build(tmp_path))
    assert found.ref(MAIN) == Repository(tmp_path / ".pocket/origin.git").ref(MAIN) is not None
    assert not list((tmp_path / ".pocket").glob("building-*"))


@pytest.mark.parametrize("gone", ["pytorch", "pytorch/.git", "origin.git", "made-from"])
def test_what_a_person_deleted_is_made_again(tmp_path: Path, gone: str) -> None:
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(tmp_path)], check=True)
    commit = Repository(pocket.build(tmp_path)).ref(MAIN)
    subprocess.run(["rm", "-rf", str(tmp_path / ".pocket" / gone)], check=True)
    assert Repository(pocket.build(tmp_path)).ref(MAIN) == commit
    assert Repository(tmp_path / ".pocket/origin.git").ref(MAIN) == commit


def test_the_folder_can_be_moved(tmp_path: Path) -> None:
    pocket.build(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    Repository(pocket.build(tmp_path / "there")).run("fetch", "--quiet", "origin")


def test_runs_at_once_agree(tmp_path: Path, built: Repository) -> None:
    script = "import sys; from pathlib import Path; from pipeline import pocket; print(pocket.build(Path(sys.argv[1])))"
    runs = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) for _ in range(4)]
    assert {run.communicate()[0] for run in runs} == {f"{tmp_path}/.pocket/pytorch\n".encode()}
    assert [run.returncode for run in runs] == [0] * 4
    assert Repository(tmp_path / ".pocket/pytorch").ref(MAIN) == built.ref(MAIN)


def test_another_release_is_an_error_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "2.15.0+cpu")
    with pytest.raises(PipelineError, match=r"torch 2\.13\.0, but 2\.15\.0 is installed; install requirements"):
        pocket.build(tmp_path)


def test_no_torch_is_an_error_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "find_spec", lambda _: None)
    with pytest.raises(PipelineError, match=r"torch is not installed; install requirements\.txt"):
        pocket.build(tmp_path)
