"""What all tests share: caches of their own for what is compiled and compared, outside the user's."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.metal.cache import CACHE_VARIABLE

# A run in the background of a script ignores Ctrl-C, and what it starts would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the whole run, the same for all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def caches(shared_folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(shared_folder / "metal"))
        patch.setenv("XDG_CACHE_HOME", str(shared_folder / "caches"))
        yield


@pytest.fixture(scope="session")
def checks_cache(shared_folder: Path) -> Path:
    """What the checks of a copied project keep, for all copies."""
    folder = shared_folder / "checks"
    folder.mkdir(exist_ok=True)
    return folder
