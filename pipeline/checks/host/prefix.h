// Precompiled once: what every host file of the MPS back end includes first.
#pragma once
#include <ATen/native/mps/OperationUtils.h>

// mtl_setArgs takes any container of bytes, also those that no shader can read. Named here, such an argument becomes an
// error on the line that passes it.
namespace at::native::mps::detail {

template <>
inline void mtl_setArg(id<MTLComputeCommandEncoder>, const std::string&, unsigned) = delete;

template <>
inline void mtl_setArg(id<MTLComputeCommandEncoder>, const std::string_view&, unsigned) = delete;

template <>
inline void mtl_setArg(id<MTLComputeCommandEncoder>, const std::vector<Tensor>&, unsigned) = delete;

template <>
inline void mtl_setArg(id<MTLComputeCommandEncoder>, const TensorList&, unsigned) = delete;

template <>
inline void mtl_setArg(id<MTLComputeCommandEncoder>, const std::vector<double>&, unsigned) = delete;

template <>
inline void mtl_setArg(id<MTLComputeCommandEncoder>, const ArrayRef<double>&, unsigned) = delete;

} // namespace at::native::mps::detail
