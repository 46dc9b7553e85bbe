#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/ExpandUtils.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>
#include <ATen/native/mps/operations/BinaryKernel.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/add_native.h>
#include <ATen/ops/logical_and_native.h>
#include <ATen/ops/logical_or_native.h>
#include <ATen/ops/logical_xor_native.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/pow_native.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/sub_native.h>
#endif

@interface MPSGraph (PyTorchPower)
- (MPSGraphTensor*)integerSafePowerWithPrimaryTensor:(MPSGraphTensor*)primaryTensor
                                     secondaryTensor:(MPSGraphTensor*)secondaryTensor
                                                name:(NSString*)name;
@end

@implementation MPSGraph (PyTorchPower)
- (MPSGraphTensor*)integerSafePowerWithPrimaryTensor:(MPSGraphTensor*)primaryTensor
                                     secondaryTensor:(MPSGraphTensor*)secondaryTensor
                                                name:(NSString*)name {
  const auto dataType = primaryTensor.dataType;
  if ((dataType & MPSDataTypeFloatBit) != 0) {
    return [self powerWithPrimaryTensor:primaryTensor secondaryTensor:secondaryTensor name:name];
  }
  // powerOp has no integer variants: go through float and round to the nearest integer.
  auto base = [self castTensor:primaryTensor toType:MPSDataTypeFloat32 name:nil];
  auto exponent = [self castTensor:secondaryTensor toType:MPSDataTypeFloat32 name:nil];
  auto power = [self powerWithPrimaryTensor:base secondaryTensor:exponent name:nil];
  return [self castTensor:[self rintWithTensor:power name:nil] toType:dataType name:name];
}
@end

namespace at::native {
namespace mps {

struct BinaryOpCachedGraph : public MPSCachedGraph {
  BinaryOpCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
  MPSGraphTensor *primaryTensor = nil, *secondaryTensor = nil;
  MPSGraphTensor* outputTensor = nil;
};

typedef MPSGraphTensor* (^BinaryOpBlock)(MPSGraph*, MPSGraphTensor*, MPSGraphTensor*);
#define BinaryOpFn(graph, primary, secondary) \
  MPSGraphTensor*(MPSGraph * graph, MPSGraphTensor * primary, MPSGraphTensor * secondary)

// The dtype both inputs are cast to. Only needed while the graph is built.
static ScalarType graphDtype(const Tensor& self, const Tensor& other, const Tensor& output) {
  const auto common = c10::promoteTypes(self.scalar_type(), other.scalar_type());
  if (isIntegralType(common, /*includeBool=*/true) && isFloatingType(output.scalar_type())) {
    return output.scalar_type();
  }
  return common;
}

// Feeds `tensor`, or its value where it is a scalar that lives on the CPU.
static void addFeed(NSMutableDictionary* feeds,
                    MPSStream* stream,
                    MPSGraphTensor* graphTensor,
                    const Tensor& tensor,
                    MPSScalar& scalar) {
  if (tensor.dim() == 0 && !tensor.is_mps()) {
    scalar = getMPSScalar(tensor.item(), tensor.scalar_type());
    feeds[graphTensor] = getMPSGraphTensorFromScalar(stream, scalar);
    return;
  }
  auto placeholder = Placeholder(graphTensor,
                                 tensor,
                                 /*mpsShape=*/nil,
                                 /*gatherTensorData=*/true,
                                 getMPSScalarType(tensor.scalar_type()));
  feeds[placeholder.getMPSGraphTensor()] = placeholder.getMPSGraphTensorData();
}

static void binaryOpTensor(const Tensor& self,
                           const Tensor& other,
                           const Tensor& output,
                           const std::string& op_name,
                           BinaryOpBlock block) {
  const auto size = at::infer_size(self.sizes(), other.sizes());
  if (!output.sizes().equals(size)) {
    output.resize_(size);
  }
  if (output.numel() == 0) {
    return;
  }

  auto stream = getCurrentMPSStream();
  // Before macOS 15 a graph cannot write through strides, nor into a view of its own input.
  const bool aliased = output.is_view() && (self.is_alias_of(output) || other.is_alias_of(output));
  static const bool is_macOS_15_0_or_newer = is_macos_13_or_newer(MacOSVersion::MACOS_VER_15_0_PLUS);
  const bool staged = !is_macOS_15_0_or_newer && (needsGather(output) || aliased);
  const Tensor dense = staged ? at::empty(size, output.options()) : output;

  @autoreleasepool {
    const auto key = op_name + getTensorsStringKey({self, other, output});
    auto cachedGraph = LookUpOrCreateCachedGraph<BinaryOpCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      const auto dtype = graphDtype(self, other, output);
      newCachedGraph->primaryTensor =
          mpsGraphRankedPlaceHolder(mpsGraph, getMPSScalarType(self.scalar_type()), getMPSShape(self));
      newCachedGraph->secondaryTensor =
          mpsGraphRankedPlaceHolder(mpsGraph, getMPSScalarType(other.scalar_type()), getMPSShape(other));
      auto result = block(mpsGraph,
                          castMPSTensor(mpsGraph, newCachedGraph->primaryTensor, dtype),
                          castMPSTensor(mpsGraph, newCachedGraph->secondaryTensor, dtype));
      newCachedGraph->outputTensor = castMPSTensor(mpsGraph, result, output.scalar_type());
    });

    NSMutableDictionary* feeds = [[NSMutableDictionary new] autorelease];
    MPSScalar selfScalar, otherScalar;
    addFeed(feeds, stream, cachedGraph->primaryTensor, self, selfScalar);
    addFeed(feeds, stream, cachedGraph->secondaryTensor, other, otherScalar);
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor, dense);
    runMPSGraph(stream, cachedGraph->graph(), feeds, outputPlaceholder);
  }

  if (staged) {
    output.copy_(dense);
  }
}

// a + alpha * b or a - alpha * b: already a Metal kernel, though behind rows of their own.
static void addOrSub(const Tensor& self,
                     const Tensor& other,
                     const Scalar& alpha,
                     const Tensor& output,
                     const std::string& name) {
  if (alpha.equal(1)) {
    binary_op_kernel(name, self, other, output);
    return;
  }
  alpha_check(at::result_type(self, other), alpha);
  binary_op_kernel(fmt::format("{}_alpha", name), self, other, output, alpha);
}

} // namespace mps

#define CREATE_MPS_BINARY_COMPARISON_OP_FUNC(func_out, graph_op)                       \
  Tensor& func_out(const Tensor& self, const Tensor& other, Tensor& output) {          \
    mps::binaryOpTensor(self, other, output, #graph_op, ^BinaryOpFn(graph, lhs, rhs) { \
      auto a = mps::castMPSTensor(graph, lhs, ScalarType::Bool);                       \
      auto b = mps::castMPSTensor(graph, rhs, ScalarType::Bool);                       \
      return [graph graph_op##WithPrimaryTensor:a secondaryTensor:b name:nil];         \
    });                                                                                \
    return output;                                                                     \
  }

#define CREATE_MPS_STRUCTURED_BINARY_OP_FUNC(func_out, graph_op)                             \
  TORCH_IMPL_FUNC(func_out)(const Tensor& self, const Tensor& other, const Tensor& output) { \
    mps::binaryOpTensor(self, other, output, #graph_op, ^BinaryOpFn(graph, lhs, rhs) {       \
      return [graph graph_op##WithPrimaryTensor:lhs secondaryTensor:rhs name:nil];           \
    });                                                                                      \
  }

CREATE_MPS_BINARY_COMPARISON_OP_FUNC(logical_and_out_mps, logicalAND);
CREATE_MPS_BINARY_COMPARISON_OP_FUNC(logical_or_out_mps, logicalOR);
CREATE_MPS_BINARY_COMPARISON_OP_FUNC(logical_xor_out_mps, logicalXOR);

CREATE_MPS_STRUCTURED_BINARY_OP_FUNC(pow_tensor_tensor_out_mps, integerSafePower);

TORCH_IMPL_FUNC(pow_Scalar_out_mps)(const Scalar& base, const Tensor& exp, const Tensor& out) {
  if (base.equal(1.0)) {
    out.fill_(1);
    return;
  }
  at::pow_out(const_cast<Tensor&>(out), mps::wrapped_scalar_tensor_mps(base, exp.device()), exp); // redispatch!
}

TORCH_IMPL_FUNC(add_out_mps)(const Tensor& self, const Tensor& other, const Scalar& alpha, const Tensor& output) {
  mps::addOrSub(self, other, alpha, output, "add");
}

TORCH_IMPL_FUNC(sub_out_mps)(const Tensor& self, const Tensor& other, const Scalar& alpha, const Tensor& output) {
  mps::addOrSub(self, other, alpha, output, "sub");
}

} // namespace at::native
