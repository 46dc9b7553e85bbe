"""The dispatch stubs of ATen/native: which there are, and the signature of the function each one calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.source import NATIVE_HEADERS, SourceTree

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([\w:&*<>\s]*?)\(\s*\*\s*\)\s*\(([^;]*)\)\s*;")
_DECLARE = re.compile(r"\bDECLARE_DISPATCH\s*\(\s*(.*?)\s*,\s*(\w+)\s*\)\s*;?[ \t]*$", re.DOTALL | re.MULTILINE)
_POINTER = re.compile(r"([\w:&*<>\s]*?)\(\s*\*\s*\)\s*\((.*)\)\Z", re.DOTALL)


@dataclass(frozen=True)
class Stub:
    """One DECLARE_DISPATCH. `parameters` are the types of the registered function, names and comments left out."""

    name: str
    parameters: tuple[str, ...]
    returns: str
    header: str
    line: int

    @property
    def takes_iterator(self) -> str | None:
        """`TensorIterator` or `TensorIteratorBase` where that is the first parameter."""
        first = self.parameters[0] if self.parameters else ""
        name = first.removesuffix("&").strip().removeprefix("at::")
        return name if name in ("TensorIterator", "TensorIteratorBase") else None

    @property
    def include(self) -> str:
        """What a host file writes between the angle brackets."""
        return self.header.removeprefix("aten/src/")


def declared_stubs(tree: SourceTree) -> dict[str, Stub]:
    """Every stub that a header directly below ATen/native declares, by name."""
    headers = [
        path
        for path in tree.files(NATIVE_HEADERS)
        if path.endswith(".h") and path.count("/") == NATIVE_HEADERS.count("/") + 1
    ]
    stubs: dict[str, Stub] = {}
    for path in headers:
        for stub in stubs_of_header(tree.read(path).decode(errors="replace"), path):
            stubs.setdefault(stub.name, stub)
    return stubs


def stubs_of_header(text: str, path: str) -> Iterator[Stub]:
    text = _COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
    aliases = {name: (returns, parameters) for name, returns, parameters in _ALIAS.findall(text)}
    for match in _DECLARE.finditer(text):
        type_, name = " ".join(match.group(1).split()), match.group(2)
        pointer = _POINTER.match(type_)
        signature = pointer.groups() if pointer else aliases.get(type_)
        if signature is not None:
            returns, parameters = signature
            line = text.count("\n", 0, match.start()) + 1
            yield Stub(name, tuple(parameter_types(parameters)), returns.strip(), path, line)


def parameter_types(parameters: str) -> Iterator[str]:
    """The types of a parameter list, without names and defaults."""
    depth, current = 0, ""
    for character in parameters + ",":
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            if current.strip():
                yield _without_name(current)
            current = ""
        else:
            current += character


def _without_name(parameter: str) -> str:
    """`const Scalar& alpha` -> `const Scalar&`; a lone type such as `double` is no name."""
    words = " ".join(parameter.partition("=")[0].split())
    named = re.match(r"(.*[&*>\s])(\w+)\Z", words)
    if named is None or named.group(1).strip() in ("const", ""):
        return words
    if named.group(1).endswith(" ") and named.group(1).split()[-1] in ("const", "unsigned", "struct", "long"):
        return words
    return named.group(1).strip()
