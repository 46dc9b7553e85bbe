"""The host code of one operator, taken out of the file that it landed in."""

from __future__ import annotations

from collections.abc import Collection

from pipeline.edits.hostfile import Entry, HostFile
from pipeline.edits.items import Kind

_CODE = (Kind.FUNCTION, Kind.TYPE, Kind.VARIABLE, Kind.ALIAS)


def host_text(file: HostFile, starts: Collection[int]) -> str:
    """The items `starts`, by index, and all that they use of the file: macros expanded, every item on its own line."""
    needed = _needed(file, starts)
    text = ""
    for index in sorted(needed):
        entry = file.entries[index]
        code = "\n".join(part.code for part in entry.parts)
        text += "\n" * max(entry.item.line - 1 - text.count("\n"), 0) + code + "\n"
    return text


def _needed(file: HostFile, starts: Collection[int]) -> set[int]:
    defined: dict[str, list[int]] = {}
    for index, entry in enumerate(file.entries):
        for name in _code_names(entry):
            defined.setdefault(name, []).append(index)
    needed = set(starts)
    waiting = list(starts)
    while waiting:
        entry = file.entries[waiting.pop()]
        for name in entry.uses & defined.keys():
            further = set(defined[name]) - needed
            needed |= further
            waiting += further
    return needed


def _code_names(entry: Entry) -> tuple[str, ...]:
    return tuple(name for part in entry.parts if part.kind in _CODE for name in part.names)
