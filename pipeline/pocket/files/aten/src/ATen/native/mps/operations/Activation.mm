#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/WrapDimUtils.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/_log_softmax_backward_data_native.h>
#include <ATen/ops/_log_softmax_native.h>
#include <ATen/ops/_prelu_kernel_backward_native.h>
#include <ATen/ops/_prelu_kernel_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/glu_backward_native.h>
#include <ATen/ops/glu_native.h>
#include <ATen/ops/hardtanh_backward_native.h>
#include <ATen/ops/log_sigmoid_backward_native.h>
#include <ATen/ops/log_sigmoid_forward_native.h>
#include <ATen/ops/mish_backward_native.h>
#include <ATen/ops/mish_native.h>
#include <ATen/ops/sigmoid_backward_native.h>
#include <ATen/ops/softplus_backward_native.h>
#include <ATen/ops/softplus_native.h>
#include <ATen/ops/tanh_backward_native.h>
#include <ATen/ops/threshold_backward_native.h>
#include <ATen/ops/threshold_native.h>
#endif

namespace at::native {
namespace mps {

typedef MPSGraphTensor* (^GradientBlock)(MPSGraph*, MPSGraphTensor*, MPSGraphTensor*);

// A gradient that needs the incoming one and a single tensor of the forward pass, be it its input or its output.
static void gradient_op(const Tensor& grad_output,
                        const Tensor& forward,
                        const Tensor& grad_input,
                        const std::string& op_name,
                        GradientBlock block) {
  if (grad_input.numel() == 0) {
    return;
  }

  @autoreleasepool {
    const auto key = op_name + getTensorsStringKey({grad_output, forward});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryGradCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->gradOutputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, grad_output);
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, forward);
      newCachedGraph->gradInputTensor_ =
          block(mpsGraph, newCachedGraph->gradOutputTensor_, newCachedGraph->inputTensor_);
    });

    auto gradOutputPlaceholder = Placeholder(cachedGraph->gradOutputTensor_, grad_output);
    auto forwardPlaceholder = Placeholder(cachedGraph->inputTensor_, forward);
    auto gradInputPlaceholder = Placeholder(cachedGraph->gradInputTensor_, grad_input);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                dictionaryFromPlaceholders(gradOutputPlaceholder, forwardPlaceholder),
                gradInputPlaceholder);
  }
}

// log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which does not overflow.
static MPSGraphTensor* softplusTensor(MPSGraph* mpsGraph, MPSGraphTensor* x) {
  auto zero = [mpsGraph constantWithScalar:0.0 dataType:x.dataType];
  auto decay = [mpsGraph negativeWithTensor:[mpsGraph absoluteWithTensor:x name:nil] name:nil];
  auto tail = log1p(mpsGraph, [mpsGraph exponentWithTensor:decay name:nil]);
  return [mpsGraph additionWithPrimaryTensor:[mpsGraph maximumWithPrimaryTensor:x secondaryTensor:zero name:nil]
                             secondaryTensor:tail
                                        name:@"softplus"];
}

// 1 - x
static MPSGraphTensor* complement(MPSGraph* mpsGraph, MPSGraphTensor* x) {
  auto one = [mpsGraph constantWithScalar:1.0 dataType:x.dataType];
  return [mpsGraph subtractionWithPrimaryTensor:one secondaryTensor:x name:nil];
}

} // namespace mps

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

TORCH_IMPL_FUNC(sigmoid_backward_out_mps)
(const Tensor& grad_output, const Tensor& output, const Tensor& grad_input) {
  mps::gradient_op(grad_output,
                   output,
                   grad_input,
                   "sigmoid_backward_out_mps",
                   ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* grad, MPSGraphTensor* y) {
                     auto slope = [mpsGraph multiplicationWithPrimaryTensor:y
                                                            secondaryTensor:mps::complement(mpsGraph, y)
                                                                       name:nil];
                     return [mpsGraph multiplicationWithPrimaryTensor:grad secondaryTensor:slope name:nil];
                   });
}

TORCH_IMPL_FUNC(tanh_backward_out_mps)
(const Tensor& grad_output, const Tensor& output, const Tensor& grad_input) {
  mps::gradient_op(grad_output,
                   output,
                   grad_input,
                   "tanh_backward_out_mps",
                   ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* grad, MPSGraphTensor* y) {
                     auto squared = [mpsGraph squareWithTensor:y name:nil];
                     return [mpsGraph multiplicationWithPrimaryTensor:grad
                                                      secondaryTensor:mps::complement(mpsGraph, squared)
                                                                 name:nil];
                   });
}

Tensor& hardtanh_backward_out_mps(const Tensor& grad_output,
                                  const Tensor& self,
                                  const Scalar& min_val,
                                  const Scalar& max_val,
                                  Tensor& grad_input) {
  grad_input.resize_as_(self);
  const auto low = min_val.toDouble();
  const auto high = max_val.toDouble();
  const auto key = "hardtanh_backward_out_mps:" + std::to_string(low) + ":" + std::to_string(high);
  mps::gradient_op(grad_output,
                   self,
                   grad_input,
                   key,
                   ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* grad, MPSGraphTensor* x) {
                     auto lowTensor = [mpsGraph constantWithScalar:low dataType:x.dataType];
                     auto highTensor = [mpsGraph constantWithScalar:high dataType:x.dataType];
                     auto zero = [mpsGraph constantWithScalar:0.0 dataType:grad.dataType];
                     auto above = [mpsGraph greaterThanWithPrimaryTensor:x secondaryTensor:lowTensor name:nil];
                     auto below = [mpsGraph lessThanWithPrimaryTensor:x secondaryTensor:highTensor name:nil];
                     return [mpsGraph selectWithPredicateTensor:[mpsGraph logicalANDWithPrimaryTensor:above
                                                                                      secondaryTensor:below
                                                                                                 name:nil]
                                            truePredicateTensor:grad
                                           falsePredicateTensor:zero
                                                           name:nil];
                   });
  return grad_input;
}

Tensor hardtanh_backward_mps(const Tensor& grad_output,
                             const Tensor& self,
                             const Scalar& min_val,
                             const Scalar& max_val) {
  auto grad_input = at::empty_like(grad_output, MemoryFormat::Contiguous);
  return hardtanh_backward_out_mps(grad_output, self, min_val, max_val, grad_input);
}

TORCH_IMPL_FUNC(mish_out_mps)(const Tensor& self, const Tensor& result) {
  using namespace mps;
  TORCH_CHECK(self.is_mps());
  if (result.numel() == 0) {
    return;
  }

  @autoreleasepool {
    const auto key = "mish_out_mps:" + getTensorsStringKey({self});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto gate = [mpsGraph tanhWithTensor:softplusTensor(mpsGraph, x) name:nil];
      newCachedGraph->inputTensor_ = x;
      newCachedGraph->outputTensor_ = [mpsGraph multiplicationWithPrimaryTensor:x secondaryTensor:gate name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto resultPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    runMPSGraph(
        getCurrentMPSStream(), cachedGraph->graph(), dictionaryFromPlaceholders(selfPlaceholder), resultPlaceholder);
  }
}

Tensor mish_backward_mps(const Tensor& grad_output, const Tensor& self) {
  auto grad_input = at::empty_like(self, self.suggest_memory_format());
  // With t = tanh(softplus(x)): t + x sigmoid(x) (1 - t^2).
  mps::gradient_op(grad_output,
                   self,
                   grad_input,
                   "mish_backward_mps",
                   ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* grad, MPSGraphTensor* x) {
                     auto t = [mpsGraph tanhWithTensor:mps::softplusTensor(mpsGraph, x) name:nil];
                     auto swish = [mpsGraph multiplicationWithPrimaryTensor:x
                                                            secondaryTensor:[mpsGraph sigmoidWithTensor:x name:nil]
                                                                       name:nil];
                     auto bend = mps::complement(mpsGraph, [mpsGraph squareWithTensor:t name:nil]);
                     auto slope = [mpsGraph additionWithPrimaryTensor:t
                                                      secondaryTensor:[mpsGraph multiplicationWithPrimaryTensor:swish
                                                                                                secondaryTensor:bend
                                                                                                           name:nil]
                                                                 name:nil];
                     return [mpsGraph multiplicationWithPrimaryTensor:grad secondaryTensor:slope name:nil];
                   });
  return grad_input;
}

TORCH_IMPL_FUNC(softplus_out_mps)
(const Tensor& self, const Scalar& beta, const Scalar& threshold, const Tensor& result) {
  using namespace mps;
  struct CachedGraph : public MPSCachedGraph {
    CachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *inputTensor_ = nil, *outputTensor_ = nil;
    MPSGraphTensor *betaTensor_ = nil, *thresholdTensor_ = nil;
  };
  TORCH_CHECK(self.scalar_type() != ScalarType::Long, "softplus is not implemented for int64 on MPS");
  if (result.numel() == 0) {
    return;
  }

  auto stream = getCurrentMPSStream();
  auto betaScalar = getMPSScalar(beta, ScalarType::Float);
  auto thresholdScalar = getMPSScalar(threshold, ScalarType::Float);

  @autoreleasepool {
    const auto key = "softplus_out_mps:" + getTensorsStringKey({self});
    auto cachedGraph = LookUpOrCreateCachedGraph<CachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto betaTensor = mpsGraphScalarPlaceHolder(mpsGraph, MPSDataTypeFloat32);
      auto thresholdTensor = mpsGraphScalarPlaceHolder(mpsGraph, MPSDataTypeFloat32);
      auto scaled = [mpsGraph multiplicationWithPrimaryTensor:castMPSTensor(mpsGraph, x, MPSDataTypeFloat32)
                                              secondaryTensor:betaTensor
                                                         name:nil];
      auto curve = [mpsGraph divisionWithPrimaryTensor:softplusTensor(mpsGraph, scaled)
                                       secondaryTensor:betaTensor
                                                  name:nil];
      auto linear = [mpsGraph greaterThanWithPrimaryTensor:scaled secondaryTensor:thresholdTensor name:nil];

      newCachedGraph->inputTensor_ = x;
      newCachedGraph->betaTensor_ = betaTensor;
      newCachedGraph->thresholdTensor_ = thresholdTensor;
      newCachedGraph->outputTensor_ =
          [mpsGraph selectWithPredicateTensor:linear
                          truePredicateTensor:x
                         falsePredicateTensor:castMPSTensor(mpsGraph, curve, self.scalar_type())
                                         name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto resultPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    NSDictionary* feeds = @{
      selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData(),
      cachedGraph->betaTensor_ : getMPSGraphTensorFromScalar(stream, betaScalar),
      cachedGraph->thresholdTensor_ : getMPSGraphTensorFromScalar(stream, thresholdScalar),
    };
    runMPSGraph(stream, cachedGraph->graph(), feeds, resultPlaceholder);
  }
}

TORCH_IMPL_FUNC(softplus_backward_out_mps)
(const Tensor& grad_output, const Tensor& self, const Scalar& beta, const Scalar& threshold, const Tensor& grad_input) {
  using namespace mps;
  struct CachedGraph : public MPSCachedGraph {
    CachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *gradOutputTensor_ = nil, *inputTensor_ = nil, *gradInputTensor_ = nil;
    MPSGraphTensor *betaTensor_ = nil, *thresholdTensor_ = nil;
  };
  if (grad_input.numel() == 0) {
    return;
  }

  auto stream = getCurrentMPSStream();
  auto betaScalar = getMPSScalar(beta, ScalarType::Float);
  auto thresholdScalar = getMPSScalar(threshold, ScalarType::Float);

  @autoreleasepool {
    const auto key = "softplus_backward_out_mps:" + getTensorsStringKey({grad_output, self});
    auto cachedGraph = LookUpOrCreateCachedGraph<CachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto grad = mpsGraphRankedPlaceHolder(mpsGraph, grad_output);
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto betaTensor = mpsGraphScalarPlaceHolder(mpsGraph, MPSDataTypeFloat32);
      auto thresholdTensor = mpsGraphScalarPlaceHolder(mpsGraph, MPSDataTypeFloat32);
      auto scaled = [mpsGraph multiplicationWithPrimaryTensor:castMPSTensor(mpsGraph, x, MPSDataTypeFloat32)
                                              secondaryTensor:betaTensor
                                                         name:nil];
      auto slope = castMPSTensor(mpsGraph, [mpsGraph sigmoidWithTensor:scaled name:nil], self.scalar_type());
      auto linear = [mpsGraph greaterThanWithPrimaryTensor:scaled secondaryTensor:thresholdTensor name:nil];

      newCachedGraph->gradOutputTensor_ = grad;
      newCachedGraph->inputTensor_ = x;
      newCachedGraph->betaTensor_ = betaTensor;
      newCachedGraph->thresholdTensor_ = thresholdTensor;
      newCachedGraph->gradInputTensor_ = [mpsGraph
          selectWithPredicateTensor:linear
                truePredicateTensor:grad
               falsePredicateTensor:[mpsGraph multiplicationWithPrimaryTensor:grad secondaryTensor:slope name:nil]
                               name:nil];
    });

    auto gradOutputPlaceholder = Placeholder(cachedGraph->gradOutputTensor_, grad_output);
    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto gradInputPlaceholder = Placeholder(cachedGraph->gradInputTensor_, grad_input);
    NSDictionary* feeds = @{
      gradOutputPlaceholder.getMPSGraphTensor() : gradOutputPlaceholder.getMPSGraphTensorData(),
      selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData(),
      cachedGraph->betaTensor_ : getMPSGraphTensorFromScalar(stream, betaScalar),
      cachedGraph->thresholdTensor_ : getMPSGraphTensorFromScalar(stream, thresholdScalar),
    };
    runMPSGraph(stream, cachedGraph->graph(), feeds, gradInputPlaceholder);
  }
}

Tensor prelu_mps(const Tensor& self, const Tensor& weight) {
  using namespace mps;
  auto result = at::empty_like(self, self.suggest_memory_format());
  if (result.numel() == 0) {
    return result;
  }

  @autoreleasepool {
    const auto key = "prelu_mps:" + getTensorsStringKey({self, weight});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSBinaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto slope = mpsGraphRankedPlaceHolder(mpsGraph, weight);
      auto zero = [mpsGraph constantWithScalar:0.0 dataType:x.dataType];
      auto positive = [mpsGraph maximumWithPrimaryTensor:x secondaryTensor:zero name:nil];
      auto negative = [mpsGraph minimumWithPrimaryTensor:x secondaryTensor:zero name:nil];
      newCachedGraph->inputTensor_ = x;
      newCachedGraph->otherTensor_ = slope;
      newCachedGraph->outputTensor_ = [mpsGraph
          additionWithPrimaryTensor:positive
                    secondaryTensor:[mpsGraph multiplicationWithPrimaryTensor:slope secondaryTensor:negative name:nil]
                               name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto weightPlaceholder = Placeholder(cachedGraph->otherTensor_, weight);
    auto resultPlaceholder = Placeholder(cachedGraph->outputTensor_, result);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                dictionaryFromPlaceholders(selfPlaceholder, weightPlaceholder),
                resultPlaceholder);
  }
  return result;
}

std::tuple<Tensor, Tensor> prelu_backward_mps(const Tensor& grad_output, const Tensor& self, const Tensor& weight) {
  using namespace mps;
  struct CachedGraph : public MPSCachedGraph {
    CachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *gradOutputTensor_ = nil, *inputTensor_ = nil, *weightTensor_ = nil;
    MPSGraphTensor *gradInputTensor_ = nil, *gradWeightTensor_ = nil;
  };
  auto grad_input = at::empty_like(self, self.suggest_memory_format());
  // Not summed yet: autograd reduces it to the shape of the weight.
  auto grad_weight = at::empty_like(self, at::MemoryFormat::Contiguous);
  if (grad_input.numel() == 0) {
    return {grad_input, grad_weight};
  }

  @autoreleasepool {
    const auto key = "prelu_backward_mps:" + getTensorsStringKey({grad_output, self, weight});
    auto cachedGraph = LookUpOrCreateCachedGraph<CachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto grad = mpsGraphRankedPlaceHolder(mpsGraph, grad_output);
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto slope = mpsGraphRankedPlaceHolder(mpsGraph, weight);
      auto zero = [mpsGraph constantWithScalar:0.0 dataType:x.dataType];
      auto positive = [mpsGraph greaterThanWithPrimaryTensor:x secondaryTensor:zero name:nil];

      newCachedGraph->gradOutputTensor_ = grad;
      newCachedGraph->inputTensor_ = x;
      newCachedGraph->weightTensor_ = slope;
      newCachedGraph->gradInputTensor_ = [mpsGraph
          selectWithPredicateTensor:positive
                truePredicateTensor:grad
               falsePredicateTensor:[mpsGraph multiplicationWithPrimaryTensor:grad secondaryTensor:slope name:nil]
                               name:nil];
      newCachedGraph->gradWeightTensor_ =
          [mpsGraph selectWithPredicateTensor:positive
                          truePredicateTensor:zero
                         falsePredicateTensor:[mpsGraph multiplicationWithPrimaryTensor:grad secondaryTensor:x name:nil]
                                         name:nil];
    });

    auto gradOutputPlaceholder = Placeholder(cachedGraph->gradOutputTensor_, grad_output);
    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto weightPlaceholder = Placeholder(cachedGraph->weightTensor_, weight);
    auto gradInputPlaceholder = Placeholder(cachedGraph->gradInputTensor_, grad_input);
    auto gradWeightPlaceholder = Placeholder(cachedGraph->gradWeightTensor_, grad_weight);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                dictionaryFromPlaceholders(gradOutputPlaceholder, selfPlaceholder, weightPlaceholder),
                dictionaryFromPlaceholders(gradInputPlaceholder, gradWeightPlaceholder));
  }
  return {grad_input, grad_weight};
}

TORCH_IMPL_FUNC(glu_out_mps)(const Tensor& self, const int64_t dim, const Tensor& output) {
  using namespace mps;
  if (output.numel() == 0) {
    return;
  }
  const auto axis = maybe_wrap_dim(dim, self.dim());

  @autoreleasepool {
    const auto key = "glu_out_mps" + getTensorsStringKey({self}) + ":" + std::to_string(axis);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      NSArray<MPSGraphTensor*>* halves = [mpsGraph splitTensor:input numSplits:2 axis:axis name:nil];
      newCachedGraph->inputTensor_ = input;
      newCachedGraph->outputTensor_ = [mpsGraph multiplicationWithPrimaryTensor:halves[0]
                                                                secondaryTensor:[mpsGraph sigmoidWithTensor:halves[1]
                                                                                                       name:nil]
                                                                           name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor_, output);
    runMPSGraph(
        getCurrentMPSStream(), cachedGraph->graph(), dictionaryFromPlaceholders(selfPlaceholder), outputPlaceholder);
  }
}

Tensor& glu_backward_mps_out(const Tensor& grad_output, const Tensor& self, const int64_t dim, Tensor& grad_input) {
  TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const auto axis = maybe_wrap_dim(dim, self.dim());
  const auto size = self.size(axis);
  TORCH_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", axis, " is size ", size);
  grad_input.resize_as_(self);

  mps::gradient_op(grad_output,
                   self,
                   grad_input,
                   "glu_backward_mps_out:" + std::to_string(axis),
                   ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* grad, MPSGraphTensor* input) {
                     NSArray<MPSGraphTensor*>* halves = [mpsGraph splitTensor:input numSplits:2 axis:axis name:nil];
                     auto gate = [mpsGraph sigmoidWithTensor:halves[1] name:nil];
                     auto gradFirst = [mpsGraph multiplicationWithPrimaryTensor:grad secondaryTensor:gate name:nil];
                     auto gateSlope = [mpsGraph multiplicationWithPrimaryTensor:halves[0]
                                                                secondaryTensor:mps::complement(mpsGraph, gate)
                                                                           name:nil];
                     auto gradSecond = [mpsGraph multiplicationWithPrimaryTensor:gradFirst
                                                                 secondaryTensor:gateSlope
                                                                            name:nil];
                     return [mpsGraph concatTensor:gradFirst withTensor:gradSecond dimension:axis name:nil];
                   });
  return grad_input;
}

Tensor glu_backward_mps(const Tensor& grad_output, const Tensor& self, const int64_t dim) {
  auto grad_input = at::empty_like(self, self.suggest_memory_format());
  return glu_backward_mps_out(grad_output, self, dim, grad_input);
}

std::tuple<Tensor&, Tensor&> log_sigmoid_forward_out_mps(const Tensor& self, Tensor& output, Tensor& buffer) {
  using namespace mps;
  output.resize_as_(self);
  // The buffer is an optimization of the CPU kernel; MPS computes it again in the backward pass.
  buffer.resize_({0});
  if (output.numel() == 0) {
    return std::forward_as_tuple(output, buffer);
  }

  @autoreleasepool {
    const auto key = "log_sigmoid_forward_out_mps:" + getTensorsStringKey({self});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto flipped = [mpsGraph negativeWithTensor:x name:nil];
      newCachedGraph->inputTensor_ = x;
      newCachedGraph->outputTensor_ = [mpsGraph negativeWithTensor:softplusTensor(mpsGraph, flipped) name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor_, output);
    runMPSGraph(
        getCurrentMPSStream(), cachedGraph->graph(), dictionaryFromPlaceholders(selfPlaceholder), outputPlaceholder);
  }
  return std::forward_as_tuple(output, buffer);
}

std::tuple<Tensor, Tensor> log_sigmoid_forward_mps(const Tensor& self) {
  auto output = at::empty_like(self);
  auto buffer = at::empty({0}, self.options());
  log_sigmoid_forward_out_mps(self, output, buffer);
  return std::make_tuple(output, buffer);
}

Tensor& log_sigmoid_backward_mps_out(const Tensor& grad_output,
                                     const Tensor& self,
                                     const Tensor& buffer,
                                     Tensor& grad_input) {
  grad_input.resize_as_(self);
  mps::gradient_op(grad_output,
                   self,
                   grad_input,
                   "log_sigmoid_backward_mps_out",
                   ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* grad, MPSGraphTensor* x) {
                     auto flipped = [mpsGraph negativeWithTensor:x name:nil];
                     auto slope = [mpsGraph sigmoidWithTensor:flipped name:nil];
                     return [mpsGraph multiplicationWithPrimaryTensor:grad secondaryTensor:slope name:nil];
                   });
  return grad_input;
}

Tensor log_sigmoid_backward_mps(const Tensor& grad_output, const Tensor& self, const Tensor& buffer) {
  auto grad_input = at::empty_like(self);
  return log_sigmoid_backward_mps_out(grad_output, self, buffer, grad_input);
}

TORCH_IMPL_FUNC(log_softmax_mps_out)
(const Tensor& self, const int64_t dim, const bool half_to_float, const Tensor& out) {
  using namespace mps;
  TORCH_CHECK(!half_to_float, "log_softmax with half to float conversion is not supported on MPS");
  TORCH_CHECK(c10::isFloatingType(self.scalar_type()), "log_softmax is only supported for floating types on MPS");
  if (out.numel() == 0) {
    return;
  }

  @autoreleasepool {
    const auto key = "log_softmax_mps_out" + getTensorsStringKey({self}) + ":" + std::to_string(dim);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto largest = [mpsGraph reductionMaximumWithTensor:x axis:dim name:nil];
      auto shifted = [mpsGraph subtractionWithPrimaryTensor:x secondaryTensor:largest name:nil];
      auto total = [mpsGraph reductionSumWithTensor:[mpsGraph exponentWithTensor:shifted name:nil] axis:dim name:nil];
      newCachedGraph->inputTensor_ = x;
      newCachedGraph->outputTensor_ = [mpsGraph subtractionWithPrimaryTensor:shifted
                                                             secondaryTensor:[mpsGraph logarithmWithTensor:total
                                                                                                      name:nil]
                                                                        name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto outPlaceholder = Placeholder(cachedGraph->outputTensor_, out);
    runMPSGraph(
        getCurrentMPSStream(), cachedGraph->graph(), dictionaryFromPlaceholders(selfPlaceholder), outPlaceholder);
  }
}

TORCH_IMPL_FUNC(log_softmax_backward_mps_out)
(const Tensor& grad_output,
 const Tensor& output,
 const int64_t dim,
 const ScalarType input_dtype,
 const Tensor& grad_input) {
  mps::gradient_op(grad_output,
                   output,
                   grad_input,
                   "log_softmax_backward_mps_out:" + std::to_string(dim),
                   ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* grad, MPSGraphTensor* y) {
                     auto probability = [mpsGraph exponentWithTensor:y name:nil];
                     auto total = [mpsGraph reductionSumWithTensor:grad axis:dim name:nil];
                     auto share = [mpsGraph multiplicationWithPrimaryTensor:probability secondaryTensor:total name:nil];
                     return [mpsGraph subtractionWithPrimaryTensor:grad secondaryTensor:share name:nil];
                   });
}

} // namespace at::native
