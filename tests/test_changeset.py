from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.changeset import Changeset, FileChange
from pipeline.manifest import Operator
from pipeline.source import MemoryTree, MissingFileError

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "d e"]), max_size=30)


def text(lines: list[str], last: bool) -> bytes:
    joined = "\n".join(lines)
    return (joined + "\n" if lines and last else joined).encode()


@given(LINES, LINES, st.booleans(), st.booleans())
def test_git_applies_the_diff(before: list[str], after: list[str], newline_before: bool, newline_after: bool) -> None:
    old, new = text(before, newline_before), text(after, newline_after)
    if old == new:
        return
    change = FileChange("f.txt", old, new)
    assert apply(change.diff(), {"f.txt": old})["f.txt"] == new


def apply(diff: str, files: dict[str, bytes]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in files.items():
            (folder / path).write_bytes(content)
        subprocess.run(["git", "apply", "-"], input=diff.encode(), cwd=folder, check=True)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_and_a_removed_file(tmp_path: Path) -> None:
    added, removed = FileChange("n.txt", None, b"x\n"), FileChange("o.txt", b"y\nz\n", None)
    assert added.counts() == (1, 0) and removed.counts() == (0, 2)
    assert apply(added.diff() + removed.diff(), {"o.txt": b"y\nz\n"}) == {"n.txt": b"x\n"}


def test_hunk_headers_count_from_the_start_of_the_file() -> None:
    lines = [f"line {number}\n" for number in range(1, 101)]
    changed = [*lines[:59], "changed\n", *lines[60:]]
    change = FileChange("f", "".join(lines).encode(), "".join(changed).encode())
    assert change.diff().count("@@ -57,7 +57,7 @@") == 1 and len(change.diff().splitlines()) == 12
    assert change.counts() == (1, 1)


def test_the_changed_tree() -> None:
    tree = MemoryTree({"a/x": b"1", "a/y": b"2", "b": b"3"})
    files = (FileChange("a/x", b"1", None), FileChange("a/z", None, b"4"))
    after = Changeset(Operator("sign"), tree, files, ()).after()
    assert after.files("a") == ("a/y", "a/z") and after.files() == ("a/y", "a/z", "b")
    assert after.read("a/z") == b"4" and after.read("b") == b"3" and not after.has("a/x")
    with pytest.raises(MissingFileError, match="a/x: no such file"):
        after.read("a/x")
