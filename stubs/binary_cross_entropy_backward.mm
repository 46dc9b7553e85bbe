#include <ATen/TensorIterator.h>
#include <ATen/core/Reduction.h>
#include <ATen/native/Resize.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/binary_cross_entropy_backward_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/squeeze.h>
#endif

Tensor& binary_cross_entropy_backward_out_mps(const Tensor& grad_output,
                                              const Tensor& input,
                                              const Tensor& target,
                                              const std::optional<Tensor>& weight,
                                              int64_t reduction,
                                              Tensor& grad_input) {
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(input.scalar_type()),
                              "binary_cross_entropy_backward is not implemented for ",
                              input.scalar_type(),
                              " on MPS");
  resize_output(grad_input, input.sizes());
  // Dimensions of size 1 may differ between the operands.
  auto iter = TensorIteratorConfig()
                  .add_owned_output(at::squeeze(grad_input))
                  .add_owned_const_input(at::squeeze(grad_output))
                  .add_owned_const_input(at::squeeze(input))
                  .add_owned_const_input(at::squeeze(target))
                  .build();
  // Split here: exec_ternary_kernel of torch 2.13 hands the parts of a large iterator to exec_binary_kernel.
  for (auto&& part : iter.with_32bit_indexing()) {
    lib.exec_ternary_kernel(part, "binary_cross_entropy_backward");
  }
  if (weight.has_value() && weight->defined()) {
    grad_input.mul_(*weight);
  }
  if (reduction == Reduction::Mean) {
    grad_input.div_(input.numel());
  }
  return grad_input;
}

Tensor binary_cross_entropy_backward_mps(const Tensor& grad_output,
                                         const Tensor& input,
                                         const Tensor& target,
                                         const std::optional<Tensor>& weight,
                                         int64_t reduction) {
  auto grad_input = at::empty({0}, input.options());
  return binary_cross_entropy_backward_out_mps(grad_output, input, target, weight, reduction, grad_input);
}
