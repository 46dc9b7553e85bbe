"""When files were saved: by asking for their size and time, which works on every system and disk."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

_PAUSE = 0.1  # seconds
_State = tuple[tuple[int, int, int], ...]


class Saves:
    """Gives the time of a save (seconds since the epoch), again and again, and waits for the next one in between.

    Some editors write a new file and rename it, some empty the file first: nothing is given while a file is not there
    or has no content, or two looks differ.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._seen = self._state()

    def __iter__(self) -> Iterator[float]:
        while True:
            state = self._state()
            if state is not None and state != self._seen:
                time.sleep(_PAUSE / 2)
                if self._state() == state:
                    self._seen = state
                    modified = max(each for each, _, _ in state) / 1e9
                    yield max(modified, time.time() - 3 * _PAUSE)  # a copy may bring an old time with it
            time.sleep(_PAUSE)

    def _state(self) -> _State | None:
        try:
            found = [path.stat() for path in self._paths]
        except FileNotFoundError:
            return None
        if not all(each.st_size for each in found):
            return None
        return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in found)
