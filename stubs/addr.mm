#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/LinearAlgebra.h>
#include <ATen/native/mps/OperationUtils.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>
#include <algorithm>

template <typename P>
static void exec_addr(TensorIterator& iter, const AddrParams<P>& params) {
  using namespace mps;
  const auto dtype = iter.common_dtype();
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) {
      exec_addr(part, params);
    }
    return;
  }
  if (iter.numel() == 0) {
    return;
  }
  const auto metal_type = [&](int operand) {
    // A double on the CPU side is bound as a float.
    const auto type = iter.dtype(operand);
    return static_cast<uint32_t>(type == kDouble ? kFloat : type == kComplexDouble ? kComplexFloat : type);
  };
  const std::array<uint32_t, 4> types = {metal_type(0), metal_type(1), metal_type(2), metal_type(3)};
  const bool cast =
      std::any_of(types.begin(), types.end(), [&](auto type) { return type != static_cast<uint32_t>(dtype); });
  const bool dense = !cast && iter.is_contiguous();
  const auto kernel = fmt::format("addr_{}_{}",
                                  cast    ? "strided_cast"
                                  : dense ? "dense"
                                          : "strided",
                                  scalarToMetalTypeString(dtype));
  const auto ndim = c10::checked_convert<uint32_t>(iter.ndim(), "uint32_t");
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      bind_iter_tensors(encoder, iter);
      mtl_setArgs<4>(encoder, params);
      if (!dense) {
        mtl_setArgs<5>(encoder, iter.shape(), iter.strides(0), iter.strides(1), iter.strides(2), iter.strides(3), ndim);
      }
      if (cast) {
        mtl_setBytes(encoder, types, 11);
      }
      mtl_dispatch1DJob(encoder, pipeline, iter.numel());
    }
  });
}

static void addr_kernel_mps(TensorIterator& iter, const Scalar& beta, const Scalar& alpha) {
  const auto dtype = iter.common_dtype();
  if (isFloatingType(dtype)) {
    exec_addr(iter, AddrParams<float>{beta.to<float>(), alpha.to<float>()});
  } else if (isComplexType(dtype)) {
    using complex = c10::complex<float>;
    exec_addr(iter, AddrParams<complex>{beta.to<complex>(), alpha.to<complex>()});
  } else if (dtype == kBool) {
    exec_addr(iter, AddrParams<bool>{beta.to<bool>(), alpha.to<bool>()});
  } else {
    AT_DISPATCH_INTEGRAL_TYPES(dtype, "addr_mps", [&]() {
      // Both scalars take the tensors' dtype first, as on CPU.
      exec_addr(iter, AddrParams<int64_t>{beta.to<scalar_t>(), alpha.to<scalar_t>()});
    });
  }
}

REGISTER_DISPATCH(addr_stub, &addr_kernel_mps)
