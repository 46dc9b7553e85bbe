"""Habits in host stubs that reviewers send back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from pipeline.checks.style.written import Written
from pipeline.edits.items import Item, Kind
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal
from pipeline.findings import Finding, Severity
from pipeline.source import KERNELS

_TO = re.compile(
    r"(?:\.|->)\s*to\s*<\s*((?:at::|c10::|std::)?\w+(?:\s\w+)?)\s*>\s*\(\s*\)|(?:\.|->)\s*to(Int|Long)\s*\(\s*\)"
)
_INTEGERS = re.compile(r"(?:std::)?u?int(?:8|16|32|64)?(?:_t)?|(?:unsigned|short|long)(?: \w+)?|Int|Long")
_WIDE = ("int64_t", "std::int64_t", "long", "Long")
_SYSTEM_VERSION = re.compile(
    r"\b(?:is_macos_\w+|is_macos_at_least|isOnMacOS\w*|MacOSVersion|MACOS_VER_\w+|__MAC_OS_X_VERSION_\w+|__MAC_\d+\w*)\b|@available\b"
)
_OPERATOR_HEADER = re.compile(r"#\s*include\s*<ATen/(?:ops/\w+|Functions|NativeFunctions)\.h>")
_GUARD = "AT_PER_OPERATOR_HEADERS"


def host_findings(written: Written) -> Iterator[Finding]:
    """Of an Objective-C++ file."""
    try:
        items = split(written.text, written.path)
    except Refusal:
        return
    guards: list[bool] = []
    for item in items:
        if item.kind is Kind.IF:
            guards.append(_GUARD in item.code)
        elif item.kind is Kind.ENDIF and guards:
            guards.pop()
        elif item.kind is Kind.INCLUDE:
            if written.wrote(item.line) and _OPERATOR_HEADER.match(item.code) and not any(guards):
                what = f"{item.code.split()[-1]} stands outside of the {_GUARD} block"
                yield _error("style/include-order", what, written, item.line, "move it there")
        else:
            yield from _version_findings(written, item)
            yield from _scalar_findings(written, item)


def stem_findings(paths: tuple[str, ...]) -> Iterator[Finding]:
    """Where shaders are built at run time, a `.mm` asks the library of the `.metal` of the same stem."""
    kernels = [path for path in paths if path.startswith(f"{KERNELS}/") and path.endswith(".metal")]
    hosts = [path for path in paths if path.endswith(".mm")]
    stems = {PurePosixPath(path).stem for path in hosts}
    for path in kernels:
        stem = PurePosixPath(path).stem
        if stem not in stems and hosts:
            what = f"no host file of the change is called {stem}.mm"
            yield Finding("style/stem-mismatch", Severity.ERROR, what, path, None, "give both the same stem")


def _version_findings(written: Written, item: Item) -> Iterator[Finding]:
    for match in _SYSTEM_VERSION.finditer(item.code):
        line = item.line + item.code.count("\n", 0, match.start())
        if written.wrote(line):
            what = f"{match[0]}: a kernel needs no other way on older systems"
            yield _error("style/macos-fallback", what, written, line, "remove the branch")


def _scalar_findings(written: Written, item: Item) -> Iterator[Finding]:
    """`exponent.to<int>() == 2` takes 2.5 for 2 (pytorch #170077); a float holds no integer beyond 2^24."""
    if item.kind is not Kind.FUNCTION:
        return
    of_integers = re.search(r"\bisIntegral(?:Type)?\b|AT_DISPATCH_INTEGRAL|AT_DISPATCH_ALL", item.code)
    of_floats = re.search(r"\bisFloatingType\b|\bisComplexType\b|AT_DISPATCH_FLOATING|supportedFloating", item.code)
    for match in _TO.finditer(item.code):
        line = item.line + item.code.count("\n", 0, match.start())
        kind = match[1] or match[2]
        if not written.wrote(line):
            continue
        if _INTEGERS.fullmatch(kind) and not (kind in _WIDE and of_integers):
            what = f"{match[0].lstrip('.->')} cuts a scalar to an integer"
            yield _error("style/truncated-scalar", what, written, line, "compare or pass the scalar as it is")
        elif kind in ("float", "at::Half", "c10::Half", "at::BFloat16", "c10::BFloat16") and not of_floats:
            what = f"{match[0].lstrip('.->')} rounds an integer beyond 2^24, and no branch is for floating dtypes alone"
            hint = "take the dtype of the tensor first, as with AT_DISPATCH and to<scalar_t>()"
            yield Finding("style/rounded-scalar", Severity.WARNING, what, written.path, line, hint)


def _error(rule: str, message: str, written: Written, line: int, hint: str) -> Finding:
    return Finding(rule, Severity.ERROR, message, written.path, line, hint)
