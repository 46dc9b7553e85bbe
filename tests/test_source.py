from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from pipeline.errors import PipelineError, UsageError
from pipeline.open_source import open_source
from pipeline.source import KERNELS, METAL_HEADERS, NATIVE_FUNCTIONS, OPERATIONS
from pipeline.source_wheel import WheelTree, upstream_path
from tests.gitrepo import commit_files, git, make_repository

FILES = {
    NATIVE_FUNCTIONS: "- func: sign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n",
    f"{OPERATIONS}/UnaryOps.mm": "// host\n",
    f"{METAL_HEADERS}/utils.h": "// metal\n",
    "docs/other.txt": "never read\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    make_repository(path, FILES)
    return path


def test_a_path_is_read_at_head_without_its_work_tree(repository: Path, tmp_path: Path) -> None:
    (repository / NATIVE_FUNCTIONS).write_text("edited, not committed")
    source = open_source(str(repository), tmp_path)
    assert source.tree.read(NATIVE_FUNCTIONS).decode() == FILES[NATIVE_FUNCTIONS]
    assert source.tree.commit == git(repository, "rev-parse", "HEAD")
    assert source.tree.files(OPERATIONS) == (f"{OPERATIONS}/UnaryOps.mm",)
    assert source.repository is not None and source.repository.path == repository
    with pytest.raises(PipelineError, match="none.mm: no such file in "):
        source.tree.read("none.mm")


def test_a_ref_names_the_commit(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    commit_files(repository, {NATIVE_FUNCTIONS: "new\n"}, "Later")
    git(repository, "tag", "v1")
    for ref, commit in (("HEAD~1", first), ("v1", git(repository, "rev-parse", "v1")), (first[:10], first)):
        assert open_source(f"{repository}@{ref}", tmp_path).tree.commit == commit


def test_a_bare_repository_and_a_linked_worktree_and_an_at_sign(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare@home.git")
    git(repository, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    for path in (tmp_path / "bare@home.git", tmp_path / "linked"):
        assert open_source(str(path), tmp_path).tree.has(NATIVE_FUNCTIONS)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nowhere", "not a git repository"),
        ("tree/docs", "not a git repository"),
        ("tree@none", "no commit is called 'none'"),
        ("plain", "not a git repository"),
        ("wheel:latest", "'latest' is not a release of torch"),
        ("file:///nowhere/at/all", "git fetch"),
        ("other", f"not a tree of PyTorch: it has no {NATIVE_FUNCTIONS}"),
    ],
)
def test_what_names_nothing_is_one_line(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, message: str
) -> None:
    (tmp_path / "plain").mkdir()
    make_repository(tmp_path / "other", {"README": "no PyTorch\n"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        open_source(spec, tmp_path)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_url_is_fetched_without_history_checkout_or_other_files(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    commit_files(repository, {"docs/new.txt": "second\n"}, "Later")
    source = open_source(f"file://{repository}", tmp_path)
    assert source.repository is not None
    copy = source.repository.path
    assert len(source.repository.log(str(source.tree.commit), 9)) == 1
    present = {line.split()[0] for line in git(copy, "cat-file", "--batch-all-objects", "--batch-check").splitlines()}
    blob = {name: git(repository, "rev-parse", f"HEAD:{name}") for name in (*FILES, "docs/new.txt")}
    assert {name for name in blob if blob[name] in present} == set(FILES) - {"docs/other.txt"}
    assert source.tree.read(f"{METAL_HEADERS}/utils.h") == b"// metal\n"
    assert list(copy.glob("**/*.mm")) == []


def test_a_url_is_read_again_each_time_and_takes_a_ref(repository: Path, tmp_path: Path) -> None:
    url = f"file://{repository}"
    first = open_source(url, tmp_path).tree.commit
    git(repository, "branch", "release/2.13")
    second = commit_files(repository, {NATIVE_FUNCTIONS: "new\n"}, "Later")
    assert open_source(url, tmp_path).tree.commit == second
    assert open_source(f"{url}@release/2.13", tmp_path).tree.commit == first


def test_a_wheel_is_read_at_upstreams_paths(tmp_path: Path) -> None:
    folder = tmp_path / ".cache" / "wheels" / "torch-2.13.0"
    folder.mkdir(parents=True)
    members = {
        "torchgen/packaged/ATen/native/native_functions.yaml": NATIVE_FUNCTIONS,
        "torch/include/c10/metal/utils.h": f"{METAL_HEADERS}/utils.h",
        "torch/include/ATen/native/mps/kernels/Activation.h": f"{KERNELS}/Activation.h",
        "torch/testing/_internal/common_mps.py": "torch/testing/_internal/common_mps.py",
        "torch/lib/libtorch.dylib": None,
    }
    with zipfile.ZipFile(folder / "torch-2.13.0-cp311-none-macosx_14_0_arm64.whl", "w") as archive:
        for name in members:
            archive.writestr(name, name)
    source = open_source("wheel:2.13.0", tmp_path)
    assert source.repository is None and source.tree.commit is None and source.tree.label == "wheel:2.13.0"
    assert source.tree.files() == tuple(sorted(name for name in members.values() if name))
    assert source.tree.read(f"{KERNELS}/Activation.h").decode().endswith("kernels/Activation.h")
    with pytest.raises(PipelineError, match="UnaryOps.mm: wheel:2.13.0 does not hold this file"):
        source.tree.read(f"{OPERATIONS}/UnaryOps.mm")
    assert isinstance(source.tree, WheelTree) and upstream_path("torch/x.pyc") is None
