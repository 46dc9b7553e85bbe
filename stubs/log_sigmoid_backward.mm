#include <ATen/TensorIterator.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_sigmoid_backward_native.h>
#endif

// The buffer is the CPU's alone, see log_sigmoid_forward.
Tensor& log_sigmoid_backward_mps_out(const Tensor& grad_output,
                                     const Tensor& self,
                                     const Tensor& buffer,
                                     Tensor& grad_input) {
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(self.scalar_type()),
                              "log_sigmoid_backward is not implemented for ",
                              self.scalar_type(),
                              " on MPS");
  auto iter = TensorIteratorConfig().add_output(grad_input).add_const_input(self).add_const_input(grad_output).build();
  lib.exec_binary_kernel(iter, "log_sigmoid_backward");
  return grad_input;
}

Tensor log_sigmoid_backward_mps(const Tensor& grad_output, const Tensor& self, const Tensor& buffer) {
  auto grad_input = at::empty_like(grad_output);
  log_sigmoid_backward_mps_out(grad_output, self, buffer, grad_input);
  return grad_input;
}
