"""A headless Chromium for tests of the page: the one that is installed, found by its usual names."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Skips the test where there is no browser; where CI is set, it fails instead."""
    found = next((path for path in map(shutil.which, _NAMES) if path), None)
    if found is None:
        reason = f"no browser is installed under any of the names {', '.join(_NAMES)}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        environment: dict[str, str | float | bool] = {**os.environ, "HOME": home}
        browser = playwright.chromium.launch(executable_path=found, args=list(_QUIET), env=environment)
        yield browser
        browser.close()
