"""`invoke draft` as a user runs it: what it writes, what it leaves alone, what the manifest lacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from invoke.collection import Collection
from invoke.program import Program

import tasks
from pipeline.manifest import Dispatch, State, Workflow
from pipeline.manifest_file import load_manifest
from tests.project import copy_project


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, checks_cache: Path) -> Path:
    return copy_project(tmp_path_factory.mktemp("drafting") / "copy", checks_cache)


@pytest.fixture
def project(built: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same copy for all; what a test drafts is taken away again."""
    monkeypatch.setattr(tasks, "ROOT", built)
    before = {path: path.read_bytes() for path in files(built)}
    yield built
    for path in files(built):
        if path not in before:
            path.unlink()
    for path, content in before.items():
        path.write_bytes(content)


def files(project: Path) -> list[Path]:
    return [project / "ops_manifest.yaml", *(project / "kernels").iterdir(), *(project / "stubs").iterdir()]


def draft(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capfd.readouterr()
    code = 0
    try:
        Program(namespace=Collection.from_module(tasks)).run(["invoke", "draft", *words])
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    return (code, *capfd.readouterr())


def test_what_exists_is_left_alone_unless_forced(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kernel, stub = project / "kernels/cumprod.metal", project / "stubs/cumprod.mm"
    kernel.write_text("// mine\n")
    refused = "error: kernels/cumprod.metal: exists already, so nothing is written; write --force to replace it\n"
    assert draft(capfd, "--op", "cumprod") == (2, "", refused)
    assert kernel.read_text() == "// mine\n" and not stub.exists()
    code, out, err = draft(capfd, "--op", "cumprod", "--force")
    assert (code, err) == (0, "") and out.startswith("wrote kernels/cumprod.metal\nwrote stubs/cumprod.mm\n")
    assert "TODO" in kernel.read_text() and "cumprod_stub" in stub.read_text()


def test_several_operators_one_of_them_unknown(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = draft(capfd, "--op", "addd", "--op", "cumprod", "--op", "erfc")
    assert code == 2 and "wrote kernels/cumprod.metal" in out and (project / "stubs/cumprod.mm").exists()
    first, second = err.splitlines()
    assert first.startswith("error: neither the manifest nor pocket@") and "is it add" in first
    assert second.startswith("error: erfc does not run on MPSGraph")


def test_an_operator_of_neither_manifest_nor_mps_gets_its_entry(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    manifest = project / "ops_manifest.yaml"
    before = manifest.read_text()
    _, out, _ = draft(capfd, "--op", "special_ndtri")
    assert manifest.read_text() == before
    entry = out.partition("(--write does it):\n")[2].partition("next:")[0]
    assert "  - name: special_ndtri\n    workflow: new\n" in entry
    code, out, _ = draft(capfd, "--op", "special_ndtri", "--force", "--write")
    assert code == 0 and "special_ndtri added to ops_manifest.yaml" in out
    listed = load_manifest(manifest).operator("special_ndtri")
    assert (listed.workflow, listed.dispatch, listed.status.state) == (Workflow.NEW, Dispatch.ADD, State.LISTED)
    assert (listed.stub, listed.rows, listed.opinfo) == (
        "special_ndtri_stub",
        ("special_ndtri.out",),
        ("special.ndtri",),
    )


def test_without_a_name_it_says_how(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert draft(capfd) == (2, "", "error: no operator is named; write --op NAME (repeatable)\n")
