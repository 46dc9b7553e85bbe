"""The type check of host files: every file of the pocket passes, and planted mistakes of every known kind are found."""

from __future__ import annotations

import functools
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
from filelock import FileLock

from pipeline import pocket
from pipeline.checks.host import check_host, compiler
from pipeline.checks.host.diagnostics import parse_diagnostics
from pipeline.edits import dispatch
from pipeline.findings import CheckResult, Finding, Outcome, Severity
from pipeline.source import KERNELS, MPS, NATIVE_FUNCTIONS, OPERATIONS, TAGS, MemoryTree, SourceTree
from pipeline.source_git import open_path
from tests.host_mistakes import MISTAKES, ROW_SOFTMAX, Mistake

CACHE = Path(__file__).parents[1] / ".cache" / "host"
ACTIVATION_PARAMS = f"{KERNELS}/Activation.h"


@functools.cache
def tree() -> SourceTree:
    """The pocket, and a host file that dispatches its kernel by hand, which the pocket has none of."""
    files: dict[str, bytes | None] = {
        f"{OPERATIONS}/RowSoftmax.mm": ROW_SOFTMAX.encode(),
        f"{KERNELS}/RowSoftmax.metal": b"#include <metal_stdlib>\n",
    }
    return MemoryTree(files, open_path(pocket.build(CACHE.parents[1]), "main"))


def text_of(stem: str) -> str:
    return tree().read(f"{OPERATIONS}/{stem}.mm").decode()


def edited(path: str, *edits: tuple[str, str]) -> dict[str, str]:
    text = tree().read(path).decode()
    for old, new in edits:
        assert old in text, f"{path} no longer holds {old!r}"
        text = text.replace(old, new, 1)
    return {path: text}


def collapsed(func: str) -> dict[str, str]:
    """native_functions.yaml with the MPS row of `func` gone into the shared one."""
    return {NATIVE_FUNCTIONS: dispatch.collapse(tree().read(NATIVE_FUNCTIONS).decode(), func)}


def check(files: dict[str, str], touched: Iterable[str] = (), before: SourceTree | None = None) -> CheckResult:
    after = MemoryTree({path: text.encode() for path, text in files.items()}, tree())
    return check_host(after, {*files, *touched}, CACHE, before)


def path_of(mistake: Mistake) -> str:
    return f"{OPERATIONS}/{mistake.stem}_{mistake.name}.mm"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> CheckResult:
    """All planted mistakes in one run, each in a file of its own; shared between test processes."""
    kept = tmp_path_factory.getbasetemp().parent / "host-verdicts"
    with FileLock(f"{kept}.lock"):
        if not kept.exists():
            files = {}
            for mistake in MISTAKES:
                [text] = edited(f"{OPERATIONS}/{mistake.stem}.mm", (mistake.old, mistake.new)).values()
                files[path_of(mistake)] = text
            kept.write_bytes(pickle.dumps(check(files)))
        result: CheckResult = pickle.loads(kept.read_bytes())
        return result


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_planted_mistake(mistake: Mistake, verdicts: CheckResult) -> None:
    found = [finding for finding in verdicts.findings if finding.path == path_of(mistake)]
    if mistake.rule is None:
        assert bool(mistake.elsewhere) != bool(mistake.excuse)
        assert found == []
    else:
        assert f"host/{mistake.rule}" in {finding.rule for finding in found}, found
        assert all(finding.line for finding in found)


def test_no_finding_stands_outside_the_mistakes(verdicts: CheckResult) -> None:
    assert len({path_of(mistake) for mistake in MISTAKES}) == len(MISTAKES)
    assert {finding.path for finding in verdicts.findings} <= {path_of(mistake) for mistake in MISTAKES}


def test_good_files_have_no_finding() -> None:
    hosts = [path for path in tree().files(OPERATIONS) if path.endswith(".mm")]
    result = check({}, hosts)
    assert passed(result)
    assert result.summary == f"{len(hosts)} host files for arm64 macOS, with bundled and JIT shader library"
    assert result.not_covered


# Rows and definitions, checked together


def test_a_structured_definition_left_behind_is_found() -> None:
    files = {**collapsed("acosh.out"), **edited(f"{OPERATIONS}/UnaryOps.mm")}
    [finding] = errors(check(files))
    assert finding.rule == "host/type-error"
    assert "structured_acosh_out_mps" in finding.message
    assert line_of(finding, files) == "CREATE_MPS_STRUCTURED_UNARY_TORCH_IMPL_FUNC(acosh_out_mps, acosh)"


def test_a_plain_definition_left_behind_is_found() -> None:
    files = {**collapsed("logical_and.out"), **edited(f"{OPERATIONS}/BinaryOps.mm")}
    [finding] = errors(check(files))
    assert finding.rule == "host/undeclared-definition"
    assert line_of(finding, files) == "CREATE_MPS_BINARY_COMPARISON_OP_FUNC(logical_and_out_mps, logicalAND);"


def test_a_definition_removed_too_early_is_no_fault_of_the_types() -> None:
    """The row still names it: that is for the checks of rows and completeness."""
    files = edited(
        f"{OPERATIONS}/UnaryOps.mm", ("CREATE_MPS_STRUCTURED_UNARY_TORCH_IMPL_FUNC(acosh_out_mps, acosh)\n", "")
    )
    assert {finding.rule for finding in check(files).findings} == {"host/unused-include"}


def test_a_whole_migration_passes() -> None:
    files = {
        **collapsed("acosh.out"),
        **edited(
            f"{OPERATIONS}/UnaryOps.mm",
            ("CREATE_MPS_STRUCTURED_UNARY_TORCH_IMPL_FUNC(acosh_out_mps, acosh)\n", ""),
            ("#include <ATen/ops/acosh_native.h>\n", ""),
        ),
        **edited(
            f"{OPERATIONS}/UnaryKernel.mm",
            (
                "REGISTER_UNARY_TI_DISPATCH(exp);\n",
                "REGISTER_UNARY_TI_DISPATCH(acosh);\nREGISTER_UNARY_TI_DISPATCH(exp);\n",
            ),
        ),
    }
    result = check(files)
    assert passed(result)


def test_a_new_operator_gets_its_headers() -> None:
    entry = "- func: bell_curve(Tensor self) -> Tensor\n  variants: function\n  dispatch:\n    MPS: bell_curve_mps\n\n"
    yaml = {NATIVE_FUNCTIONS: entry + tree().read(NATIVE_FUNCTIONS).decode()}
    definition = "Tensor bell_curve_mps(const Tensor& self) {\n  return at::bell_curve(self);\n}\n\n"
    host = edited(
        f"{OPERATIONS}/LossOps.mm",
        (
            "#include <ATen/ops/empty.h>\n",
            "#include <ATen/ops/bell_curve.h>\n#include <ATen/ops/bell_curve_native.h>\n#include <ATen/ops/empty.h>\n",
        ),
        ("TORCH_IMPL_FUNC(mse_loss_out_mps)", definition + "TORCH_IMPL_FUNC(mse_loss_out_mps)"),
    )
    assert passed(check({**yaml, **host}))


def test_an_entry_that_torchgen_refuses_is_a_finding() -> None:
    files = {
        **edited(NATIVE_FUNCTIONS, ("- func: acosh.out(Tensor self,", "- func: acosh.out(Tenser self,")),
        **edited(f"{OPERATIONS}/UnaryOps.mm"),
    }
    result = check(files, before=tree())
    assert [finding.rule for finding in result.findings] == ["host/native-functions"]
    assert "Tenser" in result.findings[0].message
    assert result.outcome is Outcome.FAILED
    assert line_of(result.findings[0], files).startswith("- func: acosh.out(Tenser self,")


def test_an_overload_that_torchgen_could_not_read_before_either_is_left_out() -> None:
    old = {
        NATIVE_FUNCTIONS: "- func: acosh.older(Tensor self, Antique x) -> Tensor\n\n"
        + tree().read(NATIVE_FUNCTIONS).decode()
    }
    before = MemoryTree({path: text.encode() for path, text in old.items()}, tree())
    host = edited(f"{OPERATIONS}/UnaryOps.mm")
    result = check({**old, **host}, before=before)
    assert passed(result)
    assert errors(check({**old, **host}, before=tree()))


def test_a_tree_without_tags() -> None:
    bare = MemoryTree({TAGS: None}, tree())
    assert check_host(bare, {f"{OPERATIONS}/UnaryOps.mm"}, CACHE).outcome is Outcome.NOT_RUN


# Headers of the tree


def test_a_params_struct_added_to_a_header_is_seen() -> None:
    header = edited(
        ACTIVATION_PARAMS,
        (
            "template <typename T>\nstruct ELUParams",
            "struct KneeParams {\n  float at;\n};\n\ntemplate <typename T>\nstruct ELUParams",
        ),
    )
    host = edited(
        f"{OPERATIONS}/ActivationKernel.mm",
        (
            'lib.exec_unary_kernel(iter, "silu");',
            'lib.exec_unary_kernel_with_params(iter, "silu", KneeParams{1.0f}, "KneeParams");',
        ),
    )
    assert passed(check({**header, **host}))
    assert {finding.rule for finding in errors(check(host))} == {"host/type-error"}


def test_a_fault_in_a_touched_header_is_placed_there() -> None:
    header = edited(ACTIVATION_PARAMS, ("  T input_scale;\n};", "  Tee input_scale;\n};"))
    found = errors(check({**header, **edited(f"{OPERATIONS}/ActivationKernel.mm")}))
    assert {(finding.rule, finding.path) for finding in found} == {("host/type-error", ACTIVATION_PARAMS)}


def test_headers_that_do_not_fit_the_installed_torch_are_not_a_failure() -> None:
    header = edited(
        "aten/src/ATen/native/Activation.h",
        ("namespace at::native {", "using gone = c10::GoneType;\nnamespace at::native {"),
    )
    foreign = MemoryTree({path: text.encode() for path, text in header.items()}, tree())
    result = check_host(foreign, {f"{OPERATIONS}/ActivationKernel.mm"}, CACHE)
    assert result.outcome is Outcome.NOT_RUN
    assert "Activation.h" in result.summary and "GoneType" in result.summary


def test_one_precompiled_header_is_made_for_a_tree_with_headers_of_its_own(tmp_path: Path) -> None:
    """Also where the change touches one that is in it and one that is not; both are seen."""
    library, copy, host = f"{MPS}/MetalShaderLibrary.h", f"{MPS}/Copy.h", f"{OPERATIONS}/ActivationKernel.mm"
    opens = "namespace at::native::mps {"
    use = "static_assert(sizeof(KneeParams) == 4 && mps::knee == 2);"
    change = {
        **edited(library, (opens, f"{opens}\nconstexpr int knee = 2;")),
        **edited(
            ACTIVATION_PARAMS, ("template <typename T>\n", "struct KneeParams { int at; };\ntemplate <typename T>\n")
        ),
        **edited(host, ("// relu has no stub", f"{use}\n// relu has no stub")),
    }
    of_the_tree = edited(copy, (opens, f"{opens}\nstruct Knee;"))
    files = {path: text.encode() for path, text in {**change, **of_the_tree}.items()}
    assert not check_host(MemoryTree(files, tree()), change, tmp_path).findings
    assert len(list(tmp_path.glob("prefix-*/"))) == 1


# What was there before


def test_a_fault_from_before_the_change_is_only_a_warning() -> None:
    path = f"{OPERATIONS}/BinaryKernel.mm"
    faulty = edited(
        path,
        ("static void atan2_mps_kernel", "static int leftover() {\n  return 1;\n}\n\nstatic void atan2_mps_kernel"),
    )
    before = MemoryTree({path: faulty[path].encode()}, tree())
    moved = {
        path: faulty[path].replace("using namespace mps;\n", "using namespace mps;\n\n// Moves every line below.\n")
    }
    result = check(moved, before=before)
    assert result.outcome is Outcome.PASSED
    assert [finding.severity for finding in result.findings] == [Severity.WARNING]
    assert errors(check(moved, before=tree()))


def test_a_warning_from_before_the_change_is_left_out() -> None:
    path = f"{OPERATIONS}/LossOps.mm"
    loose = edited(
        path, ("#include <ATen/ops/empty.h>\n", "#include <ATen/ops/abs_native.h>\n#include <ATen/ops/empty.h>\n")
    )
    before = MemoryTree({path: loose[path].encode()}, tree())
    assert [finding.rule for finding in check(loose, before=tree()).findings] == ["host/unused-include"]
    assert passed(check(loose, before=before))


# When it cannot run


def test_no_host_file_touched() -> None:
    result = check({}, [NATIVE_FUNCTIONS, f"{KERNELS}/UnaryKernel.metal"])
    assert (result.outcome, result.summary) == (Outcome.NOT_RUN, "the change touches no host file")
    result = check({}, [NATIVE_FUNCTIONS, f"{OPERATIONS}/Gone.mm"])
    assert (result.outcome, result.summary) == (Outcome.NOT_RUN, "the change only removes host files")


def test_the_environment_does_not_steer_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow = tmp_path / "ATen/native"
    shadow.mkdir(parents=True)
    (shadow / "UnaryOps.h").write_text("#error not this one\n")
    monkeypatch.setenv("CPATH", str(tmp_path))
    monkeypatch.setenv("MACOSX_DEPLOYMENT_TARGET", "10.9")
    monkeypatch.setenv("SDKROOT", str(tmp_path))
    assert passed(check({}, [f"{OPERATIONS}/UnaryKernel.mm"]))


@pytest.mark.parametrize("package", ["ziglang", "torch"])
def test_without_compiler_or_headers(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pipeline.checks.host.compiler.find_spec", lambda name: None if name == package else find_spec(name)
    )
    result = check({}, [f"{OPERATIONS}/UnaryKernel.mm"])
    assert (result.outcome, result.summary) == (
        Outcome.NOT_RUN,
        f"{package} is not installed; install requirements.txt",
    )


def test_a_compiler_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zig = tmp_path / "zig"
    zig.write_text("#!/bin/sh\necho 'out of memory' >&2\nexit 137\n")
    zig.chmod(0o755)
    real = compiler.Toolchain.find()
    broken = compiler.Toolchain(zig, real.library, real.torch)
    monkeypatch.setattr(compiler.Toolchain, "find", lambda: broken)
    result = check_host(tree(), {f"{OPERATIONS}/UnaryKernel.mm"}, tmp_path)
    assert (result.outcome, result.summary) == (Outcome.NOT_RUN, "the compiler failed: out of memory")


# The precompiled header


def test_precompiled_headers_survive_runs_at_once_kills_and_damage(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from pipeline import pocket
from pipeline.checks.host import check_host
from pipeline.source_git import open_path
tree = open_path(pocket.build(Path(sys.argv[1])), "main")
print(check_host(tree, {sys.argv[2]}, Path(sys.argv[3])).outcome.value)
"""
    arguments = [sys.executable, "-c", script, str(CACHE.parents[1]), f"{OPERATIONS}/UnaryKernel.mm", str(tmp_path)]
    runs = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    killed = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    threading.Timer(1.5, killed.kill).start()
    assert [run.communicate()[0] for run in runs] == ["passed\n"] * 2
    [made] = tmp_path.glob("prefix-*/prefix.pch")
    made.write_bytes(made.read_bytes()[: 1 << 20])
    assert check_host(tree(), {f"{OPERATIONS}/UnaryKernel.mm"}, tmp_path).outcome is Outcome.PASSED
    assert len(list(tmp_path.glob("prefix-*/"))) == 1


def test_only_the_newest_prefixes_are_kept(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"prefix-{number}").mkdir()
        (tmp_path / f"prefix-{number}.lock").touch()
        os.utime(tmp_path / f"prefix-{number}", (number, number))
    compiler.drop_oldest(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("prefix-*/")) == [f"prefix-{number}" for number in (2, 3, 4, 5)]


# What clang prints


def test_diagnostics_are_read_with_their_notes() -> None:
    said = parse_diagnostics(
        "In file included from a.mm:1:\n"
        "h.h:3:5: error: no matching function for call to 'f'\n"
        "a.mm:9:1: note: in instantiation of function template specialization 'g<int>' requested here\n"
        "a.mm:12:13: warning: unused function 'x y' [-Wunused-function]\n"
        "fatal error: file 'p.pch' is not a valid precompiled header\n"
        "3 errors generated.\n"
    )
    assert [(one.is_error, one.path, one.line, one.flag) for one in said] == [
        (True, "h.h", 3, ""),
        (False, "a.mm", 12, "-Wunused-function"),
        (True, None, None, ""),
    ]
    assert said[1].text == "unused function 'x y'"
    assert [(note.path, note.line) for note in said[0].notes] == [("a.mm", 9)]


def passed(result: CheckResult) -> bool:
    """Ran, and has nothing to say."""
    return (result.outcome, result.findings) == (Outcome.PASSED, ())


def errors(result: CheckResult) -> list[Finding]:
    return [finding for finding in result.findings if finding.severity is Severity.ERROR]


def line_of(finding: Finding, files: dict[str, str]) -> str:
    assert finding.path is not None and finding.line is not None
    return files[finding.path].splitlines()[finding.line - 1]


def test_a_prefix_is_not_shared_with_another_copy_of_the_stand_ins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the headers it was made from by their path, so that the same header elsewhere would be defined twice."""
    here = compiler.Toolchain.find().identity
    monkeypatch.setattr(compiler, "STAND_INS", shutil.copytree(compiler.STAND_INS, tmp_path / "apple"))
    assert compiler.Toolchain.find().identity != here
