"""A folder of compiled things, found by a hash of everything that went into them.

Several processes may use it at once and any of them may be killed: an entry appears by an atomic rename, one process
builds it while the others wait, and what was left half-made is never looked at. The least recently used entries go when
the folder grows over its limit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

CACHE_VARIABLE = "METAL_CPU_CACHE"
DEFAULT_LIMIT = 2 * 1024**3  # bytes
HALF_MADE_FOR = 24 * 3600  # seconds until a temporary file counts as left by a killed process


def default_folder() -> Path:
    """`$METAL_CPU_CACHE`, or `metal-cpu` in the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "metal-cpu"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metal-cpu"


def digest(*parts: str | bytes) -> str:
    """A name for these parts in this order; no two lists of parts share one."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


class Cache:
    """Entries are files or folders `entries/<key><suffix>`; `limit` is in bytes and holds to a minute's additions."""

    def __init__(self, folder: Path, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = folder
        self.limit = limit
        self.entries = folder / "entries"
        self.locks = folder / "locks"
        self.scratch = folder / "scratch"

    def find(self, key: str, suffix: str) -> Path | None:
        """The entry, marked as used just now; None when there is none."""
        path = self.entries / (key + suffix)
        try:
            os.utime(path)
        except OSError:
            return None
        return path

    def make(self, key: str, suffix: str, build: Callable[[Path], None]) -> Path:
        """The entry, built by `build(path)` if there is none; `path` is where to put the file or folder for now."""
        found = self.find(key, suffix)
        if found is not None:
            return found
        self.locks.mkdir(parents=True, exist_ok=True)
        path = self.entries / (key + suffix)

        def build_and_place(made: Path) -> None:
            build(made)
            made.replace(path)

        with FileLock(self.locks / f"{key[:2]}{suffix}.lock"):
            found = self.find(key, suffix)
            if found is not None:
                return found
            self._place(key, build_and_place)
        if self._shrinking_is_due(path):
            self.shrink(keep=path)
        return path

    def write(self, key: str, suffix: str, text: str) -> None:
        """Put a text in place of the entry, or make it."""

        def build(path: Path) -> None:
            path.write_text(text)
            path.replace(self.entries / (key + suffix))

        self._place(key, build)

    def _place(self, key: str, build: Callable[[Path], None]) -> None:
        for folder in (self.entries, self.scratch):
            folder.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(dir=self.scratch, prefix=f"{key[:8]}-"))
        try:
            build(workplace / "made")
        finally:
            shutil.rmtree(workplace, ignore_errors=True)

    def _shrinking_is_due(self, added: Path) -> bool:
        """Once a minute is enough, unless a large entry was added."""
        try:
            age = time.time() - (self.folder / "shrunk").stat().st_mtime
        except FileNotFoundError:
            return True
        return age > 60 or _size(added) > self.limit // 16

    def shrink(self, keep: Path | None = None) -> None:
        """Remove the entries used longest ago, until the rest fit, and what killed processes left behind."""
        used = []
        total = 0
        for path in self.entries.iterdir():
            try:
                size, when = _size(path), path.stat().st_mtime
            except OSError:
                continue  # removed by another process
            total += size
            used.append((when, size, path))
        for _, size, path in sorted(used):
            if total <= self.limit:
                break
            if path != keep:
                _remove(path)
                total -= size
        (self.folder / "shrunk").touch()
        too_old = time.time() - HALF_MADE_FOR
        for leftover in self.scratch.iterdir():
            try:
                if leftover.stat().st_mtime < too_old:
                    _remove(leftover)
            except OSError:
                continue


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(_size(child) for child in path.iterdir())
    return path.stat().st_size


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
