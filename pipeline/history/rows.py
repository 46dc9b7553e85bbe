"""The entries of native_functions.yaml that name MPS, read once for all the versions that hold them unchanged."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from pipeline.errors import Refusal
from pipeline.native_functions import Entry, NativeFunctions, Row
from pipeline.source import NATIVE_FUNCTIONS

KEY = "MPS"
_NEXT = "\n- "


@dataclass(frozen=True)
class MpsRow:
    """An operator's entry and the row in it that names MPS."""

    entry: Entry
    row: Row

    @property
    def shared(self) -> bool:
        """CPU or CUDA runs the same function."""
        return not {"CPU", "CUDA"}.isdisjoint(self.row.keys)

    @property
    def function(self) -> str:
        return self.row.kernel.rpartition("::")[2]

    @property
    def shared_function(self) -> str:
        """What CPU and CUDA run, empty where they differ."""
        kernel = self.row.kernel if "CPU" in self.row.keys else self.entry.shared_kernel
        return (kernel or "").rpartition("::")[2]


def mps_rows(text: str) -> tuple[MpsRow, ...]:
    """In the file's order. Raises Refusal where an entry that mentions MPS cannot be read, or stands there twice."""
    found: dict[str, MpsRow] = {}
    end = 0
    while (mention := text.find(KEY, end)) >= 0:
        start = text.rfind(_NEXT, 0, mention) + 1
        end = text.find(_NEXT, mention) + 1 or len(text)
        for row in _rows_of_chunk(text[start:end], start, text) if text.startswith(_NEXT[1:], start) else ():
            if row.entry.func in found:
                line = text.count("\n", 0, start) + 1
                raise Refusal(f"{row.entry.func} has a second entry", path=NATIVE_FUNCTIONS, line=line)
            found[row.entry.func] = row
    return tuple(found.values())


def _rows_of_chunk(chunk: str, at: int, text: str) -> tuple[MpsRow, ...]:
    try:
        return _rows_of(chunk)
    except Refusal as refused:
        line = text.count("\n", 0, at) + (refused.line or 1)
        raise Refusal(refused.message, path=NATIVE_FUNCTIONS, line=line) from None


@functools.lru_cache(maxsize=20_000)
def _rows_of(chunk: str) -> tuple[MpsRow, ...]:
    entries = NativeFunctions(chunk).entries.values()
    rows = ((entry, entry.row(KEY)) for entry in entries)
    return tuple(MpsRow(entry, row) for entry, row in rows if row is not None)
