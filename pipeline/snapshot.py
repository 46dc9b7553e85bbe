"""One source tree, each of its big files parsed once, however many operators are planned on it."""

from __future__ import annotations

from functools import cached_property

from pipeline.dispatch_stubs import Stub, declared_stubs
from pipeline.edits.expectations import Expectations, expectation_files
from pipeline.edits.hostfile import HostFiles
from pipeline.edits.includes import Headers
from pipeline.native_functions import NativeFunctions
from pipeline.source import MPS, NATIVE_FUNCTIONS, NATIVE_HEADERS, SourceTree

HOST_SUFFIXES = (".mm", ".h", ".cpp")
# Who may name a function of the MPS back end: itself, its sparse part, the runtime below it.
HOST_FOLDERS = (MPS, f"{NATIVE_HEADERS}/sparse/mps", "aten/src/ATen/mps")
_INCLUDE_ROOTS = ("aten/src/", "")


class Snapshot:
    """Parsed views of a tree, made when first asked for."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree

    @cached_property
    def functions(self) -> NativeFunctions:
        return NativeFunctions(self.text(NATIVE_FUNCTIONS))

    @cached_property
    def host(self) -> HostFiles:
        """Every host file and header of the MPS back end."""
        paths = [path for folder in HOST_FOLDERS for path in self.tree.files(folder) if path.endswith(HOST_SUFFIXES)]
        return HostFiles({path: self.text(path) for path in paths})

    @cached_property
    def headers(self) -> Headers:
        """What the tree's headers declare, and which functions each generated `*_native.h` holds."""
        natives: dict[str, set[str]] = {}
        for entry in self.functions.entries.values():
            operator = entry.func.partition(".")[0].removesuffix("_")
            natives.setdefault(operator, set()).update(row.kernel for row in entry.rows)
        return Headers(self.included, natives)

    @cached_property
    def expectations(self) -> Expectations:
        return Expectations(expectation_files(self.tree))

    @cached_property
    def stubs(self) -> dict[str, Stub]:
        return declared_stubs(self.tree)

    def included(self, include: str) -> str | None:
        """A header's text by the path it is included with, None where the tree does not hold it."""
        for root in _INCLUDE_ROOTS:
            if self.tree.has(root + include):
                return self.text(root + include)
        return None

    def text(self, path: str) -> str:
        return self.tree.read(path).decode(errors="surrogateescape")
