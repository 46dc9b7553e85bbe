#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/empty.h>
#include <ATen/ops/repeat_native.h>
#endif

namespace at::native {

Tensor repeat_mps(const Tensor& self, IntArrayRef repeats) {
  using namespace mps;

  const auto new_dims = static_cast<int64_t>(repeats.size()) - self.dim();
  TORCH_CHECK(new_dims >= 0, "Number of dimensions of repeat dims can not be smaller than those of the tensor");
  DimVector padded(new_dims, 1), target;
  padded.insert(padded.end(), self.sizes().begin(), self.sizes().end());
  auto multiplier = [NSMutableArray<NSNumber*> array];
  for (const auto dim : c10::irange(repeats.size())) {
    target.push_back(padded[dim] * repeats[dim]);
    [multiplier addObject:@(repeats[dim])];
  }
  auto result = at::empty(target, self.options());
  if (result.numel() == 0) {
    return result;
  }
  const auto expanded = self.expand(padded);

  @autoreleasepool {
    const auto key = "repeat_mps" + getTensorsStringKey({expanded}) + ":" + getArrayRefString(repeats);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, expanded);
      newCachedGraph->outputTensor_ = [mpsGraph tileTensor:newCachedGraph->inputTensor_
                                            withMultiplier:multiplier
                                                      name:nil];
    });

    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, expanded);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    auto feeds = dictionaryFromPlaceholders(inputPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, outputPlaceholder);
  }
  return result;
}

} // namespace at::native
