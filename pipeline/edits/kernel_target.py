"""The kernel file that a fragment is merged into, read once for all the fragments planned for it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.edits.items import Item
from pipeline.edits.kernel_file import KernelFile, macros_of
from pipeline.edits.kernel_placement import KernelPlacement
from pipeline.edits.objcpp import split


@dataclass(frozen=True)
class KernelTarget:
    """A file, the places in it, and the items of the headers that it or the fragment includes."""

    file: KernelFile
    placement: KernelPlacement
    headers: Mapping[str, tuple[Item, ...]]


def read_target(text: str, path: str, headers: Mapping[str, str]) -> KernelTarget:
    """`headers` are texts by path. Raises Refusal where one cannot be split."""
    return _read(text, path, tuple(headers.items()))


@functools.lru_cache(maxsize=64)
def _read(text: str, path: str, headers: tuple[tuple[str, str], ...]) -> KernelTarget:
    items = {header: split(content, header) for header, content in headers}
    macros = {name: macro for each in items.values() for name, macro in macros_of(each).items()}
    file = KernelFile(text, path, macros)
    return KernelTarget(file, KernelPlacement(file), items)
