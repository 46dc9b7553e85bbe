"""The files of a torch wheel as a source tree, at the paths they have upstream."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.source import MissingFileError

# The wheel's folder -> upstream's, for what a migration reads.
PACKAGED = (
    ("torchgen/packaged/ATen/native/", "aten/src/ATen/native/"),
    ("torch/include/ATen/native/", "aten/src/ATen/native/"),
    ("torch/include/c10/metal/", "c10/metal/"),
    ("torch/testing/", "torch/testing/"),
)
_PLATFORM = "macosx_14_0_arm64"


class WheelTree:
    """A wheel has no git history: `commit` is None and nothing can be committed to it."""

    commit: str | None = None

    def __init__(self, wheel: Path, label: str) -> None:
        self.label = label
        self._archive = zipfile.ZipFile(wheel)
        self._names = {upstream: name for name in self._archive.namelist() if (upstream := upstream_path(name))}

    def read(self, path: str) -> bytes:
        if path not in self._names:
            raise MissingFileError(f"{self.label} does not hold this file", path=path)
        return self._archive.read(self._names[path])

    def has(self, path: str) -> bool:
        return path in self._names

    def files(self, prefix: str = "") -> tuple[str, ...]:
        folder = prefix.rstrip("/") + "/" if prefix else ""
        return tuple(sorted(name for name in self._names if name.startswith(folder)))


def upstream_path(name: str) -> str | None:
    """Where a wheel's member stands in PyTorch's repository, or None where it is of no use here."""
    for packaged, upstream in PACKAGED:
        if name.startswith(packaged) and not name.endswith((".pyc", "/")):
            return upstream + name.removeprefix(packaged)
    return None


def open_wheel(version: str, cache: Path) -> WheelTree:
    """The macOS arm64 wheel of a release, downloaded once. Raises UsageError when there is no such release."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(\.?(post|rc|dev)\d+)?", version):
        raise UsageError(f"{version!r} is not a release of torch", hint="write e.g. wheel:2.13.0")
    folder = cache / f"torch-{version}"
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        _download(version, folder)
        wheels = sorted(folder.glob("*.whl"))
    return WheelTree(wheels[0], f"wheel:{version}")


def _download(version: str, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    wanted = ["--platform", _PLATFORM, "--python-version", "3.11", "--dest", str(folder), f"torch=={version}"]
    done = subprocess.run(
        [*pip, *wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or ["pip failed"]
        raise UsageError(errors[-1].removeprefix("ERROR: "), path=f"wheel:{version}", hint="name a release on PyPI")
