#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/bincount_native.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#endif

namespace at::native {
namespace mps {

// Scatters only add floats and 32-bit integers.
static bool canScatter(ScalarType dtype) {
  return dtype == kFloat || dtype == kHalf || dtype == kInt;
}

} // namespace mps

Tensor _bincount_mps(const Tensor& self, const std::optional<Tensor>& weights_opt, int64_t minlength) {
  using namespace mps;

  struct BincountCachedGraph : public MPSCachedGraph {
    BincountCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor* binsTensor_ = nil;
    MPSGraphTensor* weightsTensor_ = nil;
    MPSGraphTensor* emptyTensor_ = nil;
    MPSGraphTensor* outputTensor_ = nil;
  };

  TORCH_CHECK(isIntegralType(self.scalar_type(), /*includeBool=*/true), "bincount expects integers");
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  const auto counts = self.options().dtype(kLong);
  if (self.dim() == 1 && self.numel() == 0) {
    return at::zeros({minlength}, counts);
  }
  TORCH_CHECK(self.dim() == 1 && self.min().item<int64_t>() >= 0,
              "bincount only supports 1-d non-negative integral inputs.");
  const bool weighted = weights_opt.has_value() && weights_opt->defined();
  TORCH_CHECK(!weighted || (weights_opt->dim() == 1 && weights_opt->size(0) == self.size(0)),
              "weights should be 1-d and have the same length as input");
  Tensor weights = weighted ? *weights_opt : at::ones_like(self, counts);
  if (weighted && !canScatter(weights.scalar_type())) {
    weights = weights.to(kInt);
  }
  const auto bins = std::max(self.max().item<int64_t>() + 1, minlength);
  auto result = at::zeros({bins}, weights.options());

  @autoreleasepool {
    const auto key = "bincount_mps" + getTensorsStringKey({self, weights, result});
    auto cachedGraph = LookUpOrCreateCachedGraph<BincountCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->binsTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, self);
      newCachedGraph->weightsTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, weights);
      newCachedGraph->emptyTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, result);
      auto index = castMPSTensor(mpsGraph, newCachedGraph->binsTensor_, kInt);
      newCachedGraph->outputTensor_ = [mpsGraph scatterWithDataTensor:newCachedGraph->emptyTensor_
                                                        updatesTensor:newCachedGraph->weightsTensor_
                                                        indicesTensor:index
                                                                 axis:0
                                                                 mode:MPSGraphScatterModeAdd
                                                                 name:nil];
    });

    auto binsPlaceholder = Placeholder(cachedGraph->binsTensor_, self);
    auto weightsPlaceholder = Placeholder(cachedGraph->weightsTensor_, weights);
    auto emptyPlaceholder = Placeholder(cachedGraph->emptyTensor_, result);
    auto resultPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    auto feeds = dictionaryFromPlaceholders(binsPlaceholder, weightsPlaceholder, emptyPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, resultPlaceholder);
  }
  return result;
}

} // namespace at::native
