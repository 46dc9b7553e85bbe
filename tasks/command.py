"""What all commands share: exit codes, errors in one line, and the words for common options."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from invoke.exceptions import Exit, ParseError
from invoke.parser import Parser
from rich.console import Console

OP = "operator to work on, by its name in ops_manifest.yaml (repeatable)"
ALL = "every operator that is ready"
SOURCE = "pocket, PATH[@REF], wheel:VERSION or URL[@REF]"
JSON = "print data instead of text"
_FILE_WIDTH = 200
_INTERRUPTED = 130  # as shells count: 128 and the signal's number


def command(body: Callable[..., int]) -> Any:
    """Turn what a command returns into the exit code, and an error into one line on stderr."""

    @functools.wraps(body)
    def run(*args: Any, **options: Any) -> None:
        from pipeline.errors import PipelineError, UsageError

        try:
            code = body(*args, **options)
        except UsageError as error:
            raise Exit(f"error: {error}", code=2) from None
        except PipelineError as error:
            raise Exit(f"error: {error}", code=1) from None
        except KeyboardInterrupt:
            raise Exit(code=_INTERRUPTED) from None
        except BrokenPipeError:  # the reader, such as `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        if code:
            raise Exit(code=code)

    return run


def wide_console() -> Console:
    """For tables: as wide as the terminal, and wide enough for a line per row where the output is a file."""
    console = Console()
    return console if console.is_terminal else Console(width=_FILE_WIDTH)


def wrong_use_exits_2() -> None:
    """invoke ends with 1 on an unknown option; here 1 means that an operator failed, so wrong use must be 2."""
    parse = Parser.parse_argv

    @functools.wraps(parse)
    def parse_argv(self: Parser, argv: list[str]) -> Any:
        try:
            return parse(self, argv)
        except ParseError as error:
            raise Exit(f"error: {error}", code=2) from None

    Parser.parse_argv = parse_argv  # type: ignore[method-assign]
