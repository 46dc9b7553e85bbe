#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/empty.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/std_mean_native.h>
#include <ATen/ops/std_native.h>
#include <ATen/ops/var_mean_native.h>
#include <ATen/ops/var_native.h>
#endif

namespace at::native {
namespace mps {

enum class Spread { Variance, Deviation };

static Tensor spread(
    const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim, Spread kind) {
  const auto reduced = at::dim_list_to_bitset(dim, self.dim());
  auto axes = [NSMutableArray<NSNumber*> array];
  DimVector shape;
  int64_t count = 1;
  for (const auto axis : c10::irange(self.dim())) {
    if (reduced[axis]) {
      [axes addObject:@(axis)];
      count *= self.size(axis);
    }
    if (keepdim || !reduced[axis]) {
      shape.push_back(reduced[axis] ? 1 : self.size(axis));
    }
  }
  auto result = at::empty(shape, self.options());
  if (result.numel() == 0) {
    return result;
  }
  const auto given = correction.has_value() ? correction->toDouble() : 1.0;
  const auto bessel = static_cast<double>(count) / std::max(0.0, static_cast<double>(count) - given);

  @autoreleasepool {
    const auto key = "spread_mps" + getTensorsStringKey({self}) + ":" + getMPSShapeString(axes) + ":" +
                     std::to_string(bessel) + ":" + std::to_string(static_cast<int>(kind));
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto factor = [mpsGraph constantWithScalar:bessel dataType:getMPSDataType(self)];
      auto variance = [mpsGraph multiplicationWithPrimaryTensor:[mpsGraph varianceOfTensor:input axes:axes name:nil]
                                                secondaryTensor:factor
                                                           name:nil];
      newCachedGraph->inputTensor_ = input;
      newCachedGraph->outputTensor_ =
          kind == Spread::Deviation ? [mpsGraph squareRootWithTensor:variance name:nil] : variance;
    });

    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor_, result, getMPSShape(result));
    auto feeds = dictionaryFromPlaceholders(inputPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, outputPlaceholder);
  }
  return result;
}

} // namespace mps

Tensor var_mps(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim) {
  return mps::spread(self, dim, correction, keepdim, mps::Spread::Variance);
}

Tensor std_mps(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim) {
  return mps::spread(self, dim, correction, keepdim, mps::Spread::Deviation);
}

std::tuple<Tensor, Tensor> std_mean_mps(const Tensor& self,
                                        OptionalIntArrayRef dim,
                                        const std::optional<Scalar>& correction,
                                        bool keepdim) {
  return {std_mps(self, dim, correction, keepdim), at::mean(self, dim, keepdim)};
}

std::tuple<Tensor, Tensor> var_mean_mps(const Tensor& self,
                                        OptionalIntArrayRef dim,
                                        const std::optional<Scalar>& correction,
                                        bool keepdim) {
  return {var_mps(self, dim, correction, keepdim), at::mean(self, dim, keepdim)};
}

} // namespace at::native
