"""What a plan comes to: the files it changes, and what it did row by row and definition by definition."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import Enum

from pipeline.manifest import Operator
from pipeline.source import MemoryTree, SourceTree


@dataclass(frozen=True)
class FileChange:
    """`before` is None for a new file, `after` for one that goes away."""

    path: str
    before: bytes | None
    after: bytes | None

    def diff(self) -> str:
        """Unified, three lines of context, with git's headers."""
        old, new = _lines(self.before), _lines(self.after)
        head = len(old) - len(_without_common_start(old, new))
        tail = _common_end(old[head:], new[head:])
        # difflib need not look at the long equal ends of a file; three lines of them are context.
        start, keep = max(head - 3, 0), max(tail - 3, 0)
        a, b = f"a/{self.path}", f"b/{self.path}"
        hunks = difflib.unified_diff(
            old[start : len(old) - keep],
            new[start : len(new) - keep],
            a if self.before is not None else "/dev/null",
            b if self.after is not None else "/dev/null",
        )
        mode = "" if self.before is not None and self.after is not None else f"{self._mode()}\n"
        return f"diff --git {a} {b}\n{mode}" + "".join(_shift(line, start) for line in hunks)

    def _mode(self) -> str:
        return "new file mode 100644" if self.before is None else "deleted file mode 100644"

    def counts(self) -> tuple[int, int]:
        """Lines added and removed."""
        hunks = self.diff().partition("\n@@")[2].splitlines()
        return sum(line.startswith("+") for line in hunks), sum(line.startswith("-") for line in hunks)


class EditKind(Enum):
    ROW = "dispatch row"
    LEGACY = "legacy code"
    KERNEL = "kernel"
    HOST = "host stub"
    EXPECTATION = "test expectation"


@dataclass(frozen=True)
class Edit:
    """One thing the plan does, for a person to read; `line` is 1-based in the file before the change."""

    kind: EditKind
    path: str
    line: int | None
    what: str


@dataclass(frozen=True)
class Changeset:
    """The change of one operator on one base. `gaps` says what could not be planned: not empty, not to be committed.

    `rows` are the entries of native_functions.yaml that change, `legacy` the functions whose definitions go away;
    `left` lists what a person should look at, such as expectations that the plan leaves in place.
    """

    operator: Operator
    base: SourceTree
    files: tuple[FileChange, ...]
    edits: tuple[Edit, ...]
    rows: tuple[str, ...] = ()
    legacy: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.gaps

    def after(self) -> SourceTree:
        """The tree with the change applied."""
        return MemoryTree({change.path: change.after for change in self.files}, self.base)

    def diff(self) -> str:
        return "".join(change.diff() for change in self.files)

    def paths(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.files)


def _lines(content: bytes | None) -> list[str]:
    lines = (content or b"").decode(errors="replace").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines


def _without_common_start(old: list[str], new: list[str]) -> list[str]:
    for number, (a, b) in enumerate(zip(old, new, strict=False)):
        if a != b:
            return old[number:]
    return old[min(len(old), len(new)) :]


def _common_end(old: list[str], new: list[str]) -> int:
    count = 0
    for a, b in zip(reversed(old), reversed(new), strict=False):
        if a != b:
            break
        count += 1
    return count


def _shift(line: str, by: int) -> str:
    """Move the line numbers of a hunk's header."""
    if not line.startswith("@@"):
        return line
    marks = line.split()
    for index in (1, 2):
        sign = marks[index][0]
        start, comma, length = marks[index][1:].partition(",")
        marks[index] = f"{sign}{int(start) + by}{comma}{length}"
    return " ".join(marks) + "\n"
