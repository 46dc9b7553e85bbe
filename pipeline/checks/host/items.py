"""What a compiler lets pass in a host file: a shared function defined again, includes that are missing or unused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pipeline.dispatch_stubs import Stub
from pipeline.edits.items import Item, Kind
from pipeline.edits.lexer import Tokens
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal
from pipeline.findings import Finding, Severity
from pipeline.native_functions import NativeFunctions
from pipeline.source import MPS, SourceTree

_INCLUDE = re.compile(r"#[ \t]*(?:include|import)[ \t]*<([^>]+)>")
_OPERATOR_HEADER = re.compile(r"ATen/ops/(\w+?)(_native|_mps_dispatch)?\.h\Z")
_REGISTERED = re.compile(r"\bREGISTER_\w*DISPATCH\w*\s*\(\s*(\w+)\s*,")
_DECLARED = re.compile(rb"\bstructured_(\w+)\b|\b(\w+)\(")
_FORMS = ("", "_", "_out", "_outf", "_symint", "_symint_out", "_symint_outf")


@dataclass(frozen=True)
class Surroundings:
    """What the items of a host file are held against.

    `generated` are the per-operator headers of the tree's yaml by include path, `operators` the names of all operators
    that have such a header, `provided` the include paths that come with OperationUtils.h.
    """

    tree: SourceTree
    functions: NativeFunctions
    stubs: Mapping[str, Stub]
    generated: Mapping[str, bytes]
    operators: Collection[str]
    provided: Collection[str]


def included_headers(text: str) -> list[str]:
    """The include paths between angle brackets, in order. A line that is commented out does not count."""
    return [match[1] for line in text.splitlines() if (match := _INCLUDE.match(line.lstrip()))]


def item_findings(path: str, text: str, around: Surroundings) -> Iterator[Finding]:
    """Findings that need no compiler; none for brackets that do not close, which the compiler says better."""
    try:
        items = split(text, path)
    except Refusal:
        return
    includes = {match[1]: item.line for item in items if (match := _INCLUDE.match(item.code))}
    yield from _shared_functions(path, items, around)
    yield from _undefined_functions(path, items, around)
    yield from _stub_headers(path, items, includes, around)
    yield from _operator_headers(path, Tokens(text, path), includes, around)
    yield from _unused_headers(path, items, includes, around)


def _shared_functions(path: str, items: tuple[Item, ...], around: Surroundings) -> Iterator[Finding]:
    """`TORCH_IMPL_FUNC(sign_out)` has a declaration, CPU's; the linker would find the second definition."""
    for item in items:
        if item.kind is not Kind.FUNCTION or item.internal or item.scope != ("at", "native"):
            continue
        for name in item.names:
            entries = [around.functions.entries[func] for func in around.functions.naming(name)]
            keys = {key for entry in entries for row in entry.rows if row.kernel == name for key in row.keys}
            others = sorted(key for key in keys if "MPS" not in key)
            if others:
                yield Finding(
                    "host/shared-function",
                    Severity.ERROR,
                    f"{name} is the function that {', '.join(others)} run; it is defined elsewhere already",
                    path,
                    item.line,
                    "register a kernel on its stub, or define the function of MPS's own row",
                )


def _undefined_functions(path: str, items: tuple[Item, ...], around: Surroundings) -> Iterator[Finding]:
    defined = {name for item in items if item.kind is Kind.FUNCTION for name in item.names}
    for item in items:
        if item.kind is not Kind.DECLARATION or "(" not in item.code or item.internal:
            continue
        for name in item.names:
            if name not in defined and not _is_defined(name, path, around.tree):
                message = f"{name} is declared here and defined nowhere in the MPS back end"
                yield Finding("host/declared-not-defined", Severity.ERROR, message, path, item.line, "remove it")


def _is_defined(name: str, path: str, tree: SourceTree) -> bool:
    definition = re.compile(rf"\b{re.escape(name)}\s*\([^;{{}}]*\)[^;{{}}]*\{{".encode())
    sources = (other for other in tree.files(MPS) if other != path and other.endswith((".mm", ".cpp", ".h")))
    return any(definition.search(tree.read(other)) for other in sources)


def _stub_headers(
    path: str, items: tuple[Item, ...], includes: Mapping[str, int], around: Surroundings
) -> Iterator[Finding]:
    for item in items:
        for match in _REGISTERED.finditer(item.code) if item.kind is Kind.CALL else ():
            stub = around.stubs.get(match[1])
            if stub is not None and stub.include not in includes:
                yield _missing(path, item.line, stub.name, stub.include)


def _operator_headers(
    path: str, tokens: Tokens, includes: Mapping[str, int], around: Surroundings
) -> Iterator[Finding]:
    """`at::f(` and `at::mps::f(` need the header that declares them, not one that happens to include it."""
    code = [index for index, kind in enumerate(tokens.kinds) if kind not in ("comment", "directive")]
    words = [tokens.texts[index] for index in code]
    seen = set()
    for position in range(len(words) - 3):
        if words[position : position + 2] != ["at", "::"] or words[position - 1 : position] == ["::"]:
            continue
        on_mps = words[position + 2 : position + 4] == ["mps", "::"]
        at = position + (4 if on_mps else 2)
        operator = _operator(words[at], around.operators) if words[at + 1 : at + 2] == ["("] else None
        if operator is None:
            continue
        header = f"ATen/ops/{operator}{'_mps_dispatch' if on_mps else ''}.h"
        if header not in includes and header not in around.provided and header not in seen:
            seen.add(header)
            line = tokens.text.count("\n", 0, tokens.starts[code[at]]) + 1
            yield _missing(path, line, f"at::{'mps::' if on_mps else ''}{words[at]}", header)


def _operator(function: str, operators: Collection[str]) -> str | None:
    names = (function.removesuffix(form) for form in _FORMS if function.endswith(form))
    return next((name for name in names if name in operators), None)


def _unused_headers(
    path: str, items: tuple[Item, ...], includes: Mapping[str, int], around: Surroundings
) -> Iterator[Finding]:
    used = {word for item in items if item.kind is not Kind.INCLUDE for word in item.identifiers}
    for header, line in includes.items():
        match = _OPERATOR_HEADER.match(header)
        if match is None:
            continue
        if match[2] == "_native":
            declared = {
                (structured or plain).decode()
                for structured, plain in _DECLARED.findall(around.generated.get(header, b""))
            }
        else:
            declared = {match[1] + form for form in _FORMS}
        if declared and used.isdisjoint(declared):
            message = f"nothing that {header} declares is used"
            yield Finding("host/unused-include", Severity.WARNING, message, path, line, "remove the include")


def _missing(path: str, line: int, name: str, header: str) -> Finding:
    message = f"{name} comes from {header}, which is not included here"
    return Finding("host/missing-include", Severity.WARNING, message, path, line, f"include <{header}>")
