#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/WrapDimUtils.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/_softmax_backward_data_native.h>
#include <ATen/ops/_softmax_native.h>
#endif

namespace at::native {

TORCH_IMPL_FUNC(softmax_mps_out)
(const Tensor& input, const int64_t dim, const bool half_to_float, const Tensor& output) {
  using namespace mps;

  TORCH_CHECK(!half_to_float, "softmax with half to float conversion is not supported on MPS");
  if (input.numel() == 0) {
    return;
  }
  const auto axis = maybe_wrap_dim(dim, input.dim());

  @autoreleasepool {
    const auto key = "softmax_mps_out" + getTensorsStringKey({input}) + ":" + std::to_string(axis);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, input);
      newCachedGraph->outputTensor_ = [mpsGraph softMaxWithTensor:newCachedGraph->inputTensor_ axis:axis name:nil];
    });

    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, input);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor_, output);
    auto feeds = dictionaryFromPlaceholders(inputPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, outputPlaceholder);
  }
}

TORCH_IMPL_FUNC(softmax_backward_mps_out)
(const Tensor& grad, const Tensor& output, const int64_t dim, const ScalarType input_dtype, const Tensor& grad_input) {
  using namespace mps;

  if (output.numel() == 0) {
    return;
  }
  const auto axis = maybe_wrap_dim(dim, output.dim());

  @autoreleasepool {
    const auto key = "softmax_backward_mps_out" + getTensorsStringKey({grad, output}) + ":" + std::to_string(axis);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryGradCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto gradOutput = mpsGraphRankedPlaceHolder(mpsGraph, grad);
      auto probability = mpsGraphRankedPlaceHolder(mpsGraph, output);
      auto weighted = [mpsGraph multiplicationWithPrimaryTensor:gradOutput secondaryTensor:probability name:nil];
      auto total = [mpsGraph reductionSumWithTensor:weighted axis:axis name:nil];
      auto centred = [mpsGraph subtractionWithPrimaryTensor:gradOutput secondaryTensor:total name:nil];
      newCachedGraph->gradOutputTensor_ = gradOutput;
      newCachedGraph->outputTensor_ = probability;
      newCachedGraph->gradInputTensor_ = [mpsGraph multiplicationWithPrimaryTensor:centred
                                                                   secondaryTensor:probability
                                                                              name:nil];
    });

    auto gradPlaceholder = Placeholder(cachedGraph->gradOutputTensor_, grad);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor_, output);
    auto resultPlaceholder = Placeholder(cachedGraph->gradInputTensor_, grad_input);
    auto feeds = dictionaryFromPlaceholders(gradPlaceholder, outputPlaceholder);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, resultPlaceholder);
  }
}

} // namespace at::native
