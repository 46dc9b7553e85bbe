"""The pocket's host files hold what torch 2.13 runs through MPSGraph, and each piece can be taken out of them."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from pipeline import pocket
from pipeline.checks.host import check_host
from pipeline.edits.dispatch import collapse_splices
from pipeline.edits.host import remove_legacy
from pipeline.edits.items import Kind
from pipeline.edits.objcpp import split
from pipeline.edits.splice import Splice, apply
from pipeline.errors import Refusal
from pipeline.findings import Outcome
from pipeline.native_functions import NativeFunctions
from pipeline.snapshot import Snapshot
from pipeline.source import KERNELS, NATIVE_FUNCTIONS, OPERATIONS, MemoryTree
from pipeline.source_git import open_path

ROOT = Path(__file__).parents[1]

# Read from the symbols of the macOS wheel of 2.13.0: rows whose function runs a graph, by the file that defines it.
LEGACY = {
    "UnaryOps": """
        sign_out_mps sgn_out_mps signbit_out_mps frac_out_mps asinh_out_mps acosh_out_mps atanh_out_mps logit_mps
        logit_out_mps logical_not_out_mps conj_physical_out_mps logit_backward_out_mps""",
    "BinaryOps": "logical_and_out_mps logical_or_out_mps logical_xor_out_mps pow_tensor_tensor_out_mps",
    "PointwiseOps": "addcmul_out_mps addcdiv_out_mps",
    "Activation": """
        threshold_out_mps threshold_backward_out_mps hardtanh_backward_mps hardtanh_backward_out_mps prelu_mps
        prelu_backward_mps sigmoid_backward_out_mps tanh_backward_out_mps mish_out_mps mish_backward_mps
        softplus_out_mps softplus_backward_out_mps glu_out_mps glu_backward_mps glu_backward_mps_out
        log_sigmoid_forward_mps log_sigmoid_forward_out_mps log_sigmoid_backward_mps log_sigmoid_backward_mps_out
        log_softmax_mps_out log_softmax_backward_mps_out""",
    "LossOps": """
        mse_loss_out_mps mse_loss_backward_mps mse_loss_backward_out_mps smooth_l1_loss_out_mps
        smooth_l1_loss_backward_out_mps huber_loss_mps huber_loss_out_mps huber_loss_backward_out_mps
        binary_cross_entropy_mps binary_cross_entropy_out_mps binary_cross_entropy_backward_mps
        binary_cross_entropy_backward_out_mps nll_loss_forward_out_mps nll_loss_backward_out_mps
        nll_loss2d_forward_mps nll_loss2d_forward_out_mps nll_loss2d_backward_mps nll_loss2d_backward_out_mps""",
    "TensorCompare": "nan_to_num_out_mps isin_Tensor_Tensor_out_mps isin_Scalar_Tensor_out_mps",
}
# Those in files where CPU and CUDA have functions of their own too, so that no row can be shared.
UNSHARED = {
    "ReduceOps": "std_mps var_mps std_mean_mps var_mean_mps",
    "SummaryOps": "_bincount_mps",
    "WeightNorm": "weight_norm_mps weight_norm_backward_mps",
}
# Shared rows whose stub runs a graph all the same.
GRAPH_STUBS = {
    "UnaryOps": "ceil_stub floor_stub trunc_stub",
    "TensorCompare": "isposinf_stub isneginf_stub where_kernel",
}


@functools.cache
def snapshot() -> Snapshot:
    return Snapshot(open_path(pocket.build(ROOT), "main"))


def defined_in(stem: str) -> set[str]:
    """Functions written out, and the first argument of macro lines that make one."""
    text = snapshot().text(f"{OPERATIONS}/{stem}.mm")
    found = set()
    for item in split(text):
        if item.kind is Kind.FUNCTION:
            found |= set(item.names)
        elif item.kind is Kind.CALL and item.macro.startswith("CREATE_"):
            found.add(item.code.partition("(")[2].partition(",")[0])
    return found


@pytest.mark.parametrize("stem", LEGACY | UNSHARED)
def test_every_legacy_function_is_defined_and_has_a_row(stem: str) -> None:
    legacy = (LEGACY | UNSHARED)[stem].split()
    assert set(legacy) <= defined_in(stem)
    assert [name for name in legacy if not snapshot().functions.naming(name)] == []


@pytest.mark.parametrize("stem", GRAPH_STUBS)
def test_every_stub_with_a_graph_is_registered(stem: str) -> None:
    text = snapshot().text(f"{OPERATIONS}/{stem}.mm")
    for stub in GRAPH_STUBS[stem].split():
        assert f"REGISTER_DISPATCH({stub}," in text or f"REGISTER_MPS_UNARY_STUB({stub.removesuffix('_stub')}," in text
        assert stub in snapshot().stubs


@pytest.mark.parametrize("stem", LEGACY)
def test_what_shares_a_row_can_be_taken_out_and_the_rest_still_compiles(stem: str) -> None:
    """Rows collapsed, definitions and what only they needed removed: no warning about the rest, nothing unused."""
    functions = snapshot().functions
    splices: list[Splice] = []
    for func in dict.fromkeys(func for name in LEGACY[stem].split() for func in functions.naming(name)):
        try:
            splices += collapse_splices(functions, func)
        except Refusal as refusal:
            assert "no shared row" in refusal.message
    yaml = apply(functions.text, splices)
    kept = {row.kernel for entry in NativeFunctions(yaml).entries.values() for row in entry.rows}
    gone = set(LEGACY[stem].split()) - kept
    edit = remove_legacy(snapshot().host, gone, kept=kept, headers=snapshot().headers)
    assert edit.missing == ()
    files = {path: text.encode() for path, text in edit.files.items() if text is not None}
    after = MemoryTree({NATIVE_FUNCTIONS: yaml.encode(), **files}, snapshot().tree)
    result = check_host(after, files, ROOT / ".cache" / "host")
    assert (result.outcome, result.findings) == (Outcome.PASSED, ())


def test_every_jit_library_has_its_shader_file() -> None:
    tree = snapshot().tree
    for path in tree.files(OPERATIONS):
        for line in tree.read(path).decode().splitlines():
            if "_metallib.h" in line:
                assert tree.has(f"{KERNELS}/{Path(path).stem}.metal"), path
                assert line == f"#include <ATen/native/mps/{Path(path).stem}_metallib.h>"
