"""The handwritten fragments, as files: each belongs to an operator, and is laid out as PyTorch's own files are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.manifest import Manifest, Operator, State
from pipeline.manifest_file import load_manifest

ROOT = Path(__file__).parent.parent
CLANG_FORMAT = Path(sys.executable).with_name("clang-format")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return load_manifest(ROOT / "ops_manifest.yaml")


def fragments_of(operator: Operator) -> set[Path]:
    kernel = ROOT / (operator.kernel or f"kernels/{operator.name}.metal")
    host = ROOT / (operator.host or f"stubs/{operator.name}.mm")
    return {path for path in (kernel, host) if path.exists()}


def test_every_fragment_belongs_to_one_operator(manifest: Manifest) -> None:
    files = {*ROOT.glob("kernels/*"), *ROOT.glob("stubs/*")}
    owned = [path for operator in manifest.operators for path in fragments_of(operator)]
    assert set(owned) == files
    assert len(owned) == len(files)


def test_an_operator_with_fragments_is_ready_and_one_without_says_why(manifest: Manifest) -> None:
    for operator in manifest.operators:
        if operator.status.state is State.LISTED:
            assert operator.status.reason, f"{operator.name} is listed without a reason"
            assert not fragments_of(operator), f"{operator.name} is listed, yet has fragments"


@pytest.mark.parametrize("folder", ["kernels", "stubs"])
def test_fragments_are_laid_out_as_clang_format_does(folder: str) -> None:
    for path in sorted((ROOT / folder).glob("*")):
        # clang-format does not know the suffix .metal; an assumed name inside the repository finds the style.
        assumed = path.with_suffix(".cpp" if path.suffix == ".metal" else ".mm")
        command = [str(CLANG_FORMAT), "-style=file", f"--assume-filename={assumed}"]
        done = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=True)
        assert done.stdout.decode() == path.read_text(), f"{path.name} is not formatted"
