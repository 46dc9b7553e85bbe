#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>
#include <limits>

static void nan_to_num_kernel_mps(TensorIteratorBase& iter,
                                  std::optional<double> nan,
                                  std::optional<double> pos_inf,
                                  std::optional<double> neg_inf) {
  AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, toRealValueType(iter.dtype()), "nan_to_num_mps", [&]() {
    // Replacements take the tensor's dtype first, as on CPU; float holds any of them.
    const auto value = [](std::optional<double> given, scalar_t usual) {
      return static_cast<float>(given.has_value() ? static_cast<scalar_t>(*given) : usual);
    };
    const NanToNumParams params{value(nan, scalar_t(0)),
                                value(pos_inf, std::numeric_limits<scalar_t>::max()),
                                value(neg_inf, std::numeric_limits<scalar_t>::lowest())};
    lib.exec_unary_kernel_with_params(iter, "nan_to_num", params, "NanToNumParams");
  });
}

REGISTER_DISPATCH(nan_to_num_stub, &nan_to_num_kernel_mps)
