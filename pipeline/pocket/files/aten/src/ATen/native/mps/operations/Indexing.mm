#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/empty_like.h>
#include <ATen/ops/flip_native.h>
#endif

namespace at::native {

Tensor flip_mps(const Tensor& self, IntArrayRef dims) {
  using namespace mps;

  auto result = at::empty_like(self, MemoryFormat::Contiguous);
  const auto flipped = at::dim_list_to_bitset(dims, self.dim());
  auto axes = [NSMutableArray<NSNumber*> array];
  for (const auto dim : c10::irange(self.dim())) {
    if (flipped[dim]) {
      [axes addObject:@(dim)];
    }
  }
  if (axes.count == 0 || self.numel() < 2) {
    return result.copy_(self);
  }

  @autoreleasepool {
    const auto key = "flip_mps" + getTensorsStringKey({self}) + ":" + getArrayRefString(dims);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, self);
      newCachedGraph->outputTensor_ = [mpsGraph reverseTensor:newCachedGraph->inputTensor_ axes:axes name:nil];
    });

    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    auto feeds = dictionaryFromPlaceholders(inputPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, outputPlaceholder);
  }
  return result;
}

} // namespace at::native
