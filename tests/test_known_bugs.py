"""Public reports of wrong MPS operators, by their row in the list: the right kernel gives the value, the other not.

A row is a function of the compiled kernels that returns what the right way and the reported way give, and the value.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import Kernels, MissingKernelError, exec_kernel
from pipeline.exec_kernel.launch import HelperLimit
from pipeline.exec_kernel.names import Helper, Request, askable
from pipeline.metal import Launch, Library, ShaderError, compile_file, compile_shader
from pipeline.numerics import cases
from pipeline.numerics.builds import Builds
from pipeline.numerics.conventions import targets_of_stub
from pipeline.numerics.host import PlainHost
from pipeline.numerics.layouts import place_output
from pipeline.numerics.session import Session

FOLDER = Path(__file__).parent / "known_bugs"
NAN, INF = math.nan, math.inf

Outcome = tuple[object, object, object]
Row = Callable[[dict[str, Library]], Outcome]
ROWS: dict[str, Row] = {}


def row(*numbers: int) -> Callable[[Row], Row]:
    def keep(function: Row) -> Row:
        ROWS["+".join(map(str, numbers)) + f" {function.__name__}"] = function
        return function

    return keep


@pytest.fixture(scope="module")
def library() -> dict[str, Library]:
    return {path.stem: compile_file(path) for path in FOLDER.glob("*.metal")}


def as_list(value: object) -> object:
    return value.tolist() if isinstance(value, torch.Tensor) else value


def alike(left: object, right: object) -> bool:
    """Equal, bit for bit but for NaN's."""
    return repr(as_list(left)) == repr(as_list(right))


f32 = torch.float32


def t(values: Any, dtype: torch.dtype = f32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def number(value: float) -> bytes:
    return struct.pack("f", value)


def pointwise(
    kernels: Library,
    name: str,
    operands: list[torch.Tensor],
    *,
    scalar: float | None = None,
    out: torch.Tensor | None = None,
    common: torch.dtype | None = None,
    cpu: frozenset[int] = frozenset(),
) -> torch.Tensor:
    """What the exec helper of the operands' number makes of kernel `name`."""
    helper = {1: Helper.UNARY, 2: Helper.BINARY, 3: Helper.TERNARY}[len(operands)]
    shape = torch.broadcast_shapes(*(each.shape for each in operands))
    common = common or operands[0].dtype
    output = torch.empty(shape, dtype=common) if out is None else out
    request = Request(helper, name, None if scalar is None else "float")
    bound = None if scalar is None else number(scalar)
    exec_kernel(Kernels.of(kernels), request, [output], operands, common, scalar=bound, cpu_scalars=cpu)
    return output


def uints(*values: int) -> bytes:
    return struct.pack(f"{len(values)}I", *values)


def longs(*values: int) -> bytes:
    return struct.pack(f"{len(values)}q", *values)


# Functors


@row(1)
def sort_of_negative_nan(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["rows"].sort, k["rows"].sort_bug):
        values = t([1.0, -NAN])
        kernel(values, uints(2), threads=1)
        found.append(values)
    return found[0], found[1], [1.0, NAN]


@row(2)
def clamp_with_crossed_bounds(k: dict[str, Library]) -> Outcome:
    operands = [t([5.0]), t([4.0]), t([1.0])]
    return (
        pointwise(k["pointwise"], "clamp", operands),
        pointwise(k["pointwise"], "clamp_order_bug", operands),
        [1.0],
    )


@row(3)
def clamp_of_nan(k: dict[str, Library]) -> Outcome:
    operands = [t([NAN]), t([0.0]), t([1.0])]
    return pointwise(k["pointwise"], "clamp", operands), pointwise(k["pointwise"], "clamp_nan_bug", operands), [NAN]


@row(6)
def maximum_of_a_row_with_nan(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["rows"].max_row, k["rows"].max_row_bug):
        value, index = t([0.0]), t([9], torch.int64)
        kernel(value, index, t([1.0, NAN, 3.0]), longs(3, 1), uints(3), threads=1)
        found.append((value.item(), index.item()))
    return found[0], found[1], (NAN, 1)


@row(7)
def minimum_with_nan_on_either_side(k: dict[str, Library]) -> Outcome:
    operands = [t([NAN, 2.0]), t([1.0, NAN])]
    return (
        pointwise(k["pointwise"], "minimum", operands),
        pointwise(k["pointwise"], "minimum_bug", operands),
        [NAN, NAN],
    )


@row(10)
def relu_of_nan(k: dict[str, Library]) -> Outcome:
    return pointwise(k["pointwise"], "relu", [t([NAN])]), pointwise(k["pointwise"], "relu_bug", [t([NAN])]), [NAN]


@row(11)
def softshrink_of_nan(k: dict[str, Library]) -> Outcome:
    right, wrong = (
        pointwise(k["pointwise"], name, [t([NAN])], scalar=0.5) for name in ("softshrink", "softshrink_bug")
    )
    return right, wrong, [NAN]


@row(13)
def product_added_to_nothing(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["rows"].addmm, k["rows"].addmm_beta_bug):
        out = t([[0.0]])
        kernel(out, t([[NAN]]), t([[1.0, 1.0]]), t([[1.0], [1.0]]), uints(1, 1, 2, 0), number(0.0), threads=[1, 1])
        found.append(out)
    return found[0], found[1], [[2.0]]


@row(14)
def softmax_of_a_row_with_nan(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["rows"].softmax, k["rows"].softmax_bug):
        out = torch.empty(1, 3)
        kernel(out, t([[1.0, NAN, 2.0]]), uints(3), threads=1)
        found.append(out)
    return found[0], found[1], [[NAN, NAN, NAN]]


@row(18)
def gelu_of_minus_infinity(k: dict[str, Library]) -> Outcome:
    return (
        pointwise(k["pointwise"], "gelu", [t([-INF])]).abs(),
        pointwise(k["pointwise"], "gelu_bug", [t([-INF])]),
        [0.0],
    )


@row(19)
def lerp_from_infinity(k: dict[str, Library]) -> Outcome:
    right, wrong = (
        pointwise(k["pointwise"], name, [t([-INF]), t([3.0])], scalar=0.75) for name in ("lerp", "lerp_bug")
    )
    return right, wrong, [-INF]


@row(21)
def complex_power_of_zero(k: dict[str, Library]) -> Outcome:
    operands = [t([0j], torch.complex64), t([3 + 0j], torch.complex64)]
    return pointwise(k["pointwise"], "pow", operands), pointwise(k["pointwise"], "pow_bug", operands), [0j]


@row(25)
def remainder_of_a_large_integer(k: dict[str, Library]) -> Outcome:
    operands = [t([2**60 + 1], torch.int64), t([10], torch.int64)]
    right, wrong = (pointwise(k["pointwise"], name, operands) for name in ("remainder", "remainder_bug"))
    return right, wrong, [7]


@row(27)
def power_of_two_and_a_half(k: dict[str, Library]) -> Outcome:
    operands = [t([4.0, 9.0]), t(2.5)]
    right, wrong = (pointwise(k["pointwise"], name, operands) for name in ("pow", "pow_square_bug"))
    return right.round(), wrong, [32.0, 243.0]


@row(31)
def sum_of_uint8_wraps(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["rows"].sum, k["rows"].sum_bug):
        out = t([0], torch.uint8)
        kernel(out, t([250, 10], torch.uint8), uints(2), threads=1)
        found.append(out)
    return found[0], found[1], [4]


@row(33)
def gelu_tanh_in_bfloat16(k: dict[str, Library]) -> Outcome:
    operand = [t([11.0], torch.bfloat16)]
    right, wrong = (pointwise(k["pointwise"], name, operand) for name in ("gelu_tanh", "gelu_tanh_bug"))
    return right, wrong, [11.0]


@row(34)
def erfc_far_out(k: dict[str, Library]) -> Outcome:
    right, wrong = (pointwise(k["pointwise"], name, [t([4.5])]) for name in ("erfc", "erfc_bug"))
    return f"{right.item():.3e}", f"{wrong.item():.3e}", "1.966e-10"


@row(39)
def histogram_below_the_first_edge(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["rows"].histogram, k["rows"].histogram_bug):
        counts = torch.zeros(2, dtype=torch.int32)
        kernel(counts, t([0.5, -2e-6]), t([0.0, 1.0, 2.0]), uints(2), threads=2)
        found.append(counts)
    return found[0], found[1], [1, 0]


@row(65)
def shift_of_an_unsigned_byte(k: dict[str, Library]) -> Outcome:
    operands = [t([200], torch.uint8), t([3], torch.uint8)]
    names = ("bitwise_right_shift", "bitwise_right_shift_bug")
    right, wrong = (pointwise(k["pointwise"], name, operands) for name in names)
    return right, wrong, [25]


@row(69)
def copysign_of_a_number(k: dict[str, Library]) -> Outcome:
    operands = [t([1.0, 2.0]), t(-3.0, torch.float64)]
    names = ("copysign", "copysign_bug")
    right, wrong = (pointwise(k["pointwise"], name, operands, cpu=frozenset({1})) for name in names)
    return right, wrong, [-1.0, -2.0]


@row(70)
def complex_index_add(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["elements"].index_add, k["elements"].index_add_bug):
        out = torch.zeros(2, dtype=torch.complex64)
        kernel(out, t([1], torch.int64), t([2j], torch.complex64), threads=1)
        found.append(out)
    return found[0], found[1], [0j, 2j]


@row(101)
def a_product_of_strides(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["elements"].block_start, k["elements"].block_start_bug):
        out = t([0], torch.int64)
        kernel(out, uints(70000, 70000), threads=1)
        found.append(out)
    return found[0], found[1], [4_900_000_000]


# Layouts


@row(41)
def output_of_other_strides(k: dict[str, Library]) -> Outcome:
    operand, out, wrong = torch.arange(6.0).view(2, 3), torch.empty(3, 2).t(), torch.empty(3, 2).t()
    pointwise(k["pointwise"], "neg", [operand], out=out)
    k["pointwise"].neg_dense_scalar_float_float(wrong, operand, threads=6)
    return out, wrong, [[-0.0, -1.0, -2.0], [-3.0, -4.0, -5.0]]


@row(42)
def a_view_bound_at_the_start_of_its_storage(k: dict[str, Library]) -> Outcome:
    whole = t([0.1, 0.2, 0.3, 0.4])
    right, wrong = pointwise(k["pointwise"], "neg", [whole[2:]]), torch.empty(2)
    k["pointwise"].neg_dense_scalar_float_float(wrong, whole, threads=2)
    return right, wrong, (-whole[2:]).tolist()


@row(43)
def fill_of_a_slice(k: dict[str, Library]) -> Outcome:
    found = []
    for count in (3, 8):
        whole = torch.ones(8 + 8)
        k["elements"].fill_float(whole[4:7], number(0.0), threads=count)
        found.append(whole[:12])
    return found[0], found[1], [1.0] * 4 + [0.0] * 3 + [1.0] * 5


@row(45)
def a_step_on_a_parameter_with_strides(k: dict[str, Library]) -> Outcome:
    found = []
    for strides in ((2, 1), (1, 1)):
        param = t([1.0, 5.0, 2.0, 5.0])
        k["elements"].sign_step(param[::2], t([1.0, -1.0]), longs(*strides), number(0.5), threads=2)
        found.append(param)
    return found[0], found[1], [0.5, 5.0, 2.5, 5.0]


@row(46)
def lengths_of_complex_numbers(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["elements"].complex_length, k["elements"].complex_length_bug):
        out = torch.zeros(4)
        kernel(out, t([3 + 0j, 4j], torch.complex64), threads=2)
        found.append(out[:2])
    return found[0], found[1], [3.0, 4.0]


@row(47)
def layer_norm_of_a_slice(k: dict[str, Library]) -> Outcome:
    whole = t([[0.0, 1.0], [5.0, 3.0], [2.0, 9.0]])
    found = []
    for bound in (whole[1:], whole):
        out = torch.empty(2, 2)
        k["rows"].layer_norm(out, bound, uints(2), threads=2)
        found.append(out.round())
    return found[0], found[1], [[1.0, -1.0], [-1.0, 1.0]]


@row(49)
def equal_strides_that_are_not_dense(k: dict[str, Library]) -> Outcome:
    operand = torch.arange(24.0).view(4, 6)[::2, ::3]
    right, wrong = torch.zeros(4, 6), torch.zeros(4, 6)
    pointwise(k["pointwise"], "neg", [operand], out=right[::2, ::3])
    k["pointwise"].neg_dense_scalar_float_float(wrong, operand, threads=4)
    return right[::2, ::3], wrong[::2, ::3], [[-0.0, -3.0], [-12.0, -15.0]]


@row(50)
def a_transposed_condition(k: dict[str, Library]) -> Outcome:
    condition = torch.tensor([[True, False], [True, True]]).t()
    found = []
    for strides in (condition.stride(), (2, 1)):
        out = torch.empty(2, 2, dtype=torch.int64)
        operand = t([[1, 2], [3, 4]], torch.int64)
        k["elements"].where_long(out, condition, operand, longs(*strides), uints(2), threads=4)
        found.append(out)
    return found[0], found[1], [[1, 2], [0, 4]]


@row(51)
def argmax_of_a_transposed_matrix(k: dict[str, Library]) -> Outcome:
    matrix = t([[1.0, 7.0], [9.0, 2.0], [3.0, 4.0]]).t()
    found = []
    for strides in (matrix.stride(), (3, 1)):
        value, index = torch.empty(2), torch.empty(2, dtype=torch.int64)
        k["rows"].max_row(value, index, matrix, longs(*strides), uints(3), threads=2)
        found.append(index)
    return found[0], found[1], [1, 0]


@row(53)
def a_product_with_every_other_row(k: dict[str, Library]) -> Outcome:
    whole = t([[1.0], [8.0], [2.0], [9.0]])
    found = []
    for b in (whole[::2].contiguous(), whole[::2]):
        out = torch.empty(1, 1)
        k["rows"].addmm(out, out, t([[1.0, 1.0]]), b, uints(1, 1, 2, 0), number(0.0), threads=[1, 1])
        found.append(out)
    return found[0], found[1], [[3.0]]


@row(54)
def scatter_add_into_a_row(k: dict[str, Library]) -> Outcome:
    found = []
    for second in (True, False):
        base = torch.zeros(2, 3)
        target = base[1] if second else base
        k["elements"].scatter_add_float(target, t([2], torch.int64), t([5.0]), threads=1)
        found.append(base)
    return found[0], found[1], [[0.0, 0.0, 0.0], [0.0, 0.0, 5.0]]


@row(57)
def a_byte_off_the_four_byte_boundary(k: dict[str, Library]) -> Outcome:
    """A scalar operand is bound as `device T*`, which may start anywhere; `constant T&` would be rounded down."""
    whole = t([1, 6, 3, 9], torch.uint8)
    right = pointwise(k["pointwise"], "bitwise_and", [t([7, 7], torch.uint8), whole[1]])
    wrong = pointwise(k["pointwise"], "bitwise_and", [t([7, 7], torch.uint8), whole[0]])
    return right, wrong, [6, 6]


@row(58)
def fill_of_bytes_off_the_boundary(k: dict[str, Library]) -> Outcome:
    found = []
    for start in (3, 0):
        whole = torch.zeros(8, dtype=torch.bool)
        k["elements"].fill_bool(whole[start:], torch.tensor([True]), threads=5)
        found.append(whole.int())
    return found[0], found[1], [0, 0, 0, 1, 1, 1, 1, 1]


@row(63)
def a_slice_set_from_another_dtype(k: dict[str, Library]) -> Outcome:
    found = []
    for start in (2, 0):
        whole = torch.zeros(5)
        pointwise(k["pointwise"], "neg", [t([-1, -1], torch.int64)], out=whole[start : start + 2], common=torch.int64)
        found.append(whole)
    return found[0], found[1], [0.0, 0.0, 1.0, 1.0, 0.0]


@row(66)
def a_number_shifted_by_a_tensor(k: dict[str, Library]) -> Outcome:
    operands = [t(128, torch.uint8), torch.arange(5, dtype=torch.uint8)]
    found = pointwise(k["pointwise"], "bitwise_right_shift", operands)
    swapped = pointwise(k["pointwise"], "bitwise_right_shift", operands[::-1])
    return found, swapped, [128, 64, 32, 16, 8]


@row(89)
def a_gradient_of_stride_zero(k: dict[str, Library]) -> Outcome:
    storage = t([1.0, 77.0])
    grad, operand, wrong = storage[:1].expand(2), t([-3.0, 2.0]), torch.empty(2)
    right = pointwise(k["pointwise"], "leaky_relu_backward", [grad, operand], scalar=0.1)
    k["pointwise"].leaky_relu_backward_dense_float_float_float(wrong, storage, operand, number(0.1), threads=2)
    return right, wrong, t([0.1, 1.0]).tolist()


@row(98, 102)
def a_row_beyond_32_bits(k: dict[str, Library]) -> Outcome:
    stride = (1 << 32) + 3
    source = torch.empty(stride + 8)
    source[:8] = 1.0
    source[stride : stride + 4] = t([5.0, 6.0, 7.0, 8.0])
    found = []
    for kernel in (k["elements"].select_row, k["elements"].select_row_bug):
        out = torch.empty(4)
        kernel(out, source, longs(1), longs(stride), threads=4)
        found.append(out)
    return found[0], found[1], [5.0, 6.0, 7.0, 8.0]


@row(99)
def a_wide_slice_in_parts(k: dict[str, Library]) -> Outcome:
    """The parts of a large iteration write where they belong, and nothing beside the output."""
    rows = 3
    source = torch.empty(((1 << 29) + 11) * rows).as_strided((rows, 4), ((1 << 29) + 11, 1), 4)
    source.copy_(t([[1.0, NAN, 2.0, INF], [3.0, 4.0, 5.0, 6.0], [-INF, 1.0, 1.0, 1.0]]))
    output = place_output((rows, 4), torch.bool, "dense")
    before = output.kept()
    pointwise(k["pointwise"], "isfinite", [source], out=output.view, common=f32)
    return (output.view.int(), output.is_unchanged_outside(before)), None, _wide_slice()


def _wide_slice() -> object:
    return torch.tensor([[1, 0, 1, 0], [1, 1, 1, 1], [0, 1, 1, 1]], dtype=torch.int32), True


# Empty operands


@row(91)
def the_dot_product_of_nothing(k: dict[str, Library]) -> Outcome:
    out, untouched = t([77.0]), t([77.0])
    k["rows"].dot(out, torch.empty(1), torch.empty(1), uints(0), threads=32, group_size=32)
    return out, untouched, [0.0]


@row(93, 95)
def a_product_over_no_elements(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["rows"].addmm, k["rows"].addmm_empty_bug):
        out = torch.full((2, 2), 77.0)
        kernel(out, torch.zeros(2, 2), torch.empty(1), torch.empty(1), uints(2, 2, 0, 0), number(0.0), threads=[2, 2])
        found.append(out)
    return found[0], found[1], [[0.0, 0.0], [0.0, 0.0]]


@row(94)
def an_empty_operand_launches_nothing(k: dict[str, Library]) -> Outcome:
    launches = exec_kernel(
        Kernels.of(k["pointwise"]), Request(Helper.UNARY, "neg"), [torch.empty(0, 1, 1)], [torch.empty(0, 1, 1)], f32
    )
    return launches, None, []


# Names, dtypes and sizes


def missing(kernels: Library, request: Request, out: torch.Tensor, *operands: torch.Tensor) -> str:
    """The kernel that is asked for and not there; "" when the call works."""
    scalar = None if request.scalar is None else bytes(16)
    try:
        exec_kernel(Kernels.of(kernels), request, [out], operands, operands[0].dtype, scalar=scalar)
    except MissingKernelError as error:
        return error.host_name
    return ""


@row(67)
def fmax_of_two_dtypes(k: dict[str, Library]) -> Outcome:
    operands = [t([0.25, 0.5, 0.75]), t([0.0, 1.0, 2.0], torch.half)]
    right, wrong = pointwise(k["pointwise"], "fmax", operands), torch.empty(3)
    k["pointwise"].fmax_dense_float_float(wrong, operands[0], t([0.0, 1.0, 2.0, 0, 0, 0], torch.half), threads=3)
    return right, wrong, [0.25, 1.0, 2.0]


@row(71)
def a_dtype_nobody_registered(k: dict[str, Library]) -> Outcome:
    words = t([1, 2], torch.int32).to(torch.uint16)
    asked = missing(k["pointwise"], Request(Helper.BINARY, "fmax"), words.clone(), words, words)
    return asked, "", "fmax_dense_ushort_ushort"


@row(73)
def a_view_on_the_cpu_is_read_from_the_start_of_its_storage(k: dict[str, Library]) -> Outcome:
    """The fault is in 2.13's mtl_setBuffer, which the model of the helpers repeats."""
    whole = t([9.0, 2.0, 7.0])
    modelled = pointwise(k["pointwise"], "fmax", [t([4.0, 4.0]), whole[1]], cpu=frozenset({1}))
    right = pointwise(k["pointwise"], "fmax", [t([4.0, 4.0]), whole[1].clone()], cpu=frozenset({1}))
    return right, modelled, [4.0, 4.0]


@row(74)
def a_ternary_kernel_for_another_output(k: dict[str, Library]) -> Outcome:
    ones = torch.ones(3)
    asked = missing(k["pointwise"], Request(Helper.TERNARY, "clamp"), torch.empty(3).half(), ones, ones, ones)
    return asked, "", "clamp_dense_half_float"


@row(75)
def a_float_weight_for_half_operands(k: dict[str, Library]) -> Outcome:
    asked = askable(
        Request(Helper.TERNARY, "lerp"), (Dtype.FLOAT16, Dtype.FLOAT16, Dtype.FLOAT32), Dtype.FLOAT16, Dtype.FLOAT16
    )
    plain = askable(Request(Helper.TERNARY, "lerp"), (Dtype.FLOAT16,) * 3, Dtype.FLOAT16, Dtype.FLOAT16)
    return sorted(asked), sorted(plain), ["lerp_dense_cast_half", "lerp_strided_cast_half"]


@row(78, 81, 82)
def integers_without_a_kernel(k: dict[str, Library]) -> Outcome:
    ints = t([1, 2], torch.int64)
    asked = missing(k["pointwise"], Request(Helper.UNARY, "relu"), ints.clone(), ints)
    return asked, "", "relu_dense_castout_long"


@row(79)
def complex_half_without_a_kernel(k: dict[str, Library]) -> Outcome:
    numbers = t([1j, 2j], torch.complex64).to(torch.complex32)
    asked = missing(k["pointwise"], Request(Helper.UNARY, "neg"), numbers.clone(), numbers)
    return asked, "", "neg_dense_castout_half2"


@row(83)
def a_scan_without_complex(k: dict[str, Library]) -> Outcome:
    names = dir(k["rows"])
    return "cummax_float2" in names, "cummax_float" in names, False


@row(85)
def complex_logaddexp_on_either_layout(k: dict[str, Library]) -> Outcome:
    numbers = t([[1j, 2j], [3j, 4j]], torch.complex64)
    request = Request(Helper.BINARY, "fmax")
    dense = missing(k["pointwise"], request, numbers.clone(), numbers, numbers)
    strided = missing(k["pointwise"], request, numbers.clone(), numbers.t(), numbers)
    return (dense, strided), ("", ""), ("fmax_dense_float2_float2", "fmax_strided_float2_float2")


@row(86)
def an_instantiation_that_went_missing(k: dict[str, Library]) -> Outcome:
    out = torch.empty(3, dtype=torch.int32)
    k["elements"].linspace_int(out, number(1.0), number(2.0), threads=3)
    lost = set(dir(k["elements"])) - {"linspace_int"}
    return out, sorted({"linspace_int"} - lost), [1, 3, 5]


@row(87)
def a_product_of_bools(k: dict[str, Library]) -> Outcome:
    return "addmm_bool" in dir(k["rows"]), "addmm" in dir(k["rows"]), False


@row(103)
def a_large_ternary_iteration(k: dict[str, Library]) -> Outcome:
    wide = torch.empty(3 << 28).as_strided((2, 3), ((1 << 29) + 7, 1), 0)
    request = Request(Helper.TERNARY, "clamp")
    try:
        exec_kernel(Kernels.of(k["pointwise"]), request, [wide], [wide] * 3, f32)
    except HelperLimit as limit:
        return "exec_binary_kernel" in limit.message, None, True
    return False, None, True


@row(109)
def three_numbers_take_four_places(k: dict[str, Library]) -> Outcome:
    found = []
    for step in (4, 3):
        packed = [value for triple in ((1, 2, 3), (4, 5, 6)) for value in (*triple, 0)[:step]] + [9] * 8
        out = torch.empty(2, dtype=torch.int32)
        k["rows"].third_and_next(out, uints(*packed), threads=2)
        found.append(out)
    return found[0], found[1], [1, 4]


@row(111)
def a_literal_does_not_become_bfloat_by_itself(k: dict[str, Library]) -> Outcome:
    source = (FOLDER / "pointwise.metal").read_text()
    functor = source[source.index("struct half_of_functor") : source.index("REGISTER_UNARY_OP(half_of")]
    head = "#include <c10/metal/indexing.h>\n#include <metal_stdlib>\nusing namespace metal;\n"
    wrong = f"{head}{functor.replace('T(0.5)', '0.5')}REGISTER_UNARY_OP(half_of, bfloat, bfloat);"
    try:
        compile_shader(wrong)
        compiled = True
    except ShaderError:
        compiled = False
    right = pointwise(k["pointwise"], "half_of", [t([3.0], torch.bfloat16)])
    return (right.item(), compiled), None, (1.5, False)


@row(107)
def a_library_that_does_not_compile(k: dict[str, Library]) -> Outcome:
    try:
        compile_shader("#include <metal_stdlib>\nkernel void broken(device float* x [[buffer(0)]]) { y[0] = 1; }")
    except ShaderError as error:
        return error.lineno, None, 2
    return None, None, 2


# Bounds and races


@row(62)
def a_store_beside_the_element(k: dict[str, Library]) -> Outcome:
    found = []
    for start in (3, 0):
        whole = torch.zeros(8, dtype=torch.bool)
        k["elements"].fill_bool(whole[start : start + 1], torch.tensor([True]), threads=1)
        found.append(whole.int())
    return found[0], found[1], [0, 0, 0, 1, 0, 0, 0, 0]


@row(119)
def an_index_beyond_the_end(k: dict[str, Library]) -> Outcome:
    found = []
    for kernel in (k["elements"].index_copy, k["elements"].index_copy_bug):
        output = place_output((5,), f32, "dense", spacious=True)
        before, error = output.kept(), torch.zeros(1, dtype=torch.int32)
        kernel(output.view, t([8], torch.int64), t([1.0]), uints(5), error, threads=1)
        found.append((output.is_unchanged_outside(before), error.item()))
    return found[0], found[1], (True, 1)


@row(118)
def a_missing_barrier(k: dict[str, Library]) -> Outcome:
    """Whatever the order of the threads, the right kernel gives one answer."""
    a, b = torch.arange(64.0), torch.ones(64)
    found: list[set[float]] = [set(), set()]
    for order in ("forward", "reverse", "shuffled"):
        for index, kernel in enumerate((k["rows"].dot, k["rows"].dot_bug)):
            out = torch.zeros(1)
            launch = Launch(order=order, seed=3)
            kernel(out, a, b, uints(64), threads=64, group_size=64, launch=launch)
            found[index].add(out.item())
    return found[0], found[1], {2016.0}


@pytest.mark.parametrize("name", ROWS)
def test_the_right_kernel_gives_the_value_and_the_reported_one_another(name: str, library: dict[str, Library]) -> None:
    right, wrong, expected = ROWS[name](library)
    assert alike(right, expected)
    assert wrong is None or not alike(wrong, expected)


def test_sixty_rows_are_held() -> None:
    assert len({number for name in ROWS for number in name.split()[0].split("+")}) >= 60


CHECKED = [
    ("clamp_stub", "clamp", "clamp_order_bug", "float32", Helper.TERNARY, None),
    ("clamp_stub", "clamp", "clamp_nan_bug", "float32", Helper.TERNARY, None),
    ("minimum_stub", "minimum", "minimum_bug", "float32", Helper.BINARY, None),
    ("relu_stub", "relu", "relu_bug", "float32", Helper.UNARY, None),
    ("softshrink_stub", "softshrink", "softshrink_bug", "float32", Helper.UNARY, "float"),
    ("lerp_kernel_scalar_weight", "lerp", "lerp_bug", "float32", Helper.BINARY, "float"),
    ("pow_tensor_tensor_stub", "pow", "pow_square_bug", "float32", Helper.BINARY, None),
    ("remainder_stub", "remainder", "remainder_bug", "int64", Helper.BINARY, None),
    ("erfc_stub", "erfc", "erfc_bug", "float32", Helper.UNARY, None),
    ("rshift_stub", "bitwise_right_shift", "bitwise_right_shift_bug", "uint8", Helper.BINARY, None),
    ("copysign_stub", "copysign", "copysign_bug", "float32", Helper.BINARY, None),
]


@pytest.mark.parametrize(("stub", "right", "wrong", "dtype", "helper", "scalar"), CHECKED)
def test_the_check_flags_the_reported_functor_and_not_the_right_one(
    stub: str, right: str, wrong: str, dtype: str, helper: Helper, scalar: str | None, library: dict[str, Library]
) -> None:
    target = targets_of_stub(stub)[0]
    names = []
    for name in (right, wrong):
        host = PlainHost(Request(helper, name, scalar))
        session = Session(target, host, Builds(Kernels.of(library["pointwise"], launch=Launch(flush_subnormals=False))))
        scalars: dict[str, Any] = {"weight": 0.75} if "lerp" in stub else {}
        for case in cases.grids(target, getattr(torch, dtype), scalars, ()):
            session.try_case(case)
        assert session.tally.runs
        names.append({failure.rule for failure in session.failures.values()})
    assert names[0] == set()
    assert names[1]
