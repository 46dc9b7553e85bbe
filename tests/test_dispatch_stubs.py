from __future__ import annotations

import pytest

from pipeline.dispatch_stubs import Stub, declared_stubs
from pipeline.pocket.contents import pocket_files
from pipeline.source import NATIVE_HEADERS, MemoryTree


@pytest.fixture(scope="module")
def stubs() -> dict[str, Stub]:
    return declared_stubs(MemoryTree(dict(pocket_files())))


@pytest.mark.parametrize(
    ("name", "header", "parameters"),
    [
        ("sign_stub", "UnaryOps.h", ["TensorIteratorBase&"]),
        ("logit_stub", "UnaryOps.h", ["TensorIteratorBase&", "const Scalar&"]),
        ("threshold_stub", "Activation.h", ["TensorIteratorBase&", "const c10::Scalar&", "const c10::Scalar&"]),
        ("hardtanh_backward_stub", "Activation.h", ["TensorIterator&", "const c10::Scalar&", "const c10::Scalar&"]),
        ("huber_stub", "BinaryOps.h", ["TensorIterator&", "double"]),
        ("GeluKernel", "Activation.h", ["TensorIteratorBase&", "GeluType"]),
        ("smooth_l1_backward_stub", "PointwiseOps.h", ["TensorIterator&", "const Scalar&", "double"]),
        ("where_kernel", "TensorCompare.h", ["TensorIterator&"]),
        ("clamp_scalar_stub", "TensorCompare.h", ["TensorIteratorBase&", "const c10::Scalar&", "const c10::Scalar&"]),
        ("isin_default_stub", "TensorCompare.h", ["const Tensor&", "const Tensor&", "bool", "const Tensor&"]),
        ("lerp_kernel_scalar_weight", "Lerp.h", ["at::TensorIteratorBase&", "const Scalar&"]),
        ("cholesky_inverse_stub", "BatchLinearAlgebra.h", ["Tensor&", "Tensor&", "bool"]),
    ],
)
def test_real_headers(stubs: dict[str, Stub], name: str, header: str, parameters: list[str]) -> None:
    stub = stubs[name]
    assert (stub.include, list(stub.parameters)) == (f"ATen/native/{header}", parameters)
    lines = MemoryTree(dict(pocket_files())).read(stub.header).decode().splitlines()
    assert "DECLARE_DISPATCH" in lines[stub.line - 1]


def test_nearly_every_declaration_is_understood(stubs: dict[str, Stub]) -> None:
    tree = MemoryTree(dict(pocket_files()))
    headers = [path for path in tree.files(NATIVE_HEADERS) if path.endswith(".h") and "/mps/" not in path]
    texts = [tree.read(path).decode() for path in headers if not path.endswith("DispatchStub.h")]
    assert len(stubs) >= 0.95 * sum(text.count("DECLARE_DISPATCH") for text in texts)


def test_what_the_function_takes() -> None:
    text = (
        "using f = void (*)(TensorIterator& /*iter*/, const std::optional<Scalar>& x = {}, const double y); // note\n"
        "/* DECLARE_DISPATCH(f, commented_stub) */\n"
        "DECLARE_DISPATCH(f, x_stub)\n"
        "DECLARE_DISPATCH(\n    Tensor& (*)(const Tensor& self, unsigned int, c10::string_view mode),\n    y_stub)\n"
    )
    stubs = declared_stubs(MemoryTree({f"{NATIVE_HEADERS}/X.h": text.encode(), f"{NATIVE_HEADERS}/d/Y.h": b""}))
    assert sorted(stubs) == ["x_stub", "y_stub"]
    assert stubs["x_stub"].parameters == ("TensorIterator&", "const std::optional<Scalar>&", "const double")
    assert stubs["x_stub"].takes_iterator == "TensorIterator" and stubs["x_stub"].line == 3
    assert stubs["y_stub"].parameters == ("const Tensor&", "unsigned int", "c10::string_view")
    assert stubs["y_stub"].takes_iterator is None and stubs["y_stub"].returns == "Tensor&"
