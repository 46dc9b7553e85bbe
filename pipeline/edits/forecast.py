"""Which expectations an operator's Metal kernel makes void: foreseen from the CPU, or proven by a run on a Mac."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import Enum

from pipeline.edits.expectation_reader import Expectation, Kind
from pipeline.edits.opinfos import OpInfo

# These compare the output of samples with the CPU's; a container without a test of its own covers them.
_OUTPUT_TESTS = ("test_output_match", "test_numpy_ref_mps")
# TensorIterator resizes an `out=` tensor and warns, as on CPU (aten/src/ATen/TensorIterator.cpp).
_OUT_TESTS = ("test_out", "test_out_warning")
_MISSING = re.compile(r"aten::([\w.]+?)'?(?: is|)\s+not(?: currently)? implemented")


class Verdict(Enum):
    KEPT = "kept"
    PREDICTED = "predicted"


@dataclass(frozen=True)
class Judgement:
    """`expectation` is narrowed to the dtypes that the verdict is about."""

    expectation: Expectation
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class KernelFacts:
    """What is known of a kernel before it ran on a Mac. OpInfos are named by key: name and variant.

    `shared_path`: the row joined CPU's and CUDA's, so TensorIterator prepares the output. `agrees` and `differs`: the
    dtypes whose samples came out on the CPU as they should, or not. `claims_met`: the OpInfos whose dtypes for MPS are
    exactly those the kernel is registered for. `implemented`: the operators, overload included, that MPS has now.
    """

    shared_path: bool = False
    agrees: Mapping[str, frozenset[str]] = field(default_factory=dict)
    differs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    claims_met: frozenset[str] = frozenset()
    implemented: frozenset[str] = frozenset()


@dataclass(frozen=True)
class MacRun:
    """Tests of a macOS run, each as (class, test) with the names of the JUnit report.

    `successes` passed though expected to fail; `failures` failed as expected.
    """

    successes: frozenset[tuple[str, str]]
    failures: frozenset[tuple[str, str]] = frozenset()


def predict(expectation: Expectation, facts: KernelFacts) -> list[Judgement]:
    """What the facts say of one expectation: one judgement, or two where they decide only some of its dtypes."""
    if expectation.kind not in (Kind.XFAIL, Kind.COMPLEX):
        return [Judgement(expectation, Verdict.KEPT, f"{expectation.kind.value}: only a person can tell")]
    missing = {name.removesuffix(".default") for name in _MISSING.findall(expectation.reason)}
    if missing and missing <= facts.implemented:
        return [Judgement(expectation, Verdict.PREDICTED, f"MPS has {', '.join(sorted(missing))} now")]
    if expectation.test in _OUT_TESTS:
        if facts.shared_path:
            return [Judgement(expectation, Verdict.PREDICTED, "TensorIterator resizes and warns, as on CPU")]
        return [Judgement(expectation, Verdict.KEPT, "the operator's own function still handles `out=`")]
    if expectation.test == "test_dtypes":
        if expectation.key in facts.claims_met:
            return [Judgement(expectation, Verdict.PREDICTED, "the kernel has exactly the dtypes the OpInfo claims")]
        return [Judgement(expectation, Verdict.KEPT, "the kernel's dtypes are not those the OpInfo claims")]
    if needs_samples(expectation):
        return _judge_samples(expectation, facts)
    return [Judgement(expectation, Verdict.KEPT, "needs a run on a Mac")]


def needs_samples(expectation: Expectation) -> bool:
    """Whether it expects outputs to differ from the CPU's, which running the kernel's samples tells."""
    covers_outputs = expectation.test is None and expectation.test_class == "TestConsistency"
    compares = covers_outputs or expectation.test in _OUTPUT_TESTS
    return compares and expectation.kind in (Kind.XFAIL, Kind.COMPLEX)


def proven(expectations: Iterable[Expectation], run: MacRun, opinfos: Iterable[OpInfo]) -> list[Expectation]:
    """The expected failures that a run refutes: a test they cover passed, and none of them failed.

    Each is narrowed to the dtypes for which that holds; one for all dtypes must hold for all. `opinfos` are all there
    are: only they tell the test `test_output_match` of masked.sum from that of sum.
    """
    candidates = [each for each in expectations if each.kind in (Kind.XFAIL, Kind.COMPLEX)]
    names = {opinfo.test_name for opinfo in opinfos} | {each.test_name for each in candidates}
    passed = [_read_test(*test, names) for test in run.successes]
    failed = [_read_test(*test, names) for test in run.failures]
    found = []
    for each in candidates:
        still_failing = {test.dtype for test in failed if test.is_covered_by(each)}
        refuted = {test.dtype for test in passed if test.is_covered_by(each)} - still_failing
        if each.dtypes is None:
            found.extend([each] if refuted and not still_failing else [])
        elif dtypes := tuple(dtype for dtype in each.dtypes if dtype in refuted):
            found.append(replace(each, dtypes=dtypes))
    return found


def _judge_samples(expectation: Expectation, facts: KernelFacts) -> list[Judgement]:
    agrees = facts.agrees.get(expectation.key, frozenset())
    differs = facts.differs.get(expectation.key, frozenset())
    if expectation.dtypes is None:
        if agrees and not differs:
            return [Judgement(expectation, Verdict.PREDICTED, "the kernel agrees with the CPU for all its dtypes")]
        reason = f"the kernel differs from the CPU for {', '.join(sorted(differs))}" if differs else "no samples ran"
        return [Judgement(expectation, Verdict.KEPT, reason)]
    void = tuple(dtype for dtype in expectation.dtypes if dtype in agrees - differs)
    left = tuple(dtype for dtype in expectation.dtypes if dtype not in void)
    judgements = []
    if void:
        reason = f"the kernel agrees with the CPU for {', '.join(void)}"
        judgements.append(Judgement(replace(expectation, dtypes=void), Verdict.PREDICTED, reason))
    if left:
        reason = f"the kernel does not agree, or has no samples, for {', '.join(left)}"
        judgements.append(Judgement(replace(expectation, dtypes=left), Verdict.KEPT, reason))
    return judgements


@dataclass(frozen=True)
class _Test:
    test_class: str
    test: str
    test_name: str
    dtype: str

    def is_covered_by(self, expectation: Expectation) -> bool:
        return (
            self.test_name == expectation.test_name
            and expectation.test_class in (None, self.test_class)
            and expectation.test in (None, self.test)
            and (expectation.dtypes is None or self.dtype in expectation.dtypes)
        )


def _read_test(test_class: str, test: str, names: Set[str]) -> _Test:
    """Take `test_output_match_masked_sum_mps_float32` apart: the operator is the longest name that fits."""
    match = re.fullmatch(r"(\w+)_(?:mps|cpu)(?:_((?:b?float|complex|u?int)\d+|bool))?", test)
    stem, dtype = (match[1], match[2] or "") if match else (test, "")
    cuts = [place.start() for place in re.finditer("_", stem) if stem[place.end() :] in names]
    base, name = (stem[: cuts[0]], stem[cuts[0] + 1 :]) if cuts else (stem, "")
    generic = re.sub(r"(?:MPS|CPU)$", "", test_class.rpartition(".")[2])
    return _Test(generic, base, name, dtype)
