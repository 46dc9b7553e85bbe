"""Which dispatch stubs a native function calls: read from ATen/native/*.cpp, or told by names where there is none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from pipeline.dispatch_stubs import Stub
from pipeline.edits.hostfile import HostFile
from pipeline.errors import Refusal
from pipeline.source import NATIVE_HEADERS, SourceTree

# Stubs that are not called after their operator (ATen/native: BinaryOps.cpp, TensorCompare.cpp, ReduceOps.cpp, ...).
_OTHER_NAMES = {
    "bitwise_left_shift": "lshift_stub",
    "bitwise_right_shift": "rshift_stub",
    "__lshift__": "lshift_stub",
    "__rshift__": "rshift_stub",
    "div": "div_true_stub",
    "isin": "isin_default_stub",
    "std": "std_var_stub",
    "var": "std_var_stub",
    "all": "and_stub",
    "any": "or_stub",
    "amax": "max_values_stub",
    "amin": "min_values_stub",
    "linalg_vector_norm": "norm_stub",
    "threshold_backward": "threshold_stub",
    "lerp_scalar": "lerp_kernel_scalar_weight",
    "lerp_tensor": "lerp_kernel_tensor_weight",
}


def stub_calls(tree: SourceTree, declared: Mapping[str, Stub]) -> dict[str, tuple[str, ...]]:
    """Function of ATen/native -> the declared stubs that it, or what it calls in its file, mentions.

    Empty for a tree without those sources. A file that cannot be split is left out.
    """
    found: dict[str, tuple[str, ...]] = {}
    depth = NATIVE_HEADERS.count("/") + 1
    for path in tree.files(NATIVE_HEADERS):
        if path.endswith(".cpp") and path.count("/") == depth:
            text = tree.read(path).decode(errors="replace")
            if mentions_stubs(text):
                found |= calls_of_file(path, text, declared)
    return found


def mentions_stubs(text: str) -> bool:
    """Whether a source file can call a stub at all."""
    return "_stub" in text or "DEFINE_DISPATCH" in text


def calls_of_file(path: str, text: str, declared: Mapping[str, Stub]) -> dict[str, tuple[str, ...]]:
    """`stub_calls` of one file."""
    try:
        entries = HostFile(path, text).entries
    except Refusal:
        return {}
    stubs: dict[str, frozenset[str]] = defaultdict(frozenset)
    callees: dict[str, frozenset[str]] = defaultdict(frozenset)
    for entry in entries:
        for name in entry.functions:
            stubs[name] |= entry.uses & declared.keys()
            callees[name] |= {call.name for call in entry.calls if call.scope in ("", "native", "at::native")}
    return {name: tuple(sorted(_reached(name, stubs, callees))) for name in list(stubs)}


def _reached(name: str, stubs: Mapping[str, frozenset[str]], callees: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The stubs of a function and of those it calls in the same file."""
    seen = {name}
    waiting = [name]
    for current in waiting:
        further = (callees[current] & callees.keys()) - seen
        seen |= further
        waiting += further
    return frozenset().union(*(stubs[function] for function in seen))


def stub_by_name(func: str, kernel: str, declared: Mapping[str, Stub]) -> str | None:
    """The declared stub that is called as the operator `func` (`pow.Tensor_out`) or its shared `kernel` is."""
    for name in _names(func, kernel):
        camel = "".join(word.capitalize() for word in name.split("_"))
        for stub in (_OTHER_NAMES.get(name, ""), f"{name}_stub", f"{name}_kernel", f"{camel}Kernel"):
            if stub in declared:
                return stub
    return None


def _names(func: str, kernel: str) -> Iterator[str]:
    operator, _, overload = func.partition(".")
    operator = operator.strip("_") if not operator.startswith("__") else operator
    yield re.sub(r"_out$|_(?=$)", "", kernel.lower())
    yield f"{operator}_{overload.lower().removesuffix('_out')}"
    yield operator
    yield operator.removeprefix("special_")
    yield operator.removesuffix("_kernel")
    yield operator.replace("_kernel_", "_")
    yield operator.replace("_loss", "")
