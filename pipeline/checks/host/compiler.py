"""Type checks for arm64 macOS on any system: ziglang's clang, the torch wheel's headers and stand-ins for Apple's.

A precompiled header of what every host file includes makes a check cost 0.2 s instead of 5 s. Since the file includes
that header itself, nothing is hidden by it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

from pipeline.checks.host.diagnostics import Diagnostic, parse_diagnostics
from pipeline.errors import PipelineError

STAND_INS = Path(__file__).parent / "apple"
_PREFIX = Path(__file__).parent / "prefix.h"
_KEPT = 4

_TARGET = ("--target=arm64-apple-macosx14.0", "-std=c++20", "-fblocks", "-fno-objc-arc")
_DEFINES = ("-DUSE_MPS", "-DAT_PER_OPERATOR_HEADERS", "-DFMT_HEADER_ONLY=1")
# What libc++'s generated configuration header would say.
_LIBCXX = (
    *("-D_LIBCPP_ABI_VERSION=1", "-D_LIBCPP_ABI_NAMESPACE=__1", "-D_LIBCPP_PSTL_BACKEND_SERIAL"),
    *("-D_LIBCPP_HAS_THREADS=1", "-D_LIBCPP_HAS_MONOTONIC_CLOCK=1", "-D_LIBCPP_HAS_TERMINAL=1"),
    *("-D_LIBCPP_HAS_FILESYSTEM=1", "-D_LIBCPP_HAS_RANDOM_DEVICE=1", "-D_LIBCPP_HAS_LOCALIZATION=1"),
    *("-D_LIBCPP_HAS_UNICODE=1", "-D_LIBCPP_HAS_WIDE_CHARACTERS=1", "-D_LIBCPP_HAS_MUSL_LIBC=0"),
    *("-D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0", "-D_LIBCPP_HARDENING_MODE_DEFAULT=2"),
    "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    "-D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE",
)
# Warnings that a Mac's build prints, and those that tell of code left behind. `auto` for an undeclared method's `id` is
# an effect of the stand-ins.
_WARNINGS = ("-Wunused", "-Wmissing-prototypes", "-Wno-auto-var-id", "-ferror-limit=200")
_OUTPUT = ("-fno-caret-diagnostics", "-fno-color-diagnostics", "-fdiagnostics-absolute-paths")


_STEERING = {
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "OBJCPLUS_INCLUDE_PATH"),
    *("SDKROOT", "MACOSX_DEPLOYMENT_TARGET", "CCC_OVERRIDE_OPTIONS"),
}
_PREFIX_TROUBLE = re.compile(r"precompiled|\.pch\b|\bPCH\b|AST file")


class UnavailableError(PipelineError):
    """The check cannot run on this machine, or not on this tree."""


class DamagedPrefixError(UnavailableError):
    """A precompiled header was unusable and has been removed: prepare it again."""


@dataclass(frozen=True)
class Toolchain:
    """`zig` is the executable, `library` the headers beside it, `torch` the folder `include` of the wheel."""

    zig: Path
    library: Path
    torch: Path

    @classmethod
    def find(cls) -> Toolchain:
        """Raises UnavailableError when ziglang or torch is not installed."""
        ziglang, torch = _package("ziglang"), _package("torch")
        zig = next((path for path in (ziglang / "zig", ziglang / "zig.exe") if path.is_file()), None)
        if zig is None:
            raise UnavailableError("ziglang is installed without its compiler")
        return cls(zig, ziglang / "lib", torch / "include")

    @cached_property
    def identity(self) -> str:
        """Changes whenever a precompiled header made with other tools or headers must not be used."""
        places = (str(self.zig), str(self.torch), str(STAND_INS))
        digest = hashlib.sha256(repr((*places, metadata.version("ziglang"))).encode())
        record = metadata.distribution("torch").read_text("RECORD") or metadata.version("torch")
        digest.update(record.encode())
        for header in sorted(STAND_INS.rglob("*.h")):
            digest.update(header.relative_to(STAND_INS).as_posix().encode() + header.read_bytes())
        digest.update(repr((_TARGET, _DEFINES, _LIBCXX)).encode())
        return digest.hexdigest()

    def run(self, arguments: Sequence[str], includes: Sequence[Path] = ()) -> tuple[Diagnostic, ...]:
        """Run clang for macOS; folders of `includes` are searched before the wheel's."""
        command = [
            *(str(self.zig), "clang", "--no-default-config", *_TARGET, *_DEFINES, *_LIBCXX, *_OUTPUT),
            *("-nostdinc++", "-nostdlibinc", "-resource-dir", str(self.library)),
            *(f"-I{folder}" for folder in includes),
            *("-isystem", str(self.torch), "-isystem", str(self.torch / "torch/csrc/api/include")),
            *("-isystem", str(self.library / "libcxx/include"), "-isystem", str(self.library / "libcxxabi/include")),
            *("-isystem", str(STAND_INS), "-idirafter", str(self.library / "libc/include/any-darwin-any")),
            *arguments,
        ]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=_environment(),
            check=False,
        )
        found = parse_diagnostics(done.stderr)
        if done.returncode and not any(diagnostic.is_error for diagnostic in found):
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise UnavailableError(f"the compiler failed: {said[-1]}")
        return found


@dataclass(frozen=True)
class Precompiled:
    """`headers` is the folder that must be searched with it."""

    path: Path
    headers: Path


def contents_of_prefix(toolchain: Toolchain, cache: Path) -> frozenset[str]:
    """The headers that the prefix takes from the wheel alone, as files would include them. Nothing is compiled.

    Raises UnavailableError when one of them is missing.
    """
    digest = hashlib.sha256(toolchain.identity.encode() + _PREFIX.read_bytes()).hexdigest()
    kept = cache / f"contents-{digest[:16]}"
    if not kept.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="part-") as folder:
            listing, names = Path(folder) / "listing", Path(folder) / "names"
            arguments = ["-x", "objective-c++-header", str(_PREFIX), "-M", "-MF", str(listing), "-MT", "prefix"]
            _require_no_error(toolchain.run(arguments))
            read = listing.read_text().replace("\\\n", " ").split()[1:]
            root = f"{toolchain.torch}/"
            names.write_text("\n".join(name.removeprefix(root) for name in read if name.startswith(root)))
            names.replace(kept)
    return frozenset(kept.read_text().split("\n"))


def precompile(toolchain: Toolchain, headers: Mapping[str, bytes], cache: Path) -> Precompiled:
    """The precompiled header for a tree whose own `headers` (include path -> content) differ from the wheel's.

    Made once per content, under a lock, and complete as soon as it exists; the newest few are kept.
    Raises UnavailableError with the first error when the headers do not go together.
    """
    digest = hashlib.sha256(toolchain.identity.encode() + _PREFIX.read_bytes())
    for name, content in sorted(headers.items()):
        digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
    folder = cache.absolute() / f"prefix-{digest.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "prefix.pch"
    with FileLock(f"{folder}.lock"):
        if not made.is_file():
            _make(toolchain, folder, headers)
    os.utime(folder)
    drop_oldest(cache)
    return Precompiled(made, folder / "headers")


def type_check(
    toolchain: Toolchain, source: Path, prefix: Precompiled | None, includes: Sequence[Path], *defines: str
) -> tuple[Diagnostic, ...]:
    """Everything clang has to say about one host file. Without a prefix all headers are read, which takes seconds.

    Raises DamagedPrefixError when the prefix is no longer what it was, or gone.
    """
    arguments = ["-x", "objective-c++", "-fsyntax-only", *_WARNINGS, *(f"-D{name}" for name in defines), str(source)]
    if prefix is None:
        return toolchain.run(arguments, includes)
    said = toolchain.run([*arguments, "-include-pch", str(prefix.path)], includes)
    refused = next((diagnostic for diagnostic in said if _is_about_prefix(diagnostic)), None)
    if refused is not None:
        prefix.path.unlink(missing_ok=True)
        raise DamagedPrefixError(refused.text)
    return said


def _environment() -> dict[str, str]:
    """The user's environment, without what would add headers or change the target or the language of messages."""
    kept = {key: value for key, value in os.environ.items() if key not in _STEERING}
    return {**kept, "LC_ALL": "C"}


def _is_about_prefix(diagnostic: Diagnostic) -> bool:
    return diagnostic.is_error and diagnostic.path is None and bool(_PREFIX_TROUBLE.search(diagnostic.text))


def _make(toolchain: Toolchain, folder: Path, headers: Mapping[str, bytes]) -> None:
    for name, content in headers.items():
        path = folder / "headers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "headers").mkdir(exist_ok=True)
    shutil.copyfile(_PREFIX, folder / "prefix.h")
    unfinished = folder / "unfinished.pch"
    arguments = [
        *("-x", "objective-c++-header", str(folder / "prefix.h"), "-o", str(unfinished)),
        # Instantiated here instead of in every file, which is most of a file's time.
        *("-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp"),
    ]
    _require_no_error(toolchain.run(arguments, [folder / "headers"]))
    unfinished.replace(folder / "prefix.pch")


def _require_no_error(said: Sequence[Diagnostic]) -> None:
    error = next((diagnostic for diagnostic in said if diagnostic.is_error), None)
    if error is not None:
        raise UnavailableError(f"the headers do not compile: {error.text}", path=error.path, line=error.line)


def drop_oldest(cache: Path) -> None:
    folders = sorted(cache.glob("prefix-*/"), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in folders[_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)
        Path(f"{folder}.lock").unlink(missing_ok=True)


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise UnavailableError(f"{name} is not installed", hint="install requirements.txt")
    return Path(spec.origin).parent
