#include <ATen/TensorIterator.h>
#include <ATen/core/Reduction.h>
#include <ATen/native/Resize.h>
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/binary_cross_entropy_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/squeeze.h>
#include <ATen/ops/sum.h>
#endif

Tensor& binary_cross_entropy_out_mps(
    const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, Tensor& loss) {
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(input.scalar_type()),
                              "binary_cross_entropy is not implemented for ",
                              input.scalar_type(),
                              " on MPS");
  if (reduction == Reduction::None) {
    resize_output(loss, input.sizes());
  }
  Tensor unreduced = reduction == Reduction::None ? loss : at::empty_like(input);
  // Dimensions of size 1 may differ between input and target.
  auto iter = TensorIteratorConfig()
                  .add_owned_output(at::squeeze(unreduced))
                  .add_owned_const_input(at::squeeze(input))
                  .add_owned_const_input(at::squeeze(target))
                  .build();
  lib.exec_binary_kernel(iter, "binary_cross_entropy");
  if (weight.has_value() && weight->defined()) {
    unreduced.mul_(*weight);
  }
  if (reduction == Reduction::Mean) {
    at::mean_out(loss, unreduced, IntArrayRef{});
  } else if (reduction == Reduction::Sum) {
    at::sum_out(loss, unreduced, IntArrayRef{});
  }
  return loss;
}

Tensor binary_cross_entropy_mps(const Tensor& input,
                                const Tensor& target,
                                const std::optional<Tensor>& weight,
                                int64_t reduction) {
  auto loss = at::empty({0}, input.options());
  return binary_cross_entropy_out_mps(input, target, weight, reduction, loss);
}
