"""Habits in Metal code that reviewers send back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.checks.style.written import Written
from pipeline.edits.items import Item, Kind
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal
from pipeline.findings import Finding, Severity

_UNSUFFIXED = re.compile(r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+")
_BARRIERS = ("threadgroup_barrier", "simdgroup_barrier")
_PARAMS = re.compile(r"\w*Params")
_OUTSIDE_OF_CLASSES = ("inline", "template", "static", "constexpr", "C10_METAL")


def kernel_findings(written: Written) -> Iterator[Finding]:
    """Of a `.metal` file or a header that shaders include."""
    code = [token for _, token in written.code]
    words = [token.text for token in code]
    for at, (line, token) in enumerate(written.code):
        if not written.wrote(line):
            continue
        if token.text == "fast" and words[at + 1 : at + 2] == ["::"] and words[at - 1 : at] != ["."]:
            yield _error("style/fast-math", "metal::fast gives up accuracy", written, line, "use metal::precise")
        elif token.kind == "number" and _UNSUFFIXED.fullmatch(token.text):
            hint = f"write {token.text}f, or T({token.text}) where the type follows the operand"
            yield _error("style/unsuffixed-literal", f"{token.text} has no suffix", written, line, hint)
        elif token.text in _BARRIERS and words[at + 1 : at + 2] == ["("]:
            flags = words[at + 2 : _closing(words, at + 1)]
            if "mem_flags" not in flags and flags:
                what = f"the flags of {token.text} are not a constant"
                yield _error("style/barrier-flags", what, written, line, "write mem_flags::mem_... there")
    if written.path.endswith(".h"):
        yield from _not_inline(written)


def params_findings(written: Written) -> Iterator[Finding]:
    """A params struct that host and shader share stands in one header, which both include."""
    for item in _items(written):
        if item.kind is Kind.TYPE and item.code.startswith(("struct", "template", "typedef struct")):
            line = item.line
            for name in item.names:
                if _PARAMS.fullmatch(name) and written.wrote(line):
                    what = f"{name} is defined here, apart from the other side"
                    hint = "put it into kernels/<Stem>.h, which the .metal and the .mm include"
                    yield _error("style/params-header", what, written, line, hint)


def _not_inline(written: Written) -> Iterator[Finding]:
    for item in _items(written):
        if item.kind is Kind.FUNCTION and written.wrote(item.line) and not item.code.startswith(_OUTSIDE_OF_CLASSES):
            what = f"{', '.join(item.names)} is neither inline nor a template"
            hint = "two shaders that include the header would both define it"
            yield _error("style/missing-inline", what, written, item.line, hint)


def _items(written: Written) -> tuple[Item, ...]:
    """None where brackets do not close, which other checks say."""
    try:
        return split(written.text, written.path)
    except Refusal:
        return ()


def _closing(words: list[str], at: int) -> int:
    depth = 0
    for index in range(at, len(words)):
        depth += {"(": 1, ")": -1}.get(words[index], 0)
        if depth == 0:
            return index
    return len(words)


def _error(rule: str, message: str, written: Written, line: int, hint: str) -> Finding:
    return Finding(rule, Severity.ERROR, message, written.path, line, hint)
