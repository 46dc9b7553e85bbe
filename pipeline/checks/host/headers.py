"""Which headers a host file sees: the torch wheel's, over them the tree's own where they differ, and generated ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.checks.host.compiler import Precompiled, Toolchain, contents_of_prefix, precompile
from pipeline.source import KERNELS, METAL_HEADERS, MPS, NATIVE_HEADERS, SourceTree

UMBRELLA = "ATen/native/mps/OperationUtils.h"
_ATEN = "aten/src/"
_FOLDERS = (MPS, f"{_ATEN}ATen/mps", METAL_HEADERS)
# These follow the dispatch rows; the other per-operator headers follow the schemas.
_BY_ROWS = ("_native.h", "_dispatch.h")
# A wheel guards every header against use from a stable-ABI extension.
_GUARD = re.compile(
    rb"\A#if !defined\(TORCH_STABLE_ONLY\)[^\n]*\n(.*?)\n?#else\n#error [^\n]*\n#endif[^\n]*\n?\Z", re.DOTALL
)
_GENERATED_BY = re.compile(rb"// @generated [^\n]*")


@dataclass(frozen=True)
class Headers:
    """`prefix` is precompiled with the tree's own headers; `late` are written for one check and searched first."""

    prefix: Precompiled
    late: Mapping[str, bytes]


def prepare_headers(
    toolchain: Toolchain, tree: SourceTree, generated: Mapping[str, bytes], touched: Collection[str], cache: Path
) -> Headers:
    """The headers of one tree. A change of `touched` ones costs no new prefix unless they are in it."""
    by_rows = {name: content for name, content in generated.items() if name.endswith(_BY_ROWS)}
    by_schema = {
        name: content
        for name, content in generated.items()
        if name not in by_rows and not _is_in_wheel(toolchain, name, content)
    }
    own = {**dict(_own_headers(toolchain, tree)), **by_schema}
    changing = own.keys() & {*by_schema, *(include_path(path) for path in touched)}
    if any((toolchain.torch / name).is_file() for name in changing):
        changing -= contents_of_prefix(toolchain, cache)
    prefix = precompile(toolchain, {name: own[name] for name in own if name not in changing}, cache)
    late = {name: own[name] for name in changing}
    return Headers(prefix, {**late, **by_rows, **dict(_shader_libraries(tree))})


def umbrella_text(toolchain: Toolchain, tree: SourceTree) -> str:
    """OperationUtils.h: what it includes, every host file may take for granted."""
    path = _ATEN + UMBRELLA
    content = tree.read(path) if tree.has(path) else (toolchain.torch / UMBRELLA).read_bytes()
    return content.decode(errors="replace")


def include_path(path: str) -> str:
    """How a file of the tree is written between angle brackets."""
    return path.removeprefix(_ATEN)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _own_headers(toolchain: Toolchain, tree: SourceTree) -> Iterator[tuple[str, bytes]]:
    """The tree's headers for native code that the wheel lacks or has in another version."""
    below = [path for folder in _FOLDERS for path in tree.files(folder)]
    beside = [path for path in tree.files(NATIVE_HEADERS) if path.count("/") == NATIVE_HEADERS.count("/") + 1]
    for path in (*below, *beside):
        if path.endswith(".h"):
            name, content = include_path(path), tree.read(path)
            if not _is_in_wheel(toolchain, name, content):
                yield name, content


def _is_in_wheel(toolchain: Toolchain, name: str, content: bytes) -> bool:
    path = toolchain.torch / name
    return path.is_file() and _plain(path.read_bytes()) == _plain(content)


def _plain(content: bytes) -> bytes:
    guarded = _GUARD.match(content)
    return _GENERATED_BY.sub(b"", guarded[1] if guarded else content).strip()


def _shader_libraries(tree: SourceTree) -> Iterator[tuple[str, bytes]]:
    """What the build makes of every `.metal` file for shaders compiled at run time, without the shaders."""
    for path in tree.files(KERNELS):
        if path.endswith(".metal"):
            stem = Path(path).stem
            yield f"ATen/native/mps/{stem}_metallib.h", b'static ::at::native::mps::MetalShaderLibrary lib("");\n'
