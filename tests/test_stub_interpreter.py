"""Stubs are run as they are written: their own text decides which kernels run and with what."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import Kernels, MissingKernelError
from pipeline.metal import Launch, compile_shader
from pipeline.stub_interpreter.aten import from_python
from pipeline.stub_interpreter.errors import CheckFailedError, NotUnderstoodError
from pipeline.stub_interpreter.iterators import TensorIterator
from pipeline.stub_interpreter.numbers import Number, arithmetic, convert
from pipeline.stub_interpreter.parser import parse, structs_of
from pipeline.stub_interpreter.stub import StubText
from pipeline.stub_interpreter.values import Array, Scalar

SHADER = """
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct Line { float slope; float offset; };
struct line_functor {
  template <typename T>
  inline T operator()(const T x, const Line line) { return T(float(x) * line.slope + line.offset); }
};
REGISTER_UNARY_ALPHA_OP(line, float, Line, float);
REGISTER_UNARY_ALPHA_OP(line, half, Line, half);

struct scaled_functor {
  template <typename T> inline T operator()(const T x, const float by) { return T(float(x) * by); }
};
REGISTER_UNARY_ALPHA_OP(scaled, float, float, float);
struct less_functor {
  template <typename T> inline bool operator()(const T a, const T b) { return a < b; }
};
REGISTER_BINARY_OP(less, float, bool);
REGISTER_BINARY_CASTOUT_OP(less, float, bool);

kernel void row_sum(
    device float* out [[buffer(0)]],
    constant float* in [[buffer(1)]],
    constant uint& columns [[buffer(2)]],
    uint row [[thread_position_in_grid]]) {
  float total = 0;
  for (uint column = 0; column < columns; ++column) {
    total += in[row * columns + column];
  }
  out[row] = total;
}

kernel void two_sums(
    device float* out [[buffer(0)]],
    constant float* in [[buffer(1)]],
    constant ulong& count [[buffer(2)]],
    threadgroup float* shared [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]],
    uint thread_ [[thread_position_in_threadgroup]],
    uint size [[threads_per_threadgroup]]) {
  float sum = 0;
  for (ulong index = thread_; index < count; index += size) {
    sum += in[group * count + index];
  }
  shared[thread_] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_ == 0) {
    float total = 0;
    for (uint index = 0; index < size; ++index) {
      total += shared[index];
    }
    out[group] = total;
  }
}
"""


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels.of(compile_shader(SHADER), launch=Launch())


def run(text: str, function: str, arguments: Sequence[object], kernels: Kernels) -> object:
    return StubText(text, [SHADER], "stubs/x.mm").run(function, arguments, kernels)[0]


def value(text: str, kernels: Kernels, *arguments: object) -> object:
    """What `int64_t f(...) { BODY }` returns."""
    result = run(text, "f", arguments, kernels)
    return result.value if isinstance(result, Number) else result


X = torch.tensor([1.0, 2.0, 3.0])


def iterator(*tensors: torch.Tensor, outputs: int = 1) -> TensorIterator:
    return TensorIterator.over(tensors[:outputs], tensors[outputs:], tensors[outputs].dtype)


def test_an_exec_helper_with_a_params_struct(kernels: Kernels) -> None:
    text = """
    static void line_kernel(TensorIteratorBase& iter, const Scalar& slope, double offset) {
      const Line params{slope.to<float>(), static_cast<float>(offset)};
      lib.exec_unary_kernel_with_params(iter, "line", params, "Line");
    }
    REGISTER_DISPATCH(line_stub, &line_kernel)
    """
    stub = StubText(text, [SHADER])
    assert stub.registered == {"line_stub": "line_kernel"}
    out = torch.empty(3)
    _, dispatched = stub.run("line_kernel", [iterator(out, X), Scalar(2), Number(0.5, "double")], kernels)
    assert torch.equal(out, X * 2 + 0.5)
    assert [each.host_name for each in dispatched] == ["line_dense_float_float_Line"]


def test_members_swapped_in_the_stub_show(kernels: Kernels) -> None:
    text = """static void f(TensorIteratorBase& iter, const Scalar& slope, const Scalar& offset) {
      lib.exec_unary_kernel_with_params(iter, "line", Line{offset.to<float>(), slope.to<float>()}, "Line");
    }"""
    out = torch.empty(3)
    run(text, "f", [iterator(out, X), Scalar(2), Scalar(10)], kernels)
    assert torch.equal(out, X * 10 + 2)


def test_alpha_takes_the_common_dtype_or_the_one_given(kernels: Kernels) -> None:
    out = torch.empty(3)
    run('void f(TensorIteratorBase& iter, const Scalar& a) { lib.exec_unary_kernel(iter, "scaled", a, kFloat); }',
        "f", [iterator(out, X), Scalar(3)], kernels)  # fmt: skip
    assert torch.equal(out, X * 3)
    with pytest.raises(MissingKernelError, match="scaled_dense_half_half_half"):
        run('void f(TensorIteratorBase& iter, const Scalar& a) { lib.exec_unary_kernel(iter, "scaled", a); }',
            "f", [iterator(out.half(), X.half()), Scalar(3)], kernels)  # fmt: skip


def test_a_comparison_names_its_natural_output(kernels: Kernels) -> None:
    out = torch.empty(3, dtype=torch.int32)
    run("""void f(TensorIteratorBase& iter) {
      lib.exec_binary_kernel(iter, "less", std::nullopt, std::nullopt, kBool);
    }""", "f", [iterator(out, X, X.flip(0))], kernels)  # fmt: skip
    assert out.tolist() == [1, 0, 0]


def test_the_stub_may_refuse_a_dtype(kernels: Kernels) -> None:
    text = """void f(TensorIteratorBase& iter) {
      TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(iter.common_dtype()), "x is not for ", iter.common_dtype());
    }"""
    run(text, "f", [iterator(X, X)], kernels)
    with pytest.raises(CheckFailedError, match="x is not for Int"):
        run(text, "f", [iterator(X.int(), X.int())], kernels)


def test_dispatch_macros_bind_scalar_t_and_refuse_the_rest(kernels: Kernels) -> None:
    text = """int64_t f(TensorIteratorBase& iter, const Scalar& x) {
      int64_t found = 0;
      AT_DISPATCH_INTEGRAL_TYPES_AND(kBool, iter.common_dtype(), "x_mps", [&]() {
        found = static_cast<int64_t>(x.to<scalar_t>());
      });
      return found;
    }"""
    for dtype, wanted in ((torch.int32, 100), (torch.uint8, 100), (torch.int8, 100), (torch.bool, 1)):
        assert value(text, kernels, iterator(X.to(dtype), X.to(dtype)), Scalar(100)) == wanted
    with pytest.raises(CheckFailedError, match="x_mps not implemented for 'Float'"):
        value(text, kernels, iterator(X, X), Scalar(300))


SELF_DRIVEN = """
static void rows_kernel(TensorIteratorBase& iter) {
  using namespace mps;
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) {
      rows_kernel(part);
    }
    return;
  }
  const auto kernel = fmt::format("scaled_{}_{}_{}_float", iter.is_contiguous() ? "dense" : "strided",
                                  scalarToMetalTypeString(iter.dtype(0)), scalarToMetalTypeString(iter.dtype(1)));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      getMPSProfiler().beginProfileKernel(pipeline, kernel, {iter.input(0)});
      [encoder setComputePipelineState:pipeline];
      bind_iter_tensors(encoder, iter);
      if (iter.is_contiguous()) {
        mtl_setBytes(encoder, 2.0, 2);
      } else {
        const auto ndim = static_cast<uint32_t>(iter.ndim());
        mtl_setArgs<2>(encoder, iter.shape(), iter.strides(1), iter.strides(0), ndim, 2.f);
        const auto inner = static_cast<NSUInteger>(iter.shape()[0]);
        [encoder dispatchThreads:MTLSizeMake(inner, iter.numel() / inner, 1)
            threadsPerThreadgroup:MTLSizeMake(std::min<NSUInteger>(inner, [pipeline threadExecutionWidth]), 1, 1)];
        return;
      }
      mtl_dispatch1DJob(encoder, pipeline, iter.numel());
      getMPSProfiler().endProfileKernel(pipeline);
    }
  });
}
"""


def test_a_stub_that_drives_the_iterator_itself(kernels: Kernels) -> None:
    out, matrix = torch.empty(3), torch.randn(4, 6)
    run(SELF_DRIVEN, "rows_kernel", [iterator(out, X)], kernels)
    assert torch.equal(out, X * 2)
    strided = torch.empty(4, 3)
    run(SELF_DRIVEN, "rows_kernel", [iterator(strided, matrix[:, ::2])], kernels)
    assert torch.equal(strided, matrix[:, ::2] * 2)


def test_it_splits_what_needs_more_than_32_bits(kernels: Kernels) -> None:
    wide = torch.empty(5 << 28).as_strided((2, 3), ((1 << 30) + 3, 1), 5)
    wide.copy_(torch.randn(2, 3))
    out = torch.empty(2, 3)
    stub = StubText(SELF_DRIVEN, [SHADER])
    _, dispatched = stub.run("rows_kernel", [iterator(out, wide)], kernels)
    assert len(dispatched) == 2 and torch.equal(out, wide * 2)


def test_tensors_scalars_and_arrays_as_arguments(kernels: Kernels) -> None:
    text = """
    Tensor f(const Tensor& self) {
      const auto x = self.contiguous();
      auto out = at::empty({x.size(0)}, x.options());
      const auto columns = c10::checked_convert<uint32_t>(x.size(-1), "uint32_t");
      auto function = lib.getKernelFunction("row_sum");
      function->runCommandBlock([&] {
        function->startEncoding();
        function->setArg(0, out);
        function->setArg(1, x);
        function->setArg(2, columns);
        function->dispatch(x.size(0));
      });
      return out.mul_(2);
    }"""
    matrix = torch.randn(5, 4).t()
    torch.testing.assert_close(value(text, kernels, matrix), matrix.sum(1) * 2)


def test_threadgroups_with_threadgroup_memory(kernels: Kernels) -> None:
    text = """
    void f(const Tensor& x, const Tensor& out) {
      MPSStream* stream = getCurrentMPSStream();
      dispatch_sync(stream->queue(), ^() {
        auto encoder = stream->commandEncoder();
        auto pipeline = lib.getPipelineStateForFunc("two_sums");
        [encoder setComputePipelineState:pipeline];
        mtl_setArgs(encoder, out, x, static_cast<uint64_t>(x.size(1)));
        [encoder setThreadgroupMemoryLength:32 * sizeof(float) atIndex:0];
        [encoder dispatchThreadgroups:MTLSizeMake(x.size(0), 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
      });
    }"""
    matrix, out = torch.randn(3, 70), torch.empty(3)
    run(text, "f", [matrix, out], kernels)
    torch.testing.assert_close(out, matrix.sum(1))


def test_a_buffer_bound_at_offset_zero_forgets_where_the_view_starts(kernels: Kernels) -> None:
    text = """
    void f(const Tensor& x, const Tensor& out) {
      auto encoder = getCurrentMPSStream()->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc("row_sum");
      [encoder setComputePipelineState:pipeline];
      mtl_setArgs(encoder, out, x, static_cast<uint32_t>(1));
      [encoder setBuffer:getMTLBufferStorage(x) offset:0 atIndex:1];
      mtl_dispatch1DJob(encoder, pipeline, x.numel());
    }"""
    out = torch.empty(2)
    run(text, "f", [X[1:], out], kernels)
    assert out.tolist() == [1.0, 2.0]


ARITHMETIC = [
    ("return 7 / 2;", 3),
    ("return -7 / 2;", -3),
    ("return -7 % 3;", -1),
    ("return 1 << 4 | 3;", 19),
    ("return 10 - 2 - 3;", 5),
    ("return 1 > 0 && !false ? 4 : 5;", 4),
    ("uint32_t x = 0; x -= 1; return x;", 2**32 - 1),
    ("uint8_t x = 300; return x;", 44),
    ("return static_cast<int>(2.9);", 2),
    ("return std::max<int64_t>(3, 4) + std::min({7, 2, 9});", 6),
    ("int total = 0; for (const auto i : c10::irange(5)) { if (i == 3) continue; total += i; } return total;", 7),
    ("int i = 0; while (true) { if (++i > 6) break; } return i;", 7),
    ("int total = 0; for (int i = 0; i < 4; i++) total += i; return total;", 6),
    ("std::array<uint32_t, 3> a = {1, 2, 3}; a[1] = 9; return a[0] + a[1];", 10),
    ("const auto twice = [&](int x) { return x * 2; }; return twice(21);", 42),
    ("auto [a, b] = std::make_tuple(4, 5); return a * 10 + b;", 45),
    ("std::optional<double> x = std::nullopt; return x.has_value() ? 1 : 2;", 2),
    ("return at::ceil_div(7, 2) * 100 + at::round_up(7, 4);", 408),
    ("using small = int8_t; return static_cast<small>(200);", -56),
    ("return std::numeric_limits<int8_t>::max();", 127),
    ('std::string s = "a"; s += "b"; return s == "ab" ? 1 : 0;', 1),
    ("return c10::elementSize(kHalf) + static_cast<int>(kBFloat16);", 17),
    ("return 'a' == 97 && 0x10 == 16 && 1'000 == 1000;", True),
    ("const std::array<int, 2> a = {1, 0}; return std::any_of(a.begin(), a.end(), [](int x) { return x > 0; });", True),
]  # fmt: skip


@pytest.mark.parametrize(("body", "wanted"), ARITHMETIC)
def test_the_language(body: str, wanted: object, kernels: Kernels) -> None:
    kind = "bool" if isinstance(wanted, bool) else "int64_t"
    assert value(f"{kind} f() {{ {body} }}", kernels) == wanted


def test_floats_round_where_cpp_rounds() -> None:
    third = arithmetic("/", Number(1.0, "float"), Number(3.0, "float"))
    assert third.value == struct.unpack("f", struct.pack("f", 1 / 3))[0]
    assert convert(Number(0.1, "double"), "half").value == 0.0999755859375
    assert convert(Number(0.1, "double"), "bfloat").value == 0.10009765625
    assert arithmetic("*", Number(2, "int"), Number(0.5, "double")) == Number(1.0, "double")


def test_the_usual_conversions_between_integers() -> None:
    assert arithmetic("-", Number(1, "uint32_t"), Number(2, "int")).value == 2**32 - 1
    assert arithmetic("-", Number(1, "uint32_t"), Number(2, "int64_t")).value == -1
    assert arithmetic("+", Number(200, "uint8_t"), Number(100, "uint8_t")).value == 300


NOT_UNDERSTOOD = [
    ("\n\n  goto done;", 3),
    ("return frobnicate(1);", 1),
    ("asm volatile(1);", 1),
    ("return x;", 1),
    ("lib.exec_quaternary_kernel(1);", 1),
    ("[encoder sing:1];", 1),
    ("while (true) {}", 1),
    ("return 1 / 0;", 1),
    ("return std::clamp<int64_t>(1, 5, 2);", 1),
]


@pytest.mark.parametrize(("body", "line"), NOT_UNDERSTOOD)
def test_what_is_not_understood_is_said_by_line(body: str, line: int, kernels: Kernels) -> None:
    with pytest.raises(NotUnderstoodError) as refusal:
        run(f"int64_t f() {{ {body} }}", "f", [], kernels)
    assert refusal.value.path == "stubs/x.mm"
    assert refusal.value.line == line


def test_structs_of_plain_members_are_found_in_metal_text() -> None:
    text = """
    template <typename T> struct Params { T low; T high; float scale[3]; };
    struct op_functor { template <typename T> inline T operator()(const T x) { return x; } };
    """
    found = structs_of(text, {"Params", "op_functor", "T"})
    assert structs_of(text, {"T"}) == []
    assert [each.name for each in found] == ["Params"]
    assert [(field.type, field.name, field.count) for field in found[0].fields] == [
        ("T", "low", None),
        ("T", "high", None),
        ("float", "scale", 3),
    ]


def test_a_struct_is_laid_out_with_padding(kernels: Kernels) -> None:
    text = "struct Mixed { bool flag; int64_t count; uint32_t kind; }; Mixed f() { return Mixed{true, 5, 7}; }"
    result = run(text, "f", [], kernels)
    assert result.to_bytes() == struct.pack("?7xqI4x", True, 5, 7)  # type: ignore[attr-defined]


def test_registrations_in_either_form() -> None:
    file = parse("REGISTER_DISPATCH(a_stub, &a_kernel)\nREGISTER_UNARY_TI_DISPATCH(sin);")
    assert file.registered == {"a_stub": "a_kernel", "sin_stub": "sin_kernel_mps"}


def test_includes_and_conditions_of_the_preprocessor_are_passed_over() -> None:
    file = parse("#include <a.h>\n#ifndef X\n#include <b.h>\n#else\n#include <c.h>\n#endif\nvoid f() {}\n")
    assert [function.name for function in file.functions] == ["f"]
    assert file.functions[0].line == 7


def test_python_values_become_what_a_stub_holds() -> None:
    assert from_python(3) == Number(3, "int64_t")
    assert from_python(True) == Number(True, "bool")
    assert from_python(torch.float16) is Dtype.FLOAT16
    found = from_python([1, 2])
    assert isinstance(found, Array) and found.integers() == [1, 2]


OWN_OR_SHARED = [
    ("int64_t a = 1; int64_t& b = a; b += 4; return a;", 5),
    ("int64_t a = 1; int64_t b = a; b += 4; return a;", 1),
    ("int64_t a = 1; auto& b = a; a = 7; return b;", 7),
    ("std::array<int64_t, 2> a = {1, 2}; auto& b = a[1]; b = 9; return a[0] * 10 + a[1];", 19),
    ("std::array<int64_t, 2> a = {1, 2}; auto b = a; b[0] = 9; return a[0];", 1),
    ("std::array<int64_t, 2> a = {1, 2}; auto& b = a; b[0] = 9; return a[0];", 9),
    ("std::vector<int64_t> a; auto b = a; a.push_back(1); b = a; a.push_back(1); return a.size() * 10 + b.size();", 21),
    ("std::array<int64_t, 3> a = {1, 2, 3}; for (auto& x : a) { x *= 2; } return a[0] + a[1] + a[2];", 12),
    ("std::array<int64_t, 3> a = {1, 2, 3}; for (auto x : a) { x *= 2; } return a[0] + a[1] + a[2];", 6),
    ("int64_t a = 1; const auto f = [a] { return a; }; a = 5; return f();", 1),
    ("int64_t a = 1; const auto f = [=]() { return a; }; a = 5; return f();", 1),
    ("int64_t a = 1; const auto f = [&] { return a; }; a = 5; return f();", 5),
    ("int64_t a = 1; const auto f = [&a] { a = 8; }; f(); return a;", 8),
    ("int64_t a = 1; auto f = [a]() mutable { return ++a; }; f(); return f() * 10 + a;", 31),
    ("int64_t a = 1; int64_t& r = a; const auto f = [r] { return r; }; a = 5; return f();", 1),
    ("int64_t a = 1; bump(a); bump(a); return a;", 3),
    ("int64_t a = 1; raised(a); return a;", 1),
    ("std::array<int64_t, 2> a = {1, 2}; bump(a[1]); return a[1];", 3),
    ("std::array<int64_t, 2> a = {1, 2}; widened(a); return a[0];", 1),
]


@pytest.mark.parametrize(("body", "wanted"), OWN_OR_SHARED)
def test_copies_are_copies_and_references_refer(body: str, wanted: int, kernels: Kernels) -> None:
    functions = """
    static void bump(int64_t& x) { x += 1; }
    static int64_t raised(int64_t x) { x += 1; return x; }
    static void widened(std::array<int64_t, 2> x) { x[0] = 7; }
    """
    assert value(f"{functions} int64_t f() {{ {body} }}", kernels) == wanted


CONVERTED = [
    ("return half_of(7);", 3),
    ("return wrapped(5000000000);", 705032704),
    ("const int64_t n = 5; const auto x = true ? 1 : n; return x * 3000000000;", 3000000000),
    ("const double d = 2.5; const auto x = true ? 1 : d; return (x / 2) * 10;", 5),
    ("const uint32_t n = 1; const auto x = true ? -1 : n; return x > 0 ? 1 : 2;", 1),
    ("const uint8_t x = 1; return -x;", -1),
    ("const bool x = true; return -x;", -1),
    ("const uint32_t n = 2; return -n > 0 ? 1 : 2;", 1),
    ("const uint32_t n = 2; const int m = 3; return n - m > 0 ? 1 : 2;", 1),
    ("const uint32_t n = 65536; return n * n;", 0),
    ("const int m = -1; const uint32_t n = 1; return m < n ? 1 : 2;", 2),
    ("const int64_t m = -1; const uint32_t n = 1; return m < n ? 1 : 2;", 1),
    ("std::vector<int8_t> a; a.push_back(300); return a[0];", 44),
    ("Pair p{2.9, 1}; return p.count;", 2),
    ("Pair p{1, 1}; p.count = 3.9; return p.count;", 3),
    ("Pair p{1, 1}; auto q = p; q.count = 5; return p.count;", 1),
    ("Pair p{1, 1}; auto& q = p.count; q = 6; return p.count;", 6),
]  # fmt: skip


@pytest.mark.parametrize(("body", "wanted"), CONVERTED)
def test_numbers_take_the_type_that_cpp_gives_them(body: str, wanted: int, kernels: Kernels) -> None:
    functions = """
    struct Pair { int count; float other; };
    static int64_t half_of(int64_t x) { return x * 0.5; }
    static uint32_t wrapped(int64_t x) { return x; }
    """
    assert value(f"{functions} int64_t f() {{ {body} }}", kernels) == wanted


def test_a_choice_between_a_number_and_a_size_has_the_type_of_the_size(kernels: Kernels) -> None:
    body = "const auto size = x.dim() == 0 ? 1 : x.size(0); return size;"
    found = run(f"auto f(const Tensor& x) {{ {body} }}", "f", [torch.tensor(1.0)], kernels)
    assert isinstance(found, Number) and found.type == "int64_t"


@pytest.mark.parametrize(
    ("number", "kind", "fits"),
    [
        (300, "uint8_t", False),
        (-1, "uint8_t", True),
        (-300, "uint8_t", False),
        (-1.0, "uint8_t", False),
        (200, "int8_t", False),
        (2**40, "int", False),
        (2.5, "int64_t", True),
        (1e300, "float", False),
        (float("inf"), "float", True),
        (float("inf"), "int64_t", False),
        (float("nan"), "int64_t", False),
        (1e5, "half", False),
        (5, "bool", True),
        (True, "int8_t", True),
    ],
)
def test_scalars_refuse_what_a_type_does_not_hold(number: float, kind: str, fits: bool) -> None:
    if fits:
        Scalar(number).to(kind)
        return
    with pytest.raises(CheckFailedError, match="without overflow"):
        Scalar(number).to(kind)


def test_overloads_that_types_alone_tell_apart_are_not_guessed(kernels: Kernels) -> None:
    text = "static int g(int x) { return 1; } static int g(float x) { return 2; } int64_t f() { return g(2.5f); }"
    with pytest.raises(NotUnderstoodError, match="which g of 1 arguments"):
        run(text, "f", [], kernels)
