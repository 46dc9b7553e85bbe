#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

// The shared sub passes -alpha; add does not come here, it has no shared row.
static void add_mps_kernel(TensorIteratorBase& iter, const Scalar& alpha) {
  if (alpha.equal(-1)) {
    lib.exec_binary_kernel(iter, "sub");
  } else if (alpha.equal(1)) {
    lib.exec_binary_kernel(iter, "add");
  } else {
    lib.exec_binary_kernel(iter, "add_alpha", alpha);
  }
}

REGISTER_DISPATCH(add_stub, &add_mps_kernel)
