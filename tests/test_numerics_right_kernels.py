"""No false alarm where a right kernel may differ from the CPU; no hole where calls have a form of their own."""

from __future__ import annotations

import pytest
import torch

from pipeline.findings import Outcome
from pipeline.numerics.check import run
from pipeline.numerics.conventions import targets_of_stub
from pipeline.numerics.domain import answerable
from pipeline.numerics.job import Job
from pipeline.numerics.reference import expected
from pipeline.numerics.result import NumericsResult
from tests.shader_faults import assert_silent, messages

HEADERS = """#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;
"""

KERNELS = {
    "add": """
struct add_functor {
  template <typename T>
  inline T operator()(const T a, const T b, const T alpha) { return a + alpha * b; }
};
REGISTER_BINARY_ALPHA_OP(add, float, float, float);
""",
    "fmod": """
struct fmod_functor {
  template <typename T>
  inline T operator()(const T a, const T b) { return static_cast<T>(::metal::fmod(float(a), float(b))); }
};
REGISTER_OPMATH_BINARY_OP(fmod, bfloat, bfloat);
""",
    "relu": """
struct relu_functor {
  template <typename T>
  inline T operator()(const T x) { return x != x ? x : x > T(0) ? x : T(0); }
};
REGISTER_UNARY_OP(relu, float, float);
""",
    "special_chebyshev_polynomial_u": """
struct special_chebyshev_polynomial_u_functor {
  template <typename T>
  inline T operator()(const T x, const T n) { return c10::metal::chebyshev_polynomial_u_forward(x, int64_t(n)); }
};
REGISTER_BINARY_OP(special_chebyshev_polynomial_u, float, float);
""",
    "lcm": """
struct lcm_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    T p = a < 0 ? T(-a) : a, q = b < 0 ? T(-b) : b;
    while (p != 0) {
      const T rest = p;
      p = q % p;
      q = rest;
    }
    const T result = q == 0 ? T(0) : T(a / q * b);
    return result < 0 ? T(-result) : result;
  }
};
REGISTER_BINARY_OP(lcm, int, int);
""",
    "clamp": """
struct ClampParams { float low; float high; };
struct clamp_functor {
  template <typename T>
  inline T operator()(const T x, const ClampParams bounds) {
    return x != x ? x : static_cast<T>(::metal::min(::metal::max(float(x), bounds.low), bounds.high));
  }
};
REGISTER_UNARY_ALPHA_OP(clamp, float, ClampParams, float);
""",
    "clamp_min": """
struct clamp_min_functor {
  template <typename T>
  inline T operator()(const T x, const T low) { return x < low ? low : x; }
};
REGISTER_UNARY_ALPHA_OP(clamp_min, float, float, float);
REGISTER_UNARY_ALPHA_OP(clamp_min, long, long, long);
REGISTER_UNARY_ALPHA_OP(clamp_min, int, int, int);
""",
    "leaky_relu_backward": """
struct leaky_relu_backward_functor {
  template <typename T>
  inline T operator()(const T x, const T grad, const float slope) { return x > T(0) ? grad : grad * T(slope); }
};
REGISTER_BINARY_ALPHA_OP(leaky_relu_backward, float, float, float);
""",
    "round": """
struct round_decimals_functor {
  template <typename T>
  inline T operator()(const T x, const int decimals) {
    const float scale = precise::pow(10.0f, float(::metal::abs(decimals)));
    return decimals < 0 ? ::metal::rint(x / scale) * scale : ::metal::rint(x * scale) / scale;
  }
};
REGISTER_UNARY_ALPHA_OP(round_decimals, float, int, float);
""",
    "hardswish_backward": """
struct hardswish_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x) {
    return x <= T(-3) ? T(0) : x < T(3) ? grad * (x / 3 + 0.5f) : grad;
  }
};
REGISTER_BINARY_OP(hardswish_backward, float, float);
""",
    "mul": """
struct mul_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    const float product = float(a) * float(b);
    return static_cast<T>(product);
  }
};
REGISTER_BINARY_OP(mul, bfloat, bfloat);
""",
    "elu_backward": """
struct EluParams { float alpha; float scale; float input_scale; int32_t is_result; };
struct elu_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T y, const EluParams p) {
    const float slope = p.is_result ? y + p.alpha * p.scale : p.alpha * p.scale * precise::exp(y * p.input_scale);
    return grad * (y <= T(0) ? p.input_scale * slope : p.scale);
  }
};
REGISTER_BINARY_ALPHA_OP(elu_backward, float, EluParams, float);
""",
}

STUBS = {
    "add": (
        "TensorIteratorBase& iter, const Scalar& alpha",
        'lib.exec_binary_kernel(iter, "add", alpha, kFloat);',
        "add_stub",
    ),
    "clamp": (
        "TensorIteratorBase& iter, const Scalar& low, const Scalar& high",
        "const ClampParams bounds{low.to<float>(), high.to<float>()};"
        'lib.exec_unary_kernel_with_params(iter, "clamp", bounds, "ClampParams");',
        "clamp_scalar_stub",
    ),
    "clamp_min": (
        "TensorIteratorBase& iter, Scalar low",
        'lib.exec_unary_kernel(iter, "clamp_min", low, iter.common_dtype());',
        "clamp_min_scalar_stub",
    ),
    "leaky_relu_backward": (
        "TensorIteratorBase& iter, const Scalar& slope",
        'lib.exec_binary_kernel(iter, "leaky_relu_backward", slope, kFloat);',
        "leaky_relu_backward_stub",
    ),
    "round": (
        "TensorIteratorBase& iter, int64_t decimals",
        'lib.exec_unary_kernel(iter, "round_decimals", Scalar(decimals), kInt);',
        "round_decimals_stub",
    ),
    "elu_backward": (
        "TensorIteratorBase& iter, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale, bool is_result",
        "const EluParams params{alpha.to<float>(), scale.to<float>(), input_scale.to<float>(), is_result};"
        'lib.exec_binary_kernel_with_params(iter, "elu_backward", params, "EluParams");',
        "elu_backward_stub",
    ),
}


def check(operator: str, *dtypes: str, change: tuple[str, str] | None = None) -> NumericsResult:
    stub = None
    if operator in STUBS:
        parameters, body, registered = STUBS[operator]
        stub = f"static void kernel({parameters}) {{ {body} }}\nREGISTER_DISPATCH({registered}, &kernel)"
    kernel = HEADERS + KERNELS[operator]
    if change is not None:
        assert change[0] in kernel
        kernel = kernel.replace(*change)
    return run(Job(operator, kernel, stub, dtypes=dtypes))


@pytest.mark.parametrize(
    ("operator", "dtypes"),
    [
        ("add", ("float32",)),
        ("relu", ("float32",)),
        ("special_chebyshev_polynomial_u", ("float32",)),
        ("lcm", ("int32",)),
        ("clamp", ("float32",)),
        ("clamp_min", ("float32", "int32", "bool")),
        ("leaky_relu_backward", ("float32",)),
        ("round", ("float32",)),
        ("hardswish_backward", ("float32",)),
        ("mul", ("bfloat16",)),
    ],
    ids=[
        "the CPU fuses products and sums",
        "a bound of zero meets a zero",
        "the CPU returns what it has not set",
        "the CPU dies of some operands",
        "two numbers that may be left out",
        "a number that decides the dtype",
        "operands in another order than the schema's",
        "a number that has no default",
        "the result jumps",
        "the result is rounded once",
    ],
)
def test_a_right_kernel_passes_in_silence_where(operator: str, dtypes: tuple[str, ...]) -> None:
    result = check(operator, *dtypes)
    assert_silent(result)
    assert set(result.data["dtypes"]) == set(dtypes)


def test_operands_of_unlike_dtypes_may_be_read_more_exactly_than_the_cpu_reads_them() -> None:
    """fmod(32766, 1.5) is 0, and 0.5 once 32766 is rounded to a bfloat."""
    result = check("fmod", "bfloat16", "int16")
    assert [each for each in messages(result, "numerics/value") if "int16" in each] == []


def test_a_name_that_no_macro_registers_is_a_limit_of_the_helper_and_said_once() -> None:
    result = check("elu_backward", "float32", "float16")
    assert result.result.outcome is Outcome.FAILED  # half has no kernel at all
    assert len(messages(result, "numerics/helper-limit")) == 1
    assert all("float16" in each for each in messages(result, "numerics/missing-kernel"))


@pytest.mark.parametrize(
    ("operator", "right", "wrong"),
    [
        (
            "clamp",
            "::metal::min(::metal::max(float(x), bounds.low), bounds.high)",
            "::metal::max(float(x), bounds.low)",
        ),
        ("clamp_min", "return x < low ? low : x;", "return x < T(2) ? T(2) : x;"),
        ("leaky_relu_backward", "return x > T(0) ? grad : grad * T(slope)", "return grad > T(0) ? x : x * T(slope)"),
        ("round", "decimals < 0 ?", "decimals < -9 ?"),
        ("hardswish_backward", "x <= T(-3)", "x < T(-3)"),
        ("hardswish_backward", "x < T(3)", "x <= T(3)"),
        ("mul", "static_cast<T>(product)", "as_type<T>(ushort(as_type<uint>(product) >> 16))"),
    ],
)
def test_a_fault_of_the_same_kernel_shows(operator: str, right: str, wrong: str) -> None:
    result = check(operator, "bfloat16" if operator == "mul" else "float32", change=(right, wrong))
    assert messages(result, "numerics/value") or messages(result, "numerics/infinity"), result.result.findings


def test_slack_is_granted_where_a_function_oscillates_and_not_where_it_jumps() -> None:
    operand = torch.tensor([-49799263.0, 3e37, 1e10])
    for stub, name in (("special_airy_ai_stub", "x"), ("sin_stub", "self")):
        target = targets_of_stub(stub)[0]
        (answer,) = expected(target, target.bind({name: operand}))
        assert answer.slack is not None and bool((answer.slack[answer.same[0] != 0] > 0).all())
    target = targets_of_stub("hardsigmoid_backward_stub")[0]
    edge = torch.tensor([3.0, -3.0, 2.9999998])
    (answer,) = expected(target, target.bind({"grad_output": torch.ones(3), "self": edge}))
    assert answer.slack is not None
    assert answer.slack.tolist()[:2] == [0.0, 0.0] and answer.slack[2] > 0.1


def test_operands_that_the_cpu_never_gets_done_with_are_left_out() -> None:
    for stub, name in (("polygamma_stub", "self"), ("zeta_stub", "other")):
        target = targets_of_stub(stub)[0]
        operands = dict.fromkeys(target.inputs, torch.tensor([-3e38, 2.5]))
        tried = answerable(target, target.bind({**operands, "n": 2}))
        assert tried[name].min() > -100


@pytest.mark.parametrize("stub", ["sum_stub", "cumsum_stub", "exponential_stub", "masked_fill_stub"])
def test_a_stub_whose_calls_are_not_known_is_not_run(stub: str) -> None:
    text = (
        f'static void f(TensorIterator& iter) {{ lib.exec_unary_kernel(iter, "relu"); }}\nREGISTER_DISPATCH({stub}, &f)'
    )
    result = run(Job(stub.removesuffix("_stub"), HEADERS + KERNELS["relu"], text, dtypes=("float32",)))
    assert result.result.outcome is Outcome.NOT_RUN
    assert f"how ATen calls {stub} is not known" in result.result.summary
