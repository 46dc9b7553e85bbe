"""What a plan comes to: the files it changes, and what it did row by row and definition by definition."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from pipeline.manifest import Operator
from pipeline.source import MemoryTree, SourceTree

_CONTEXT = 3


@dataclass(frozen=True)
class Hunk:
    """Lines `start` to `end` of the old file (0-based, half open) are replaced by `lines`."""

    start: int
    end: int
    lines: tuple[bytes, ...]


@dataclass(frozen=True)
class FileChange:
    """`before` is None for a new file, `after` for one that goes away."""

    path: str
    before: bytes | None
    after: bytes | None

    def diff(self) -> str:
        """Unified, three lines of context, with git's headers."""
        a, b = f"a/{self.path}", f"b/{self.path}"
        head = f"diff --git {a} {b}\n{self._mode()}"
        head += f"--- {a if self.before is not None else '/dev/null'}\n"
        head += f"+++ {b if self.after is not None else '/dev/null'}\n"
        return head + "".join(_unified(_lines(self.before), self.hunks()))

    def hunks(self) -> tuple[Hunk, ...]:
        """The changed stretches, in order; the long equal ends of a file are not looked at twice."""
        old, new = _lines(self.before), _lines(self.after)
        head = _common(old, new)
        tail = _common(old[head:][::-1], new[head:][::-1])
        core = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
        return tuple(
            Hunk(head + start, head + end, tuple(new[head + first : head + last]))
            for tag, start, end, first, last in core.get_opcodes()
            if tag != "equal"
        )

    def counts(self) -> tuple[int, int]:
        """Lines added and removed."""
        hunks = self.hunks()
        return sum(len(hunk.lines) for hunk in hunks), sum(hunk.end - hunk.start for hunk in hunks)

    def _mode(self) -> str:
        if self.before is None:
            return "new file mode 100644\n"
        return "deleted file mode 100644\n" if self.after is None else ""


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


def _lines(content: bytes | None) -> list[bytes]:
    return (content or b"").splitlines(keepends=True)


def _common(one: Sequence[bytes], two: Sequence[bytes]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _unified(old: Sequence[bytes], hunks: Sequence[Hunk]) -> Iterator[str]:
    """Hunks whose contexts touch are written as one. `shift` is how far the new lines run ahead of the old ones."""
    shift = 0
    for group in _groups(hunks):
        start, end = max(group[0].start - _CONTEXT, 0), min(group[-1].end + _CONTEXT, len(old))
        added = sum(len(hunk.lines) - (hunk.end - hunk.start) for hunk in group)
        yield f"@@ -{_range(start, end - start)} +{_range(start + shift, end - start + added)} @@\n"
        at = start
        for hunk in group:
            yield from _marked(" ", old[at : hunk.start])
            yield from _marked("-", old[hunk.start : hunk.end])
            yield from _marked("+", hunk.lines)
            at = hunk.end
        yield from _marked(" ", old[at:end])
        shift += added


def _groups(hunks: Sequence[Hunk]) -> Iterator[list[Hunk]]:
    group: list[Hunk] = []
    for hunk in hunks:
        if group and hunk.start - group[-1].end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(hunk)
    if group:
        yield group


def _range(start: int, length: int) -> str:
    """An empty range counts from the line before it."""
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: Sequence[bytes]) -> Iterator[str]:
    for line in lines:
        text = line.decode(errors="replace")
        yield mark + (text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n")
