"""Every stub fragment of the repository on the pocket's host files, and mutated host files."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.edits.fragment import read_fragment
from pipeline.edits.host import place_fragment, remove_legacy
from pipeline.edits.hostfile import HostFiles
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal
from pipeline.manifest import Dispatch, Operator
from pipeline.manifest_file import load_manifest
from pipeline.pocket.contents import pocket_files
from pipeline.snapshot import Snapshot
from pipeline.source import MemoryTree

ROOT = Path(__file__).parent.parent
OPERATIONS = "aten/src/ATen/native/mps/operations"


@functools.cache
def pocket() -> Snapshot:
    return Snapshot(MemoryTree(pocket_files()))


def operators() -> list[Operator]:
    found = load_manifest(ROOT / "ops_manifest.yaml").operators
    return [operator for operator in found if operator.host and operator.into is not None]


def legacy_of(operator: Operator) -> list[str]:
    """The functions whose rows collapse; with `dispatch: keep` they get a new body under their name."""
    if operator.dispatch is not Dispatch.COLLAPSE:
        return []
    rows = (pocket().functions.entry(func).row("MPS") for func in operator.rows)
    return sorted({row.kernel for row in rows if row is not None and "CPU" not in row.keys})


def is_subsequence(some: str, of: str) -> bool:
    lines = iter(of.split("\n"))
    return all(line in lines for line in some.split("\n")[:-1])


@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.name)
def test_a_fragment_lands_and_what_it_replaces_goes(operator: Operator) -> None:
    assert operator.into is not None
    target, host, headers = operator.into.host, pocket().host, pocket().headers
    fragment = read_fragment((ROOT / operator.host).read_text(), operator.host)
    functions = legacy_of(operator)
    removed = remove_legacy(host, functions, headers=headers)
    for path, after in removed.files.items():
        assert is_subsequence(after or "", host.texts[path])
    edit = place_fragment(host, target, fragment, functions, headers=headers)
    assert not edit.missing
    for path, after in edit.files.items():
        split(after or "", path)
        if path != target:
            assert is_subsequence(after or "", host.texts[path])
    assert target in edit.files
    left = HostFiles({path: text for path, text in {**host.texts, **edit.files}.items() if text is not None})
    assert not place_fragment(left, target, fragment, functions, headers=headers).files


FILES = {path: text for path, text in pocket().host.texts.items() if path.startswith(OPERATIONS)}
PIECES = ["{", "}", "(", ")", ";", '"', "/*", "//", "\n", "\\\n", "#if X\n", "#else\n", "#endif\n", "@end", "static "]
PIECES += [
    "#define lib x\n",
    "namespace {\n",
    "} ",
    "\n\n\n",
    "// c\n",
    "using namespace mps;\n",
    "void f() {}\n",
    "\r\n",
]
PIECES += [
    "REGISTER_DISPATCH(acosh_stub, &b)\n",
    "TORCH_IMPL_FUNC(",
    "@interface A (B)\n",
    "##",
    "#define A(x) A(x) x\n",
]


@st.composite
def mutated(draw: st.DrawFn) -> Mapping[str, str]:
    """The unary host files with a few stretches deleted or replaced."""
    files = {path: FILES[path] for path in (f"{OPERATIONS}/UnaryOps.mm", f"{OPERATIONS}/UnaryKernel.mm")}
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(sorted(files)))
        text = files[path]
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.sampled_from([0, 1, 5, 300])))
        files[path] = text[:start] + draw(st.sampled_from(["", *PIECES])) + text[stop:]
    return files


@settings(max_examples=150, deadline=None)
@given(mutated(), st.sampled_from([["acosh_out_mps"], ["sgn_out_mps", "sign_out_mps"], ["logit_mps", "logit_out_mps"]]))
def test_mutated_files_are_edited_right_or_refused(files: Mapping[str, str], functions: list[str]) -> None:
    target = f"{OPERATIONS}/UnaryKernel.mm"
    fragment = read_fragment((ROOT / "stubs/acosh.mm").read_text())
    try:
        edit = remove_legacy(HostFiles(files), functions)
        placed = place_fragment(HostFiles(files), target, fragment, functions)
    except Refusal:
        return
    for path, after in edit.files.items():
        assert is_subsequence(after or "", files[path])
    left = {path: text for path, text in {**files, **placed.files}.items() if text is not None}
    for path, text in left.items():
        split(text, path)
    assert not place_fragment(HostFiles(left), target, fragment, functions).files
