#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/Resize.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/addr_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>
#endif

namespace at::native {
namespace mps {

struct OuterCachedGraph : public MPSCachedGraph {
  OuterCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
  MPSGraphTensor *selfTensor_ = nil, *vec1Tensor_ = nil, *vec2Tensor_ = nil;
  MPSGraphTensor* resultTensor_ = nil;
};

static MPSGraphTensor* scaledTensor(MPSGraph* mpsGraph, MPSGraphTensor* tensor, const Scalar& factor) {
  if (factor.equal(1)) {
    return tensor;
  }
  auto constant = [mpsGraph constantWithScalar:factor.toDouble() dataType:tensor.dataType];
  return [mpsGraph multiplicationWithPrimaryTensor:tensor secondaryTensor:constant name:nil];
}

} // namespace mps

Tensor& addr_out_mps(const Tensor& self,
                     const Tensor& vec1,
                     const Tensor& vec2,
                     const Scalar& beta,
                     const Scalar& alpha,
                     Tensor& result) {
  using namespace mps;

  TORCH_CHECK(vec1.dim() == 1 && vec2.dim() == 1, "addr: expected two vectors");
  resize_output(result, {vec1.size(0), vec2.size(0)});
  if (result.numel() == 0) {
    return result;
  }
  const auto expanded = self.expand_as(result).contiguous();
  const auto column = vec1.reshape({vec1.size(0), 1});
  const auto row = vec2.reshape({1, vec2.size(0)});

  @autoreleasepool {
    const auto key = "addr_out_mps" + getTensorsStringKey({expanded, column, row}) + ":" +
                     std::to_string(beta.toDouble()) + ":" + std::to_string(alpha.toDouble());
    auto cachedGraph = LookUpOrCreateCachedGraph<OuterCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->selfTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, expanded);
      newCachedGraph->vec1Tensor_ = mpsGraphRankedPlaceHolder(mpsGraph, column);
      newCachedGraph->vec2Tensor_ = mpsGraphRankedPlaceHolder(mpsGraph, row);
      auto product = [mpsGraph multiplicationWithPrimaryTensor:newCachedGraph->vec1Tensor_
                                               secondaryTensor:newCachedGraph->vec2Tensor_
                                                          name:nil];
      auto scaled = scaledTensor(mpsGraph, product, alpha);
      newCachedGraph->resultTensor_ =
          [mpsGraph additionWithPrimaryTensor:scaledTensor(mpsGraph, newCachedGraph->selfTensor_, beta)
                              secondaryTensor:scaled
                                         name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->selfTensor_, expanded);
    auto vec1Placeholder = Placeholder(cachedGraph->vec1Tensor_, column);
    auto vec2Placeholder = Placeholder(cachedGraph->vec2Tensor_, row);
    auto resultPlaceholder = Placeholder(cachedGraph->resultTensor_, result);
    auto feeds = dictionaryFromPlaceholders(selfPlaceholder, vec1Placeholder, vec2Placeholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, resultPlaceholder);
  }
  return result;
}

Tensor addr_mps(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) {
  auto result = at::empty({0}, self.options().dtype(at::result_type(vec1, vec2)));
  addr_out_mps(self, vec1, vec2, beta, alpha, result);
  return result;
}

} // namespace at::native
