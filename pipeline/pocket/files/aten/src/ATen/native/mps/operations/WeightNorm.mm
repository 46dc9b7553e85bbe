#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/_weight_norm_interface_backward_native.h>
#include <ATen/ops/_weight_norm_interface_native.h>
#include <ATen/ops/empty_like.h>
#endif

namespace at::native {
namespace mps {

struct NormCachedGraph : public MPSCachedGraph {
  NormCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
  MPSGraphTensor* v_ = nil;
  MPSGraphTensor* g_ = nil;
  MPSGraphTensor* w_ = nil;
  MPSGraphTensor* norms_ = nil;
};

struct NormGradCachedGraph : public MPSCachedGraph {
  NormGradCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
  MPSGraphTensor* gradW_ = nil;
  MPSGraphTensor* v_ = nil;
  MPSGraphTensor* g_ = nil;
  MPSGraphTensor* norms_ = nil;
  MPSGraphTensor* gradV_ = nil;
  MPSGraphTensor* gradG_ = nil;
};

static NSArray<NSNumber*>* axesBut(int64_t kept, int64_t ndim) {
  auto axes = [NSMutableArray<NSNumber*> array];
  for (const auto axis : c10::irange(ndim)) {
    if (axis != kept) {
      [axes addObject:@(axis)];
    }
  }
  return axes;
}

static void checkKeptDim(int64_t dim, const Tensor& v) {
  TORCH_CHECK(dim == 0 || dim == v.dim() - 1, "fused kernels can only be applied for first or last dim");
}

} // namespace mps

std::tuple<Tensor, Tensor> weight_norm_mps(const Tensor& v, const Tensor& g, int64_t dim) {
  using namespace mps;

  checkKeptDim(dim, v);
  auto w = at::empty_like(v, MemoryFormat::Contiguous);
  auto norms = at::empty_like(g, MemoryFormat::Contiguous);

  @autoreleasepool {
    const auto key = "weight_norm_mps" + getTensorsStringKey({v, g}) + ":" + std::to_string(dim);
    auto cachedGraph = LookUpOrCreateCachedGraph<NormCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto direction = mpsGraphRankedPlaceHolder(mpsGraph, v);
      auto length = mpsGraphRankedPlaceHolder(mpsGraph, g);
      auto squares = [mpsGraph squareWithTensor:direction name:nil];
      auto sums = [mpsGraph reductionSumWithTensor:squares axes:axesBut(dim, v.dim()) name:nil];
      auto norm = [mpsGraph squareRootWithTensor:sums name:nil];
      auto factor = [mpsGraph divisionWithPrimaryTensor:length secondaryTensor:norm name:nil];
      newCachedGraph->v_ = direction;
      newCachedGraph->g_ = length;
      newCachedGraph->norms_ = norm;
      newCachedGraph->w_ = [mpsGraph multiplicationWithPrimaryTensor:direction secondaryTensor:factor name:nil];
    });

    auto vPlaceholder = Placeholder(cachedGraph->v_, v);
    auto gPlaceholder = Placeholder(cachedGraph->g_, g);
    auto wPlaceholder = Placeholder(cachedGraph->w_, w);
    auto normsPlaceholder = Placeholder(cachedGraph->norms_, norms);
    auto feeds = dictionaryFromPlaceholders(vPlaceholder, gPlaceholder);
    auto results = dictionaryFromPlaceholders(wPlaceholder, normsPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
  return {w, norms};
}

std::tuple<Tensor, Tensor> weight_norm_backward_mps(
    const Tensor& grad_w, const Tensor& saved_v, const Tensor& saved_g, const Tensor& saved_norms, int64_t dim) {
  using namespace mps;

  checkKeptDim(dim, saved_v);
  auto grad_v = at::empty_like(saved_v, MemoryFormat::Contiguous);
  auto grad_g = at::empty_like(saved_g, MemoryFormat::Contiguous);

  @autoreleasepool {
    const auto key = "weight_norm_backward_mps" + getTensorsStringKey({grad_w, saved_v, saved_g, saved_norms}) + ":" +
                     std::to_string(dim);
    auto cachedGraph = LookUpOrCreateCachedGraph<NormGradCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto gradW = mpsGraphRankedPlaceHolder(mpsGraph, grad_w);
      auto direction = mpsGraphRankedPlaceHolder(mpsGraph, saved_v);
      auto length = mpsGraphRankedPlaceHolder(mpsGraph, saved_g);
      auto norm = mpsGraphRankedPlaceHolder(mpsGraph, saved_norms);
      auto unit = [mpsGraph divisionWithPrimaryTensor:direction secondaryTensor:norm name:nil];
      auto projected = [mpsGraph multiplicationWithPrimaryTensor:gradW secondaryTensor:unit name:nil];
      auto along = [mpsGraph reductionSumWithTensor:projected axes:axesBut(dim, saved_v.dim()) name:nil];
      auto radial = [mpsGraph multiplicationWithPrimaryTensor:unit secondaryTensor:along name:nil];
      auto across = [mpsGraph subtractionWithPrimaryTensor:gradW secondaryTensor:radial name:nil];
      auto factor = [mpsGraph divisionWithPrimaryTensor:length secondaryTensor:norm name:nil];
      newCachedGraph->gradW_ = gradW;
      newCachedGraph->v_ = direction;
      newCachedGraph->g_ = length;
      newCachedGraph->norms_ = norm;
      newCachedGraph->gradG_ = along;
      newCachedGraph->gradV_ = [mpsGraph multiplicationWithPrimaryTensor:across secondaryTensor:factor name:nil];
    });

    auto gradWPlaceholder = Placeholder(cachedGraph->gradW_, grad_w);
    auto vPlaceholder = Placeholder(cachedGraph->v_, saved_v);
    auto gPlaceholder = Placeholder(cachedGraph->g_, saved_g);
    auto normsPlaceholder = Placeholder(cachedGraph->norms_, saved_norms);
    auto gradVPlaceholder = Placeholder(cachedGraph->gradV_, grad_v);
    auto gradGPlaceholder = Placeholder(cachedGraph->gradG_, grad_g);
    auto feeds = dictionaryFromPlaceholders(gradWPlaceholder, vPlaceholder, gPlaceholder, normsPlaceholder);
    auto results = dictionaryFromPlaceholders(gradVPlaceholder, gradGPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
  return {grad_v, grad_g};
}

} // namespace at::native
