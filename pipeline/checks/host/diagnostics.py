"""What clang printed, as values: an error or a warning with the notes that belong to it."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

_LINE = re.compile(
    r"(?:(?P<path>[^\n]+?):(?P<line>\d+):(?P<column>\d+): )?(?P<level>fatal error|error|warning|note): (?P<text>.*)"
)
_FLAG = re.compile(r" \[(?:-Werror,)?(-W[\w+=-]+)(?:,[^\]]*)?\]\Z")


@dataclass(frozen=True)
class Note:
    path: str | None
    line: int | None
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """`flag` is the warning's option, such as -Wunused-function; `path` is None where clang names no file."""

    is_error: bool
    path: str | None
    line: int | None
    text: str
    flag: str = ""
    notes: tuple[Note, ...] = ()

    def place_in(self, files: Container[str]) -> Note | None:
        """Where the diagnostic touches one of `files`: itself, or the note that leads from a template back to it."""
        places = (Note(self.path, self.line, self.text), *self.notes)
        return next((place for place in places if place.path in files), None)


def parse_diagnostics(output: str) -> tuple[Diagnostic, ...]:
    """The diagnostics of one run with -fno-caret-diagnostics, in clang's order."""
    found: list[Diagnostic] = []
    for line in output.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        number = int(match["line"]) if match["line"] else None
        if match["level"] == "note":
            if found:
                last = found.pop()
                notes = (*last.notes, Note(match["path"], number, match["text"]))
                found.append(Diagnostic(last.is_error, last.path, last.line, last.text, last.flag, notes))
            continue
        flag = _FLAG.search(match["text"])
        text = match["text"][: flag.start()] if flag else match["text"]
        found.append(Diagnostic("error" in match["level"], match["path"], number, text, flag[1] if flag else ""))
    return tuple(found)
