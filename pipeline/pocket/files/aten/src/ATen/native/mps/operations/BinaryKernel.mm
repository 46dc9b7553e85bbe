#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>
#include <ATen/native/mps/operations/BinaryKernel.h>

namespace at::native {
namespace mps {

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/BinaryKernel_metallib.h>
#endif

// For rows that do not reach a stub: builds the iterator that the structured function would have built.
void binary_op_kernel(const std::string func_name,
                      const Tensor& input,
                      const Tensor& other,
                      const Tensor& output,
                      const std::optional<Scalar> alpha) {
  auto iter = TensorIteratorConfig()
                  .set_check_mem_overlap(true)
                  .allow_cpu_scalars(true)
                  .promote_inputs_to_common_dtype(true)
                  .cast_common_dtype_to_outputs(true)
                  .enforce_safe_casting_to_output(true)
                  .add_output(output)
                  .add_input(input)
                  .add_input(other)
                  .build();
  lib.exec_binary_kernel(iter, func_name, alpha);
}

} // namespace mps

using namespace mps;

static void atan2_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(iter, "atan2");
}

static void eq_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(
      iter, "eq", /*alpha=*/std::nullopt, /*scalar_arg_type=*/std::nullopt, /*natural_output_dtype=*/kBool);
}

static void hypot_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(iter, "hypot");
}

static void lt_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(
      iter, "lt", /*alpha=*/std::nullopt, /*scalar_arg_type=*/std::nullopt, /*natural_output_dtype=*/kBool);
}

static void maximum_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(iter, "maximum");
}

static void minimum_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(iter, "minimum");
}

static void mul_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(iter, "mul");
}

static void xlogy_mps_kernel(TensorIteratorBase& iter) {
  TORCH_CHECK_TYPE(!isComplexType(iter.common_dtype()), "xlogy is not implemented for complex types on MPS");
  lib.exec_binary_kernel(iter, "xlogy");
}

REGISTER_DISPATCH(atan2_stub, &atan2_mps_kernel)
REGISTER_DISPATCH(eq_stub, &eq_mps_kernel)
REGISTER_DISPATCH(hypot_stub, &hypot_mps_kernel)
REGISTER_DISPATCH(lt_stub, &lt_mps_kernel)
REGISTER_DISPATCH(maximum_stub, &maximum_mps_kernel)
REGISTER_DISPATCH(minimum_stub, &minimum_mps_kernel)
REGISTER_DISPATCH(mul_stub, &mul_mps_kernel)
REGISTER_DISPATCH(xlogy_stub, &xlogy_mps_kernel)

} // namespace at::native
