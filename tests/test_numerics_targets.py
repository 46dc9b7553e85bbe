"""Which operator a function of host code implements, and the calls of it that OpInfo makes."""

from __future__ import annotations

import pytest
import torch

from pipeline.numerics.conventions import target_of_function
from pipeline.numerics.recording import recorded
from pipeline.numerics.targets import UnknownOperatorError, functional, overload_named


@pytest.mark.parametrize(
    ("function", "overload"),
    [
        ("log_sigmoid_backward_mps", "aten.log_sigmoid_backward.default"),
        ("log_sigmoid_backward_mps_out", "aten.log_sigmoid_backward.default"),
        ("binary_cross_entropy_backward_out_mps", "aten.binary_cross_entropy_backward.default"),
        ("glu_backward_mps_out", "aten.glu_backward.default"),
        ("softmax_backward_mps_out", "aten._softmax_backward_data.default"),
        ("std_mean_mps", "aten.std_mean.correction"),
        ("sort_stable_out_mps", "aten.sort.stable"),
    ],
)
def test_a_function_is_compared_with_what_returns_its_result(function: str, overload: str) -> None:
    target = target_of_function(function)
    assert str(target.overload) == overload
    assert not target.overload._schema.is_mutable


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("add.out", "aten.add.Tensor"),
        ("add_.Scalar", "aten.add.Scalar"),
        ("relu_", "aten.relu.default"),
        ("scatter.src_out", "aten.scatter.src"),
        ("norm.dtype_out", "aten.norm.ScalarOpt_dim_dtype"),
        ("index_fill_.int_Scalar", "aten.index_fill.int_Scalar"),
        ("log_sigmoid_backward.grad_input", "aten.log_sigmoid_backward.default"),
        ("sin", "aten.sin.default"),
        ("normal_", None),
    ],
)
def test_overloads_of_the_same_arguments(name: str, wanted: str | None) -> None:
    overload = overload_named(name)
    assert overload is not None
    found = functional(overload)
    assert (None if found is None else str(found)) == wanted


def test_a_function_of_no_row() -> None:
    with pytest.raises(UnknownOperatorError, match="no dispatch row"):
        target_of_function("log_sigmoid_backward_cuda")


@pytest.mark.parametrize("function", ["log_sigmoid_backward_mps", "softmax_backward_mps_out", "glu_backward_mps"])
def test_recorded_gradients_are_of_every_kind(function: str) -> None:
    calls = recorded(target_of_function(function), torch.float32)
    gradients = torch.cat([call.arguments["grad_output"].reshape(-1) for call in calls])
    assert gradients.unique().numel() > 50
    assert bool((gradients < 0).any())


def test_operands_that_nothing_can_be_derived_from_are_left_to_the_operator() -> None:
    target = target_of_function("log_sigmoid_backward_mps")
    numbers = torch.ones(2, dtype=torch.uint8)
    bound = target.bind({"grad_output": numbers, "self": numbers})
    with pytest.raises(RuntimeError, match="not implemented for"):
        target.overload(**bound)
