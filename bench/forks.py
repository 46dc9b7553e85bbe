"""Work that may crash or never end, each piece in a fork of this process."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import TypeVar

T = TypeVar("T")


def in_forks(
    tasks: Sequence[Callable[[], T]], jobs: int, limit: float, lost: Callable[[str], T]
) -> Iterator[tuple[int, T]]:
    """What each task returns, by its number, as they come; `lost` makes it of the reason why one did not get there.

    `jobs` run at once, each for `limit` seconds at most.
    """
    running: dict[Connection, tuple[int, ForkProcess, float]] = {}
    waiting = list(enumerate(tasks))[::-1]
    context = multiprocessing.get_context("fork")
    while waiting or running:
        while waiting and len(running) < jobs:
            index, task = waiting.pop()
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_send, args=(sender, task))
            process.start()
            sender.close()
            running[receiver] = (index, process, time.monotonic())
        ready = wait(list(running), timeout=5)
        for receiver, (index, process, started) in list(running.items()):
            late = time.monotonic() - started > limit
            if receiver not in ready and not late:
                continue
            if late:
                process.kill()
            try:
                found = receiver.recv()
            except EOFError:
                found = lost("no end" if late else "process died")
            process.join()
            del running[receiver]
            yield index, found


def _send(sender: Connection, task: Callable[[], object]) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # torch warns at length of what it is tried with
    sender.send(task())
    sender.close()
