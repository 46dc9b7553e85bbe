"""Progress of long work: a bar on a terminal, plain lines where there is none; always on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_QUIET_SECONDS = 2.0


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """Gives a function to call once per finished step with a word about it.

    Without a terminal a line is printed at most every two seconds, so quick work prints nothing.
    """
    console = Console(stderr=True)
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda word: bar.update(task, advance=1, description=f"{what}: {word}")
        return
    done, last = 0, time.monotonic()

    def step(word: str) -> None:
        nonlocal done, last
        done += 1
        if time.monotonic() - last >= _QUIET_SECONDS:
            last = time.monotonic()
            console.print(f"{what} {done}/{total}: {word}", highlight=False, markup=False)

    yield step
