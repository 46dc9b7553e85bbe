"""What the compiler said, as an error that points into the user's shader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

DIAGNOSTIC = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): (?P<kind>fatal error|error): (?P<text>.*)$")
NOTE = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): note: ")


@dataclass(frozen=True)
class Diagnostic:
    """One error of the compiler. `line` and `column` are 1-based.

    `origin` is the line of the shader that led to an error in a header, such as a registration.
    """

    file: str
    line: int
    column: int
    message: str
    origin: int | None = None

    def __str__(self) -> str:
        origin = f" (from line {self.origin})" if self.origin is not None else ""
        return f"{self.file}:{self.line}:{self.column}: error: {self.message}{origin}"


class ShaderError(SyntaxError):
    """A shader does not compile. `diagnostics` has every error, `output` all that the compiler wrote.

    `filename` and `lineno` are a place in the shader itself, if any of the errors is in it or comes from it.
    """

    def __init__(self, diagnostics: tuple[Diagnostic, ...], output: str, name: str = "") -> None:
        super().__init__("\n".join(str(item) for item in diagnostics))
        own = [item for item in diagnostics if item.file == name or item.origin is not None]
        first = own[0] if own else diagnostics[0]
        self.filename = first.file if first.origin is None else name
        self.lineno = first.line if first.origin is None else first.origin
        self.offset = first.column if first.origin is None else 1
        self.diagnostics = diagnostics
        self.output = output

    def __str__(self) -> str:
        return str(self.msg)


def shader_error(output: str, name: str) -> ShaderError:
    """The error for a compiler's output; `name` is the shader's."""
    found = tuple(_diagnostics(output.splitlines(), name))
    if not found:
        lines = [line for line in output.splitlines() if line.strip()]
        found = (Diagnostic(name, 1, 1, lines[0] if lines else "the compiler failed without a message"),)
    return ShaderError(found, output, name)


def _diagnostics(lines: list[str], name: str) -> Iterator[Diagnostic]:
    current: Diagnostic | None = None
    for line in lines:
        if match := DIAGNOSTIC.match(line):
            if current:
                yield current
            current = Diagnostic(match["file"], int(match["line"]), int(match["column"]), _in_metal(match["text"]))
        elif current and current.file != name and current.origin is None:
            note = NOTE.match(line)
            if note and note["file"] == name:
                current = replace(current, origin=int(note["line"]))
    if current:
        yield current


def _in_metal(message: str) -> str:
    """The message with the names that the user wrote."""
    message = re.sub(r"\(aka '_Float16'\)|\(aka 'metal::vec<\w+, \d>'\)", "", message)
    return re.sub(r"\s+", " ", message.replace("_Float16", "half"))
