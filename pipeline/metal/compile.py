"""From translated C++ to shared libraries: flags, precompiled headers, the runtime; all of it remembered."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

from pipeline.metal.cache import Cache, digest
from pipeline.metal.diagnostics import Diagnostic, shader_error
from pipeline.metal.options import Compilation
from pipeline.metal.spaces import LANGUAGE, QUIET, space_errors
from pipeline.metal.swizzle import swizzle_header
from pipeline.metal.toolchain import Toolchain
from pipeline.metal.translate import Translation

PACKAGE = Path(__file__).parent
HEADERS = PACKAGE / "headers"
RUNTIME = PACKAGE / "runtime"

# Calls before every load and store (runtime/access.cpp) and where an operation has no defined result
# (runtime/undefined.cpp), and the lines that code belongs to.
CHECKED = (
    "-DMETAL_CPU_CHECKED",
    "-fsanitize=thread,shift-exponent,float-cast-overflow,integer-divide-by-zero,array-bounds",
    "-fsanitize-recover=all",
    "-mllvm",
    "-tsan-instrument-func-entry-exit=0",
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
    "-gline-tables-only",
    "-fdebug-compilation-dir=.",
)


VECTORISED = ("-fvectorize", "-fslp-vectorize")


def language(compilation: Compilation) -> list[str]:
    return ["-std=c++17" if compilation.metal_version >= 400 else "-std=c++14"]


@dataclass(frozen=True)
class Compiler:
    """`headers` holds the Metal library and the sources of the runtime; precompiled headers refer to it by its path."""

    toolchain: Toolchain
    cache: Cache
    headers: Path

    @classmethod
    def of(cls, toolchain: Toolchain, cache: Cache) -> Compiler:
        return cls(toolchain, cache, cache.make(digest("headers", own_sources()), "", _lay_out_headers))

    def precompile(self, compilation: Compilation) -> Path:
        """The Metal library as a precompiled header."""
        flags = self._flags(compilation)
        command = [*self.toolchain.clang, *flags, "-Xclang", "-fno-pch-timestamp", "-x", "c++-header"]
        command.append(str(self._library))
        key = digest(own_sources(), self.toolchain.identity, *flags)
        return self.cache.make(key, ".pch", lambda path: self.toolchain.must_run([*command, "-o", str(path)]))

    def precompile_with_spaces(self) -> Path:
        """The same for a reading of address spaces."""
        command = [*self._reading, "-fno-pch-timestamp", "-emit-pch", str(self._library)]
        key = digest("spaces", own_sources(), self.toolchain.identity)
        return self.cache.make(key, ".pch", lambda path: self.toolchain.must_run([*command, "-o", str(path)]))

    def runtime(self, pool: Executor) -> Path:
        """The shared library that runs kernels, the same for all shaders."""

        def make(path: Path) -> None:
            command = [*self.toolchain.runtime_compiler, "-std=c++17", "-O2", "-fPIC", "-nostdinc++", "-fno-exceptions"]
            command += ["-fno-rtti", "-fno-threadsafe-statics", "-fvisibility=hidden", "-fno-sanitize=all"]
            command += ["-U_FORTIFY_SOURCE", "-c"]
            sources = sorted((self.headers / "runtime").glob("*.cpp"))
            objects = [str(path.with_name(source.stem + ".o")) for source in sources]
            commands = [[*command, str(source), "-o", made] for source, made in zip(sources, objects, strict=True)]
            list(pool.map(self.toolchain.must_run, commands))
            self.toolchain.must_run([*self.toolchain.linker, *objects, "-o", str(path)])

        return self.cache.make(digest("runtime", own_sources(), self.toolchain.identity), ".so", make)

    def part(self, translation: Translation, compilation: Compilation, name: str, part: int) -> Path:
        """The entry points of one part as a shared library. Raises ShaderError; the shader is called `name`."""
        precompiled = self.precompile(compilation)
        flags = [*self._flags(compilation), *_choose_part(translation, part), "-include-pch", str(precompiled)]

        def make(path: Path) -> None:
            source, compiled = path.with_suffix(".cpp"), path.with_suffix(".o")
            source.write_text(translation.text)
            result = self.toolchain.run([*self.toolchain.clang, *flags, "-c", str(source), "-o", str(compiled)])
            if result.returncode:
                raise shader_error(result.stderr, name)
            self.toolchain.must_run([*self.toolchain.linker, str(compiled), "-o", str(path)])

        return self.cache.make(digest(translation.text, precompiled.name, str(part)), ".so", make)

    def space_errors(self, translation: Translation, thread: str) -> tuple[Diagnostic, ...]:
        """The errors about address spaces, with `thread` read as given."""
        parts = [f"-DMETAL_CPU_PART_{part}(...)=__VA_ARGS__" for part in range(translation.parts)]
        command = [*self._reading, f"-Dthread={thread}", *parts, "-include-pch", str(self.precompile_with_spaces())]
        said = self.toolchain.run([*command, "-fsyntax-only", "-"], stdin=translation.spaced_text).stderr
        return tuple(dict.fromkeys(space_errors(said)))

    @property
    def _library(self) -> Path:
        return self.headers / "headers" / "library" / "metal.h"

    @property
    def _reading(self) -> list[str]:
        return [*self.toolchain.clang, "-cc1", *self.toolchain.triple, *LANGUAGE, *QUIET]

    def _flags(self, compilation: Compilation) -> list[str]:
        flags = [*self.toolchain.target, *language(compilation), "-O1", "-fPIC", "-Wno-everything", "-nostdinc"]
        flags += ["-nostdinc++", "-fdeclspec", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-fsigned-char"]
        # Integers wrap, pointers alias, loops need not end, and vectors may stand at any multiple of four bytes.
        flags += ["-fwrapv", "-fno-strict-aliasing", "-fno-finite-loops", "-fmax-type-align=4", "-fno-math-errno"]
        # half rounds after every operation.
        flags += ["-Xclang", "-ffloat16-excess-precision=none"]
        flags += ["-ffp-contract=on" if compilation.contract else "-ffp-contract=off"]
        if compilation.fast_math:
            flags.append("-DMETAL_CPU_FAST_MATH")
        flags += CHECKED if compilation.checked else VECTORISED
        return flags


def _choose_part(translation: Translation, chosen: int) -> list[str]:
    return [f"-DMETAL_CPU_PART_{part}(...)={'__VA_ARGS__' * (part == chosen)}" for part in range(translation.parts)]


def _lay_out_headers(folder: Path) -> None:
    shutil.copytree(HEADERS / "library", folder / "headers" / "library")
    shutil.copytree(RUNTIME, folder / "runtime")
    for size in (2, 3, 4):
        (folder / "headers" / "library" / f"swizzle{size}.h").write_text(swizzle_header(size))


@once
def own_sources() -> str:
    """A digest of this package: what it compiles to may change with any of its files."""
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return digest(*(os.fspath(path.relative_to(PACKAGE)).encode() + path.read_bytes() for path in sorted(files)))
