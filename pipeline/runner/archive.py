"""Files of a zip archive, in memory only: nothing that an archive says about paths can reach the disk."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Bounds:
    """Sizes in bytes, as unpacked; `files` is how many entries an archive may have."""

    packed: int = 64 * 1024 * 1024
    unpacked: int = 256 * 1024 * 1024
    files: int = 200


class BadArchive(Exception):
    """Not a zip archive, or one that should not be unpacked."""


def unpack(content: bytes, bounds: Bounds) -> dict[str, bytes]:
    """Name -> content of every file. Raises BadArchive for names that climb out, links, and sizes out of bounds."""
    if len(content) > bounds.packed:
        raise BadArchive(f"{len(content)} bytes, at most {bounds.packed} are read")
    files: dict[str, bytes] = {}
    left = bounds.unpacked
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > bounds.files:
                raise BadArchive(f"{len(entries)} files, at most {bounds.files} are read")
            for entry in entries:
                _check(entry)
                with archive.open(entry) as file:
                    data = file.read(left + 1)  # what the header says about the size is not believed
                left -= len(data)
                if left < 0:
                    raise BadArchive(f"unpacks to more than {bounds.unpacked} bytes")
                files[entry.filename] = data
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BadArchive(f"cannot be unpacked: {error}") from None
    return files


def _check(entry: zipfile.ZipInfo) -> None:
    path = PurePosixPath(entry.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        raise BadArchive(f"{entry.filename!r} leaves the archive")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise BadArchive(f"{entry.filename!r} is a link")
