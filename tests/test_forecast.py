"""What the facts about a kernel, or a run on a Mac, say of the expectations of its operator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.edits.expectation_reader import Expectation, Kind
from pipeline.edits.forecast import KernelFacts, MacRun, Verdict, predict, proven
from pipeline.edits.opinfos import OpInfo

BASE = Expectation(
    path="x.py", line=1, column=0, kind=Kind.XFAIL, name="nn.functional.mish", variant="", container="skips"
)
OUT = replace(BASE, test_class="TestCommon", test="test_out")
DTYPES = replace(BASE, test_class="TestCommon", test="test_dtypes")
LISTED = replace(BASE, container="XFAILLIST", test_class="TestConsistency", dtypes=("int32", "float16"))
EVERYTHING = replace(LISTED, dtypes=None)
MATCH = replace(BASE, test_class="TestConsistency", test="test_output_match", dtypes=("float32",))
GRAD = replace(BASE, test_class="TestConsistency", test="test_output_grad_match", dtypes=("float32",))
COMPLEX = replace(LISTED, kind=Kind.COMPLEX, dtypes=("complex64",))
MISSING = replace(BASE, test_class="TestCommon", test="test_variant_consistency_eager",
                  reason="NotImplementedError: The operator 'aten::mish_' is not currently implemented")  # fmt: skip
SKIP = replace(BASE, kind=Kind.SKIP, test_class="TestCommon", test="test_out")
TOLERANCE = replace(BASE, kind=Kind.TOLERANCE)
AGREES = {"nn.functional.mish": frozenset({"float32", "float16", "complex64"})}
DIFFERS = {"nn.functional.mish": frozenset({"int32"})}


def verdicts(expectation: Expectation, facts: KernelFacts) -> list[tuple[Verdict, tuple[str, ...] | None]]:
    return [(judgement.verdict, judgement.expectation.dtypes) for judgement in predict(expectation, facts)]


PREDICTED, KEPT = Verdict.PREDICTED, Verdict.KEPT
CASES = [
    (OUT, KernelFacts(shared_path=True), [(PREDICTED, None)]),
    (OUT, KernelFacts(agrees=AGREES), [(KEPT, None)]),
    (DTYPES, KernelFacts(claims_met=frozenset({"nn.functional.mish"})), [(PREDICTED, None)]),
    (DTYPES, KernelFacts(shared_path=True), [(KEPT, None)]),
    (LISTED, KernelFacts(agrees=AGREES, differs=DIFFERS), [(PREDICTED, ("float16",)), (KEPT, ("int32",))]),
    (LISTED, KernelFacts(), [(KEPT, ("int32", "float16"))]),
    (EVERYTHING, KernelFacts(agrees=AGREES), [(PREDICTED, None)]),
    (EVERYTHING, KernelFacts(agrees=AGREES, differs=DIFFERS), [(KEPT, None)]),
    (EVERYTHING, KernelFacts(), [(KEPT, None)]),
    (MATCH, KernelFacts(agrees=AGREES), [(PREDICTED, ("float32",))]),
    (MATCH, KernelFacts(agrees=AGREES, differs=AGREES), [(KEPT, ("float32",))]),
    (GRAD, KernelFacts(shared_path=True, agrees=AGREES), [(KEPT, ("float32",))]),
    (COMPLEX, KernelFacts(agrees=AGREES), [(PREDICTED, ("complex64",))]),
    (MISSING, KernelFacts(implemented=frozenset({"mish_", "mish.out"})), [(PREDICTED, None)]),
    (MISSING, KernelFacts(implemented=frozenset({"mish.out"}), agrees=AGREES), [(KEPT, None)]),
    (SKIP, KernelFacts(shared_path=True), [(KEPT, None)]),
    (TOLERANCE, KernelFacts(agrees=AGREES), [(KEPT, None)]),
]


@pytest.mark.parametrize(("expectation", "facts", "expected"), CASES)
def test_predict(
    expectation: Expectation, facts: KernelFacts, expected: list[tuple[Verdict, tuple[str, ...] | None]]
) -> None:
    assert verdicts(expectation, facts) == expected
    assert all(judgement.reason for judgement in predict(expectation, facts))


OPINFOS = [OpInfo("x.py", 1, name) for name in ("nn.functional.mish", "sum", "masked.sum")]
OPINFOS += [OpInfo("x.py", 1, "nn.functional.pad", "constant"), OpInfo("x.py", 1, "_refs.clamp_min")]


def run(*successes: str, failures: tuple[str, ...] = ()) -> MacRun:
    """Tests as CLASS.NAME."""
    pairs = [
        frozenset((c, t) for c, _, t in (test.rpartition(".") for test in tests)) for tests in (successes, failures)
    ]
    return MacRun(*pairs)


def proves(expectation: Expectation, *successes: str, failures: tuple[str, ...] = ()) -> tuple[str, ...] | bool | None:
    found = proven([expectation], run(*successes, failures=failures), OPINFOS)
    return found[0].dtypes if found else False


def test_a_passed_test_refutes_its_expectation() -> None:
    assert proves(OUT, "test.test_ops.TestCommonMPS.test_out_nn_functional_mish_mps_float32") is None
    assert proves(OUT, "TestCommonMPS.test_out_warning_nn_functional_mish_mps") is False
    assert proves(OUT, "TestCommonCUDA.test_out_nn_functional_mish_cuda_float32") is False
    assert proves(DTYPES, "TestCommonMPS.test_dtypes_nn_functional_mish_mps") is None
    clamp = replace(BASE, name="_refs.clamp_min", test_class="TestCommon", test="test_python_ref", dtypes=("float16",))
    assert proves(clamp, "TestCommonMPS.test_python_ref__refs_clamp_min_mps_float16") == ("float16",)
    numpy = replace(BASE, test_class="TestCommon", test="test_numpy_ref_mps", dtypes=("float32",))
    assert proves(numpy, "TestCommonMPS.test_numpy_ref_mps_nn_functional_mish_mps_float32") == ("float32",)


def test_only_the_dtypes_that_passed() -> None:
    passed = "TestConsistencyMPS.test_output_match_nn_functional_mish_mps_float16"
    assert proves(LISTED, passed) == ("float16",)
    assert proves(LISTED, passed.replace("float16", "bfloat16")) is False
    # Up to 2.7 these tests ran under the CPU's name.
    assert proves(LISTED, "TestConsistencyCPU.test_output_match_nn_functional_mish_cpu_int32") == ("int32",)


def test_a_test_that_still_fails_keeps_the_expectation() -> None:
    passed = "TestConsistencyMPS.test_output_match_nn_functional_mish_mps_float16"
    failed = "TestConsistencyMPS.test_output_grad_match_nn_functional_mish_mps_float16"
    assert proves(LISTED, passed, failures=(failed,)) is False
    assert proves(LISTED, passed, failures=(failed.replace("float16", "float32"),)) == ("float16",)
    assert proves(EVERYTHING, passed, failures=(failed.replace("float16", "float32"),)) is False
    assert proves(EVERYTHING, passed) is None


def test_the_longest_name_that_fits_is_the_operator() -> None:
    sums = replace(LISTED, name="sum", dtypes=None)
    assert proves(sums, "TestConsistencyMPS.test_output_match_masked_sum_mps_float32") is False
    assert proves(sums, "TestConsistencyMPS.test_output_match_sum_mps_float32") is None
    padded = replace(LISTED, name="nn.functional.pad", variant="constant", dtypes=None)
    assert proves(padded, "TestConsistencyMPS.test_output_match_nn_functional_pad_constant_mps_float32") is None


def test_skips_and_tolerances_are_never_proven_void() -> None:
    assert proves(SKIP, "TestCommonMPS.test_out_nn_functional_mish_mps_float32") is False
