"""A tree of PyTorch's source at one commit, by upstream's paths, wherever it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pipeline.errors import PipelineError

NATIVE_HEADERS = "aten/src/ATen/native"
NATIVE_FUNCTIONS = f"{NATIVE_HEADERS}/native_functions.yaml"
TAGS = f"{NATIVE_HEADERS}/tags.yaml"
MPS = f"{NATIVE_HEADERS}/mps"
OPERATIONS = f"{MPS}/operations"
KERNELS = f"{MPS}/kernels"
METAL_HEADERS = "c10/metal"
COMMON_MPS = "torch/testing/_internal/common_mps.py"
OPINFOS = "torch/testing/_internal/common_methods_invocations.py"
OPINFO_DEFINITIONS = "torch/testing/_internal/opinfo/definitions"


class MissingFileError(PipelineError):
    """The tree has no such file."""


class SourceTree(Protocol):
    """Files by path, read-only. `label` names the tree for a person; `commit` is None where there is no git."""

    label: str
    commit: str | None

    def read(self, path: str) -> bytes:
        """The file's content. Raises MissingFileError."""

    def has(self, path: str) -> bool: ...

    def files(self, prefix: str = "") -> tuple[str, ...]:
        """Every file below the folder `prefix`, sorted by path."""


class MemoryTree:
    """Files held in a mapping, optionally laid over another tree; None hides a file of the tree below."""

    def __init__(self, files: Mapping[str, bytes | None], below: SourceTree | None = None) -> None:
        self.overlay = dict(files)
        self.below = below
        self.label = below.label if below else "memory"
        self.commit = below.commit if below else None

    def read(self, path: str) -> bytes:
        if path in self.overlay:
            content = self.overlay[path]
            if content is not None:
                return content
        elif self.below is not None:
            return self.below.read(path)
        raise MissingFileError("no such file in the source tree", path=path)

    def has(self, path: str) -> bool:
        if path in self.overlay:
            return self.overlay[path] is not None
        return self.below is not None and self.below.has(path)

    def files(self, prefix: str = "") -> tuple[str, ...]:
        folder = prefix.rstrip("/")
        own = {name for name in self.overlay if not folder or name == folder or name.startswith(folder + "/")}
        below = set(self.below.files(prefix)) if self.below is not None else set()
        return tuple(sorted(name for name in own | below if self.has(name)))
