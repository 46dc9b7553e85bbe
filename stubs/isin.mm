#include <ATen/TensorIterator.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/mps/OperationUtils.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/result_type.h>
#endif

static void exec_isin(TensorIteratorBase& iter, const Tensor& test_elements, bool invert) {
  using namespace mps;
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) {
      exec_isin(part, test_elements, invert);
    }
    return;
  }
  if (iter.numel() == 0) {
    return;
  }
  const bool dense = iter.is_contiguous();
  const auto kernel = fmt::format("isin_{}_{}", dense ? "dense" : "strided", scalarToMetalTypeString(test_elements));
  const auto count = c10::checked_convert<uint32_t>(test_elements.numel(), "uint32_t");
  const auto ndim = c10::checked_convert<uint32_t>(iter.ndim(), "uint32_t");
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      bind_iter_tensors(encoder, iter);
      mtl_setArgs<2>(encoder, test_elements, count, invert);
      if (!dense) {
        mtl_setArgs<5>(encoder, iter.shape(), iter.strides(0), iter.strides(1), ndim);
      }
      mtl_dispatch1DJob(encoder, pipeline, iter.numel());
    }
  });
}

static void isin_default_kernel_mps(const Tensor& elements,
                                    const Tensor& test_elements,
                                    bool invert,
                                    const Tensor& out) {
  // The test elements are no operand of the iterator, which therefore cannot promote them.
  const auto dtype = at::result_type(elements, test_elements);
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(dtype), "isin is not implemented for ", dtype, " on MPS");
  auto iter = TensorIteratorConfig()
                  .check_all_same_dtype(false)
                  .add_output(out)
                  .add_owned_const_input(elements.to(dtype))
                  .build();
  exec_isin(iter, test_elements.to(dtype).contiguous(), invert);
}

REGISTER_DISPATCH(isin_default_stub, &isin_default_kernel_mps)
