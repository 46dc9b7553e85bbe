"""Results are taken from an earlier run exactly when nothing that they depend on has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.changeset import Changeset, FileChange
from pipeline.checks import remembered as module
from pipeline.checks.remembered import (
    key_of_change,
    key_of_tree,
    remembered,
    remembered_evidence,
    result_from_json,
    result_to_json,
)
from pipeline.findings import CheckResult, Evidence, Finding, Outcome, Severity
from pipeline.manifest import Operator, State, Status
from pipeline.source import MemoryTree

BASE = MemoryTree({"x.h": b"1"})
SIGN = Operator("sign", stub="sign_stub")
CHANGE = Changeset(SIGN, BASE, (FileChange("a.mm", b"1", b"2"),), (), rows=("sign.out",), legacy=("sign_mps",))
FOUND = Finding("rows/mps-twice", Severity.WARNING, "twice", "a.yaml", 3, "one", "it is meant")
RESULT = CheckResult("rows", Outcome.PASSED, "compared", (FOUND,), ("more",), {"n": [1, 2.5]})


def key(changeset: Changeset = CHANGE, *more: object) -> str | None:
    return key_of_change("rows", changeset, *more)


def test_a_result_survives() -> None:
    again = result_from_json(result_to_json(RESULT))
    assert again == RESULT and again.data == RESULT.data


def test_a_check_runs_once(tmp_path: Path) -> None:
    ran = []

    def check() -> CheckResult:
        ran.append(1)
        return RESULT

    assert remembered(tmp_path, "k", check) == remembered(tmp_path, "k", check) == RESULT
    assert len(ran) == 1
    (tmp_path / "k.json").write_text("{")
    assert remembered(tmp_path, "k", check) == RESULT
    remembered(tmp_path, None, check)
    assert len(ran) == 3


def test_what_did_not_run_is_tried_again(tmp_path: Path) -> None:
    idle = CheckResult.not_run("rows", "no compiler")
    assert remembered(tmp_path, "k", lambda: idle) == idle
    assert remembered(tmp_path, "k", lambda: RESULT) == RESULT


def test_evidence_is_kept_when_every_check_that_is_asked_for_ran(tmp_path: Path) -> None:
    whole = Evidence((RESULT, CheckResult.not_run("style", "not asked for")))
    ran = []

    def check() -> Evidence:
        ran.append(1)
        return whole

    for asked in (lambda name: True, lambda name: name == "rows"):
        ran.clear()
        assert remembered_evidence(tmp_path, "k", check, asked) == whole
        assert remembered_evidence(tmp_path, "k", check, asked) == whole
        assert len(ran) == (2 if asked("style") else 1)
    assert remembered_evidence(tmp_path, "k", check, lambda name: True).results[0].data == RESULT.data
    remembered_evidence(tmp_path, None, check, lambda name: False)
    assert len(ran) == 2


DIFFERENT = {
    "content": replace(CHANGE, files=(FileChange("a.mm", b"1", b"3"),)),
    "path": replace(CHANGE, files=(FileChange("b.mm", b"1", b"2"),)),
    "a file that goes": replace(CHANGE, files=(FileChange("a.mm", b"1", None),)),
    "rows": replace(CHANGE, rows=("sign_out",)),
    "legacy": replace(CHANGE, legacy=()),
    "operator": replace(CHANGE, operator=replace(SIGN, stub="sgn_stub")),
    "tree": replace(CHANGE, base=MemoryTree({"x.h": b"2"})),
    "tree below": replace(CHANGE, base=MemoryTree({"x.h": b"1"}, MemoryTree({}))),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_key_changes_with_what_a_check_reads(what: str) -> None:
    assert key(DIFFERENT[what]) != key()


def test_a_key_stays_where_nothing_is_read() -> None:
    moved = replace(SIGN, status=Status(State.CHECKED), line=99, notes="more", claim="https://x")
    assert key(replace(CHANGE, operator=moved)) == key() == key(replace(CHANGE, base=MemoryTree({"x.h": b"1"})))
    assert key(CHANGE, "fragment") != key()
    assert key_of_change("host", CHANGE) != key()


def test_code_and_packages_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr(module, "_surroundings", lambda: "another version")
    assert key() != before


def test_a_tree_without_identity_is_not_remembered() -> None:
    class Nameless:
        commit, label = None, "here"

    tree = Nameless()
    assert key(replace(CHANGE, base=tree)) is None  # type: ignore[arg-type]
    assert key_of_tree("style", SIGN, MemoryTree({}, tree)) is None  # type: ignore[arg-type]


def test_commits_and_what_is_laid_over_them() -> None:
    class Commit:
        def __init__(self, name: str) -> None:
            self.commit, self.label = name, name

    one, two = Commit("c" * 40), Commit("d" * 40)
    keys = {
        key_of_tree("style", SIGN, tree)  # type: ignore[arg-type]
        for tree in (one, two, MemoryTree({}, one), MemoryTree({"a": b"1"}, one), MemoryTree({"a": None}, one))  # type: ignore[arg-type]
    }
    assert len(keys) == 5 and None not in keys


def test_only_the_newest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEPT", 2)
    for number in range(4):
        remembered(tmp_path, str(number), lambda: RESULT)
    assert len(list(tmp_path.glob("*.json"))) == 2
