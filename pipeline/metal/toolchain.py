"""The compiler: clang out of the ziglang package, which is the same on every system, or a clang of one's own.

Nothing here needs a C++ standard library, headers of the system or a linker of the system.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path


class ToolchainError(RuntimeError):
    """The compiler is missing, or failed for a reason that is not the shader's."""


@dataclass(frozen=True)
class Toolchain:
    """How to call the compiler. `identity` changes whenever the code it makes may change."""

    clang: tuple[str, ...]  # runs clang as a C++ compiler
    runtime_compiler: tuple[str, ...]  # compiles the runtime, which includes headers of the C library
    linker: tuple[str, ...]  # joins objects to a shared library; undefined symbols are found when it is loaded
    triple: tuple[str, str]  # flags that name the machine, for the compiler proper
    target: tuple[str, ...]  # the same for the driver, and the processor
    identity: str
    environment: tuple[tuple[str, str], ...] = ()

    def run(self, command: Sequence[str], *, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **dict(self.environment)},
        )

    def must_run(self, command: Sequence[str]) -> None:
        result = self.run(command)
        if result.returncode:
            raise ToolchainError(f"{' '.join(command[:3])} ... failed:\n{result.stderr.strip()}")


def find_toolchain(compiler: str | None, scratch: Path) -> Toolchain:
    """The toolchain for this machine; `compiler` names a clang++ to use instead of ziglang's.

    `scratch` is a folder for the compiler's own caches. Raises ToolchainError.
    """
    target = _target()
    if compiler is not None:
        return _system_toolchain(compiler, target)
    zig = _zig()
    # zig finds Apple's linker stubs and headers by itself; on Linux its plain clang and lld start faster.
    linker = (zig, "ld.lld", "-shared") if sys.platform == "linux" else _zig_cc(zig)
    return Toolchain(
        clang=(zig, "clang"),
        runtime_compiler=(zig, "cc", "-target", _zig_target(), "-x", "c++"),
        linker=linker,
        triple=("-triple", target[1]),
        target=target,
        identity=f"zig {_version((zig, 'version'))} {' '.join(target)}",
        environment=(("ZIG_GLOBAL_CACHE_DIR", str(scratch)), ("ZIG_LOCAL_CACHE_DIR", str(scratch))),
    )


def _zig_cc(zig: str) -> tuple[str, ...]:
    return (zig, "cc", "-target", _zig_target(), "-shared", "-Wl,-undefined,dynamic_lookup")


def _zig_target() -> str:
    """The machine in zig's words. Named, so that zig takes its own headers and does not look for the system's."""
    return f"{_machine()}-{'macos' if sys.platform == 'darwin' else 'linux-gnu'}"


def _system_toolchain(compiler: str, target: tuple[str, ...]) -> Toolchain:
    undefined = ("-Wl,-undefined,dynamic_lookup",) if sys.platform == "darwin" else ()
    return Toolchain(
        clang=(compiler,),
        runtime_compiler=(compiler, "-x", "c++"),
        linker=(compiler, "-shared", *undefined),
        triple=("-triple", target[1]),
        target=target,
        identity=f"{_version((compiler, '--version'))} {' '.join(target)}",
    )


@cache
def _version(command: tuple[str, ...]) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ToolchainError(f"cannot run {command[0]}: {error}") from None
    return result.stdout.splitlines()[0]


def _zig() -> str:
    package = importlib.util.find_spec("ziglang")
    if package is None or package.origin is None:
        raise ToolchainError("the compiler is missing; run `pip install ziglang`")
    return str(Path(package.origin).parent / "zig")


def _target() -> tuple[str, ...]:
    """Flags that name the machine to compile for. x86-64 processors older than 2013 lack what half needs."""
    machine = _machine()
    system = {"linux": "unknown-linux-gnu", "darwin": "apple-macosx13.0"}.get(sys.platform)
    if system is None or machine not in ("x86_64", "aarch64"):
        raise ToolchainError(f"no support for {sys.platform} on {machine}; Linux and macOS on x86-64 and arm64 have it")
    triple = f"{'arm64' if machine == 'aarch64' and sys.platform == 'darwin' else machine}-{system}"
    return ("-target", triple, *(("-march=x86-64-v3",) if machine == "x86_64" else ()))


def _machine() -> str:
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)
