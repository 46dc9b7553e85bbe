"""What a stub's text says by itself: the dispatch stubs it registers for, and how it binds buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pipeline.dispatch_stubs import Stub, parameter_types
from pipeline.edits.hostfile import HostFile
from pipeline.edits.items import Item, Kind
from pipeline.findings import Finding, Severity

_NAMESPACES = re.compile(r"\b(?:at|c10|std|native)::")
_ZERO_OFFSET = re.compile(
    r"\bsetBuffer\s*:\s*(?:\w+::)*getMTLBufferStorage\s*\([^()]*(?:\([^()]*\))?[^()]*\)\s+offset\s*:\s*0\b"
)
_STORAGE_BYTES = re.compile(r"\b(?:mtl_setBytes|setBytes)\b[^;]*\bstorage\s*\(\s*\)\s*\.\s*(?:mutable_)?data\b")


def declared_findings(file: HostFile, stubs: Mapping[str, Stub], first: int = 0) -> Iterator[Finding]:
    """Of the functions and registrations of the file; its lines count from `first`."""
    parts = [(entry.item.line + first, part) for entry in file.entries for part in entry.parts]
    functions = {name: (line, part) for line, part in parts if part.kind is Kind.FUNCTION for name in part.names}
    for entry in file.entries:
        for registration in entry.registrations:
            line = entry.item.line + first
            stub = stubs.get(registration.stub)
            if stubs and stub is None:
                text = f"no header of ATen/native declares {registration.stub}"
                yield _error("contract/unknown-stub", text, file.path, line, "name a stub of a DECLARE_DISPATCH")
            elif stub is not None and registration.function in functions:
                yield from _signature(file.path, stub, *functions[registration.function])
    for line, part in parts:
        yield from _binding(file.path, line, part)


def _signature(path: str, stub: Stub, line: int, function: Item) -> Iterator[Finding]:
    wanted = [_plain(each) for each in stub.parameters]
    found = [_plain(each) for each in parameter_types(_parameters(function))]
    if wanted != found:
        text = (
            f"{function.names[0]} takes ({', '.join(found)}), but {stub.name} of {stub.include} calls it with "
            f"({', '.join(wanted)})"
        )
        yield _error("contract/signature", text, path, line, "give it the stub's signature")


def _binding(path: str, line: int, part: Item) -> Iterator[Finding]:
    for match in _ZERO_OFFSET.finditer(part.code):
        text = "a tensor's buffer is bound from its start: a view is read from the wrong place (pytorch #101507)"
        at = line + part.code.count("\n", 0, match.start())
        yield _error("contract/buffer-offset", text, path, at, "use mtl_setBuffer, which adds the storage offset")
    for match in _STORAGE_BYTES.finditer(part.code):
        text = "a scalar is read from the start of its storage, whatever element the view is of (#187117)"
        at = line + part.code.count("\n", 0, match.start())
        yield _error("contract/storage-bytes", text, path, at, "use item(), or const_data_ptr()")


def _parameters(function: Item) -> str:
    """What stands between the brackets of the parameter list."""
    name = function.names[0]
    start = re.search(rf"\b{re.escape(name)}\s*\)?\s*\(", function.code)
    if start is None:
        return ""
    depth = 1
    for at in range(start.end(), len(function.code)):
        depth += {"(": 1, ")": -1}.get(function.code[at], 0)
        if depth == 0:
            return function.code[start.end() : at]
    return ""


def _plain(type_: str) -> str:
    return re.sub(r"\s*([&*<>,])\s*", r"\1", " ".join(_NAMESPACES.sub("", type_).split()))


def _error(rule: str, message: str, path: str, line: int, hint: str) -> Finding:
    return Finding(rule, Severity.ERROR, message, path, line, hint)
