"""The contract between stub and kernels: every way in which they can fail to meet is found, and sound ones pass."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pipeline.changeset import Changeset, FileChange
from pipeline.checks.contract import check_contract, check_contract_of_fragments
from pipeline.checks.contract.check import claimed_dtypes
from pipeline.checks.contract.job import Job
from pipeline.checks.contract.worker import hold
from pipeline.checks.run import export_headers
from pipeline.edits.opinfos import OpInfo
from pipeline.errors import PipelineError
from pipeline.findings import CheckResult, Outcome, Severity
from pipeline.manifest import Dispatch, Operator
from pipeline.manifest_file import load_manifest
from pipeline.migration import Fragments, plan
from pipeline.pocket.contents import pocket_files
from pipeline.rules import catalogue
from pipeline.snapshot import Snapshot
from pipeline.source import KERNELS, OPERATIONS, MemoryTree
from tests.host_mistakes import BINARY, MISTAKES, ROW_SOFTMAX, ROW_SOFTMAX_KERNEL, ROWS, UNARY, Mistake

ROOT = Path(__file__).parent.parent
INCLUDE = str(Path(torch.__file__).parent / "include")
ALL = ("float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex32")
FLOATING = ("float32", "float16", "bfloat16")


def job(operator: str, kernel: str, stub: str, **more: object) -> Job:
    made = Job(operator, stub, f"stubs/{operator}.mm", (), kernel, f"kernels/{operator}.metal", "", (), INCLUDE, ALL)
    return replace(made, **more)  # type: ignore[arg-type]


def held(operator: str, kernel: str, stub: str, **more: object) -> CheckResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hold(job(operator, kernel, stub, **more))


def rules(result: CheckResult) -> list[str]:
    return sorted({finding.rule.removeprefix("contract/") for finding in result.findings})


# What OpInfo claims where the CPU serves more.
CLAIMED = {"mse_loss_backward": FLOATING}


def fragment(
    operator: str, edit: tuple[str, str] | None = None, kernel_edit: tuple[str, str] | None = None
) -> CheckResult:
    """An operator's own fragments, after an edit of the stub or the kernel."""
    texts = []
    for path, change in ((f"stubs/{operator}.mm", edit), (f"kernels/{operator}.metal", kernel_edit)):
        text = (ROOT / path).read_text()
        if change is not None:
            assert change[0] in text, f"{path} no longer holds {change[0]!r}"
            text = text.replace(*change)
        texts.append(text)
    return held(operator, texts[1], texts[0], claimed=CLAIMED.get(operator))


def kernel_of(name: str, *registrations: str, arity: int = 1, extra: str = "") -> str:
    parameters = ", ".join(f"const T x{index}" for index in range(arity)) + extra
    return (
        "#include <c10/metal/indexing.h>\nusing namespace metal;\nusing namespace c10::metal;\n"
        f"struct {name}_functor {{\n  template <typename T{', typename A' if extra else ''}>\n"
        f"  inline T operator()({parameters}) {{\n    return x0;\n  }}\n}};\n"
        + "".join(f"{each};\n" for each in registrations)
    )


def stub_of(name: str, call: str, guard: str = "", signature: str = "TensorIteratorBase& iter") -> str:
    function = f"static void {name}_kernel({signature}) {{\n{guard}  {call};\n}}\n\n"
    registration = f"REGISTER_DISPATCH({name}_stub, &{name}_kernel)\n"
    return f"#include <ATen/native/mps/OperationUtils.h>\n\n{function}{registration}"


def unary(name: str, *dtypes: str) -> list[str]:
    return [f"REGISTER_UNARY_OP({name}, {dtype}, {dtype})" for dtype in dtypes]


def binary(name: str, *dtypes: str) -> list[str]:
    return [f"REGISTER_BINARY_OP({name}, {dtype}, {dtype})" for dtype in dtypes]


# Names and dtypes

IGAMMAC = kernel_of("igammac", *binary("igammac", "float", "half", "bfloat"), arity=2)
CALL = 'lib.exec_binary_kernel(iter, "igammac")'


def test_a_complex_dtype_that_is_neither_refused_nor_registered() -> None:
    result = held("igammac", IGAMMAC, stub_of("igammac", CALL), claimed=(*FLOATING, "float64"))
    assert result.outcome is Outcome.FAILED
    plain = result.findings[0]
    assert plain.rule == "contract/unguarded-dtype" and plain.severity is Severity.ERROR
    assert plain.message.startswith("igammac on uint8, int8, int16, int32, int64, complex32, complex64, bool: neither")
    assert (plain.path, plain.line) == ("stubs/igammac.mm", 3)
    guard = '  TORCH_CHECK(!isIntegralType(iter.common_dtype(), true), "no integers");\n'
    only_complex = held("igammac", IGAMMAC, stub_of("igammac", CALL, guard), claimed=FLOATING).findings[0]
    assert only_complex.message.startswith("igammac on complex32, complex64: neither refused nor registered: asks for")
    assert "igammac_dense_broadcast_half2_half2" in only_complex.message


def test_a_guard_is_taken_into_account() -> None:
    guard = (
        '  TORCH_CHECK(isFloatingType(iter.common_dtype()), "igammac is not implemented for ", iter.common_dtype());\n'
    )
    result = held("igammac", IGAMMAC, stub_of("igammac", CALL, guard), claimed=FLOATING)
    assert (result.outcome, result.findings) == (Outcome.PASSED, ())
    assert "names asked for" in result.summary and "on 3 dtypes" in result.summary


def test_a_guard_that_refuses_what_opinfo_claims() -> None:
    guard = '  TORCH_CHECK(iter.common_dtype() == kFloat, "only float");\n'
    result = held("igammac", IGAMMAC, stub_of("igammac", CALL, guard), claimed=FLOATING)
    assert rules(result) == ["narrower-dtypes", "never-asked"]
    assert 'on float16, bfloat16: refused, though the CPU serves it and OpInfo claims it for MPS: "only float"' in str(
        result.findings[0]
    )
    half = held("igammac", IGAMMAC, stub_of("igammac", CALL, guard), claimed=("float32",))
    assert "narrower-dtypes" not in rules(half)


def test_a_misspelt_name() -> None:
    result = held("igammac", IGAMMAC, stub_of("igammac", CALL.replace("igammac", "igamac")), claimed=FLOATING)
    missing = [each.message for each in result.findings if each.rule == "contract/missing-kernel"]
    assert missing[0].startswith("igammac on float16, float32, bfloat16: asks for igamac_dense_broadcast_half_half")


def test_a_dtype_left_out() -> None:
    kernel = kernel_of("sign", *unary("sign", "float", "half", "long", "int", "short", "char", "uchar", "bool"))
    result = held("sign", kernel, stub_of("sign", 'lib.exec_unary_kernel(iter, "sign")'))
    missing = [each.message for each in result.findings if each.rule == "contract/missing-kernel"]
    assert missing[0].startswith("sign on bfloat16: asks for")


def test_integers_that_promote_to_float_need_kernels_of_two_dtypes() -> None:
    same = kernel_of("erf", *unary("erf", "float", "half", "bfloat"))
    guard = '  TORCH_CHECK(!isComplexType(iter.common_dtype()), "not complex");\n'
    stub = stub_of("erf", 'lib.exec_unary_kernel(iter, "erf")', guard)
    assert "missing-kernel" in rules(held("erf", same, stub))
    integers = [
        f"REGISTER_UNARY_OP(erf, {dtype}, float)" for dtype in ("long", "int", "short", "char", "uchar", "bool")
    ]
    text = same.replace("return x0", "return result_of<erf_functor, T>(x0)") + "".join(
        f"{each};\n" for each in integers
    )
    assert rules(held("erf", text.replace("inline T operator", "inline auto operator"), stub)) == []


def test_mixed_dtypes_need_cast_kernels() -> None:
    """A helper that finds its dense kernels and no others."""
    cast = "REGISTER_BINARY_OP(igammac, half, half)"
    stub = stub_of("igammac", CALL, '  TORCH_CHECK(isFloatingType(iter.common_dtype()), "no");\n')
    parameters = "device half* o, constant half* a, constant half* b"
    strided = "constant long* s, constant long* x, constant long* y, constant long* z, constant uint4& n"
    names = {
        **dict.fromkeys(("dense", "dense_ilp4", "dense_scalar", "dense_scalar_lhs"), parameters),
        **dict.fromkeys(("dense_broadcast", "dense_broadcast_rhs"), f"{parameters}, constant long& n"),
        "strided": f"device void* o, constant void* a, constant void* b, {strided}",
    }
    dense = "".join(f"kernel void igammac_{name}_half_half({given}) {{}}\n" for name, given in names.items())
    assert rules(held("igammac", IGAMMAC, stub, claimed=FLOATING)) == []
    result = held("igammac", IGAMMAC.replace(f"{cast};\n", dense), stub, claimed=FLOATING)
    [finding] = result.findings
    assert finding.rule == "contract/missing-kernel"
    assert finding.message.startswith("igammac on float16 and int64: asks for igammac_dense_broadcast_cast_half_half")


def test_a_comparison_needs_castout_kernels_for_out_of_another_dtype() -> None:
    assert rules(fragment("logical_and")) == []
    without = fragment("logical_and", kernel_edit=("REGISTER_BINARY_CASTOUT_OP(logical_and, half, bool);\n", ""))
    assert "logical_and_strided_castout_bool_half" in str(without.findings[0])


SCALARS = {
    "another scalar_arg_type": ("logit", ("eps, kFloat", "eps"), "missing-kernel"),
    "a misspelt params type": ("softplus", ('"SoftplusParams"', '"SoftPlusParams"'), "missing-kernel"),
    "a scalar for a kernel without": ("sign", ('iter, "sign"', 'iter, "sign", Scalar(1)'), "missing-kernel"),
    "no scalar for a kernel with one": ("smooth_l1_loss", (", Scalar(beta), kFloat", ""), "missing-kernel"),
    "a params struct of another name": (
        "threshold",
        ('"ThresholdParams_long"', '"ThresholdParams_int"'),
        "missing-kernel",
    ),
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_and_params(name: str) -> None:
    operator, edit, rule = SCALARS[name]
    assert rules(fragment(operator)) == []
    assert rule in rules(fragment(operator, edit))


def test_a_params_struct_of_another_size() -> None:
    text = (ROOT / "stubs/softplus.mm").read_text()
    usual = "const SoftplusParams params{beta.to<float>(), threshold.to<float>()};"
    assert usual in text
    stub = "struct OtherParams {\n  double beta;\n  double threshold;\n};\n" + text.replace(
        usual, "const OtherParams params{1.0, 2.0};"
    )
    result = held("softplus", (ROOT / "kernels/softplus.metal").read_text(), stub, claimed=None)
    finding = next(each for each in result.findings if each.rule == "contract/argument-size")
    assert finding.message.endswith("is a SoftplusParams of 8 bytes, bound are 16")


def test_a_registration_nothing_asks_for() -> None:
    kernel = (ROOT / "kernels/frac.metal").read_text() + "REGISTER_UNARY_OP(frac, int, int);\n"
    result = held("frac", kernel, (ROOT / "stubs/frac.mm").read_text(), claimed=None)
    [finding] = result.findings
    assert (finding.rule, finding.severity) == ("contract/never-asked", Severity.WARNING)
    assert (finding.path, finding.line) == ("kernels/frac.metal", kernel.count("\n"))
    assert result.outcome is Outcome.PASSED


def test_what_was_registered_before_is_neither_idle_nor_lost() -> None:
    before = kernel_of("other", *unary("other", "float"))
    ours = (ROOT / "kernels/frac.metal").read_text()
    merged = ours + before.partition("using namespace c10::metal;\n")[2]
    stub = (ROOT / "stubs/frac.mm").read_text()
    assert rules(held("frac", merged, stub, kernel_before=before, claimed=None)) == []
    lost = held("frac", ours, stub, kernel_before=before, claimed=None)
    assert rules(lost) == ["kernel-lost"] and "other_dense_float_float" in str(lost.findings[0])


def test_a_kernel_without_a_stub_is_held_against_the_one_it_implies() -> None:
    result = held("igammac", IGAMMAC, "", claimed=FLOATING)
    assert rules(result) == ["unguarded-dtype"]


def test_a_kernel_that_cannot_be_read() -> None:
    stub = (ROOT / "stubs/frac.mm").read_text()
    assert rules(held("frac", "#include <c10/metal/gone.h>\n", stub)) == ["unreadable-kernel"]
    assert rules(held("frac", "kernel void k = 1;\n", stub)) == ["unreadable-kernel"]


# Arity


def test_a_binary_helper_on_a_unary_stub() -> None:
    result = fragment("sign", ("exec_unary_kernel", "exec_binary_kernel"))
    assert "arity" in rules(result)
    text = next(each.message for each in result.findings if each.rule == "contract/arity")
    assert text == "sign: exec_binary_kernel reads 2 tensors, the iterator has 1: sign"


def test_a_unary_helper_on_a_binary_stub() -> None:
    assert "arity" in rules(fragment("heaviside", ("exec_binary_kernel", "exec_unary_kernel")))


# Stubs that drive the iterator themselves

NDIM = 'c10::checked_convert<uint32_t>(iter.ndim(), "uint32_t")'
FOUR = "{metal_type(0), metal_type(1), metal_type(2), metal_type(3)}"
FAULTS: dict[str, tuple[str, tuple[str, str], str]] = {
    "a wider integer": ("where", (NDIM, "iter.ndim() + int64_t(0)"), "argument-size"),
    "an argument left out": ("where", ("iter.strides(3), ndim", "iter.strides(3)"), "argument-missing"),
    "one argument too many": ("where", ("iter.strides(3), ndim", "iter.strides(3), ndim, ndim"), "argument-unknown"),
    "arguments in another order": ("addcmul", ("iter.strides(3), ndim", "ndim, iter.strides(3)"), "argument-size"),
    "from another index on": ("where", ("mtl_setArgs<4>", "mtl_setArgs<5>"), "argument-missing"),
    "three numbers for a uint4": ("addcmul", (FOUR, FOUR.replace(", metal_type(3)", "")), "argument-size"),
    "no early return": ("where", ("if (iter.numel() == 0)", "if (iter.numel() == -1)"), "empty-dispatch"),
    "no parts for large ones": ("where", ("if (!iter.can_use_32bit_indexing())", "if (false)"), "large-iterator"),
    "the dtype of another operand": ("where", ("iter.dtype(0)", "iter.dtype(1)"), "element-type"),
    "a half for a float": ("mse_loss_backward", ("norm.to<float>()", "norm.to<at::Half>()"), "argument-size"),
    "a misspelt kernel": ("prelu_backward", ('"prelu_backward_{}', '"prelu_bakward_{}'), "missing-kernel"),
    "a flavour that is not there": ("where", ('"dense" : "strided"', '"dense" : "stride"'), "missing-kernel"),
    "no guard": ("softmax_backward", ("isFloatingType(output.scalar_type())", "true"), "unguarded-dtype"),
    "a count of another width": ("isin", ("convert<uint32_t>(test", "convert<int64_t>(test"), "argument-size"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_stub_that_dispatches_itself(name: str) -> None:
    operator, edit, rule = FAULTS[name]
    assert rules(fragment(operator)) == []
    assert rule in rules(fragment(operator, edit))


def test_three_numbers_for_a_uint3() -> None:
    kernel = (ROOT / "kernels/addcmul.metal").read_text().replace("constant uint4& types", "constant uint3& types")
    kernel = kernel.replace("types.w", "types.z")
    stub = (ROOT / "stubs/addcmul.mm").read_text()
    three = stub.replace("std::array<uint32_t, 4>", "std::array<uint32_t, 3>").replace(", metal_type(3)}", "}")
    assert rules(held("addcmul", kernel, stub, claimed=None)) == []
    found = held("addcmul", kernel, three, claimed=None)
    [finding] = [each for each in found.findings if each.rule == "contract/argument-size"]
    assert "argument 11 of addcmul_strided_cast_" in finding.message
    assert "is a uint3 of 16 bytes, bound are 12" in finding.message


def test_a_ternary_helper_that_cannot_take_large_iterators() -> None:
    dtypes = ("float", "half", "bfloat", "long", "int", "short", "char", "uchar", "bool")
    kernel = kernel_of("clamp", *(f"REGISTER_TERNARY_OP(clamp, {dtype}, {dtype})" for dtype in dtypes), arity=3)
    guard = '  TORCH_CHECK(!isComplexType(iter.common_dtype()), "not complex");\n'
    result = held("clamp", kernel, stub_of("clamp", 'lib.exec_ternary_kernel(iter, "clamp")', guard))
    [finding] = result.findings
    assert (finding.rule, finding.severity) == ("contract/large-iterator", Severity.WARNING)
    loop = 'for (auto&& part : iter.with_32bit_indexing()) {\n    lib.exec_ternary_kernel(part, "clamp");\n  }'
    assert rules(held("clamp", kernel, stub_of("clamp", loop, guard))) == []


def test_host_code_that_cannot_be_followed_is_not_passed() -> None:
    with pytest.raises(PipelineError, match=r"stubs/sign.mm:\d+"):
        fragment("sign", ("lib.exec_unary_kernel", "lib.exec_unary_kernel_of_tomorrow"))


# What the text says by itself

TREE = MemoryTree(pocket_files())


def alone(operator: str, kernel: str, stub: str, cache: Path) -> CheckResult:
    known = Operator(operator, kernel=f"kernels/{operator}.metal", host=f"stubs/{operator}.mm")
    return check_contract_of_fragments(known, kernel, stub, TREE, export_headers(TREE, cache / "headers"))


@pytest.mark.parametrize(
    ("old", "new", "rule", "text"),
    [
        ("(sign_stub", "(sing_stub", "unknown-stub", "no header of ATen/native declares sing_stub"),
        ("TensorIteratorBase& iter", "TensorIterator& iter", "signature", "takes (TensorIterator&), but sign_stub"),
        (
            "TensorIteratorBase& iter",
            "TensorIteratorBase& iter, const Scalar& a",
            "signature",
            "calls it with (TensorIter",
        ),
    ],
)
def test_declared_stubs(
    old: str, new: str, rule: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pipeline.checks.contract.check._in_own_process", lambda job: CheckResult.not_run("contract", "")
    )
    stub = (ROOT / "stubs/sign.mm").read_text().replace(old, new)
    result = alone("sign", (ROOT / "kernels/sign.metal").read_text(), stub, tmp_path)
    [finding] = result.findings
    assert finding.rule == f"contract/{rule}" and text in finding.message
    assert finding.line == (5 if rule == "signature" else 9)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("[encoder setBuffer:getMTLBufferStorage(self) offset:0 atIndex:0];", "buffer-offset"),
        ("[encoder setBuffer:mps::getMTLBufferStorage(iter.output()) offset:0 atIndex:1];", "buffer-offset"),
        ("mtl_setBytes(encoder, self.storage().data(), 1);", "storage-bytes"),
        ("[encoder setBytes:self.storage().data() length:4 atIndex:1];", "storage-bytes"),
        ("[encoder setBuffer:getMTLBufferStorage(self) offset:self.storage_offset() * 4 atIndex:0];", ""),
        ("mtl_setBytes(encoder, self.item(), 1);", ""),
    ],
)
def test_buffers_bound_from_their_start(line: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pipeline.checks.contract.check._in_own_process", lambda job: CheckResult.not_run("contract", "")
    )
    result = alone("sign", "", f"static void bind(const Tensor& self) {{\n  {line}\n}}\n", tmp_path)
    assert [(each.rule, each.line) for each in result.findings] == [(f"contract/{rule}", 2)] * bool(rule)


# Whole changes


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return Snapshot(TREE)


def planned(name: str, snapshot: Snapshot) -> Changeset:
    operator = load_manifest(ROOT / "ops_manifest.yaml").operator(name)
    kernel, host = ((ROOT / path).read_text() for path in (operator.kernel, operator.host))
    return plan(operator, Fragments(kernel, host), snapshot)


def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.checks.contract.check._in_own_process", hold)


# A macro line, a stub with a parameter, a comparison, kernels of its own, functions that keep their rows.
@pytest.mark.parametrize("name", ["sign", "threshold", "logical_xor", "addcmul", "softmax_backward", "flip"])
def test_planned_changes_hold(name: str, snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_this_process(monkeypatch)
    changeset = planned(name, snapshot)
    assert changeset.complete
    result = check_contract(changeset, export_headers(changeset.after(), tmp_path / "headers"))
    assert (result.outcome, [str(each) for each in result.findings]) == (Outcome.PASSED, [])
    assert result.not_covered


def test_what_lands_is_held_not_the_fragment(
    snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The macro of the target file makes the kernel function, so its mistakes count."""
    in_this_process(monkeypatch)
    changeset = planned("sign", snapshot)
    host = f"{OPERATIONS}/UnaryKernel.mm"
    files = [
        replace(
            change, after=change.after.replace(b"exec_unary_kernel(iter, #NAME)", b"exec_binary_kernel(iter, #NAME)")
        )
        if change.path == host and change.after
        else change
        for change in changeset.files
    ]
    wrong = replace(changeset, files=tuple(files))
    result = check_contract(wrong, export_headers(wrong.after(), tmp_path / "headers"))
    finding = next(each for each in result.findings if each.rule == "contract/arity")
    assert finding.path == host and finding.line is not None
    after = next(change.after for change in files if change.path == host)
    assert after is not None and b"sign" in after.splitlines()[finding.line - 1]


def test_when_there_is_nothing_to_hold(snapshot: Snapshot, tmp_path: Path) -> None:
    drop = Changeset(Operator("repeat", dispatch=Dispatch.DROP), TREE, (), ())
    assert "a composite serves" in check_contract(drop, tmp_path).summary
    bare = Changeset(Operator("sign", stub="sing_stub"), TREE, (), ())
    assert "no host file registers" in check_contract(bare, tmp_path).summary
    tree = MemoryTree({f"{KERNELS}/UnaryKernel.metal": None}, TREE)
    lone = Changeset(Operator("exp", stub="exp_stub"), tree, (), ())
    assert "no shader of its stem" in check_contract(lone, tmp_path).summary


def test_it_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    kernel, stub = ((ROOT / path).read_text() for path in ("kernels/frac.metal", "stubs/frac.mm"))
    assert alone("frac", kernel, stub, tmp_path).outcome is Outcome.PASSED
    assert alone("nothing", kernel, stub.replace("frac_stub", "gone_stub"), tmp_path).outcome is Outcome.FAILED
    unknown = alone("frac", kernel, stub.replace("exec_unary_kernel", "exec_it"), tmp_path)
    assert unknown.outcome is Outcome.NOT_RUN and "stubs/frac.mm:7" in unknown.summary


def test_a_process_that_breaks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.checks.contract.check._ROOT", tmp_path)
    with pytest.raises(PipelineError, match="the contract check of frac broke"):
        alone("frac", "", "", tmp_path)


# OpInfo


def opinfo(name: str, dtypes: tuple[str, ...] | None, mps: tuple[str, ...] | None = None, **more: str) -> OpInfo:
    fields = {"variant": "", "aten_name": "", "ref_of": "", **more}
    return OpInfo(path="a.py", line=1, name=name, aliases=(), dtypes=dtypes, mps_dtypes=mps, **fields)


def test_claimed_dtypes() -> None:
    infos = [
        opinfo("sign", ("float32", "int8")),
        opinfo("nn.functional.mish", ("float32", "float64"), ("float32",)),
        opinfo("_refs.sign", ("bool",), ref_of="sign"),
        opinfo("odd", None),
    ]
    assert claimed_dtypes(infos, Operator("sign")) == ("float32", "int8")
    assert claimed_dtypes(infos, Operator("mish")) == ("float32",)
    assert claimed_dtypes(infos, Operator("mish_backward")) == ("float32",)
    assert claimed_dtypes(infos, Operator("thing", opinfo=("nn.functional.mish",))) == ("float32",)
    assert claimed_dtypes(infos, Operator("odd")) is None
    assert claimed_dtypes(infos, Operator("unknown")) is None


# Mistakes that the type check lets pass

OWNERS = {
    UNARY: Operator("exp", stub="exp_stub"),
    BINARY: Operator("hypot", stub="hypot_stub"),
    ROWS: Operator("_softmax", dispatch=Dispatch.KEEP),
}


@pytest.mark.parametrize("mistake", [each for each in MISTAKES if each.elsewhere], ids=lambda mistake: mistake.name)
def test_a_mistake_that_the_types_cannot_tell(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_this_process(monkeypatch)
    path = f"{OPERATIONS}/{mistake.stem}.mm"
    good = ROW_SOFTMAX if mistake.stem == ROWS else TREE.read(path).decode()
    kernel = {f"{KERNELS}/{ROWS}.metal": ROW_SOFTMAX_KERNEL} if mistake.stem == ROWS else {}
    assert mistake.old in good
    found = {}
    for text in (good, good.replace(mistake.old, mistake.new)):
        files = [FileChange(name, None, content.encode()) for name, content in {path: text, **kernel}.items()]
        legacy = ("softmax_mps_out",) if mistake.stem == ROWS else ()
        changeset = Changeset(OWNERS[mistake.stem], TREE, tuple(files), (), legacy=legacy)
        result = check_contract(changeset, export_headers(changeset.after(), tmp_path / "headers"))
        assert result.outcome is not Outcome.NOT_RUN, result.summary
        found[text] = {finding.rule for finding in result.findings}
    assert mistake.elsewhere not in found[good]
    assert mistake.elsewhere in found[text]


def test_every_planted_mistake_is_caught_or_excused() -> None:
    for mistake in MISTAKES:
        assert [mistake.rule is not None, mistake.elsewhere != "", mistake.excuse != ""].count(True) == 1, mistake.name
        assert not mistake.elsewhere or mistake.elsewhere in catalogue()
        assert mistake.rule is None or f"host/{mistake.rule}" in catalogue()
