"""Lines of the source by the addresses of a library that was compiled with line tables."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from pipeline.metal.report import Site


def line_of(library: Path, address: int) -> Site | None:
    """The line whose code lies at `address` in the library, or None: macOS libraries have no tables to read."""
    starts, sites = _table(library)
    index = bisect_right(starts, address) - 1
    return sites[index] if index >= 0 else None


@lru_cache(maxsize=16)
def _table(library: Path) -> tuple[list[int], list[Site | None]]:
    try:
        with library.open("rb") as file:
            rows = sorted(_rows(ELFFile(file)), key=lambda row: row[0])
    except (ELFError, OSError):
        rows = []
    return [address for address, _ in rows], [site for _, site in rows]


def _rows(elf: Any) -> list[tuple[int, Site | None]]:
    if not elf.has_dwarf_info():
        return []
    dwarf = elf.get_dwarf_info()
    rows: list[tuple[int, Site | None]] = []
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        files = [entry.name.decode() for entry in program["file_entry"]]
        folders = [folder.decode() for folder in program["include_directory"]]
        indices = [entry.dir_index for entry in program["file_entry"]]
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                rows.append((state.address, None))
            else:
                name = _name(files[state.file], folders[indices[state.file]])
                rows.append((state.address, Site(name, state.line)))
    return rows


def _name(file: str, folder: str) -> str:
    """The path as it was given to the compiler, whose folder is "."."""
    return str(Path(folder) / file)
