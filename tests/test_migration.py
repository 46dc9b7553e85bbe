from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pipeline.changeset import Changeset, EditKind
from pipeline.manifest import NO_FRAGMENT, Dispatch, Manifest, Operator, State
from pipeline.manifest_file import load_manifest
from pipeline.migration import Fragments, Samples, awaits_samples, plan
from pipeline.pocket.contents import pocket_files
from pipeline.snapshot import Snapshot
from pipeline.source import NATIVE_FUNCTIONS, MemoryTree
from tests.project import ROOT


@cache
def manifest() -> Manifest:
    return load_manifest(ROOT / "ops_manifest.yaml")


@cache
def pocket() -> Snapshot:
    return Snapshot(MemoryTree(dict(pocket_files())))


def fragments(operator: Operator) -> Fragments:
    return Fragments(fragment(operator.kernel), fragment(operator.host))


def fragment(path: str) -> str | None:
    if path == NO_FRAGMENT:
        return ""
    return (ROOT / path).read_text() if path else None


def planned(name: str, snapshot: Snapshot | None = None, **changes: object) -> Changeset:
    operator = replace(manifest().operator(name), **changes)  # type: ignore[arg-type]
    return plan(operator, fragments(operator), snapshot or pocket())


def what(changeset: Changeset, kind: EditKind) -> list[str]:
    return [edit.what for edit in changeset.edits if edit.kind is kind]


def test_every_ready_operator_is_planned_whole_and_the_same_twice() -> None:
    ready = [operator.name for operator in manifest().operators if operator.status.state is State.READY]
    assert len(ready) > 50
    for name in ready:
        changeset = planned(name)
        assert changeset.gaps == (), name
        assert changeset.files and all(change.before != change.after for change in changeset.files)
        assert planned(name).diff() == changeset.diff()


def test_a_row_that_shares_the_legacy_functions_macro_comes_along() -> None:
    threshold = planned("threshold")
    assert threshold.rows == ("threshold.out", "threshold_backward.grad_input")
    assert threshold.legacy == ("threshold_out_mps", "threshold_backward_out_mps")


def test_the_four_things_that_happen_to_rows() -> None:
    assert what(planned("sign"), EditKind.ROW) == ["sign.out: MPS joins CPU and CUDA (sign_out_mps -> sign_out)"]
    assert what(planned("repeat"), EditKind.ROW) == ["repeat: the MPS key goes away, the composite serves"]
    assert what(planned("heaviside"), EditKind.ROW) == ["heaviside.out: MPS runs heaviside_out"]
    assert planned("ceil").rows == () and NATIVE_FUNCTIONS not in planned("ceil").paths()


def test_what_is_migrated_already_is_a_gap() -> None:
    after = Snapshot(planned("sign").after())
    for rows, reason in ((("sign.out",), "shared already"), ((), "no row of sign has a function for MPS alone")):
        again = planned("sign", after, rows=rows, stub="")
        assert any(reason in gap for gap in again.gaps) and again.files == ()


def test_a_shared_row_that_cannot_be_is_refused_with_the_reason() -> None:
    changeset = planned("log_sigmoid_forward", dispatch=Dispatch.COLLAPSE)
    assert any("no shared row" in gap and gap.startswith(f"{NATIVE_FUNCTIONS}:") for gap in changeset.gaps)


@pytest.mark.parametrize("missing", ["kernels/UnaryKernel.metal", "operations/UnaryKernel.mm"])
def test_without_the_target_the_rest_is_still_planned(missing: str) -> None:
    path = f"aten/src/ATen/native/mps/{missing}"
    changeset = planned("sign", Snapshot(MemoryTree({path: None}, pocket().tree)))
    (gap,) = changeset.gaps
    assert gap.startswith(f"{path}: memory has no such file to put sign into; write `new_file:`")
    assert what(changeset, EditKind.LEGACY) == ["include ATen/ops/sign_native.h", "function sign_out_mps"]
    assert what(changeset, EditKind.ROW)


def test_without_fragments_what_goes_is_planned_and_what_comes_is_missing() -> None:
    changeset = plan(Operator("frac"), Fragments(), pocket())
    assert changeset.gaps == (
        "there is no kernels/frac.metal; `invoke draft --op frac` starts one",
        "there is no stubs/frac.mm; `invoke draft --op frac` starts one",
    )
    assert what(changeset, EditKind.LEGACY) == ["include ATen/ops/frac_native.h", "function frac_out_mps"]


def test_without_host_files_rows_are_planned() -> None:
    wheel = MemoryTree({path: None for path in pocket().host.paths if path.endswith(".mm")}, pocket().tree)
    changeset = planned("sign", Snapshot(wheel))
    assert any("holds no host files" in gap for gap in changeset.gaps) and what(changeset, EditKind.ROW)


def test_a_legacy_function_that_stands_nowhere_is_a_gap() -> None:
    changeset = planned("sign", legacy=("sign_out_mps", "sign_of_the_times"))
    assert any("no definition of sign_of_the_times was found" in gap for gap in changeset.gaps)


def test_the_tree_is_only_read(tmp_path: Path) -> None:
    before = dict(pocket_files())
    planned("addcmul")
    assert {path: pocket().tree.read(path) for path in before} == before


def test_what_the_samples_show_decides_which_expectations_go() -> None:
    addr = manifest().operator("addr")
    assert awaits_samples(addr, pocket())

    def planned_with(agrees: set[str], differs: set[str]) -> list[str]:
        samples = Samples(frozenset(agrees), frozenset(differs))
        changeset = plan(addr, replace(fragments(addr), samples=samples), pocket())
        return [each for each in what(changeset, EditKind.EXPECTATION) if "agrees with the CPU" in each]

    assert planned_with(set(), {"complex64", "int32"}) == []
    (one,) = planned_with({"complex64"}, {"int32"})
    assert one.endswith("for complex64")
    assert len(planned_with({"complex64", "int32"}, set())) == 2


@pytest.mark.parametrize("name", ["sign", "mish_backward", "sub"])
def test_no_samples_are_awaited_where_no_expectation_compares_outputs(name: str) -> None:
    assert not awaits_samples(manifest().operator(name), pocket())


def test_a_new_operator_ends_the_complaint_that_it_is_missing() -> None:
    assert any("MPS has heaviside.out now" in each for each in what(planned("heaviside"), EditKind.EXPECTATION))
