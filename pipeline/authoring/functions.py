"""The C++ functions that dispatch rows name, as torchgen declares them: what host code defines where no stub is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.checks.host.declarations import generate_headers
from pipeline.native_functions import Entry
from pipeline.source import SourceTree

_PLAIN = r"TORCH_API (?P<returns>[^;{{}}]*?)\b{name}\((?P<parameters>[^;]*)\);"
_STRUCTURED = r"struct TORCH_API structured_{name} : [^{{]*{{\s*void impl\((?P<parameters>[^;]*)\);"
_NAMESPACES = re.compile(r"(?<![\w:])(?:::std::|::at::|at::)")


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str

    @property
    def is_tensor(self) -> bool:
        return self.type in ("const Tensor&", "Tensor&")

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


@dataclass(frozen=True)
class Function:
    """A function of at::native. A structured one is written TORCH_IMPL_FUNC(name) and returns nothing.

    `outputs` are the parameters that are written.
    """

    name: str
    func: str
    returns: str
    parameters: tuple[Parameter, ...]
    outputs: tuple[str, ...]
    structured: bool = False

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return tuple(each for each in self.parameters if each.name not in self.outputs)

    @property
    def operands(self) -> tuple[str, ...]:
        """The tensors that are read, optional ones left out."""
        return tuple(each.name for each in self.inputs if each.is_tensor)

    @property
    def result_count(self) -> int:
        return max(len(self.outputs), self.returns.count("Tensor"))


def functions_of(tree: SourceTree, entry: Entry, name: str) -> tuple[Function, ...]:
    """The functions called `name` that torchgen declares for the operator of `entry`; none where no row names it."""
    root = entry.func.partition(".")[0].strip("_") if entry.func.startswith("__") else entry.func.partition(".")[0]
    header = f"ATen/ops/{root.removesuffix('_')}_native.h"
    text = generate_headers(tree, [header]).get(header, b"").decode()
    return tuple(_declared(text, entry, name))


def _declared(text: str, entry: Entry, name: str) -> Iterator[Function]:
    written = {match[1] for match in re.finditer(r"Tensor\(\w+!\)(?:\[\])? (\w+)", entry.schema)}
    for structured, pattern in ((True, _STRUCTURED), (False, _PLAIN)):
        for match in re.finditer(pattern.format(name=re.escape(name)), text):
            parameters = tuple(_parameters(match["parameters"]))
            names = {each.name for each in parameters}
            returns = "" if structured else _spelled(match["returns"])
            outputs = tuple(each.name for each in parameters if each.name in written)
            if written <= names:
                yield Function(name, entry.func, returns, parameters, outputs, structured)


def _parameters(text: str) -> Iterator[Parameter]:
    depth, current = 0, ""
    for character in text + ",":
        depth += {"<": 1, "(": 1, "{": 1, ">": -1, ")": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            words = current.partition("=")[0].strip()
            if words:
                type_, _, name = words.rpartition(" ")
                yield Parameter(_spelled(type_), name)
            current = ""
        else:
            current += character


def _spelled(type_: str) -> str:
    """As code inside at::native writes it: `const Tensor&`, `std::optional<double>`."""
    short = _NAMESPACES.sub(lambda scope: "std::" if "std" in scope[0] else "", type_.strip())
    return re.sub(r"\s*([&,])\s*", lambda mark: "&" if mark[1] == "&" else ", ", short).strip()
