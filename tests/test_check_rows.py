from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from pipeline.changeset import Changeset, FileChange
from pipeline.checks.rows import check_rows
from pipeline.edits.dispatch import collapse
from pipeline.findings import Outcome
from pipeline.manifest import Dispatch, Operator
from pipeline.pocket.contents import pocket_files
from pipeline.source import NATIVE_FUNCTIONS, MemoryTree

OPERATORS = ("logit", "frac", "frac_", "logit_", "pixel_shuffle", "log_sigmoid_forward")


@cache
def real() -> MemoryTree:
    return MemoryTree(dict(pocket_files()))


def _operator(entry: str) -> str:
    return entry.strip("\n").removeprefix("- func: ").partition("(")[0].partition(".")[0]


@cache
def pocket() -> MemoryTree:
    """The real tree with some of its entries, so that every fault costs no more than those."""
    text = real().read(NATIVE_FUNCTIONS).decode()
    kept = [entry for entry in text.split("\n\n") if _operator(entry) in OPERATORS]
    return MemoryTree({NATIVE_FUNCTIONS: ("\n\n".join(kept) + "\n").encode()}, real())


def yaml_text() -> str:
    return pocket().read(NATIVE_FUNCTIONS).decode()


def change(after: str, rows: tuple[str, ...] = ("logit", "logit.out")) -> Changeset:
    legacy = ("logit_mps", "logit_out_mps")
    files = (FileChange(NATIVE_FUNCTIONS, yaml_text().encode(), after.encode()),)
    return Changeset(Operator("logit", stub="logit_stub"), pocket(), files, (), rows=rows, legacy=legacy)


@cache
def right() -> str:
    return collapse(collapse(yaml_text(), "logit"), "logit.out")


def rules(changeset: Changeset) -> list[str]:
    return sorted({finding.rule.removeprefix("rows/") for finding in check_rows(changeset).findings})


def test_the_planned_change_passes_and_says_what_was_read() -> None:
    whole = real().read(NATIVE_FUNCTIONS).decode()
    after = collapse(collapse(whole, "logit"), "logit.out")
    files = (FileChange(NATIVE_FUNCTIONS, whole.encode(), after.encode()),)
    result = check_rows(replace(change(right()), base=real(), files=files))
    assert result.outcome is Outcome.PASSED and not result.findings
    assert "torchgen parses 25" in result.summary and "2 changed as planned" in result.summary


FAULTS: dict[str, tuple[Callable[[], str], list[str]]] = {
    "an overload left behind": (lambda: collapse(yaml_text(), "logit"), ["overload-left", "wrong-change"]),
    "MPS in two rows": (
        lambda: right().replace(
            "    CPU, CUDA, MPS: logit_out\n", "    CPU, CUDA, MPS: logit_out\n    MPS: logit_out_mps\n"
        ),
        ["mps-twice", "overload-left", "wrong-change"],
    ),
    "a misspelt function": (
        lambda: right().replace("    CPU, CUDA, MPS: logit_out\n", "    CPU, CUDA: logit_out\n    MPS: logit_otu\n"),
        ["unknown-kernel", "wrong-change"],
    ),
    "another key changed": (
        lambda: right().replace(
            "    CPU, CUDA, MPS: logit_out\n", "    CPU, MPS: logit_out\n    CUDA: logit_out_cuda\n"
        ),
        ["wrong-change"],
    ),
    "another entry changed": (lambda: collapse(right(), "frac.out"), ["unplanned-change"]),
    "an entry lost": (
        lambda: right().replace("- func: frac.out(", "- func: frac.outt("),
        ["torchgen", "unplanned-change"],
    ),
    "a mention in a comment": (
        lambda: right().replace(
            "    CPU, CUDA, MPS: logit_out\n", "    CPU, CUDA, MPS: logit_out # was logit_out_mps\n"
        ),
        ["legacy-name-left"],
    ),
    "an unknown key": (
        lambda: right().replace("    CPU, CUDA, MPS: logit_out\n", "    CPU, CUDA, MPS, MPSX: logit_out\n"),
        ["torchgen", "wrong-change"],
    ),
    "no YAML": (lambda: right() + "- func: [\n", ["unreadable"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str) -> None:
    edit, expected = FAULTS[fault]
    assert edit() != right()
    assert rules(change(edit())) == expected


def test_a_row_that_the_plan_does_not_list_is_not_planned() -> None:
    assert "unplanned-change" in rules(change(right(), rows=("logit",)))


def test_a_key_deleted_altogether() -> None:
    dropped = yaml_text().replace("    MPS: pixel_shuffle_mps\n", "")
    files = (FileChange(NATIVE_FUNCTIONS, yaml_text().encode(), dropped.encode()),)
    operator = Operator("pixel_shuffle", dispatch=Dispatch.DROP)
    changeset = Changeset(operator, pocket(), files, (), rows=("pixel_shuffle",), legacy=("pixel_shuffle_mps",))
    assert rules(changeset) == []
    assert rules(replace(changeset, files=())) == ["overload-left", "wrong-change"]


def test_rows_that_stay() -> None:
    operator = Operator("log_sigmoid_forward", dispatch=Dispatch.KEEP)
    assert rules(Changeset(operator, pocket(), (), (), legacy=("log_sigmoid_forward_mps",))) == []


def test_a_tree_that_torchgen_could_not_read_before_is_not_blamed_on_the_change() -> None:
    odd = yaml_text().replace("- func: frac.out(", "- func: frac.outt(")
    base = MemoryTree({NATIVE_FUNCTIONS: odd.encode()}, pocket())
    after = collapse(collapse(odd, "logit"), "logit.out")
    changeset = replace(change(""), base=base, files=(FileChange(NATIVE_FUNCTIONS, odd.encode(), after.encode()),))
    assert rules(changeset) == ["torchgen-too-old"] and check_rows(changeset).outcome is Outcome.PASSED
