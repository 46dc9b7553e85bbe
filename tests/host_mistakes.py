"""Mistakes that were made, or nearly, in host files: each an edit of a good file, and the rule that finds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """`rule` is the type check's. Where that lets it pass, `elsewhere` is the rule of another check, or `excuse` says
    why nothing has to find it.
    """

    name: str
    stem: str
    old: str
    new: str
    rule: str | None
    elsewhere: str = ""
    excuse: str = ""


# A kernel that is dispatched by hand, which no file of the pocket has.
ROW_SOFTMAX = """\
#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/mps/OperationUtils.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/_softmax_native.h>
#endif

namespace at::native {

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/RowSoftmax_metallib.h>
#endif

struct RowParams {
  uint32_t row;
  float scale;
};

TORCH_IMPL_FUNC(softmax_mps_out)
(const Tensor& self, const int64_t dim, const bool half_to_float, const Tensor& out) {
  using namespace mps;
  TORCH_CHECK(!half_to_float, "softmax from half to float is not supported on MPS");
  const auto rows = self.contiguous();
  const RowParams params{static_cast<uint32_t>(self.size(dim)), 1.0f};
  const std::array<uint32_t, 2> counts{static_cast<uint32_t>(self.numel()), params.row};
  auto stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(fmt::format("row_softmax_{}", scalarToMetalTypeString(self)));
      [encoder setComputePipelineState:pipeline];
      mtl_setArgs(encoder, rows, out, params, counts, self.sizes(), dim);
      [encoder setThreadgroupMemoryLength:32 * sizeof(float) atIndex:0];
      const auto width = std::min<NSUInteger>([pipeline maxTotalThreadsPerThreadgroup], 1024);
      [encoder dispatchThreadgroups:MTLSizeMake(counts[0], 1, 1) threadsPerThreadgroup:MTLSizeMake(width, 1, 1)];
    }
  });
}

} // namespace at::native
"""


# Its kernel, with what the host file binds.
ROW_SOFTMAX_KERNEL = """\
#include <metal_stdlib>
using namespace metal;

struct RowParams {
  uint row;
  float scale;
};

template <typename T>
kernel void row_softmax(
    constant T* input [[buffer(0)]],
    device T* output [[buffer(1)]],
    constant RowParams& params [[buffer(2)]],
    constant uint2& counts [[buffer(3)]],
    constant long* sizes [[buffer(4)]],
    constant long& dim [[buffer(5)]],
    threadgroup float* partial [[threadgroup(0)]]) {}

template [[host_name("row_softmax_float")]] [[kernel]] decltype(row_softmax<float>) row_softmax<float>;
template [[host_name("row_softmax_half")]] [[kernel]] decltype(row_softmax<half>) row_softmax<half>;
template [[host_name("row_softmax_bfloat")]] [[kernel]] decltype(row_softmax<bfloat>) row_softmax<bfloat>;
"""

BINARY, UNARY, GRAPH, ROWS = "BinaryKernel", "UnaryKernel", "Activation", "RowSoftmax"
MISTAKES = [
    # Registration
    Mistake("misspelt_stub", BINARY, "(hypot_stub,", "(hypott_stub,", "type-error"),
    Mistake(
        "kernel_with_alpha_on_plain_stub",
        "ActivationKernel",
        "(silu_stub, silu_kernel)",
        "(silu_stub, leaky_relu_kernel)",
        "type-error",
    ),
    Mistake(
        "kernel_with_integer_on_scalar_stub",
        UNARY,
        "_stub, pow_tensor_scalar_kernel",
        "_stub, round_decimals_kernel",
        "type-error",
    ),
    Mistake(
        "binary_kernel_on_unary_stub",
        UNARY,
        "lib.exec_unary_kernel(iter, #NAME)",
        "lib.exec_binary_kernel(iter, #NAME)",
        None,
        "contract/arity",
    ),
    Mistake(
        "iterator_instead_of_base",
        BINARY,
        "hypot_mps_kernel(TensorIteratorBase&",
        "hypot_mps_kernel(TensorIterator&",
        "type-error",
    ),
    Mistake(
        "registered_twice",
        BINARY,
        "REGISTER_DISPATCH(mul_stub, &mul_mps_kernel)\n",
        "REGISTER_DISPATCH(mul_stub, &mul_mps_kernel)\nREGISTER_DISPATCH(mul_stub, &mul_mps_kernel)\n",
        "type-error",
    ),
    Mistake("register_not_closed", BINARY, "&hypot_mps_kernel)", "&hypot_mps_kernel", "type-error"),
    Mistake("kernel_never_registered", BINARY, "REGISTER_DISPATCH(hypot_stub, &hypot_mps_kernel)\n", "", "unused"),
    # Includes
    Mistake("no_stub_header", BINARY, "#include <ATen/native/BinaryOps.h>\n", "", "type-error"),
    Mistake(
        "no_iterator_header",
        BINARY,
        "#include <ATen/TensorIterator.h>\n",
        "",
        None,
        excuse="OperationUtils.h includes it for everyone",
    ),
    Mistake(
        "no_profiler_header",
        ROWS,
        "#include <fmt/format.h>\n",
        "",
        None,
        excuse="OperationUtils.h includes it for everyone",
    ),
    Mistake("no_header_of_structured_function", GRAPH, "#include <ATen/ops/softplus_native.h>\n", "", "type-error"),
    Mistake(
        "no_header_of_plain_function",
        GRAPH,
        "#include <ATen/ops/mish_backward_native.h>\n",
        "",
        "undeclared-definition",
    ),
    Mistake("no_header_of_called_operator", "UnaryOps", "#include <ATen/ops/view_as_real.h>\n", "", "missing-include"),
    Mistake(
        "unused_header",
        GRAPH,
        "ATen/ops/empty.h>\n",
        "ATen/ops/empty.h>\n#include <ATen/ops/neg_native.h>\n",
        "unused-include",
    ),
    Mistake("no_such_header", GRAPH, "ATen/ops/glu_native.h", "ATen/ops/gluu_native.h", "missing-header"),
    # The exec helpers
    Mistake(
        "misspelt_helper",
        BINARY,
        'lib.exec_binary_kernel(iter, "hypot")',
        'lib.exec_binry_kernel(iter, "hypot")',
        "type-error",
    ),
    Mistake("swapped_arguments", BINARY, '(iter, "hypot")', '("hypot", iter)', "type-error"),
    Mistake("misspelt_kernel_name", BINARY, '(iter, "hypot")', '(iter, "hypott")', None, "contract/missing-kernel"),
    Mistake(
        "alpha_for_ternary",
        "ActivationKernel",
        'lib.exec_binary_kernel(iter, "leaky_relu_backward"',
        'lib.exec_ternary_kernel(iter, "leaky_relu_backward"',
        "type-error",
    ),
    Mistake("null_alpha", "ActivationKernel", '"leaky_relu", negative_slope', '"leaky_relu", nullptr', "type-error"),
    # Arguments of a shader
    Mistake("pointer_to_params", ROWS, "out, params, counts", "out, &params, counts", "type-error"),
    Mistake("string", ROWS, "out, params, counts", 'out, params, std::string("x"), counts', "shader-argument"),
    Mistake("params_not_trivial", ROWS, "  float scale;\n", "  float scale;\n  std::string name;\n", "type-error"),
    Mistake("object_for_params", ROWS, "out, params, counts", "out, *stream, counts", "type-error"),
    Mistake(
        "narrower_integer",
        ROWS,
        "self.sizes(), dim)",
        "self.sizes(), static_cast<int32_t>(dim))",
        None,
        "contract/argument-size",
    ),
    Mistake("no_encoder", ROWS, "mtl_setArgs(encoder, rows", "mtl_setArgs(rows", "type-error"),
    Mistake(
        "optional_scalar", ROWS, "out, params, counts", "out, params, std::optional<Scalar>(1), counts", "type-error"
    ),
    Mistake("scalar", ROWS, "out, params, counts", "out, params, Scalar(1), counts", "type-error"),
    Mistake("list_of_tensors", ROWS, "out, params, counts", "out, std::vector<Tensor>{out}, counts", "shader-argument"),
    Mistake("list_of_doubles", ROWS, "out, params, counts", "out, std::vector<double>{1.0}, counts", "shader-argument"),
    # Structure
    Mistake("brace_missing", BINARY, '"hypot");\n}', '"hypot");\n', "type-error"),
    Mistake("block_not_closed", ROWS, "    }\n  });", "    }\n  }", "type-error"),
    Mistake("semicolon_missing", BINARY, '(iter, "hypot");', '(iter, "hypot")', "type-error"),
    # Symbols that are gone
    Mistake(
        "removed_method",
        ROWS,
        "      [encoder setCompute",
        '      mps::MPSDevice::getInstance()->metalIndexingPSO("x");\n      [encoder setCompute',
        "type-error",
    ),
    Mistake(
        "removed_helper",
        GRAPH,
        "getTensorsStringKey({self, weight})",
        "getTensorsStringKey2({self, weight})",
        "type-error",
    ),
    Mistake("removed_macos_version", "UnaryOps", "MACOS_VER_15_0_PLUS", "MACOS_VER_13_2_PLUS", "type-error"),
    Mistake("library_in_wrong_namespace", UNARY, "= mps::MetalShaderLibrary", "= MetalShaderLibrary", "type-error"),
    Mistake(
        "declared_not_defined",
        BINARY,
        "namespace at::native {\nnamespace mps {\n",
        "namespace at::native {\nnamespace mps {\nvoid gone(const Tensor&);\n",
        "declared-not-defined",
    ),
    # Objective-C
    Mistake(
        "misspelt_metal_method", ROWS, "[encoder dispatchThreadgroups:", "[encoder dispatchThreadGroups:", "warning"
    ),
    Mistake("wrong_type_for_metal_method", ROWS, "atIndex:0]", "atIndex:self]", "type-error"),
    Mistake(
        "number_for_a_size",
        ROWS,
        "threadsPerThreadgroup:MTLSizeMake(width, 1, 1)",
        "threadsPerThreadgroup:width",
        "type-error",
    ),
    Mistake(
        "misspelt_graph_method",
        GRAPH,
        "[mpsGraph tanhWithTensor:softplus",
        "[mpsGraph tanhhWithTensor:softplus",
        "unknown-to-stand-ins",
    ),
    Mistake(
        "tensor_for_a_graph_tensor",
        GRAPH,
        "[mpsGraph sigmoidWithTensor:x ",
        "[mpsGraph sigmoidWithTensor:self ",
        "type-error",
    ),
    Mistake(
        "assigned_inside_block",
        ROWS,
        "      mtl_setArgs(",
        "      params.scale = 2.0f;\n      mtl_setArgs(",
        "type-error",
    ),
    # Definitions and rows
    Mistake(
        "wrong_signature",
        GRAPH,
        "const Scalar& beta, const Scalar& threshold, const Tensor& result",
        "const Scalar& beta, const Tensor& result",
        "type-error",
    ),
    Mistake(
        "misspelt_function",
        GRAPH,
        "TORCH_IMPL_FUNC(softplus_out_mps)",
        "TORCH_IMPL_FUNC(softplus_mps_out)",
        "type-error",
    ),
    Mistake(
        "function_of_the_cpu",
        GRAPH,
        "TORCH_IMPL_FUNC(softplus_out_mps)",
        "TORCH_IMPL_FUNC(softplus_out)",
        "shared-function",
    ),
    # Darwin's int64_t is long long, its NSUInteger unsigned long
    Mistake(
        "mixed_integers_on_darwin",
        ROWS,
        "std::min<NSUInteger>([pipeline maxTotalThreadsPerThreadgroup], 1024)",
        "std::min([pipeline maxTotalThreadsPerThreadgroup], uint64_t(1024))",
        "type-error",
    ),
    Mistake(
        "long_literal_on_darwin",
        ROWS,
        "std::min<NSUInteger>([pipeline maxTotalThreadsPerThreadgroup], 1024)",
        "std::min(self.size(0), 1024L)",
        "type-error",
    ),
    # Left behind
    Mistake(
        "unused_helper",
        BINARY,
        "static void hypot_mps",
        "static int leftover() {\n  return 1;\n}\n\nstatic void hypot_mps",
        "unused",
    ),
    Mistake(
        "unused_variable", ROWS, "  auto stream =", "  const auto leftover = self.numel();\n  auto stream =", "unused"
    ),
    Mistake(
        "shader_library_of_no_metal_file", UNARY, "UnaryKernel_metallib.h", "UnaryKernels_metallib.h", "missing-header"
    ),
    Mistake(
        "flood_of_errors",
        BINARY,
        "static void hypot_mps",
        "static void flood() {\n" + "  gone();\n" * 300 + "}\n\nstatic void hypot_mps",
        "type-error",
    ),
]
