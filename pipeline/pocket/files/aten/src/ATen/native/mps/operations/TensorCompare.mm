#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/mps/OperationUtils.h>
#include <ATen/native/mps/kernels/TensorCompare.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/isin_native.h>
#include <ATen/ops/nan_to_num_native.h>
#endif

namespace at::native {

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/TensorCompare_metallib.h>
#endif

namespace mps {

// Marks the elements that equal `value`, which must be representable in their dtype.
static void equals_constant(const Tensor& self, const Tensor& out, const double value, const std::string& op_name) {
  if (out.numel() == 0) {
    return;
  }

  @autoreleasepool {
    const auto key = op_name + getTensorsStringKey({self, out});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      auto constant = [mpsGraph constantWithScalar:value dataType:getMPSScalarType(self)];
      newCachedGraph->inputTensor_ = input;
      newCachedGraph->outputTensor_ = [mpsGraph equalWithPrimaryTensor:input secondaryTensor:constant name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto outPlaceholder = Placeholder(cachedGraph->outputTensor_, out);
    runMPSGraph(
        getCurrentMPSStream(), cachedGraph->graph(), dictionaryFromPlaceholders(selfPlaceholder), outPlaceholder);
  }
}

// Compares every element with every test element: a table of both sizes, reduced along the second.
static void isin_table(const Tensor& elements, const Tensor& test_elements, const bool invert, const Tensor& out) {
  if (out.numel() == 0) {
    return;
  }
  if (test_elements.numel() == 0) {
    out.fill_(invert);
    return;
  }
  const auto common = c10::promoteTypes(elements.scalar_type(), test_elements.scalar_type());

  @autoreleasepool {
    const auto key = std::string("isin") + (invert ? ":invert" : "") + getTensorsStringKey({elements, test_elements});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSBinaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, elements);
      newCachedGraph->otherTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, test_elements);

      auto column = [mpsGraph reshapeTensor:castMPSTensor(mpsGraph, newCachedGraph->inputTensor_, common)
                                  withShape:@[ @-1, @1 ]
                                       name:nil];
      auto row = [mpsGraph reshapeTensor:castMPSTensor(mpsGraph, newCachedGraph->otherTensor_, common)
                               withShape:@[ @1, @-1 ]
                                    name:nil];
      auto table = [mpsGraph equalWithPrimaryTensor:column secondaryTensor:row name:nil];
      auto found = [mpsGraph reductionOrWithTensor:table axis:1 name:nil];
      if (invert) {
        found = [mpsGraph notWithTensor:found name:nil];
      }
      newCachedGraph->outputTensor_ = [mpsGraph reshapeTensor:found withShape:getMPSShape(out) name:nil];
    });

    auto elementsPlaceholder = Placeholder(cachedGraph->inputTensor_, elements);
    auto testPlaceholder = Placeholder(cachedGraph->otherTensor_, test_elements);
    auto outPlaceholder = Placeholder(cachedGraph->outputTensor_, out);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                dictionaryFromPlaceholders(elementsPlaceholder, testPlaceholder),
                outPlaceholder);
  }
}

} // namespace mps

TORCH_IMPL_FUNC(isin_Tensor_Tensor_out_mps)
(const Tensor& elements, const Tensor& test_elements, bool assume_unique, bool invert, const Tensor& out) {
  mps::isin_table(elements, test_elements, invert, out);
}

TORCH_IMPL_FUNC(isin_Scalar_Tensor_out_mps)
(const Scalar& elements, const Tensor& test_elements, bool assume_unique, bool invert, const Tensor& out) {
  mps::isin_table(mps::wrapped_scalar_tensor_mps(elements, test_elements.device()), test_elements, invert, out);
}

static void isposinf_kernel_mps(TensorIteratorBase& iter) {
  mps::equals_constant(iter.input(0), iter.output(0), std::numeric_limits<double>::infinity(), "isposinf");
}

static void isneginf_kernel_mps(TensorIteratorBase& iter) {
  mps::equals_constant(iter.input(0), iter.output(0), -std::numeric_limits<double>::infinity(), "isneginf");
}

static void where_kernel_mps(TensorIterator& iter) {
  using namespace mps;
  struct CachedGraph : public MPSCachedGraph {
    CachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *conditionTensor_ = nil, *selfTensor_ = nil;
    MPSGraphTensor *otherTensor_ = nil, *outputTensor_ = nil;
  };
  const auto& condition = iter.input(0);
  const auto& self = iter.input(1);
  const auto& other = iter.input(2);
  const auto& out = iter.output(0);
  TORCH_CHECK(self.dtype() == other.dtype(), "expected scalar type ", self.dtype(), " but found ", other.dtype());
  if (out.numel() == 0) {
    return;
  }

  @autoreleasepool {
    const auto key = "where_kernel_mps:" + getTensorsStringKey({condition, self, other});
    auto cachedGraph = LookUpOrCreateCachedGraph<CachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->conditionTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, condition);
      newCachedGraph->selfTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, self);
      newCachedGraph->otherTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, other);
      newCachedGraph->outputTensor_ = [mpsGraph
          selectWithPredicateTensor:castMPSTensor(mpsGraph, newCachedGraph->conditionTensor_, ScalarType::Bool)
                truePredicateTensor:newCachedGraph->selfTensor_
               falsePredicateTensor:newCachedGraph->otherTensor_
                               name:nil];
    });

    auto conditionPlaceholder = Placeholder(cachedGraph->conditionTensor_, condition);
    auto selfPlaceholder = Placeholder(cachedGraph->selfTensor_, self);
    auto otherPlaceholder = Placeholder(cachedGraph->otherTensor_, other);
    auto outPlaceholder = Placeholder(cachedGraph->outputTensor_, out);
    runMPSGraph(getCurrentMPSStream(),
                cachedGraph->graph(),
                dictionaryFromPlaceholders(conditionPlaceholder, selfPlaceholder, otherPlaceholder),
                outPlaceholder);
  }
}

Tensor& nan_to_num_out_mps(const Tensor& self,
                           std::optional<double> nan,
                           std::optional<double> pos_inf,
                           std::optional<double> neg_inf,
                           Tensor& result) {
  using namespace mps;
  TORCH_CHECK(self.scalar_type() == result.scalar_type(),
              "nan_to_num: dtype of out: ",
              result.scalar_type(),
              " should be same as input: ",
              self.scalar_type());
  result.resize_(self.sizes());
  if (result.numel() == 0) {
    return result;
  }
  if (isIntegralType(self.scalar_type(), /*includeBool=*/true)) {
    return result.copy_(self);
  }

  struct CachedGraph : public MPSCachedGraph {
    CachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *selfTensor = nil, *outputTensor = nil;
    MPSGraphTensor *nanTensor = nil, *posInfTensor = nil, *negInfTensor = nil;
  };
  auto stream = getCurrentMPSStream();
  const auto dtype = self.scalar_type();

  // An infinity without a replacement becomes the largest or smallest number of the dtype.
  double largest = std::numeric_limits<float>::max();
  if (dtype == ScalarType::Half) {
    largest = static_cast<float>(std::numeric_limits<at::Half>::max());
  } else if (dtype == ScalarType::BFloat16) {
    largest = static_cast<float>(std::numeric_limits<at::BFloat16>::max());
  }
  auto nanScalar = getMPSScalar(nan.value_or(0.0), dtype);
  auto posInfScalar = getMPSScalar(pos_inf.value_or(largest), dtype);
  auto negInfScalar = getMPSScalar(neg_inf.value_or(-largest), dtype);

  @autoreleasepool {
    const auto key = "nan_to_num" + getTensorsStringKey({self});
    auto cachedGraph = LookUpOrCreateCachedGraph<CachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      auto x = mpsGraphRankedPlaceHolder(mpsGraph, self);
      newCachedGraph->selfTensor = x;
      newCachedGraph->nanTensor = mpsGraphScalarPlaceHolder(mpsGraph, getMPSScalarType(dtype));
      newCachedGraph->posInfTensor = mpsGraphScalarPlaceHolder(mpsGraph, getMPSScalarType(dtype));
      newCachedGraph->negInfTensor = mpsGraphScalarPlaceHolder(mpsGraph, getMPSScalarType(dtype));

      auto zero = [mpsGraph constantWithScalar:0.0 dataType:x.dataType];
      auto infinite = [mpsGraph isInfiniteWithTensor:x name:nil];
      auto positive = [mpsGraph greaterThanWithPrimaryTensor:x secondaryTensor:zero name:nil];
      auto replacement = [mpsGraph selectWithPredicateTensor:positive
                                         truePredicateTensor:newCachedGraph->posInfTensor
                                        falsePredicateTensor:newCachedGraph->negInfTensor
                                                        name:nil];
      auto finite = [mpsGraph selectWithPredicateTensor:infinite
                                    truePredicateTensor:replacement
                                   falsePredicateTensor:x
                                                   name:nil];
      newCachedGraph->outputTensor = [mpsGraph selectWithPredicateTensor:[mpsGraph isNaNWithTensor:x name:nil]
                                                     truePredicateTensor:newCachedGraph->nanTensor
                                                    falsePredicateTensor:finite
                                                                    name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->selfTensor, self);
    auto resultPlaceholder = Placeholder(cachedGraph->outputTensor, result);
    NSDictionary* feeds = @{
      selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData(),
      cachedGraph->nanTensor : getMPSGraphTensorFromScalar(stream, nanScalar),
      cachedGraph->posInfTensor : getMPSGraphTensorFromScalar(stream, posInfScalar),
      cachedGraph->negInfTensor : getMPSGraphTensorFromScalar(stream, negInfScalar),
    };
    runMPSGraph(stream, cachedGraph->graph(), feeds, resultPlaceholder);
  }
  return result;
}

static void clamp_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_ternary_kernel(iter, "clamp");
}

static void clamp_scalar_kernel_mps(TensorIteratorBase& iter, const Scalar& min, const Scalar& max) {
  AT_DISPATCH_ALL_TYPES_AND2(kHalf, kBFloat16, iter.common_dtype(), "clamp_scalar_mps", [&]() {
    const ClampScalarParams<scalar_t> params{min.to<scalar_t>(), max.to<scalar_t>()};
    lib.exec_unary_kernel_with_params(
        iter,
        "clamp_scalar",
        params,
        fmt::format("ClampScalarParams_{}", mps::scalarToMetalTypeString(iter.common_dtype())));
  });
}

static void clamp_min_scalar_kernel_mps(TensorIteratorBase& iter, Scalar min) {
  lib.exec_unary_kernel(iter, "clamp_min_scalar", min);
}

static void clamp_max_scalar_kernel_mps(TensorIteratorBase& iter, Scalar max) {
  lib.exec_unary_kernel(iter, "clamp_max_scalar", max);
}

REGISTER_DISPATCH(where_kernel, &where_kernel_mps)
REGISTER_DISPATCH(isposinf_stub, &isposinf_kernel_mps)
REGISTER_DISPATCH(isneginf_stub, &isneginf_kernel_mps)
REGISTER_DISPATCH(clamp_stub, &clamp_kernel_mps)
REGISTER_DISPATCH(clamp_scalar_stub, &clamp_scalar_kernel_mps)
REGISTER_DISPATCH(clamp_min_scalar_stub, &clamp_min_scalar_kernel_mps)
REGISTER_DISPATCH(clamp_max_scalar_stub, &clamp_max_scalar_kernel_mps)

} // namespace at::native
