"""The headers that torchgen writes for an edited native_functions.yaml, for the operators a host file includes.

A wheel for Linux has no MPS in its `ATen/ops/X_native.h`. Reading the few entries a file needs takes torchgen
milliseconds, where all 2,584 take seconds.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml
from torchgen import gen
from torchgen.model import DispatchKey, Location, NativeFunction
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


class UnreadableError(Refusal):
    """torchgen refuses `entries`, operators with their overloads."""

    def __init__(self, message: str, line: int | None, entries: Collection[str]) -> None:
        super().__init__(f"torchgen refuses an entry: {message}", path=NATIVE_FUNCTIONS, line=line)
        self.entries = frozenset(entries)


def generate_headers(tree: SourceTree, included: Collection[str], without: Collection[str] = ()) -> dict[str, bytes]:
    """Include path -> content of every per-operator header of the operators that the `included` headers are of.

    Other headers, those of operators that the tree does not have, and the entries `without` are passed over.
    Raises UnreadableError with torchgen's words.
    """
    names = [match[1] for header in included if (match := _HEADER.match(header))]
    roots = {root for name in names for root in (name, _SUFFIX.sub("", name))}
    tags = {entry["tag"] for entry in yaml.load(tree.read(TAGS), yaml.CSafeLoader)}
    entries = _entries(tree.read(NATIVE_FUNCTIONS).decode(), roots)
    kept = [entry for entry in entries if _func(entry) not in without]
    try:
        return _write(gen.parse_native_yaml_struct(kept, tags, _IGNORED, path=NATIVE_FUNCTIONS))
    except Exception as error:  # torchgen asserts, so anything may come
        refused = {_func(entry): entry["__line__"] for entry in kept if not _is_readable(entry, tags)}
        line = min(refused.values(), default=None)
        raise UnreadableError(_words(error)[:300], line, refused) from None


def unreadable_entries(tree: SourceTree, included: Collection[str]) -> frozenset[str]:
    """The entries that torchgen refuses among those that the `included` headers need."""
    try:
        generate_headers(tree, included)
    except UnreadableError as error:
        return error.entries
    return frozenset()


def operator_names(functions: NativeFunctions) -> frozenset[str]:
    """The names that per-operator headers go by: without overload, `_` of the in-place form or `__`."""
    return frozenset(_root(func.partition(".")[0]) for func in functions.entries)


def _root(name: str) -> str:
    dunder = _DUNDER.match(name)
    return dunder[1] if dunder else name.removesuffix("_")


def _entries(text: str, roots: Collection[str]) -> list[dict[str, Any]]:
    """The entries of these operators, overloads and in-place forms included, each with its `__line__`."""
    starts = [(match.start(), match[1]) for match in _ENTRY.finditer(text)]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    kept, line = [], 0
    for (start, name), end in zip(starts, ends, strict=True):
        if _root(name) in roots:
            above = text.count("\n", 0, start)
            kept.append("\n" * (above - line) + text[start:end])
            line = above + text.count("\n", start, end)
    try:
        entries: list[dict[str, Any]] = yaml.load("".join(kept), gen.LineLoader) or []
    except yaml.YAMLError as error:
        raise UnreadableError(_words(error)[:300], None, ()) from None
    return entries


def _func(entry: dict[str, Any]) -> str:
    return str(entry["func"]).partition("(")[0]


def _is_readable(entry: dict[str, Any], tags: set[str]) -> bool:
    try:
        NativeFunction.from_yaml(dict(entry), Location(NATIVE_FUNCTIONS, entry["__line__"]), tags, _IGNORED)
    except Exception:  # as above
        return False
    return True


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


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
