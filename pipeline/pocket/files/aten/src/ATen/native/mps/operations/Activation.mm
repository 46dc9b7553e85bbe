#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/threshold_backward_native.h>
#include <ATen/ops/threshold_native.h>
#endif

namespace at::native {

TORCH_IMPL_FUNC(threshold_out_mps)
(const Tensor& self, const Scalar& threshold, const Scalar& value, const Tensor& result) {
  using namespace mps;
  if (result.numel() == 0) {
    return;
  }

  @autoreleasepool {
    const auto key = "threshold_out_mps" + getTensorsStringKey({self}) + ":" + std::to_string(threshold.toDouble()) +
        ":" + std::to_string(value.toDouble());
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto bound = [mpsGraph constantWithScalar:threshold.toDouble() dataType:getMPSDataType(self)];
      auto replacement = [mpsGraph constantWithScalar:value.toDouble() dataType:getMPSDataType(self)];
      auto passes = [mpsGraph greaterThanWithPrimaryTensor:input secondaryTensor:bound name:nil];

      newCachedGraph->inputTensor_ = input;
      newCachedGraph->outputTensor_ = [mpsGraph selectWithPredicateTensor:passes
                                                      truePredicateTensor:input
                                                     falsePredicateTensor:replacement
                                                                     name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto resultPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    runMPSGraph(
        getCurrentMPSStream(), cachedGraph->graph(), dictionaryFromPlaceholders(selfPlaceholder), resultPlaceholder);
  }
}

TORCH_IMPL_FUNC(threshold_backward_out_mps)
(const Tensor& grad, const Tensor& self, const Scalar& threshold, const Tensor& gradInput) {
  using namespace mps;
  if (gradInput.numel() == 0) {
    return;
  }

  @autoreleasepool {
    const auto key =
        "threshold_backward_out_mps" + getTensorsStringKey({self, grad}) + ":" + std::to_string(threshold.toDouble());
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryGradCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto gradOutput = mpsGraphRankedPlaceHolder(mpsGraph, grad);
      auto bound = [mpsGraph constantWithScalar:threshold.toDouble() dataType:getMPSDataType(self)];
      auto zero = [mpsGraph constantWithScalar:0.0 dataType:getMPSDataType(grad)];
      auto passes = [mpsGraph greaterThanWithPrimaryTensor:input secondaryTensor:bound name:nil];

      newCachedGraph->inputTensor_ = input;
      newCachedGraph->gradOutputTensor_ = gradOutput;
      newCachedGraph->gradInputTensor_ = [mpsGraph selectWithPredicateTensor:passes
                                                         truePredicateTensor:gradOutput
                                                        falsePredicateTensor:zero
                                                                        name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto gradPlaceholder = Placeholder(cachedGraph->gradOutputTensor_, grad);
    auto gradInputPlaceholder = Placeholder(cachedGraph->gradInputTensor_, gradInput);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                dictionaryFromPlaceholders(selfPlaceholder, gradPlaceholder),
                gradInputPlaceholder);
  }
}

} // namespace at::native
