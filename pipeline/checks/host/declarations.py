"""The headers that torchgen writes for an edited native_functions.yaml, for the operators a host file includes.

A wheel for Linux has no MPS in its `ATen/ops/X_native.h`. Reading the few entries a file needs takes torchgen
milliseconds, where all 2,584 take seconds.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection
from pathlib import Path

import yaml
from torchgen import gen
from torchgen.model import DispatchKey
from torchgen.selective_build.selector import SelectiveBuilder
from torchgen.utils import FileManager

from pipeline.errors import Refusal
from pipeline.native_functions import NativeFunctions
from pipeline.source import NATIVE_FUNCTIONS, TAGS, SourceTree

_HEADER = re.compile(r"ATen/ops/(\w+)\.h\Z")
_ENTRY = re.compile(r"^- func: (\w+)", re.MULTILINE)
_SUFFIX = re.compile(r"(?:_native|_ops|_meta|_[a-z]+_dispatch)\Z")
_DUNDER = re.compile(r"__i?(\w+)__\Z")
_TEMPLATES = Path(gen.__file__).parent / "packaged/ATen/templates"
# What a build for Apple leaves out, as torchgen's own command line does.
_IGNORED = {DispatchKey.XPU, DispatchKey.MTIA}


def generate_headers(tree: SourceTree, included: Collection[str]) -> dict[str, bytes]:
    """Include path -> content of every per-operator header of the operators that the `included` headers are of.

    Other headers, and those of operators that the tree does not have, are passed over.
    Raises Refusal with torchgen's words when it does not take an entry.
    """
    names = [match[1] for header in included if (match := _HEADER.match(header))]
    roots = {root for name in names for root in (name, _SUFFIX.sub("", name))}
    text = tree.read(NATIVE_FUNCTIONS).decode()
    tags = {entry["tag"] for entry in yaml.load(tree.read(TAGS), yaml.CSafeLoader)}
    try:
        parsed = gen.parse_native_yaml_struct(
            yaml.load(_entries(text, roots), gen.LineLoader) or [], tags, _IGNORED, path=NATIVE_FUNCTIONS
        )
        return _write(parsed)
    except Exception as error:  # torchgen asserts, so anything may come
        said = " ".join(str(error).split()) or type(error).__name__
        raise Refusal(f"torchgen refuses an entry: {said[:300]}", path=NATIVE_FUNCTIONS) from None


def operator_names(functions: NativeFunctions) -> frozenset[str]:
    """The names that per-operator headers go by: without overload, `_` of the in-place form or `__`."""
    return frozenset(_root(func.partition(".")[0]) for func in functions.entries)


def _root(name: str) -> str:
    dunder = _DUNDER.match(name)
    return dunder[1] if dunder else name.removesuffix("_")


def _entries(text: str, roots: Collection[str]) -> str:
    """The entries of these operators, overloads and in-place forms included, each on the line it has in the file."""
    starts = [(match.start(), match[1]) for match in _ENTRY.finditer(text)]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    kept, line = [], 0
    for (start, name), end in zip(starts, ends, strict=True):
        if _root(name) in roots:
            above = text.count("\n", 0, start)
            kept.append("\n" * (above - line) + text[start:end])
            line = above + text.count("\n", start, end)
    return "".join(kept)


def _write(parsed: gen.ParsedYaml) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        operators, aggregates = Path(folder) / "ops", Path(folder) / "aggregates"
        gen.gen_per_operator_headers(
            native_functions=parsed.native_functions,
            grouped_native_functions=gen.get_grouped_native_functions(parsed.native_functions),
            static_dispatch_idx=[],
            selector=SelectiveBuilder.get_nop_selector(),
            backend_indices=parsed.backend_indices,
            cpu_fm=FileManager(aggregates, _TEMPLATES, dry_run=False),
            device_fms={},
            ops_fm=FileManager(operators, _TEMPLATES, dry_run=False),
            functions_keys={DispatchKey.MPS},
            dispatch_keys=[DispatchKey.MPS],
            rocm=False,
        )
        return {f"ATen/ops/{path.name}": path.read_bytes() for path in sorted(operators.glob("*.h"))}
