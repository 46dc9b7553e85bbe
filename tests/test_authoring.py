"""Drafts: for every kind of operator a kernel that compiles and a stub that type-checks, and notes that are true."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.authoring import Draft, Facts, Reference, draft, facts_of
from pipeline.authoring.fitting import shape_of
from pipeline.authoring.observe import observe, question
from pipeline.authoring.observing import observed
from pipeline.authoring.shape import Pattern
from pipeline.campaign import Campaign
from pipeline.changeset import Changeset
from pipeline.checks.host import check_host
from pipeline.checks.style import check_style
from pipeline.errors import Refusal, UsageError
from pipeline.findings import Outcome, Severity
from pipeline.manifest import Targets, Workflow, targets_of
from pipeline.metal import compile_shader
from pipeline.migration import Fragments, plan
from pipeline.rules import catalogue
from pipeline.snapshot import Snapshot
from pipeline.source import NATIVE_FUNCTIONS, MemoryTree

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")

ROOT = Path(__file__).parent.parent
IN_ONE_FILE = targets_of("Drafted", may_be_new=True)

# What stands in the manifest, what does not, and what MPS does not run today; both directions.
SPREAD = {
    "sign": Pattern.HELPER,  # unary, every dtype to itself
    "acosh": Pattern.HELPER,  # integers to float
    "isposinf": Pattern.HELPER,  # a function of its own; bool out
    "logit": Pattern.HELPER,  # one number
    "nan_to_num": Pattern.HELPER,  # three optional numbers in a params struct
    "mish_backward": Pattern.HELPER,  # binary
    "logical_and": Pattern.HELPER,  # binary, bool out
    "sub": Pattern.HELPER,  # the stub of another operator, with alpha
    "threshold_backward": Pattern.HELPER,  # binary with params, not in the manifest
    "addcmul": Pattern.ITERATOR,  # ternary with a number
    "where": Pattern.ITERATOR,  # a condition beside the operands
    "huber_loss_backward": Pattern.ITERATOR,
    "prelu_backward": Pattern.ITERATOR,  # two results
    "mse_loss": Pattern.HELPER,  # a loss of two tensors
    "std": Pattern.REDUCTION,
    "cumprod": Pattern.ROWS,  # a stub that takes tensors; not in the manifest
    "softmax_backward": Pattern.ROWS,  # rows that stay
    "flip": Pattern.HELPER,  # the iterator steps backwards
    "dot": Pattern.ELEMENTS,  # neither an iterator nor rows
    "glu_backward": Pattern.ELEMENTS,  # functions of its own; the schema's order is not the reference's
    "reflection_pad1d_backward": Pattern.ELEMENTS,  # structured, with a list of numbers
    "eye": Pattern.ELEMENTS,  # overloads that share a name, and nothing that is read
    "special_airy_ai": Pattern.HELPER,  # new
    "special_legendre_polynomial_p": Pattern.HELPER,  # new, binary, not in the manifest
}


@functools.cache
def campaign() -> Campaign:
    return Campaign.open(ROOT, "pocket")


@functools.cache
def facts(name: str) -> Facts:
    return facts_of(name, campaign().manifest, campaign().snapshot)


@functools.cache
def reference(name: str) -> Reference:
    """Made in this process; test_the_reference_comes_from_a_process_of_its_own compares."""
    return observed(**question(facts(name)))


@functools.cache
def drafted(name: str) -> Draft:
    return draft(facts(name), reference(name))


def planned(*names: str, into: Targets | None) -> Changeset:
    """The plan of the first operator, with the drafts of all."""
    operator = replace(facts(names[0]).operator, into=into, kernel="kernels/X.metal", host="stubs/X.mm")
    kernel, host = ("\n".join(filter(None, texts)) for texts in zip(*map(texts_of, names), strict=True))
    return plan(operator, Fragments(kernel, host), campaign().snapshot)


def texts_of(name: str) -> tuple[str | None, str | None]:
    return drafted(name).kernel, drafted(name).host


@pytest.mark.parametrize("name", SPREAD)
def test_a_draft_has_the_pattern_of_its_kind_and_compiles(name: str) -> None:
    assert shape_of(facts(name), reference(name)).pattern is SPREAD[name]
    kernel = drafted(name).kernel
    if kernel is None:
        assert campaign().manifest.operator(name).kernel == "none"
        return
    library = compile_shader(kernel)
    assert dir(library), f"{name} registers nothing"
    assert "TODO" in kernel


def test_all_stubs_type_check() -> None:
    """All in one new file, so that clang and torchgen run once."""
    change = planned(*SPREAD, into=IN_ONE_FILE)
    assert change.complete, change.gaps
    text = change.after().read(IN_ONE_FILE.host).decode()
    assert not [name for name in SPREAD if f" {shape_of(facts(name), reference(name)).function}(" not in text]
    result = check_host(change.after(), {IN_ONE_FILE.host, NATIVE_FUNCTIONS}, ROOT / ".cache" / "host")
    assert result.outcome is Outcome.PASSED, "\n".join(map(str, result.findings))
    assert not [finding for finding in result.findings if finding.severity is Severity.ERROR]


@pytest.mark.parametrize("name", ["sign", "huber_loss_backward", "softmax_backward", "std", "flip"])
def test_a_draft_is_laid_out_as_upstream_lays_out_code(name: str) -> None:
    result = check_style(planned(name, into=facts(name).operator.into))
    assert result.outcome is Outcome.PASSED, result.findings


def rules_named(name: str) -> Iterator[str]:
    for text in (drafted(name).kernel, drafted(name).host):
        if text is not None:
            head = " ".join(line.removeprefix("//") for line in text.splitlines() if line.startswith("//"))
            yield from re.findall(r"\b(?:numerics|contract|style|host|rows|completeness)/[a-z-]+", head)


@pytest.mark.parametrize("name", SPREAD)
def test_the_notes_name_rules_that_exist(name: str) -> None:
    named = set(rules_named(name))
    assert {"contract/unguarded-dtype", "completeness/graph-kept", "host/type-error"} <= named
    assert named <= set(catalogue())


def test_the_notes_tell_what_the_tree_says() -> None:
    kernel, host = drafted("logit").kernel or "", drafted("logit").host or ""
    assert "logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)" in " ".join(
        kernel.replace("//", "").split()
    )
    assert re.search(r"legacy +logit_out_mps \(UnaryOps\.mm:\d+\)", kernel)
    assert re.search(r"OpInfo +logit \(common_methods_invocations\.py:\d+\)", kernel)
    assert (
        re.search(r"stub +logit_stub\(TensorIteratorBase&, const Scalar&\)", host) and "function logit_out_mps" in host
    )


def test_a_new_operator_says_that_mps_gets_a_row() -> None:
    assert facts("special_airy_ai").operator.workflow is Workflow.NEW
    proposed = facts("special_legendre_polynomial_p")
    assert not proposed.is_listed and proposed.operator.workflow is Workflow.NEW
    assert "MPS runs special_legendre_polynomial_p_out" in (drafted("special_legendre_polynomial_p").host or "")


def test_the_dtypes_are_those_of_the_cpu_and_the_narrow_ones_it_lacks() -> None:
    kernel = drafted("special_airy_ai").kernel or ""
    registered = re.findall(r"^REGISTER_UNARY_OP\(\w+, (\w+), (\w+)\);", kernel, re.MULTILINE)
    assert ("half", "half") in registered and ("int", "float") in registered and ("float2", "float2") not in registered


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("no_such", UsageError, "has an operator 'no_such'"),
        ("erfc", Refusal, "does not run on MPSGraph"),
        ("pixel_shuffle", Refusal, "needs no code of its own: its composite serves MPS"),
        ("add", Refusal, "write `dispatch: keep` in the manifest"),
    ],
)
def test_what_cannot_be_drafted_says_why(name: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        facts_of(name, campaign().manifest, campaign().snapshot)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bucketize", "read different tensors, which takes a kernel for each; give each an entry of its own"),
        ("median", "give different numbers of results, which takes a kernel for each"),
        ("rrelu_with_noise", "writes noise and returns more than that; write it by hand"),
        ("_fused_adam_", "there is no skeleton for"),
    ],
)
def test_functions_that_no_skeleton_fits_are_refused(name: str, words: str) -> None:
    with pytest.raises(Refusal, match=re.escape(words)):
        draft(facts(name), reference(name))


def test_the_reference_comes_from_a_process_of_its_own() -> None:
    assert observe(facts("logit")) == reference("logit")


def test_a_process_that_dies_leaves_the_dtypes_to_opinfo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    died = observe(facts("sign"))
    assert died == Reference()
    assert "REGISTER_UNARY_OP(sign, float, float)" in (draft(facts("sign"), died).kernel or "")


def test_a_tree_without_the_stub_is_named() -> None:
    """Trees of other ages: what the manifest names may not be there yet."""
    header = "aten/src/ATen/native/UnaryOps.h"
    text = campaign().snapshot.tree.read(header).replace(b"sign_fn, sign_stub", b"sign_fn, other_stub")
    text = re.sub(rb"DECLARE_DISPATCH\([^)]*\bsign_stub\)", b"", text)
    older = Snapshot(MemoryTree({header: text}, campaign().snapshot.tree))
    with pytest.raises(Refusal, match="declares no sign_stub; correct `stub:` in the manifest"):
        facts_of("sign", campaign().manifest, older)


def test_without_a_manifest_the_tree_says_the_same() -> None:
    """What the manifest lists for an operator is what `propose` finds on its own."""
    empty = replace(campaign().manifest, operators=())
    for name in ("acosh", "mish_backward", "huber_loss_backward", "special_airy_ai"):
        alone = facts_of(name, empty, campaign().snapshot).operator
        listed = campaign().manifest.operator(name)
        assert (alone.stub, alone.rows, alone.dispatch, alone.workflow) == (
            listed.stub,
            listed.rows,
            listed.dispatch,
            listed.workflow,
        )
