"""What goes wrong, said in one line: what, where and what to do."""

from __future__ import annotations


class PipelineError(Exception):
    """An operator cannot be handled; shown to the user as one line, exit code 1.

    `path` and `line` (1-based) say where the cause stands, `hint` what to do about it.
    """

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line
        self.hint = hint

    def __str__(self) -> str:
        where = self.path or ""
        if self.line is not None:
            where = f"{where}:{self.line}" if where else f"line {self.line}"
        text = f"{where}: {self.message}" if where else self.message
        return f"{text}; {self.hint}" if self.hint else text


class Refusal(PipelineError):
    """An edit would have to guess, so it changes nothing and says why."""


class UsageError(PipelineError):
    """The command was called wrongly, or the manifest is not valid; exit code 2."""
