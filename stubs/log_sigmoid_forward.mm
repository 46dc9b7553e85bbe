#include <ATen/TensorIterator.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_sigmoid_forward_native.h>
#endif

// Only the CPU keeps something for the backward in the buffer.
std::tuple<Tensor&, Tensor&> log_sigmoid_forward_out_mps(const Tensor& self, Tensor& output, Tensor& buffer) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(self.scalar_type()), "log_sigmoid is not implemented for ", self.scalar_type(), " on MPS");
  auto iter = TensorIterator::unary_op(output, self);
  lib.exec_unary_kernel(iter, "log_sigmoid_forward");
  return std::forward_as_tuple(output, buffer);
}

std::tuple<Tensor, Tensor> log_sigmoid_forward_mps(const Tensor& self) {
  auto output = at::empty_like(self);
  auto buffer = at::empty({0}, self.options());
  log_sigmoid_forward_out_mps(self, output, buffer);
  return std::make_tuple(output, buffer);
}
