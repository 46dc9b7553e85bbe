"""A module's `main` in a process of its own, for what needs torch: `python -m pipeline.own_process MODULE`."""

from __future__ import annotations

import gc
import importlib
import sys
from types import ModuleType

from pipeline.collector import collector_paused


def command(module: str) -> list[str]:
    """What to run in the root of the checkout."""
    return [sys.executable, "-m", "pipeline.own_process", module]


def import_for_good(module: str) -> ModuleType:
    """Import what stays as long as the process does: the garbage collector does not look at it, now or later."""
    with collector_paused():
        imported = importlib.import_module(module)
        gc.freeze()
    return imported


if __name__ == "__main__":
    import_for_good(sys.argv[1]).main()
