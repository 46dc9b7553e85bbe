from __future__ import annotations

import subprocess
import tempfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipeline.changeset import Changeset, FileChange
from pipeline.conflicts import Conflict, conflicts, independent_sets
from pipeline.manifest import Operator
from pipeline.source import MemoryTree

BASE = [f"line {number}" for number in range(12)]


def changeset(name: str, *files: FileChange) -> Changeset:
    return Changeset(Operator(name), MemoryTree({}), files, ())


def text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def edited(start: int, end: int, new: list[str]) -> bytes:
    return text([*BASE[:start], *new, *BASE[end:]])


EDIT = st.tuples(
    st.integers(0, len(BASE)), st.integers(0, 3), st.lists(st.sampled_from(["p", "q", "r"]), max_size=3, unique=True)
)


@settings(max_examples=150, deadline=None)
@given(EDIT, EDIT)
def test_agrees_with_git(one: tuple[int, int, list[str]], two: tuple[int, int, list[str]]) -> None:
    ours, theirs = (edited(start, min(start + size, len(BASE)), new) for start, size, new in (one, two))
    assume(text(BASE) not in (ours, theirs))
    found = conflicts(
        [changeset("a", FileChange("f", text(BASE), ours)), changeset("b", FileChange("f", text(BASE), theirs))]
    )
    assert bool(found) == git_conflicts(ours, theirs)


def git_conflicts(ours: bytes, theirs: bytes) -> bool:
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / part for part in ("ours", "base", "theirs")]
        for path, content in zip(paths, (ours, text(BASE), theirs), strict=True):
            path.write_bytes(content)
        return subprocess.run(["git", "merge-file", "-p", *paths], capture_output=True, check=False).returncode != 0


def test_only_files_both_change_count() -> None:
    one = changeset("a", FileChange("f", text(BASE), edited(2, 3, ["x"])), FileChange("g", b"1\n", b"2\n"))
    two = changeset("b", FileChange("f", text(BASE), edited(8, 9, ["y"])), FileChange("g", b"1\n", b"3\n"))
    assert conflicts([one, two]) == (Conflict("a", "b", ("g",)),)


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        (FileChange("f", None, b"1\n"), FileChange("f", None, b"1\n"), False),
        (FileChange("f", None, b"1\n"), FileChange("f", None, b"2\n"), True),
        (FileChange("f", b"1\n", None), FileChange("f", b"1\n", None), False),
        (FileChange("f", b"1\n", None), FileChange("f", b"1\n", b"2\n"), True),
    ],
)
def test_whole_files(first: FileChange, second: FileChange, clash: bool) -> None:
    assert bool(conflicts([changeset("a", first), changeset("b", second)])) == clash


@given(st.sets(st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(lambda pair: pair[0] < pair[1]), max_size=60))
def test_groups_hold_everyone_once_and_no_conflict(pairs: set[tuple[int, int]]) -> None:
    names = [f"op{number:02}" for number in range(31)]
    found = [Conflict(names[one], names[two], ("f",)) for one, two in sorted(pairs)]
    groups = independent_sets(names, found)
    assert sorted(name for group in groups for name in group) == names
    clashes = {frozenset((conflict.first, conflict.second)) for conflict in found}
    assert not any(frozenset(pair) in clashes for group in groups for pair in combinations(group, 2))
    assert [len(group) for group in groups] == sorted((len(group) for group in groups), reverse=True)


def test_the_first_group_is_the_largest_there_is() -> None:
    star = [Conflict("hub", leaf, ("f",)) for leaf in ("a", "b", "c")]
    assert independent_sets(["hub", "a", "b", "c"], star) == (("a", "b", "c"), ("hub",))
