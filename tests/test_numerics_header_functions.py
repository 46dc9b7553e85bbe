"""No false alarm on what c10/metal/special_math.h computes: only its own faults, which are listed here."""

from __future__ import annotations

import pytest

from pipeline.numerics.check import run
from pipeline.numerics.job import Job

# Operator -> the function of c10::metal that computes it.
UNARY = {
    "erfc": "erfc",
    "erfinv": "erfinv",
    "i0": "i0",
    "digamma": "digamma",
    "sinc": "sinc",
    "special_bessel_j1": "bessel_j1_forward",
    "special_modified_bessel_k1": "modified_bessel_k1_forward",
    "expm1": "expm1f",
}
BINARY = {
    "special_zeta": "zeta",
    "xlogy": "xlogy",
    "special_chebyshev_polynomial_u": "chebyshev_polynomial_u_forward",
    "special_hermite_polynomial_h": "hermite_polynomial_h_forward",
}
DTYPES = {"float": "float32", "half": "float16", "bfloat": "bfloat16"}

# What the functions of torch 2.13 get wrong: the tail of erfc (pytorch #189291), expm1f at 2,
# zeta where its terms vanish; and digamma loses digits near its poles.
FAULTS = {
    "erfc": {"numerics/relative", "numerics/imprecise"},
    "expm1": {"numerics/value", "numerics/imprecise"},
    "special_zeta": {"numerics/nan", "numerics/relative"},
    "digamma": {"numerics/imprecise"},
}


def source() -> str:
    """One shader for all, so that it is compiled once."""
    lines = ["#include <c10/metal/indexing.h>", "#include <c10/metal/special_math.h>", "using namespace metal;"]
    for operator, function in UNARY.items():
        body = f"template <typename T> T operator()(const T x) {{ return T(c10::metal::{function}(float(x))); }}"
        lines.append(f"struct {operator}_functor {{ {body} }};")
        lines += [f"REGISTER_UNARY_OP({operator}, {dtype}, {dtype});" for dtype in DTYPES]
    for operator, function in BINARY.items():
        second = "long" if "polynomial" in operator else "float"
        body = f"return T(c10::metal::{function}(float(x), {second}(y)));"
        lines.append(
            f"struct {operator}_functor {{ template <typename T> T operator()(const T x, const T y) {{ {body} }} }};"
        )
        lines += [f"REGISTER_BINARY_OP({operator}, {dtype}, {dtype});" for dtype in DTYPES]
    return "\n".join(lines)


@pytest.mark.parametrize("operator", [*UNARY, *BINARY])
def test_only_the_faults_of_the_headers_are_reported(operator: str) -> None:
    job = Job(operator, source(), dtypes=tuple(DTYPES.values()), kernel_path="kernels/of_headers.metal")
    result = run(job).result
    found = {finding.rule for finding in result.findings}
    assert found == FAULTS.get(operator, set()), [str(each)[:300] for each in result.findings]
