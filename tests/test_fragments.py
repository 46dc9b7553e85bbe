"""The handwritten fragments, as files: each belongs to an operator, and is laid out as PyTorch's own files are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.manifest import NO_FRAGMENT, Manifest, Operator, State
from pipeline.manifest_file import load_manifest
from pipeline.metal import compile_file

ROOT = Path(__file__).parent.parent
KERNELS = sorted((ROOT / "kernels").glob("*.metal"))
CLANG_FORMAT = Path(sys.executable).with_name("clang-format")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return load_manifest(ROOT / "ops_manifest.yaml")


def fragments_of(operator: Operator) -> set[Path]:
    return {ROOT / path for path in (operator.kernel, operator.host) if path not in ("", NO_FRAGMENT)}


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


# The files that fragments are merged into are one library: a host name may stand in one fragment only.
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_kernel_compiles_on_its_own(path: Path) -> None:
    names = dir(compile_file(path))
    assert names, f"{path.name} registers no kernel"
    functor = re.findall(r"struct (\w+)_functor\b", path.read_text())
    prefixes = tuple(f"{name}_" for name in [path.stem, *functor])
    assert all(name.startswith(prefixes) for name in names), "a kernel of someone else's name"


def test_no_two_fragments_define_the_same_name() -> None:
    seen: dict[str, str] = {}
    for path in KERNELS:
        for name in re.findall(r"^(?:struct|#define|kernel void|typedef \S+) (\w+)", path.read_text(), re.MULTILINE):
            assert name not in seen, f"{name} of {path.name} is in {seen[name]} too"
            seen[name] = path.name
