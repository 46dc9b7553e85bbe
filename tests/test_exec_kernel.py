"""The model of the exec helpers: geometry, names, and the kernels that the 2.13 headers really instantiate."""

from __future__ import annotations

import struct

import pytest
import torch

from pipeline.exec_kernel.dtypes import MPS_DTYPES, Dtype
from pipeline.exec_kernel.execute import Kernels, MissingKernelError, exec_kernel, iteration_of
from pipeline.exec_kernel.iteration import IterationError, Operand, iterate
from pipeline.exec_kernel.launch import Force, HelperLimit, HostRefusal, plan
from pipeline.exec_kernel.names import Helper, Request, askable
from pipeline.metal import compile_shader

FLOAT, HALF, INT, BOOL = Dtype.FLOAT32, Dtype.FLOAT16, Dtype.INT32, Dtype.BOOL


def shape_and_strides(output: torch.Tensor, *inputs: torch.Tensor) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    iteration = iteration_of([output], inputs, output.dtype, frozenset())
    return iteration.shape, list(iteration.strides)


def test_contiguous_tensors_become_one_run_in_whatever_common_order() -> None:
    x, y = torch.empty(3, 4, 5), torch.empty(3, 4, 5)
    assert shape_and_strides(x, y) == ((60,), [(4,), (4,)])
    assert shape_and_strides(x.permute(2, 0, 1), y.permute(2, 0, 1)) == ((60,), [(4,), (4,)])
    last = torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert shape_and_strides(last, last.clone()) == ((120,), [(4,), (4,)])


def test_strides_are_bytes_innermost_first() -> None:
    x = torch.empty(4, 6)
    assert shape_and_strides(torch.empty(6, 4), x.t()) == ((4, 6), [(4, 16), (24, 4)])
    assert shape_and_strides(torch.empty(2, 2), x[::2, ::3]) == ((2, 2), [(4, 8), (12, 48)])


def test_a_broadcast_dimension_has_stride_zero() -> None:
    out, row, column = torch.empty(4, 6), torch.empty(6), torch.empty(4, 1)
    assert shape_and_strides(out, row, column) == ((6, 4), [(4, 24), (4, 0), (0, 4)])
    assert shape_and_strides(out, torch.empty(()), out.clone()) == ((24,), [(4,), (0,), (4,)])


def test_dimensions_of_size_one_merge_whatever_their_stride() -> None:
    odd = torch.empty(3, 7)[:, :1]
    assert shape_and_strides(torch.empty(3, 1), odd) == ((3,), [(4,), (28,)])


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(IterationError, match="do not broadcast"):
        iterate([Operand(FLOAT, (3,), (1,))], [Operand(FLOAT, (3,), (1,)), Operand(FLOAT, (4,), (1,))], FLOAT)
    with pytest.raises(IterationError, match="the output has shape"):
        iterate([Operand(FLOAT, (2,), (1,))], [Operand(FLOAT, (3,), (1,))], FLOAT)


def test_large_iterations_split_into_parts_that_fit_and_cover_it() -> None:
    wide = Operand(FLOAT, (5, 3, 1000), (2**29, 1000, 1))
    whole = iterate([wide], [wide], FLOAT)
    assert not whole.can_use_32bit_indexing
    parts = list(whole.with_32bit_indexing())
    assert all(part.can_use_32bit_indexing for part in parts)
    assert sum(part.numel for part in parts) == 5 * 3 * 1000
    assert [part.offsets[0] for part in parts] == [index * 2**31 for index in range(5)]


def test_a_cpu_operand_must_have_no_dimensions() -> None:
    with pytest.raises(IterationError, match="CPU tensor"):
        Operand(FLOAT, (1,), (1,), on_cpu=True)


SOURCE = """
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;
struct twice_functor {
  template <typename T> inline T operator()(const T x) { return x + x; }
};
REGISTER_UNARY_OP(twice, float, float);
REGISTER_UNARY_OP(twice, int, int);
struct scaled_functor {
  template <typename T> inline T operator()(const T x, const T factor) { return x * factor; }
};
REGISTER_UNARY_ALPHA_OP(scaled, float, float, float);
struct less_functor {
  template <typename T> inline bool operator()(const T a, const T b) { return a < b; }
};
REGISTER_BINARY_OP(less, float, bool);
REGISTER_BINARY_OP(less, int, bool);
REGISTER_BINARY_CASTOUT_OP(less, float, bool);
struct minus_functor {
  template <typename T> inline T operator()(const T a, const T b) { return a - b; }
};
REGISTER_BINARY_OP(minus, float, float);
REGISTER_BINARY_OP(minus, int, int);
struct minus_alpha_functor {
  template <typename T> inline T operator()(const T a, const T b, const T alpha) { return a - alpha * b; }
};
REGISTER_BINARY_ALPHA_OP(minus_alpha, float, float, float);
struct fused_functor {
  template <typename T> inline T operator()(const T a, const T b, const T c) { return a * b - c; }
};
REGISTER_TERNARY_OP(fused, float, float);
"""


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels.of(compile_shader(SOURCE))


X, Y = torch.randn(6, 7), torch.randn(6, 7)


@pytest.mark.parametrize(
    ("operand", "output", "force", "name"),
    [
        (X, torch.empty(6, 7), None, "twice_dense_scalar_float_float"),
        (X, torch.empty(6, 7), Force(ilp=True), "twice_dense_float_float"),
        (X.t(), torch.empty(7, 6), None, "twice_strided_float_float"),
        (X[::2, ::3], torch.empty(6, 12)[::2, ::4], None, "twice_strided_float_float"),
        (X, torch.empty(6, 7, dtype=torch.half), None, "twice_dense_castout_float"),
        (X, torch.empty(6, 7, dtype=torch.half), Force(ilp=True), "twice_dense_castout_ilp_float"),
        (X[:, ::2], torch.empty(6, 4, dtype=torch.half), None, "twice_strided_castout_float"),
        (X.expand(2, 6, 7), torch.empty(2, 6, 7), None, "twice_strided_float_float"),
    ],
)
def test_unary_flavours(
    kernels: Kernels, operand: torch.Tensor, output: torch.Tensor, force: Force | None, name: str
) -> None:
    launches = exec_kernel(kernels, Request(Helper.UNARY, "twice"), [output], [operand], operand.dtype, force=force)
    assert [launch.host_name for launch in launches] == [name]
    torch.testing.assert_close(output, (operand * 2).to(output.dtype))


def test_ilp_is_chosen_by_size_for_floating_outputs_only() -> None:
    many = Operand(FLOAT, (1 << 18,), (1,))
    ints = Operand(INT, (1 << 18,), (1,))
    request = Request(Helper.UNARY, "twice")
    found = plan(request, iterate([many], [many], FLOAT), None, lambda name: True)
    assert found[0].host_name == "twice_dense_float_float"
    assert found[0].threads == (1 << 16, 1)
    found = plan(request, iterate([ints], [ints], INT), None, lambda name: True)
    assert found[0].host_name == "twice_dense_scalar_int_int"
    eager = Request(Helper.UNARY, "twice", ilp_threshold=0)
    few = Operand(INT, (5,), (1,))
    assert plan(eager, iterate([few], [few], INT), None, lambda name: True)[0].host_name == "twice_dense_int_int"


@pytest.mark.parametrize(
    ("left", "right", "name"),
    [
        (X, Y, "dense_float_float"),
        (X.t(), Y.t(), "dense_float_float"),
        (X[:, ::2], Y[:, ::2], "strided_float_float"),
        (X, Y[0], "dense_broadcast_float_float"),
        (X[0], Y, "dense_broadcast_rhs_float_float"),
        (X, torch.tensor(2.0), "dense_scalar_float_float"),
        (torch.tensor(2.0), Y, "dense_scalar_lhs_float_float"),
        (X[:, :1], Y, "strided_float_float"),
        (X, Y.half(), "dense_cast_float_float"),
        (X, Y[0].half(), "dense_broadcast_cast_float_float"),
        (X[0].half(), Y, "dense_broadcast_rhs_cast_float_float"),
        (X, torch.tensor(2.5, dtype=torch.half), "dense_scalar_cast_float_float"),
        (torch.tensor(2.5, dtype=torch.half), Y, "dense_scalar_lhs_cast_float_float"),
        (X, torch.tensor(2), "dense_scalar_float_float"),
        (X[:, ::2], Y[:, ::2].half(), "strided_cast_float_float"),
    ],
)
@pytest.mark.parametrize("alpha", [None, 2.5])
def test_binary_flavours(
    kernels: Kernels, left: torch.Tensor, right: torch.Tensor, name: str, alpha: float | None
) -> None:
    expected = left - right if alpha is None else torch.sub(left, right, alpha=alpha)
    output = torch.empty_like(expected)
    if alpha is None:
        request, scalar = Request(Helper.BINARY, "minus"), None
    else:
        request, scalar = Request(Helper.BINARY, "minus_alpha", scalar="float"), struct.pack("f", alpha)
    launches = exec_kernel(kernels, request, [output], [left, right], torch.float32, scalar=scalar)
    wanted = f"minus_{name}" if alpha is None else f"minus_alpha_{name}_float"
    assert [launch.host_name for launch in launches] == [wanted]
    torch.testing.assert_close(output, expected)


def test_a_comparison_into_another_dtype_goes_through_the_cast_out_kernel(kernels: Kernels) -> None:
    request = Request(Helper.BINARY, "less", natural=BOOL)
    output = torch.empty(6, 7, dtype=torch.int32)
    launches = exec_kernel(kernels, request, [output], [X, Y], torch.float32)
    assert launches[0].host_name == "less_strided_castout_bool_float"
    assert torch.equal(output, (X < Y).int())


def test_a_double_on_the_cpu_is_bound_as_float(kernels: Kernels) -> None:
    number = torch.tensor(2.5, dtype=torch.float64)
    output = torch.empty(6, 7)
    request = Request(Helper.BINARY, "minus")
    launches = exec_kernel(kernels, request, [output], [X, number], torch.float32, cpu_scalars=frozenset({1}))
    assert launches[0].host_name == "minus_dense_scalar_float_float"
    assert torch.equal(output, X - 2.5)


def test_ternary_flavours(kernels: Kernels) -> None:
    request = Request(Helper.TERNARY, "fused")
    for operands, name in (
        ((X, Y, X), "fused_dense_float_float"),
        ((X, Y[0], X), "fused_strided_float_float"),
        ((X, Y.half(), X), "fused_dense_cast_float"),
        ((X[:, ::2], Y[:, ::2].half(), X[:, ::2]), "fused_strided_cast_float"),
    ):
        a, b, c = operands
        output = torch.empty_like(a)
        launches = exec_kernel(kernels, request, [output], operands, torch.float32)
        assert [launch.host_name for launch in launches] == [name]
        torch.testing.assert_close(output, a * b - c)


def test_offsets_beyond_32_bits_are_reached_without_that_much_memory(kernels: Kernels) -> None:
    """Two elements lie over 4 GiB apart; the pages between them are never touched."""
    buffer = torch.empty(5 << 28, dtype=torch.float32)
    view = buffer.as_strided((2, 3), ((1 << 30) + 5, 1), 7)
    view.copy_(torch.randn(2, 3))
    output = torch.empty(2, 3)
    launches = exec_kernel(kernels, Request(Helper.UNARY, "twice"), [output], [view], torch.float32)
    assert len(launches) == 2
    assert torch.equal(output, view * 2)
    target = torch.empty(5 << 28, dtype=torch.float32).as_strided((2, 3), ((1 << 30) + 1, 1), 9)
    exec_kernel(kernels, Request(Helper.BINARY, "minus"), [target], [view, view * 3], torch.float32)
    torch.testing.assert_close(target, view - view * 3)


def test_a_large_ternary_iteration_meets_the_limit_of_2_13() -> None:
    wide = Operand(FLOAT, (2, 3), (2**30, 1))
    with pytest.raises(HelperLimit, match="exec_binary_kernel"):
        plan(Request(Helper.TERNARY, "fused"), iterate([wide], [wide] * 3, FLOAT), None, lambda name: True)


def test_a_missing_kernel_is_named_before_anything_runs(kernels: Kernels) -> None:
    output = torch.zeros(3, dtype=torch.half)
    with pytest.raises(MissingKernelError, match="minus_dense_half_half"):
        exec_kernel(kernels, Request(Helper.BINARY, "minus"), [output], [output, output], torch.half)


def test_what_the_helpers_refuse() -> None:
    one = Operand(Dtype.FLOAT64, (1,), (1,))
    with pytest.raises(HostRefusal, match="float64"):
        plan(Request(Helper.BINARY, "minus"), iterate([one], [one, one], Dtype.FLOAT64), None, lambda name: True)
    two = Operand(FLOAT, (1,), (1,))
    with pytest.raises(HostRefusal, match="1 inputs"):
        plan(Request(Helper.BINARY, "minus"), iterate([two], [two], FLOAT), None, lambda name: True)


def test_an_empty_iteration_launches_nothing(kernels: Kernels) -> None:
    output = torch.empty(3, 0)
    assert exec_kernel(kernels, Request(Helper.UNARY, "nothing"), [output], [output], torch.float32) == []


def test_askable_names_are_those_of_the_registered_flavours(kernels: Kernels) -> None:
    """Every name the helpers can ask for without a cast exists once the operator is registered for the dtype."""
    for request, inputs, output in (
        (Request(Helper.UNARY, "twice"), (FLOAT,), FLOAT),
        (Request(Helper.UNARY, "twice"), (INT,), INT),
        (Request(Helper.UNARY, "scaled", scalar="float"), (FLOAT,), FLOAT),
        (Request(Helper.BINARY, "minus"), (FLOAT, FLOAT), FLOAT),
        (Request(Helper.BINARY, "minus"), (FLOAT, HALF), FLOAT),
        (Request(Helper.BINARY, "less", natural=BOOL), (INT, INT), BOOL),
        (Request(Helper.BINARY, "minus_alpha", scalar="float"), (FLOAT, FLOAT), FLOAT),
        (Request(Helper.TERNARY, "fused"), (FLOAT, FLOAT, FLOAT), FLOAT),
        (Request(Helper.TERNARY, "fused"), (FLOAT, HALF, FLOAT), FLOAT),
    ):
        common = inputs[0]
        assert askable(request, inputs, output, common) <= kernels.names


def test_askable_falls_back_to_cast_out_kernels_where_the_direct_one_is_missing(kernels: Kernels) -> None:
    names = askable(Request(Helper.UNARY, "twice"), (FLOAT,), HALF, FLOAT, kernels.names.__contains__)
    assert names == {"twice_dense_castout_float", "twice_strided_castout_float"}


def test_cast_names_of_the_params_helper_lack_the_input_dtype() -> None:
    """As in 2.13's OperationUtils.h; the registration macros name both, so these kernels are never found."""
    request = Request(Helper.BINARY_WITH_PARAMS, "elu_backward", scalar="ELUBackwardParams_float")
    assert askable(request, (FLOAT, HALF), FLOAT, FLOAT) == {
        "elu_backward_dense_cast_float_ELUBackwardParams_float",
        "elu_backward_strided_cast_float_ELUBackwardParams_float",
    }


def test_plans_ask_only_for_askable_names() -> None:
    """For every dtype, layout and helper without a scalar: the planned name is one of the askable ones."""
    for dtype in MPS_DTYPES:
        for other in (dtype, HALF, INT):
            for sizes, small in (((4, 6), (4, 6)), ((4, 6), (6,)), ((4, 6), ()), ((1 << 18,), (1 << 18,))):
                full = _contiguous(dtype, sizes)
                part = _contiguous(other, small)
                iteration = iterate([full], [full, part], dtype)
                request = Request(Helper.BINARY, "op")
                found = plan(request, iteration, None, lambda name: True)
                assert found[0].host_name in askable(request, (dtype, other), dtype, dtype)


def _contiguous(dtype: Dtype, sizes: tuple[int, ...]) -> Operand:
    strides: list[int] = []
    step = 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return Operand(dtype, sizes, tuple(strides))
