"""One build of one commit on a macOS runner: what was asked, and what came of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

_TITLE = re.compile(r"(?P<level>shader|full) (?P<operators>[\w+]+) @ (?P<commit>[0-9a-f]{40})")


class Level(Enum):
    """SHADER compiles the kernel against a released wheel (minutes); FULL builds PyTorch and runs its tests (hours)."""

    SHADER = "shader"
    FULL = "full"


class Verdict(Enum):
    """INFRASTRUCTURE is nobody's kernel: the runner, the network, the cache. It is repeated, never blamed."""

    RUNNING = "running"
    PASSED = "passed"
    TESTS_FAILED = "tests failed"
    BUILD_FAILED = "build failed"
    UNEXPECTED_SUCCESS = "unexpected success"
    INFRASTRUCTURE = "infrastructure failure"


@dataclass(frozen=True)
class Request:
    """`commit` of the fork, with the operators it migrates and the OpInfo names that select its tests."""

    commit: str
    operators: tuple[str, ...]
    opinfo: tuple[str, ...]
    level: Level

    @property
    def title(self) -> str:
        """The run's name on GitHub (`run-name` of macos.yml): the same request is found again after a restart."""
        return f"{self.level.value} {'+'.join(self.operators)} @ {self.commit}"


def parse_title(title: str) -> Request | None:
    """The request behind a run's title, without its OpInfo names."""
    found = _TITLE.fullmatch(title)
    if found is None:
        return None
    return Request(found["commit"], tuple(found["operators"].split("+")), (), Level(found["level"]))


@dataclass(frozen=True)
class Build:
    """`image` and `chip` say what it ran on, where that is known; `minutes` how long it took."""

    commit: str
    level: Level
    verdict: Verdict
    link: str
    summary: str = ""
    image: str = ""
    chip: str = ""
    minutes: float = 0.0
