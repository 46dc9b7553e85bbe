"""What all tests share: one cache of compiled shaders per run, outside the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pipeline.metal.cache import CACHE_VARIABLE


@pytest.fixture(scope="session", autouse=True)
def metal_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled shaders are kept for the run, in a folder that all workers share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "metal-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(folder))
        yield
