"""Why a stub cannot be run, or chose not to."""

from __future__ import annotations

from pipeline.errors import PipelineError


class NotUnderstoodError(PipelineError):
    """The text uses something the interpreter does not know; the line is 1-based."""


class FaultError(NotUnderstoodError):
    """What the text does here ends the process, or is undefined."""


class CheckFailedError(PipelineError):
    """A TORCH_CHECK of the stub failed: a clean error for the user of PyTorch."""
