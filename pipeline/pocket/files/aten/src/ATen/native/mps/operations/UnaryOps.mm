#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/MPSGraphSequoiaOps.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/acosh_native.h>
#include <ATen/ops/asinh_native.h>
#include <ATen/ops/atanh_native.h>
#include <ATen/ops/conj_physical_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/frac_native.h>
#include <ATen/ops/logical_not_native.h>
#include <ATen/ops/logit_backward_native.h>
#include <ATen/ops/logit_native.h>
#include <ATen/ops/sgn_native.h>
#include <ATen/ops/sign_native.h>
#include <ATen/ops/signbit_native.h>
#include <ATen/ops/view_as_real.h>
#endif

namespace at::native {
namespace mps {

typedef MPSGraphTensor* (^UnaryOpBlock)(MPSGraph*, MPSGraphTensor*);

// Runs `block` on `self` and writes into `output`, whose shape is already right.
static void unary_op_noresize(const Tensor& self,
                              const Tensor& output,
                              const std::string& op_name,
                              UnaryOpBlock block) {
  // Before macOS 15 a graph cannot write through strides: compute into a dense tensor, then copy.
  const bool staged = needsGather(output);
  const Tensor dense = staged ? at::empty(output.sizes(), output.options()) : output;

  @autoreleasepool {
    const auto key = op_name + getTensorsStringKey({self, dense});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      newCachedGraph->inputTensor_ = input;
      if (isIntegralType(self.scalar_type(), /*includeBool=*/true) && isFloatingType(output.scalar_type())) {
        input = castMPSTensor(mpsGraph, input, output.scalar_type());
      }
      newCachedGraph->outputTensor_ = block(mpsGraph, input);
    });

    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto outputPlaceholder =
        Placeholder(cachedGraph->outputTensor_, dense, /*mpsShape=*/nullptr, /*gatherTensorData=*/false);
    runMPSGraph(
        getCurrentMPSStream(), cachedGraph->graph(), dictionaryFromPlaceholders(inputPlaceholder), outputPlaceholder);
  }

  if (staged) {
    output.copy_(dense);
  }
}

static void unary_op(const Tensor& self, const Tensor& output, const std::string& op_name, UnaryOpBlock block) {
  if (!output.is_same_size(self)) {
    output.resize_(self.sizes());
  }
  if (output.numel() == 0) {
    return;
  }
  unary_op_noresize(self, output, op_name, block);
}

// Declared in OperationUtils.h, also called from the activations and the losses.
MPSGraphTensor* log1p(MPSGraph* mpsGraph, MPSGraphTensor* inputTensor) {
  auto one = [mpsGraph constantWithScalar:1.0 dataType:inputTensor.dataType];
  auto shifted = [mpsGraph additionWithPrimaryTensor:one secondaryTensor:inputTensor name:nil];
  return [mpsGraph logarithmWithTensor:shifted name:@"log1p"];
}

// Sign of a real tensor; shared by sign and by sgn, which only differ for complex inputs.
static MPSGraphTensor* realSign(MPSGraph* mpsGraph, MPSGraphTensor* inputTensor) {
#ifdef __MAC_15_0
  if (is_macos_13_or_newer(MacOSVersion::MACOS_VER_15_0_PLUS)) {
    return [mpsGraph signWithTensor:inputTensor name:nil];
  }
#endif // __MAC_15_0
  if (inputTensor.dataType != MPSDataTypeInt64) {
    return [mpsGraph signWithTensor:inputTensor name:nil];
  }
  // No signOp_i64 before macOS 15: (x > 0) - (x < 0) says the same.
  auto zero = [mpsGraph constantWithScalar:0.0 dataType:inputTensor.dataType];
  auto above = [mpsGraph greaterThanWithPrimaryTensor:inputTensor secondaryTensor:zero name:nil];
  auto below = [mpsGraph lessThanWithPrimaryTensor:inputTensor secondaryTensor:zero name:nil];
  return [mpsGraph subtractionWithPrimaryTensor:castMPSTensor(mpsGraph, above, ScalarType::Long)
                                secondaryTensor:castMPSTensor(mpsGraph, below, ScalarType::Long)
                                           name:nil];
}

// |z| for pairs of reals in the last dimension, which is kept with size 1.
static MPSGraphTensor* lengthOfPairs(MPSGraph* mpsGraph, MPSGraphTensor* pairs) {
  auto squared = [mpsGraph multiplicationWithPrimaryTensor:pairs secondaryTensor:pairs name:nil];
  auto summed = [mpsGraph reductionSumWithTensor:squared axis:-1 name:nil];
  return [mpsGraph squareRootWithTensor:summed name:@"length"];
}

} // namespace mps

#define CREATE_MPS_STRUCTURED_UNARY_TORCH_IMPL_FUNC(func_out, graph_op)                              \
  TORCH_IMPL_FUNC(func_out)(const Tensor& self, const Tensor& output) {                              \
    mps::unary_op(self, output, #func_out, ^MPSGraphTensor*(MPSGraph * graph, MPSGraphTensor * in) { \
      return [graph graph_op##WithTensor:in name:nil];                                               \
    });                                                                                              \
  }

CREATE_MPS_STRUCTURED_UNARY_TORCH_IMPL_FUNC(acosh_out_mps, acosh)
CREATE_MPS_STRUCTURED_UNARY_TORCH_IMPL_FUNC(asinh_out_mps, asinh)
CREATE_MPS_STRUCTURED_UNARY_TORCH_IMPL_FUNC(atanh_out_mps, atanh)

// Rows that share their function with CPU and CUDA; only the stub still runs a graph.
#define REGISTER_MPS_UNARY_STUB(func, graph_op)                                                                   \
  static void mps_##func##_kernel(TensorIteratorBase& iter) {                                                     \
    mps::unary_op(iter.input(0), iter.output(0), #func, ^MPSGraphTensor*(MPSGraph * graph, MPSGraphTensor * in) { \
      return [graph graph_op##WithTensor:in name:nil];                                                            \
    });                                                                                                           \
  }                                                                                                               \
  REGISTER_DISPATCH(func##_stub, mps_##func##_kernel)

REGISTER_MPS_UNARY_STUB(ceil, ceil);
REGISTER_MPS_UNARY_STUB(floor, floor);
REGISTER_MPS_UNARY_STUB(trunc, truncate);

TORCH_IMPL_FUNC(sign_out_mps)(const Tensor& self, const Tensor& output) {
  mps::unary_op(self, output, "sign_out_mps", ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* inputTensor) {
    return mps::realSign(mpsGraph, inputTensor);
  });
}

TORCH_IMPL_FUNC(sgn_out_mps)(const Tensor& self, const Tensor& output) {
  if (!self.is_complex()) {
    mps::unary_op(self, output, "sgn_out_mps", ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* inputTensor) {
      return mps::realSign(mpsGraph, inputTensor);
    });
    return;
  }
  if (!output.is_same_size(self)) {
    output.resize_(self.sizes());
  }
  // z / |z|, and zero where z is zero.
  mps::unary_op(at::view_as_real(self),
                at::view_as_real(output),
                "sgn_out_mps:complex",
                ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* pairs) {
                  auto length = mps::lengthOfPairs(mpsGraph, pairs);
                  auto zero = [mpsGraph constantWithScalar:0.0 dataType:pairs.dataType];
                  auto vanishes = [mpsGraph equalWithPrimaryTensor:length secondaryTensor:zero name:nil];
                  auto direction = [mpsGraph divisionWithPrimaryTensor:pairs secondaryTensor:length name:nil];
                  return [mpsGraph selectWithPredicateTensor:vanishes
                                         truePredicateTensor:zero
                                        falsePredicateTensor:direction
                                                        name:nil];
                });
}

TORCH_IMPL_FUNC(signbit_out_mps)(const Tensor& self, const Tensor& output) {
  mps::unary_op(self, output, "signbit_out_mps", ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* inputTensor) {
    // signbitOp_i64 does not exist; integers have no negative zero, so a comparison will do.
    if (inputTensor.dataType == MPSDataTypeInt64) {
      auto zero = [mpsGraph constantWithScalar:0.0 dataType:MPSDataTypeInt64];
      return [mpsGraph lessThanWithPrimaryTensor:inputTensor secondaryTensor:zero name:nil];
    }
    return mps::castMPSTensor(mpsGraph, [mpsGraph signbitWithTensor:inputTensor name:nil], ScalarType::Bool);
  });
}

TORCH_IMPL_FUNC(frac_out_mps)(const Tensor& self, const Tensor& output) {
  TORCH_CHECK(isFloatingType(self.scalar_type()), "frac is only implemented for floating types on MPS");
  mps::unary_op(self, output, "frac_out_mps", ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* inputTensor) {
    auto whole = [mpsGraph truncateWithTensor:inputTensor name:nil];
    return [mpsGraph subtractionWithPrimaryTensor:inputTensor secondaryTensor:whole name:nil];
  });
}

Tensor& logical_not_out_mps(const Tensor& self, Tensor& output) {
  const auto truth = self.to(ScalarType::Bool);
  mps::unary_op(
      truth, output, "logical_not_out_mps", ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* inputTensor) {
        return [mpsGraph notWithTensor:inputTensor name:nil];
      });
  return output;
}

Tensor& conj_physical_out_mps(const Tensor& self, Tensor& result) {
  TORCH_CHECK(self.is_complex(), "conj_physical expects a complex tensor on MPS");
  mps::unary_op(self, result, "conj_physical", ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* inputTensor) {
    return [mpsGraph conjugateWithTensor:inputTensor name:nil];
  });
  return result;
}

static void logit_mps_impl(const Tensor& self,
                           const std::optional<double> eps,
                           const Tensor& output,
                           const std::string& op_name) {
  // eps is a constant of the graph, so it is part of the key.
  const auto key = op_name + (eps ? ":eps=" + mps::to_hex_key(static_cast<float>(*eps)) : "");
  mps::unary_op(self, output, key, ^MPSGraphTensor*(MPSGraph* mpsGraph, MPSGraphTensor* inputTensor) {
    auto clamped = inputTensor;
    if (eps) {
      clamped = [mpsGraph clampWithTensor:inputTensor
                           minValueTensor:[mpsGraph constantWithScalar:*eps dataType:inputTensor.dataType]
                           maxValueTensor:[mpsGraph constantWithScalar:1.0 - *eps dataType:inputTensor.dataType]
                                     name:nil];
    }
    auto one = [mpsGraph constantWithScalar:1.0 dataType:inputTensor.dataType];
    auto complement = [mpsGraph subtractionWithPrimaryTensor:one secondaryTensor:clamped name:nil];
    auto odds = [mpsGraph divisionWithPrimaryTensor:clamped secondaryTensor:complement name:nil];
    return [mpsGraph logarithmWithTensor:odds name:@"logit"];
  });
}

Tensor& logit_out_mps(const Tensor& self, std::optional<double> eps, Tensor& result) {
  logit_mps_impl(self, eps, result, "logit_out_mps");
  return result;
}

Tensor logit_mps(const Tensor& self, std::optional<double> eps) {
  const auto dtype = isIntegralType(self.scalar_type(), /*includeBool=*/true) ? ScalarType::Float : self.scalar_type();
  auto result = at::empty(self.sizes(), self.options().dtype(dtype));
  logit_mps_impl(self, eps, result, "logit_mps");
  return result;
}

TORCH_IMPL_FUNC(logit_backward_out_mps)
(const Tensor& grad_output, const Tensor& input, std::optional<double> eps, const Tensor& grad_input) {
  using namespace mps;
  if (grad_input.numel() == 0) {
    return;
  }
  const double low = eps.value_or(-1.0);

  @autoreleasepool {
    const auto key = "logit_backward_out_mps:" + getTensorsStringKey({grad_output, input}) + ":" +
        to_hex_key(static_cast<float>(low));
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryGradCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, input);
      auto grad = mpsGraphRankedPlaceHolder(mpsGraph, grad_output);
      auto zero = [mpsGraph constantWithScalar:0.0 dataType:x.dataType];
      auto one = [mpsGraph constantWithScalar:1.0 dataType:x.dataType];
      auto lowTensor = [mpsGraph constantWithScalar:low dataType:x.dataType];
      auto highTensor = [mpsGraph constantWithScalar:1.0 - low dataType:x.dataType];

      // d/dx log(x / (1 - x)) = 1 / (x (1 - x)) inside [eps, 1 - eps], zero outside.
      auto slope = [mpsGraph multiplicationWithPrimaryTensor:x
                                             secondaryTensor:[mpsGraph subtractionWithPrimaryTensor:one
                                                                                    secondaryTensor:x
                                                                                               name:nil]
                                                        name:nil];
      auto inside = [mpsGraph divisionWithPrimaryTensor:grad secondaryTensor:slope name:nil];
      auto clipped = [mpsGraph
          logicalORWithPrimaryTensor:[mpsGraph lessThanWithPrimaryTensor:x secondaryTensor:lowTensor name:nil]
                     secondaryTensor:[mpsGraph greaterThanWithPrimaryTensor:x secondaryTensor:highTensor name:nil]
                                name:nil];

      newCachedGraph->inputTensor_ = x;
      newCachedGraph->gradOutputTensor_ = grad;
      newCachedGraph->gradInputTensor_ = [mpsGraph selectWithPredicateTensor:clipped
                                                         truePredicateTensor:zero
                                                        falsePredicateTensor:inside
                                                                        name:nil];
    });

    auto inputPlaceholder = Placeholder(cachedGraph->inputTensor_, input);
    auto gradOutputPlaceholder = Placeholder(cachedGraph->gradOutputTensor_, grad_output);
    auto gradInputPlaceholder = Placeholder(cachedGraph->gradInputTensor_, grad_input);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                dictionaryFromPlaceholders(inputPlaceholder, gradOutputPlaceholder),
                gradInputPlaceholder);
  }
}

} // namespace at::native
