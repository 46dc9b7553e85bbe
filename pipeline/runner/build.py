"""One build of one commit on a macOS runner: what was asked, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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


@dataclass(frozen=True)
class Build:
    """`image` and `chip` say what it ran on, where that is known."""

    commit: str
    level: Level
    verdict: Verdict
    link: str
    summary: str = ""
    image: str = ""
    chip: str = ""
