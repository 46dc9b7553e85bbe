#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/PixelShuffle.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/empty.h>
#include <ATen/ops/pixel_shuffle_native.h>
#include <ATen/ops/pixel_unshuffle_native.h>
#endif

namespace at::native {
namespace mps {

// Moves between channels and pixels; the last three dimensions are channel, height and width.
static Tensor rearrange(const Tensor& self, const Tensor& result, const int64_t factor, const bool to_pixels) {
  if (result.numel() == 0) {
    return result;
  }
  const auto ndim = self.dim();

  @autoreleasepool {
    const auto key = std::string(to_pixels ? "pixel_shuffle_mps" : "pixel_unshuffle_mps") +
                     getTensorsStringKey({self}) + ":" + std::to_string(factor);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      newCachedGraph->inputTensor_ = input;
      if (to_pixels) {
        newCachedGraph->outputTensor_ = [mpsGraph depthToSpace2DTensor:input
                                                             widthAxis:ndim - 1
                                                            heightAxis:ndim - 2
                                                             depthAxis:ndim - 3
                                                             blockSize:factor
                                                  usePixelShuffleOrder:YES
                                                                  name:nil];
      } else {
        newCachedGraph->outputTensor_ = [mpsGraph spaceToDepth2DTensor:input
                                                             widthAxis:ndim - 1
                                                            heightAxis:ndim - 2
                                                             depthAxis:ndim - 3
                                                             blockSize:factor
                                                  usePixelShuffleOrder:YES
                                                                  name:nil];
      }
    });

    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    auto feeds = dictionaryFromPlaceholders(inputPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, outputPlaceholder);
  }
  return result;
}

} // namespace mps

Tensor pixel_shuffle_mps(const Tensor& self, int64_t upscale_factor) {
  check_pixel_shuffle_shapes(self, upscale_factor);
  DimVector sizes(self.sizes());
  sizes.end()[-3] /= upscale_factor * upscale_factor;
  sizes.end()[-2] *= upscale_factor;
  sizes.end()[-1] *= upscale_factor;
  return mps::rearrange(self, at::empty(sizes, self.options()), upscale_factor, /*to_pixels=*/true);
}

Tensor pixel_unshuffle_mps(const Tensor& self, int64_t downscale_factor) {
  check_pixel_unshuffle_shapes(self, downscale_factor);
  DimVector sizes(self.sizes());
  sizes.end()[-3] *= downscale_factor * downscale_factor;
  sizes.end()[-2] /= downscale_factor;
  sizes.end()[-1] /= downscale_factor;
  return mps::rearrange(self, at::empty(sizes, self.options()), downscale_factor, /*to_pixels=*/false);
}

} // namespace at::native
