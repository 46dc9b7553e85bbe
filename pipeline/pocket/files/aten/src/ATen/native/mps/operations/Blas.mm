#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/dot.h>
#include <ATen/ops/dot_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/vdot_native.h>
#endif

namespace at::native {
namespace mps {

static void checkVectors(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1, "1D tensors expected");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "expected both vectors to have same dtype");
  TORCH_CHECK(self.numel() == other.numel(), "expected both vectors to have as many elements");
}

static MPSGraphTensor* dotTensor(MPSGraph* mpsGraph, MPSGraphTensor* lhs, MPSGraphTensor* rhs) {
  auto product = [mpsGraph multiplicationWithPrimaryTensor:lhs secondaryTensor:rhs name:nil];
  return [mpsGraph reductionSumWithTensor:product axis:0 name:nil];
}

} // namespace mps

Tensor dot_mps(const Tensor& self, const Tensor& other) {
  using namespace mps;

  checkVectors(self, other);
  auto result = at::empty({}, self.options());
  if (self.numel() == 0) {
    return result.zero_();
  }

  @autoreleasepool {
    const auto key = "dot_mps" + getTensorsStringKey({self, other});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSBinaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto lhs = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto rhs = mpsGraphRankedPlaceHolder(mpsGraph, other);
      newCachedGraph->inputTensor_ = lhs;
      newCachedGraph->otherTensor_ = rhs;
      newCachedGraph->outputTensor_ = dotTensor(mpsGraph, lhs, rhs);
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto otherPlaceholder = Placeholder(cachedGraph->otherTensor_, other);
    auto resultPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    auto feeds = dictionaryFromPlaceholders(selfPlaceholder, otherPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, resultPlaceholder);
  }
  return result;
}

Tensor vdot_mps(const Tensor& self, const Tensor& other) {
  using namespace mps;

  if (!self.is_complex()) {
    return at::dot(self, other);
  }
  checkVectors(self, other);
  auto result = at::empty({}, self.options());
  if (self.numel() == 0) {
    return result.zero_();
  }

  @autoreleasepool {
    const auto key = "vdot_mps" + getTensorsStringKey({self, other});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSBinaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto lhs = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto rhs = mpsGraphRankedPlaceHolder(mpsGraph, other);
      newCachedGraph->inputTensor_ = lhs;
      newCachedGraph->otherTensor_ = rhs;
      newCachedGraph->outputTensor_ = dotTensor(mpsGraph, [mpsGraph conjugateWithTensor:lhs name:nil], rhs);
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto otherPlaceholder = Placeholder(cachedGraph->otherTensor_, other);
    auto resultPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    auto feeds = dictionaryFromPlaceholders(selfPlaceholder, otherPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, resultPlaceholder);
  }
  return result;
}

} // namespace at::native
