#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/TensorIterator.h>
#include <ATen/native/Lerp.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/addcdiv_native.h>
#include <ATen/ops/addcmul_native.h>
#include <ATen/ops/empty.h>
#endif

namespace at::native {

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/PointwiseOps_metallib.h>
#endif

namespace mps {

enum class Combination : uint8_t { Product, Quotient };

// self + value * (tensor1 * tensor2), or with the quotient in place of the product.
static void addCombination(const Tensor& self,
                           const Tensor& tensor1,
                           const Tensor& tensor2,
                           const Scalar& value,
                           const Tensor& output,
                           const Combination combination,
                           const std::string& op_name) {
  if (output.numel() == 0) {
    return;
  }
  if (value.toDouble() == 0.0) {
    output.copy_(self);
    return;
  }

  struct CachedGraph : public MPSCachedGraph {
    CachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *selfTensor = nil, *firstTensor = nil, *secondTensor = nil;
    MPSGraphTensor *valueTensor = nil, *outputTensor = nil;
  };
  const auto common =
      c10::promoteTypes(self.scalar_type(), c10::promoteTypes(tensor1.scalar_type(), tensor2.scalar_type()));
  const bool staged = needsGather(output);
  const Tensor dense = staged ? at::empty(output.sizes(), output.options()) : output;
  auto stream = getCurrentMPSStream();

  @autoreleasepool {
    const auto key = op_name + getTensorsStringKey({self, tensor1, tensor2, dense});
    auto cachedGraph = LookUpOrCreateCachedGraph<CachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->selfTensor = mpsGraphRankedPlaceHolder(mpsGraph, self);
      newCachedGraph->firstTensor = mpsGraphRankedPlaceHolder(mpsGraph, tensor1);
      newCachedGraph->secondTensor = mpsGraphRankedPlaceHolder(mpsGraph, tensor2);
      newCachedGraph->valueTensor = mpsGraphScalarPlaceHolder(mpsGraph, getMPSScalarType(common));

      auto first = castMPSTensor(mpsGraph, newCachedGraph->firstTensor, common);
      auto second = castMPSTensor(mpsGraph, newCachedGraph->secondTensor, common);
      MPSGraphTensor* combined = combination == Combination::Quotient
          ? [mpsGraph divisionWithPrimaryTensor:first secondaryTensor:second name:nil]
          : [mpsGraph multiplicationWithPrimaryTensor:first secondaryTensor:second name:nil];
      auto scaled = [mpsGraph multiplicationWithPrimaryTensor:combined
                                              secondaryTensor:newCachedGraph->valueTensor
                                                         name:nil];
      auto sum = [mpsGraph additionWithPrimaryTensor:castMPSTensor(mpsGraph, newCachedGraph->selfTensor, common)
                                     secondaryTensor:scaled
                                                name:nil];
      newCachedGraph->outputTensor = castMPSTensor(mpsGraph, sum, output.scalar_type());
    });

    auto selfPlaceholder = Placeholder(cachedGraph->selfTensor, self);
    auto firstPlaceholder = Placeholder(cachedGraph->firstTensor, tensor1);
    auto secondPlaceholder = Placeholder(cachedGraph->secondTensor, tensor2);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor, dense);
    auto valueScalar = getMPSScalar(value, common);
    NSDictionary* feeds = @{
      selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData(),
      firstPlaceholder.getMPSGraphTensor() : firstPlaceholder.getMPSGraphTensorData(),
      secondPlaceholder.getMPSGraphTensor() : secondPlaceholder.getMPSGraphTensorData(),
      cachedGraph->valueTensor : getMPSGraphTensorFromScalar(stream, valueScalar),
    };
    runMPSGraph(stream, cachedGraph->graph(), feeds, outputPlaceholder);
  }

  if (staged) {
    output.copy_(dense);
  }
}

} // namespace mps

TORCH_IMPL_FUNC(addcmul_out_mps)
(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value, const Tensor& output) {
  mps::addCombination(self, tensor1, tensor2, value, output, mps::Combination::Product, "addcmul_out_mps");
}

TORCH_IMPL_FUNC(addcdiv_out_mps)
(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value, const Tensor& output) {
  mps::addCombination(self, tensor1, tensor2, value, output, mps::Combination::Quotient, "addcdiv_out_mps");
}

static void lerp_tensor_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_ternary_kernel(iter, "lerp");
}

REGISTER_DISPATCH(lerp_kernel_tensor_weight, &lerp_tensor_mps_kernel)

} // namespace at::native
