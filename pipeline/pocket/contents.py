"""The pocket's files at upstream's paths: the wheel's own bytes, and host files of ours for what a wheel leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import PipelineError

# Ours are written against the rows, stubs and headers of this release.
RELEASE = "2.13.0"
_OURS = Path(__file__).parent / "files"

# Package, folder or file in it, pattern below it, folder upstream.
_FROM_WHEEL = (
    ("torchgen", "packaged/ATen/native", "*.yaml", "aten/src/ATen/native"),
    ("torch", "include/ATen/native", "*.h", "aten/src/ATen/native"),
    ("torch", "include/ATen/native/mps", "**/*.h", "aten/src/ATen/native/mps"),
    ("torch", "include/c10/metal", "*.h", "c10/metal"),
    ("torch", "testing/_internal", "common_mps.py", "torch/testing/_internal"),
    ("torch", "testing/_internal", "common_methods_invocations.py", "torch/testing/_internal"),
    ("torch", "testing/_internal/opinfo/definitions", "*.py", "torch/testing/_internal/opinfo/definitions"),
)


def pocket_files() -> dict[str, bytes]:
    """Path -> content of every file of the pocket. Raises PipelineError when the right torch is not installed."""
    return {**dict(_wheel_files()), **dict(_own_files())}


def wheel_commit() -> str:
    """The commit of PyTorch that the installed wheel was built from."""
    found = re.search(r"^git_version = '([0-9a-f]{40})'$", (_package("torch") / "version.py").read_text(), re.MULTILINE)
    if found is None:
        raise PipelineError("the installed torch does not name its commit", hint="install requirements.txt")
    return found.group(1)


def _wheel_files() -> Iterator[tuple[str, bytes]]:
    _require_release()
    for package, folder, pattern, upstream in _FROM_WHEEL:
        base = _package(package) / folder
        found = sorted(base.glob(pattern))
        if not found:
            raise PipelineError(
                f"the installed {package} lacks {folder}/{pattern}", hint="install requirements.txt again"
            )
        for path in found:
            yield f"{upstream}/{path.relative_to(base).as_posix()}", path.read_bytes()


def _own_files() -> Iterator[tuple[str, bytes]]:
    for path in sorted(_OURS.rglob("*")):
        if path.is_file():
            yield path.relative_to(_OURS).as_posix(), path.read_bytes()


def _package(name: str) -> Path:
    """Where a package is installed, without the second that importing torch takes."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise PipelineError(f"{name} is not installed", hint="install requirements.txt")
    return Path(spec.origin).parent


def _require_release() -> None:
    _package("torch")
    installed = metadata.version("torch").partition("+")[0]
    if installed != RELEASE:
        raise PipelineError(
            f"the pocket is made from torch {RELEASE}, but {installed} is installed",
            hint="install requirements.txt, or name another --source",
        )
