"""The compiler on this machine and, compiling only, on the others."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from pipeline.metal import Cache, Compilation, ToolchainError, compile_shader
from pipeline.metal.build import Shader, build
from pipeline.metal.toolchain import Toolchain, find_toolchain

SOURCE = """
#include <c10/metal/indexing.h>
#include <c10/metal/reduction_utils.h>
struct twice_functor { template <typename T> inline T operator()(const T x) { return T(x + x); } };
REGISTER_UNARY_OP(twice, half, half);
REGISTER_UNARY_OP(twice, bfloat, bfloat);
kernel void sum(device float* o, constant float* x, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float shared[32];
    o[i] = c10::metal::threadgroup_sum<float>(shared, x[i], i, 1024);
}
"""


class CompileOnly(Toolchain):
    """Leaves linking out: there is no linker for the other system here."""

    def must_run(self, command: Sequence[str]) -> None:
        if tuple(command[: len(self.linker)]) == self.linker:
            Path(command[-1]).touch()
        else:
            super().must_run(command)


OTHERS = {
    "arm64 Linux": ("linux", "aarch64", "aarch64-unknown-linux-gnu", "aarch64-linux-gnu"),
    "arm64 macOS": ("darwin", "arm64", "arm64-apple-macosx13.0", "aarch64-macos"),
    "x86-64 macOS": ("darwin", "x86_64", "x86_64-apple-macosx13.0", "x86_64-macos"),
}


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("name", OTHERS)
def test_everything_compiles_for_other_machines(
    name: str, checked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, machine, triple, zig_target = OTHERS[name]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", system)
        patch.setattr(platform, "machine", lambda: machine)
        found = find_toolchain(None, tmp_path / "compiler")
    assert triple in found.target
    assert zig_target in found.runtime_compiler
    toolchain = CompileOnly(**{field.name: getattr(found, field.name) for field in fields(found)})
    monkeypatch.setattr("pipeline.metal.build.find_toolchain", lambda *_: toolchain)
    include = [Path(torch.__file__).parent / "include"]
    (built,) = build(Shader(SOURCE), include, None, [Compilation(checked=checked)], Cache(tmp_path))
    assert len(built.kernels) == 13


@pytest.mark.parametrize(("system", "machine"), [("win32", "AMD64"), ("linux", "riscv64")])
def test_other_systems_are_refused(system: str, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", system)
        patch.setattr(platform, "machine", lambda: machine)
        with pytest.raises(
            ToolchainError, match=f"no support for {system} on {machine.lower().replace('amd', 'x86_')}"
        ):
            find_toolchain(None, tmp_path)


def test_a_compiler_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="cannot run /no/such/clang"):
        compile_shader(SOURCE, compilation=Compilation(compiler="/no/such/clang"), cache=Cache(tmp_path))


@pytest.mark.skipif(shutil.which("clang++") is None, reason="no clang++ on this machine")
def test_a_compiler_of_ones_own() -> None:
    library = compile_shader(SOURCE, only="twice_dense_scalar", compilation=Compilation(compiler="clang++"))
    x = torch.randn(8).half()
    o = torch.empty_like(x)
    library.twice_dense_scalar_half_half(o, x)
    assert torch.equal(o, x + x)


def test_a_compiler_that_fails_is_not_the_shader_s_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = find_toolchain(None, tmp_path / "compiler")
    monkeypatch.setattr("pipeline.metal.build.find_toolchain", lambda *_: replace(good, linker=("false",)))
    with pytest.raises(ToolchainError, match="failed"):
        compile_shader("kernel void k(device float* o) {}", cache=Cache(tmp_path))
