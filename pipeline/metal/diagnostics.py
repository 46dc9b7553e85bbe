"""What the compiler said, as an error that points into the user's shader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

DIAGNOSTIC = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): (?P<kind>fatal error|error): (?P<text>.*)$")


@dataclass(frozen=True)
class Diagnostic:
    """One error of the compiler. `line` and `column` are 1-based."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: error: {self.message}"


class ShaderError(SyntaxError):
    """A shader does not compile. `diagnostics` has every error, `output` all that the compiler wrote."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], output: str) -> None:
        first = diagnostics[0]
        super().__init__("\n".join(str(item) for item in diagnostics))
        self.filename = first.file
        self.lineno = first.line
        self.offset = first.column
        self.diagnostics = diagnostics
        self.output = output

    def __str__(self) -> str:
        return str(self.msg)


def shader_error(output: str, name: str) -> ShaderError:
    """The error for a compiler's output; `name` is the shader's, for output that names no place."""
    found = tuple(_diagnostics(output))
    if not found:
        lines = [line for line in output.splitlines() if line.strip()]
        found = (Diagnostic(name, 1, 1, lines[0] if lines else "the compiler failed without a message"),)
    return ShaderError(found, output)


def _diagnostics(output: str) -> Iterator[Diagnostic]:
    for line in output.splitlines():
        match = DIAGNOSTIC.match(line)
        if match:
            yield Diagnostic(match["file"], int(match["line"]), int(match["column"]), _in_metal(match["text"]))


def _in_metal(message: str) -> str:
    """The message with the names that the user wrote."""
    message = re.sub(r"\(aka '_Float16'\)|\(aka 'metal::vec<\w+, \d>'\)", "", message)
    return re.sub(r"\s+", " ", message.replace("_Float16", "half"))
