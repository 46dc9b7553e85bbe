#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/binary_cross_entropy_backward_native.h>
#include <ATen/ops/binary_cross_entropy_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/huber_loss_backward_native.h>
#include <ATen/ops/huber_loss_native.h>
#include <ATen/ops/mse_loss_backward_native.h>
#include <ATen/ops/mse_loss_native.h>
#include <ATen/ops/nll_loss2d_backward_native.h>
#include <ATen/ops/nll_loss2d_forward_native.h>
#include <ATen/ops/nll_loss_backward_native.h>
#include <ATen/ops/nll_loss_forward_native.h>
#include <ATen/ops/smooth_l1_loss_backward_native.h>
#include <ATen/ops/smooth_l1_loss_native.h>
#endif

namespace at::native {
namespace mps {

struct LossCachedGraph : public MPSCachedGraph {
  LossCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
  MPSGraphTensor *inputTensor_ = nil, *targetTensor_ = nil, *weightTensor_ = nil;
  MPSGraphTensor *gradOutputTensor_ = nil, *totalWeightTensor_ = nil;
  MPSGraphTensor* resultTensor_ = nil;
};

// From the difference of input and target to the loss of each element, or to its slope.
typedef MPSGraphTensor* (^DifferenceBlock)(MPSGraph*, MPSGraphTensor*);

static std::string reductionKey(const int64_t reduction) {
  switch (reduction) {
    case Reduction::Mean:
      return ":mean";
    case Reduction::Sum:
      return ":sum";
    default:
      return ":none";
  }
}

static NSArray<NSNumber*>* allAxes(const Tensor& tensor) {
  NSMutableArray<NSNumber*>* axes = [NSMutableArray<NSNumber*> arrayWithCapacity:tensor.dim()];
  for (const auto dim : c10::irange(tensor.dim())) {
    [axes addObject:@(dim)];
  }
  return axes;
}

static MPSGraphTensor* reduceLoss(MPSGraph* mpsGraph,
                                  MPSGraphTensor* loss,
                                  const int64_t reduction,
                                  const Tensor& input) {
  switch (reduction) {
    case Reduction::Mean:
      return [mpsGraph meanOfTensor:loss axes:allAxes(input) name:@"mean"];
    case Reduction::Sum:
      return [mpsGraph reductionSumWithTensor:loss axes:allAxes(input) name:@"sum"];
    default:
      return loss;
  }
}

// A loss of input - target alone: mse, smooth l1 and huber.
static void difference_loss(const Tensor& input,
                            const Tensor& target,
                            const int64_t reduction,
                            const Tensor& output,
                            const std::string& op_name,
                            DifferenceBlock block) {
  TORCH_CHECK(target.is_same_size(input), op_name, ": target and input tensors must have identical shapes");
  if (input.numel() == 0) {
    output.fill_(reduction == Reduction::Mean ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
    return;
  }

  @autoreleasepool {
    const auto key = op_name + reductionKey(reduction) + getTensorsStringKey({input, target});
    auto cachedGraph = LookUpOrCreateCachedGraph<LossCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, input);
      newCachedGraph->targetTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, target);
      auto difference = [mpsGraph subtractionWithPrimaryTensor:newCachedGraph->inputTensor_
                                               secondaryTensor:newCachedGraph->targetTensor_
                                                          name:nil];
      newCachedGraph->resultTensor_ = reduceLoss(mpsGraph, block(mpsGraph, difference), reduction, input);
    });

    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, input);
    auto targetPlaceholder = Placeholder(cachedGraph->targetTensor_, target);
    auto outputPlaceholder = Placeholder(cachedGraph->resultTensor_, output);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                dictionaryFromPlaceholders(inputPlaceholder, targetPlaceholder),
                outputPlaceholder);
  }
}

static void difference_loss_backward(const Tensor& grad_output,
                                     const Tensor& input,
                                     const Tensor& target,
                                     const int64_t reduction,
                                     const Tensor& grad_input,
                                     const std::string& op_name,
                                     DifferenceBlock block) {
  if (grad_input.numel() == 0) {
    return;
  }
  const double scale = reduction == Reduction::Mean ? 1.0 / static_cast<double>(input.numel()) : 1.0;

  @autoreleasepool {
    const auto key = op_name + reductionKey(reduction) + getTensorsStringKey({grad_output, input, target});
    auto cachedGraph = LookUpOrCreateCachedGraph<LossCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->gradOutputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, grad_output);
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, input);
      newCachedGraph->targetTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, target);
      auto difference = [mpsGraph subtractionWithPrimaryTensor:newCachedGraph->inputTensor_
                                               secondaryTensor:newCachedGraph->targetTensor_
                                                          name:nil];
      auto slope = [mpsGraph multiplicationWithPrimaryTensor:block(mpsGraph, difference)
                                             secondaryTensor:[mpsGraph constantWithScalar:scale
                                                                                 dataType:getMPSScalarType(input)]
                                                        name:nil];
      newCachedGraph->resultTensor_ = [mpsGraph multiplicationWithPrimaryTensor:slope
                                                                secondaryTensor:newCachedGraph->gradOutputTensor_
                                                                           name:nil];
    });

    auto gradOutputPlaceholder = Placeholder(cachedGraph->gradOutputTensor_, grad_output);
    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, input);
    auto targetPlaceholder = Placeholder(cachedGraph->targetTensor_, target);
    auto gradInputPlaceholder = Placeholder(cachedGraph->resultTensor_, grad_input);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                dictionaryFromPlaceholders(gradOutputPlaceholder, inputPlaceholder, targetPlaceholder),
                gradInputPlaceholder);
  }
}

// `bend` where |d| lies inside the knee, `line` outside: what smooth l1 and huber have in common.
static MPSGraphTensor* kneeSelect(MPSGraph* mpsGraph,
                                  MPSGraphTensor* magnitude,
                                  const double knee,
                                  MPSGraphTensor* bend,
                                  MPSGraphTensor* line) {
  auto kneeTensor = [mpsGraph constantWithScalar:knee dataType:magnitude.dataType];
  auto inside = [mpsGraph lessThanWithPrimaryTensor:magnitude secondaryTensor:kneeTensor name:nil];
  return [mpsGraph selectWithPredicateTensor:inside truePredicateTensor:bend falsePredicateTensor:line name:nil];
}

static MPSGraphTensor* scaledBy(MPSGraph* mpsGraph, MPSGraphTensor* tensor, const double factor) {
  return [mpsGraph multiplicationWithPrimaryTensor:tensor
                                   secondaryTensor:[mpsGraph constantWithScalar:factor dataType:tensor.dataType]
                                              name:nil];
}

static MPSGraphTensor* shiftedBy(MPSGraph* mpsGraph, MPSGraphTensor* tensor, const double offset) {
  return [mpsGraph additionWithPrimaryTensor:tensor
                             secondaryTensor:[mpsGraph constantWithScalar:offset dataType:tensor.dataType]
                                        name:nil];
}

namespace BCELoss {

// log(x), held above -100 so that a certain and wrong prediction costs a finite amount.
static MPSGraphTensor* boundedLog(MPSGraph* mpsGraph, MPSGraphTensor* x) {
  auto bound = [mpsGraph constantWithScalar:-100.0 dataType:x.dataType];
  return [mpsGraph maximumWithPrimaryTensor:[mpsGraph logarithmWithTensor:x name:nil] secondaryTensor:bound name:nil];
}

static MPSGraphTensor* oneMinus(MPSGraph* mpsGraph, MPSGraphTensor* x) {
  auto one = [mpsGraph constantWithScalar:1.0 dataType:x.dataType];
  return [mpsGraph subtractionWithPrimaryTensor:one secondaryTensor:x name:nil];
}

static MPSGraphTensor* forward(MPSGraph* mpsGraph, MPSGraphTensor* x, MPSGraphTensor* target) {
  auto hit = [mpsGraph multiplicationWithPrimaryTensor:target secondaryTensor:boundedLog(mpsGraph, x) name:nil];
  auto miss = [mpsGraph multiplicationWithPrimaryTensor:oneMinus(mpsGraph, target)
                                        secondaryTensor:boundedLog(mpsGraph, oneMinus(mpsGraph, x))
                                                   name:nil];
  auto likelihood = [mpsGraph additionWithPrimaryTensor:hit secondaryTensor:miss name:nil];
  return [mpsGraph negativeWithTensor:likelihood name:nil];
}

static MPSGraphTensor* backward(MPSGraph* mpsGraph, MPSGraphTensor* x, MPSGraphTensor* target) {
  auto floor = [mpsGraph constantWithScalar:1e-12 dataType:x.dataType];
  auto variance = [mpsGraph multiplicationWithPrimaryTensor:x secondaryTensor:oneMinus(mpsGraph, x) name:nil];
  auto difference = [mpsGraph subtractionWithPrimaryTensor:x secondaryTensor:target name:nil];
  return [mpsGraph divisionWithPrimaryTensor:difference
                             secondaryTensor:[mpsGraph maximumWithPrimaryTensor:variance secondaryTensor:floor name:nil]
                                        name:nil];
}

// Forward without `grad_output`, backward with it.
static void run(const Tensor& input,
                const Tensor& target,
                const std::optional<Tensor>& weight_opt,
                const int64_t reduction,
                const Tensor& result,
                const std::optional<Tensor>& grad_output,
                const std::string& op_name) {
  TORCH_CHECK(target.is_same_size(input), op_name, ": target and input tensors must have identical shapes");
  const auto weight = weight_opt.value_or(Tensor());
  if (result.numel() == 0) {
    return;
  }

  @autoreleasepool {
    const auto key = op_name + reductionKey(reduction) +
        getTensorsStringKey({grad_output.value_or(Tensor()), input, target, weight});
    auto cachedGraph = LookUpOrCreateCachedGraph<LossCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, input);
      auto t = mpsGraphRankedPlaceHolder(mpsGraph, target);
      auto value = grad_output ? backward(mpsGraph, x, t) : forward(mpsGraph, x, t);
      newCachedGraph->inputTensor_ = x;
      newCachedGraph->targetTensor_ = t;
      if (weight.defined()) {
        newCachedGraph->weightTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, weight);
        value = [mpsGraph multiplicationWithPrimaryTensor:value secondaryTensor:newCachedGraph->weightTensor_ name:nil];
      }
      if (!grad_output) {
        newCachedGraph->resultTensor_ = reduceLoss(mpsGraph, value, reduction, input);
        return;
      }
      newCachedGraph->gradOutputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, *grad_output);
      const double scale = reduction == Reduction::Mean ? 1.0 / static_cast<double>(input.numel()) : 1.0;
      newCachedGraph->resultTensor_ = [mpsGraph multiplicationWithPrimaryTensor:scaledBy(mpsGraph, value, scale)
                                                                secondaryTensor:newCachedGraph->gradOutputTensor_
                                                                           name:nil];
    });

    NSMutableDictionary* feeds = [[NSMutableDictionary new] autorelease];
    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, input);
    auto targetPlaceholder = Placeholder(cachedGraph->targetTensor_, target);
    feeds[inputPlaceholder.getMPSGraphTensor()] = inputPlaceholder.getMPSGraphTensorData();
    feeds[targetPlaceholder.getMPSGraphTensor()] = targetPlaceholder.getMPSGraphTensorData();
    Placeholder weightPlaceholder, gradOutputPlaceholder;
    if (weight.defined()) {
      weightPlaceholder = Placeholder(cachedGraph->weightTensor_, weight);
      feeds[weightPlaceholder.getMPSGraphTensor()] = weightPlaceholder.getMPSGraphTensorData();
    }
    if (grad_output) {
      gradOutputPlaceholder = Placeholder(cachedGraph->gradOutputTensor_, *grad_output);
      feeds[gradOutputPlaceholder.getMPSGraphTensor()] = gradOutputPlaceholder.getMPSGraphTensorData();
    }
    auto resultPlaceholder = Placeholder(cachedGraph->resultTensor_, result);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, resultPlaceholder);
  }
}

} // namespace BCELoss

// Classes lie along dim 1, or along dim 0 where there is no batch.
static int64_t classAxis(const Tensor& input) {
  return input.dim() == 1 ? 0 : 1;
}

static MPSShape* classShape(const Tensor& input, const Tensor& weight) {
  NSMutableArray<NSNumber*>* shape = [NSMutableArray<NSNumber*> arrayWithCapacity:input.dim()];
  for (const auto dim : c10::irange(input.dim())) {
    [shape addObject:dim == classAxis(input) ? @(weight.numel()) : @1];
  }
  return shape;
}

// The weight of each target: that of its class, and zero where the target is to be ignored.
static MPSGraphTensor* targetWeight(MPSGraph* mpsGraph,
                                    LossCachedGraph* cachedGraph,
                                    MPSGraphTensor* index,
                                    const Tensor& input,
                                    const Tensor& weight,
                                    const int64_t ignore_index) {
  auto ignored = [mpsGraph constantWithScalar:static_cast<double>(ignore_index) dataType:index.dataType];
  auto counts = [mpsGraph notEqualWithPrimaryTensor:index secondaryTensor:ignored name:nil];
  auto mask = castMPSTensor(mpsGraph, counts, input.scalar_type());
  if (!weight.defined()) {
    return mask;
  }
  cachedGraph->weightTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, weight);
  auto column = [mpsGraph reshapeTensor:cachedGraph->weightTensor_ withShape:classShape(input, weight) name:nil];
  auto broadcast = [mpsGraph broadcastTensor:column toShape:getMPSShape(input) name:nil];
  auto own = [mpsGraph gatherAlongAxis:classAxis(input) withUpdatesTensor:broadcast indicesTensor:index name:nil];
  return [mpsGraph multiplicationWithPrimaryTensor:own secondaryTensor:mask name:nil];
}

// The targets as indices along the class axis. Ignored ones may be out of range, so they are clamped.
static MPSGraphTensor* targetIndex(MPSGraph* mpsGraph, MPSGraphTensor* target, const Tensor& input) {
  auto index = castMPSTensor(mpsGraph, target, ScalarType::Int);
  return [mpsGraph expandDimsOfTensor:index axis:classAxis(input) name:nil];
}

static MPSGraphTensor* inRange(MPSGraph* mpsGraph, MPSGraphTensor* index, const Tensor& input) {
  const auto last = static_cast<double>(input.size(classAxis(input)) - 1);
  return [mpsGraph clampWithTensor:index
                    minValueTensor:[mpsGraph constantWithScalar:0.0 dataType:index.dataType]
                    maxValueTensor:[mpsGraph constantWithScalar:last dataType:index.dataType]
                              name:nil];
}

static void nllnd_loss_forward_impl(const Tensor& output,
                                    const Tensor& total_weight,
                                    const Tensor& input,
                                    const Tensor& target,
                                    const Tensor& weight,
                                    const int64_t reduction,
                                    const int64_t ignore_index,
                                    const std::string& op_name) {
  if (input.numel() == 0) {
    output.fill_(reduction == Reduction::Mean ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
    total_weight.zero_();
    return;
  }

  @autoreleasepool {
    const auto key = op_name + reductionKey(reduction) + ":" + std::to_string(ignore_index) +
        getTensorsStringKey({input, target, weight});
    auto cachedGraph = LookUpOrCreateCachedGraph<LossCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, input);
      newCachedGraph->targetTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, target);
      auto index = targetIndex(mpsGraph, newCachedGraph->targetTensor_, input);
      auto ownWeight = targetWeight(mpsGraph, newCachedGraph, index, input, weight, ignore_index);
      auto picked = [mpsGraph gatherAlongAxis:classAxis(input)
                            withUpdatesTensor:newCachedGraph->inputTensor_
                                indicesTensor:inRange(mpsGraph, index, input)
                                         name:nil];
      auto loss = [mpsGraph negativeWithTensor:[mpsGraph multiplicationWithPrimaryTensor:picked
                                                                         secondaryTensor:ownWeight
                                                                                    name:nil]
                                          name:nil];
      auto total = [mpsGraph reductionSumWithTensor:ownWeight axes:allAxes(input) name:@"totalWeight"];
      newCachedGraph->totalWeightTensor_ = total;
      if (reduction == Reduction::None) {
        newCachedGraph->resultTensor_ = [mpsGraph squeezeTensor:loss axis:classAxis(input) name:nil];
        return;
      }
      auto sum = reduceLoss(mpsGraph, loss, Reduction::Sum, input);
      newCachedGraph->resultTensor_ =
          reduction == Reduction::Mean ? [mpsGraph divisionWithPrimaryTensor:sum secondaryTensor:total name:nil] : sum;
    });

    NSMutableDictionary* feeds = [[NSMutableDictionary new] autorelease];
    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, input);
    auto targetPlaceholder = Placeholder(cachedGraph->targetTensor_, target);
    feeds[inputPlaceholder.getMPSGraphTensor()] = inputPlaceholder.getMPSGraphTensorData();
    feeds[targetPlaceholder.getMPSGraphTensor()] = targetPlaceholder.getMPSGraphTensorData();
    Placeholder weightPlaceholder;
    if (weight.defined()) {
      weightPlaceholder = Placeholder(cachedGraph->weightTensor_, weight);
      feeds[weightPlaceholder.getMPSGraphTensor()] = weightPlaceholder.getMPSGraphTensorData();
    }
    auto outputPlaceholder = Placeholder(cachedGraph->resultTensor_, output);
    auto totalWeightPlaceholder = Placeholder(cachedGraph->totalWeightTensor_, total_weight);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                feeds,
                dictionaryFromPlaceholders(outputPlaceholder, totalWeightPlaceholder));
  }
}

static void nllnd_loss_backward_impl(const Tensor& grad_input,
                                     const Tensor& grad_output,
                                     const Tensor& input,
                                     const Tensor& target,
                                     const Tensor& weight,
                                     const int64_t reduction,
                                     const int64_t ignore_index,
                                     const Tensor& total_weight,
                                     const std::string& op_name) {
  if (grad_input.numel() == 0) {
    return;
  }

  @autoreleasepool {
    const auto key = op_name + reductionKey(reduction) + ":" + std::to_string(ignore_index) +
        getTensorsStringKey({grad_output, input, target, weight, total_weight});
    auto cachedGraph = LookUpOrCreateCachedGraph<LossCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->gradOutputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, grad_output);
      newCachedGraph->targetTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, target);
      newCachedGraph->totalWeightTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, total_weight);
      auto index = targetIndex(mpsGraph, newCachedGraph->targetTensor_, input);
      auto share = targetWeight(mpsGraph, newCachedGraph, index, input, weight, ignore_index);
      if (reduction == Reduction::Mean) {
        share = [mpsGraph divisionWithPrimaryTensor:share secondaryTensor:newCachedGraph->totalWeightTensor_ name:nil];
      }
      auto grad = newCachedGraph->gradOutputTensor_;
      if (reduction == Reduction::None) {
        grad = [mpsGraph expandDimsOfTensor:grad axis:classAxis(input) name:nil];
      }
      auto updates = [mpsGraph negativeWithTensor:[mpsGraph multiplicationWithPrimaryTensor:share
                                                                            secondaryTensor:grad
                                                                                       name:nil]
                                             name:nil];
      newCachedGraph->resultTensor_ = [mpsGraph scatterAlongAxis:static_cast<NSInteger>(classAxis(input))
                                               withUpdatesTensor:updates
                                                   indicesTensor:inRange(mpsGraph, index, input)
                                                           shape:getMPSShape(input)
                                                            mode:MPSGraphScatterModeAdd
                                                            name:nil];
    });

    NSMutableDictionary* feeds = [[NSMutableDictionary new] autorelease];
    auto gradOutputPlaceholder = Placeholder(cachedGraph->gradOutputTensor_, grad_output);
    auto targetPlaceholder = Placeholder(cachedGraph->targetTensor_, target);
    feeds[gradOutputPlaceholder.getMPSGraphTensor()] = gradOutputPlaceholder.getMPSGraphTensorData();
    feeds[targetPlaceholder.getMPSGraphTensor()] = targetPlaceholder.getMPSGraphTensorData();
    Placeholder weightPlaceholder, totalWeightPlaceholder;
    if (weight.defined()) {
      weightPlaceholder = Placeholder(cachedGraph->weightTensor_, weight);
      feeds[weightPlaceholder.getMPSGraphTensor()] = weightPlaceholder.getMPSGraphTensorData();
    }
    if (reduction == Reduction::Mean) {
      totalWeightPlaceholder = Placeholder(cachedGraph->totalWeightTensor_, total_weight);
      feeds[totalWeightPlaceholder.getMPSGraphTensor()] = totalWeightPlaceholder.getMPSGraphTensorData();
    }
    auto gradInputPlaceholder = Placeholder(cachedGraph->resultTensor_, grad_input);
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, gradInputPlaceholder);
  }
}

} // namespace mps

TORCH_IMPL_FUNC(mse_loss_out_mps)
(const Tensor& input, const Tensor& target, int64_t reduction, const Tensor& output) {
  mps::difference_loss(
      input, target, reduction, output, "mse_loss_out_mps", ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* d) {
        return [mpsGraph squareWithTensor:d name:nil];
      });
}

Tensor& mse_loss_backward_out_mps(const Tensor& grad_output,
                                  const Tensor& input,
                                  const Tensor& target,
                                  int64_t reduction,
                                  Tensor& grad_input) {
  grad_input.resize_(input.sizes());
  mps::difference_loss_backward(grad_output,
                                input,
                                target,
                                reduction,
                                grad_input,
                                "mse_loss_backward_out_mps",
                                ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* d) {
                                  return mps::scaledBy(mpsGraph, d, 2.0);
                                });
  return grad_input;
}

Tensor mse_loss_backward_mps(const Tensor& grad_output, const Tensor& input, const Tensor& target, int64_t reduction) {
  auto grad_input = at::empty_like(input, MemoryFormat::Contiguous);
  return mse_loss_backward_out_mps(grad_output, input, target, reduction, grad_input);
}

TORCH_IMPL_FUNC(smooth_l1_loss_out_mps)
(const Tensor& input, const Tensor& target, int64_t reduction, double beta, const Tensor& output) {
  TORCH_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  const auto key = "smooth_l1_loss_out_mps:" + std::to_string(beta);
  mps::difference_loss(input, target, reduction, output, key, ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* d) {
    auto magnitude = [mpsGraph absoluteWithTensor:d name:nil];
    if (beta == 0) {
      return magnitude;
    }
    auto bend = mps::scaledBy(mpsGraph, [mpsGraph squareWithTensor:d name:nil], 0.5 / beta);
    auto line = mps::shiftedBy(mpsGraph, magnitude, -0.5 * beta);
    return mps::kneeSelect(mpsGraph, magnitude, beta, bend, line);
  });
}

Tensor& smooth_l1_loss_backward_out_mps(const Tensor& grad_output,
                                        const Tensor& input,
                                        const Tensor& target,
                                        int64_t reduction,
                                        double beta,
                                        Tensor& grad_input) {
  grad_input.resize_(input.sizes());
  const auto key = "smooth_l1_loss_backward_out_mps:" + std::to_string(beta);
  mps::difference_loss_backward(
      grad_output, input, target, reduction, grad_input, key, ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* d) {
        MPSGraphTensor* line = [mpsGraph signWithTensor:d name:nil];
        if (beta == 0) {
          return line;
        }
        return mps::kneeSelect(
            mpsGraph, [mpsGraph absoluteWithTensor:d name:nil], beta, mps::scaledBy(mpsGraph, d, 1.0 / beta), line);
      });
  return grad_input;
}

Tensor& huber_loss_out_mps(const Tensor& input, const Tensor& target, int64_t reduction, double delta, Tensor& output) {
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  if (reduction == Reduction::None) {
    output.resize_(input.sizes());
  } else {
    output.resize_({});
  }
  const auto key = "huber_loss_out_mps:" + std::to_string(delta);
  mps::difference_loss(input, target, reduction, output, key, ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* d) {
    auto magnitude = [mpsGraph absoluteWithTensor:d name:nil];
    auto bend = mps::scaledBy(mpsGraph, [mpsGraph squareWithTensor:d name:nil], 0.5);
    auto line = mps::scaledBy(mpsGraph, mps::shiftedBy(mpsGraph, magnitude, -0.5 * delta), delta);
    return mps::kneeSelect(mpsGraph, magnitude, delta, bend, line);
  });
  return output;
}

Tensor huber_loss_mps(const Tensor& input, const Tensor& target, int64_t reduction, double delta) {
  auto output = at::empty({0}, input.options());
  return huber_loss_out_mps(input, target, reduction, delta, output);
}

Tensor& huber_loss_backward_out_mps(const Tensor& grad_output,
                                    const Tensor& input,
                                    const Tensor& target,
                                    int64_t reduction,
                                    double delta,
                                    Tensor& grad_input) {
  grad_input.resize_(input.sizes());
  const auto key = "huber_loss_backward_out_mps:" + std::to_string(delta);
  mps::difference_loss_backward(
      grad_output, input, target, reduction, grad_input, key, ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* d) {
        auto line = mps::scaledBy(mpsGraph, [mpsGraph signWithTensor:d name:nil], delta);
        return mps::kneeSelect(mpsGraph, [mpsGraph absoluteWithTensor:d name:nil], delta, d, line);
      });
  return grad_input;
}

Tensor& binary_cross_entropy_out_mps(const Tensor& input,
                                     const Tensor& target,
                                     const std::optional<Tensor>& weight,
                                     int64_t reduction,
                                     Tensor& loss) {
  if (reduction == Reduction::None) {
    loss.resize_(input.sizes());
  } else {
    loss.resize_({});
  }
  mps::BCELoss::run(input, target, weight, reduction, loss, std::nullopt, "binary_cross_entropy_out_mps");
  return loss;
}

Tensor binary_cross_entropy_mps(const Tensor& input,
                                const Tensor& target,
                                const std::optional<Tensor>& weight,
                                int64_t reduction) {
  auto loss = at::empty({0}, input.options());
  return binary_cross_entropy_out_mps(input, target, weight, reduction, loss);
}

Tensor& binary_cross_entropy_backward_out_mps(const Tensor& grad_output,
                                              const Tensor& input,
                                              const Tensor& target,
                                              const std::optional<Tensor>& weight,
                                              int64_t reduction,
                                              Tensor& grad_input) {
  grad_input.resize_(input.sizes());
  mps::BCELoss::run(input, target, weight, reduction, grad_input, grad_output, "binary_cross_entropy_backward_out_mps");
  return grad_input;
}

Tensor binary_cross_entropy_backward_mps(const Tensor& grad_output,
                                         const Tensor& input,
                                         const Tensor& target,
                                         const std::optional<Tensor>& weight,
                                         int64_t reduction) {
  auto grad_input = at::empty_like(input);
  return binary_cross_entropy_backward_out_mps(grad_output, input, target, weight, reduction, grad_input);
}

TORCH_IMPL_FUNC(nll_loss_forward_out_mps)
(const Tensor& self,
 const Tensor& target,
 const OptionalTensorRef weight_opt,
 int64_t reduction,
 int64_t ignore_index,
 const Tensor& output,
 const Tensor& total_weight) {
  const Tensor weight = weight_opt.has_value() ? *weight_opt : Tensor();
  mps::nllnd_loss_forward_impl(
      output, total_weight, self, target, weight, reduction, ignore_index, "nll_loss_forward_out_mps");
}

TORCH_IMPL_FUNC(nll_loss_backward_out_mps)
(const Tensor& grad_output,
 const Tensor& self,
 const Tensor& target,
 const OptionalTensorRef weight_opt,
 int64_t reduction,
 int64_t ignore_index,
 const Tensor& total_weight,
 const Tensor& grad_input) {
  const Tensor weight = weight_opt.has_value() ? *weight_opt : Tensor();
  mps::nllnd_loss_backward_impl(grad_input,
                                grad_output,
                                self,
                                target,
                                weight,
                                reduction,
                                ignore_index,
                                total_weight,
                                "nll_loss_backward_out_mps");
}

static void check_nll_loss2d(const Tensor& input, const Tensor& target) {
  TORCH_CHECK(target.dim() == 3, "only batches of spatial targets supported (3D tensors) but got ", target.sizes());
  TORCH_CHECK(input.dim() == 4, "only batches of spatial inputs supported (4D tensors) but got ", input.sizes());
}

std::tuple<Tensor&, Tensor&> nll_loss2d_forward_out_mps(const Tensor& self,
                                                        const Tensor& target,
                                                        const std::optional<Tensor>& weight,
                                                        int64_t reduction,
                                                        int64_t ignore_index,
                                                        Tensor& output,
                                                        Tensor& total_weight) {
  check_nll_loss2d(self, target);
  total_weight.resize_({});
  if (reduction == Reduction::None) {
    output.resize_(target.sizes());
  } else {
    output.resize_({});
  }
  mps::nllnd_loss_forward_impl(output,
                               total_weight,
                               self,
                               target,
                               weight.value_or(Tensor()),
                               reduction,
                               ignore_index,
                               "nll_loss2d_forward_out_mps");
  return {output, total_weight};
}

std::tuple<Tensor, Tensor> nll_loss2d_forward_mps(const Tensor& self,
                                                  const Tensor& target,
                                                  const std::optional<Tensor>& weight,
                                                  int64_t reduction,
                                                  int64_t ignore_index) {
  auto output = at::empty({0}, self.options());
  auto total_weight = at::empty({0}, self.options());
  nll_loss2d_forward_out_mps(self, target, weight, reduction, ignore_index, output, total_weight);
  return {output, total_weight};
}

Tensor& nll_loss2d_backward_out_mps(const Tensor& grad_output,
                                    const Tensor& self,
                                    const Tensor& target,
                                    const std::optional<Tensor>& weight,
                                    int64_t reduction,
                                    int64_t ignore_index,
                                    const Tensor& total_weight,
                                    Tensor& grad_input) {
  check_nll_loss2d(self, target);
  grad_input.resize_as_(self);
  mps::nllnd_loss_backward_impl(grad_input,
                                grad_output,
                                self,
                                target,
                                weight.value_or(Tensor()),
                                reduction,
                                ignore_index,
                                total_weight,
                                "nll_loss2d_backward_out_mps");
  return grad_input;
}

Tensor nll_loss2d_backward_mps(const Tensor& grad_output,
                               const Tensor& self,
                               const Tensor& target,
                               const std::optional<Tensor>& weight,
                               int64_t reduction,
                               int64_t ignore_index,
                               const Tensor& total_weight) {
  auto grad_input = at::empty_like(self);
  return nll_loss2d_backward_out_mps(
      grad_output, self, target, weight, reduction, ignore_index, total_weight, grad_input);
}

} // namespace at::native
