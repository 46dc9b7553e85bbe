#include <ATen/ceil_div.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/native/mps/OperationUtils.h>
#include <c10/metal/common.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/empty.h>
#include <ATen/ops/std_mean_native.h>
#include <ATen/ops/var_mean_native.h>
#endif

// Moments of the rows of a matrix, into contiguous outputs.
static void std_mean_kernel(
    const Tensor& matrix, const Tensor& variance, const Tensor& mean, double correction, bool take_root) {
  using namespace mps;
  const auto rows = c10::checked_convert<uint32_t>(matrix.size(0), "uint32_t");
  const auto cols = matrix.size(1);
  // A row is cut up where there are too few of them to keep the GPU busy.
  constexpr int64_t enough_rows = 64;
  constexpr int64_t least_part = 16384;
  constexpr int64_t most_parts = 1024;
  const auto parts = c10::checked_convert<uint32_t>(
      rows < enough_rows ? std::clamp<int64_t>(cols / least_part, 1, most_parts) : 1, "uint32_t");
  const auto part_size = at::ceil_div(cols, static_cast<int64_t>(parts));
  const auto divisor = static_cast<float>(std::max(0.0, static_cast<double>(cols) - correction));
  const MomentsParams params{cols, matrix.stride(0), matrix.stride(1), part_size, divisor, take_root};
  const auto type = scalarToMetalTypeString(matrix);
  const auto sums = matrix.options().dtype(matrix.is_complex() ? kComplexFloat : kFloat);
  const auto part_mean = at::empty({parts > 1 ? rows * parts : 0}, sums);
  const auto part_squares = at::empty({parts > 1 ? rows * parts : 0}, sums.dtype(kFloat));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(fmt::format("std_mean{}_{}", parts > 1 ? "_of_parts" : "", type));
      [encoder setComputePipelineState:pipeline];
      if (parts > 1) {
        mtl_setArgs(encoder, part_mean, part_squares, matrix, params);
      } else {
        mtl_setArgs(encoder, variance, mean, matrix, params);
      }
      constexpr NSUInteger width = c10::metal::simdgroup_size;
      const auto most = std::min<NSUInteger>([pipeline maxTotalThreadsPerThreadgroup], 1024);
      const auto threads = std::min<NSUInteger>(c10::metal::round_up<NSUInteger>(part_size, width), most);
      [encoder dispatchThreadgroups:MTLSizeMake(parts, rows, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
      if (parts > 1) {
        [encoder setComputePipelineState:lib.getPipelineStateForFunc(fmt::format("std_mean_of_rows_{}", type))];
        mtl_setArgs(encoder, variance, mean, part_mean, part_squares, params, parts);
        [encoder dispatchThreadgroups:MTLSizeMake(rows, 1, 1) threadsPerThreadgroup:MTLSizeMake(width, 1, 1)];
      }
    }
  });
}

static std::tuple<Tensor, Tensor> std_var_mean_mps(const Tensor& self,
                                                   OptionalIntArrayRef dim,
                                                   const std::optional<Scalar>& correction,
                                                   bool keepdim,
                                                   bool take_root) {
  TORCH_CHECK(isFloatingType(self.scalar_type()) || self.is_complex(),
              take_root ? "std_mean" : "var_mean",
              ": expected a floating or complex tensor, got ",
              self.scalar_type());
  const auto reduced = make_dim_mask(dim, self.dim());
  std::vector<int64_t> order, shape;
  int64_t rows = 1;
  for (const auto i : c10::irange(self.dim())) {
    if (!reduced[i]) {
      order.push_back(i);
      rows *= self.size(i);
    }
    if (!reduced[i] || keepdim) {
      shape.push_back(reduced[i] ? 1 : self.size(i));
    }
  }
  int64_t cols = 1;
  for (const auto i : c10::irange(self.dim())) {
    if (reduced[i]) {
      order.push_back(i);
      cols *= self.size(i);
    }
  }
  const auto real = self.options().dtype(toRealValueType(self.scalar_type()));
  auto variance = at::empty(shape, real);
  auto mean = at::empty(shape, self.options());
  if (cols == 0) {
    variance.fill_(std::numeric_limits<double>::quiet_NaN());
    mean.fill_(std::numeric_limits<double>::quiet_NaN());
  } else if (rows != 0) {
    // A view in most cases; what cannot be one is copied.
    const auto matrix = self.permute(order).reshape({rows, cols});
    std_mean_kernel(matrix, variance, mean, correction.has_value() ? correction->toDouble() : 1.0, take_root);
  }
  return std::make_tuple(variance, mean);
}

std::tuple<Tensor, Tensor> std_mean_mps(const Tensor& self,
                                        OptionalIntArrayRef dim,
                                        const std::optional<Scalar>& correction,
                                        bool keepdim) {
  return std_var_mean_mps(self, dim, correction, keepdim, true);
}

std::tuple<Tensor, Tensor> var_mean_mps(const Tensor& self,
                                        OptionalIntArrayRef dim,
                                        const std::optional<Scalar>& correction,
                                        bool keepdim) {
  return std_var_mean_mps(self, dim, correction, keepdim, false);
}
