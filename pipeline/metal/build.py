"""From the text of a shader to a shared library: preprocess, translate, compile, and remember."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache as once
from functools import partial
from pathlib import Path
from re import Pattern
from typing import Any

from pipeline.metal.cache import Cache, digest
from pipeline.metal.diagnostics import Diagnostic, ShaderError, shader_error
from pipeline.metal.options import Compilation
from pipeline.metal.scan import LINE_MARKER, mask, position_of
from pipeline.metal.signature import Kernel, Parameter, TranslationError
from pipeline.metal.spaces import LANGUAGE, QUIET, THREAD_READINGS, space_errors
from pipeline.metal.swizzle import swizzle_header
from pipeline.metal.toolchain import Toolchain, find_toolchain
from pipeline.metal.translate import Translation, translate

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


@dataclass(frozen=True)
class Shader:
    """The text of a shader. `name` stands in error messages; `folder` is where quoted includes start from."""

    text: str
    name: str = "program_source"
    folder: Path | None = None


@dataclass(frozen=True)
class Built:
    """A compiled shader: its libraries by the part of a kernel, the runtime they need, and the kernels."""

    parts: tuple[Path, ...]
    runtime: Path
    kernels: tuple[Kernel, ...]


def build(
    shader: Shader, include: Sequence[Path], only: Pattern[str] | None, compilation: Compilation, cache: Cache
) -> Built:
    """The compiled shader, out of the cache if neither it nor a file it includes has changed.

    Raises ShaderError for errors in the shader and ToolchainError for any other failure.
    """
    toolchain = find_toolchain(compilation.compiler, cache.folder / "compiler")
    folders = tuple(folder.resolve() for folder in include)
    job = _Job(shader, folders, only, compilation, cache, toolchain)
    return job.recall() or job.build()


def preprocess(shader: Shader, include: Sequence[Path], compilation: Compilation, cache: Cache) -> str:
    """The shader's text with includes and macros expanded. Raises ShaderError and ToolchainError."""
    toolchain = find_toolchain(compilation.compiler, cache.folder / "compiler")
    folders = tuple(folder.resolve() for folder in include)
    return _Job(shader, folders, None, compilation, cache, toolchain).preprocess()


@dataclass(frozen=True)
class _Job:
    shader: Shader
    include: tuple[Path, ...]
    only: Pattern[str] | None
    compilation: Compilation
    cache: Cache
    toolchain: Toolchain

    @property
    def key(self) -> str:
        return digest(
            self.shader.text,
            self.shader.name,
            str(self.shader.folder),
            self.only.pattern if self.only else "",
            repr(self.compilation),
            self.toolchain.identity,
            own_sources(),
            *map(str, self.include),
        )

    def recall(self) -> Built | None:
        """What an earlier build of the same text made, provided that its includes are still the same files."""
        path = self.cache.find(self.key, ".json")
        if path is None:
            return None
        record = json.loads(path.read_text())
        if any(self._include_digest(name) != seen for name, seen in record["includes"].items()):
            return None
        parts = [self.cache.find(key, ".so") for key in record["parts"]]
        runtime = self.cache.find(record["runtime"], ".so")
        if runtime is None or not all(parts):
            return None
        return Built(tuple(filter(None, parts)), runtime, tuple(map(_kernel_from_record, record["kernels"])))

    def build(self) -> Built:
        preprocessed = self.preprocess()
        try:
            _require_standard_library(preprocessed)
            translation = translate(preprocessed, self.only)
        except TranslationError as error:
            file, line = position_of(preprocessed, error.offset)
            diagnostic = Diagnostic(file or self.shader.name, line, 1, error.message)
            raise ShaderError((diagnostic,), str(diagnostic), self.shader.name) from None
        headers = self.cache.make(digest("headers", own_sources()), "", _lay_out_headers)
        runtime = self._make_runtime(headers)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            readings = [pool.submit(self._read_spaces, translation, headers, thread) for thread in THREAD_READINGS]
            parts = tuple(
                pool.map(partial(self._make_part, translation, self._precompile(headers)), range(translation.parts))
            )
        for reading in readings:
            errors = reading.result()
            if errors:
                raise ShaderError(errors, "\n".join(map(str, errors)), self.shader.name)
        record = {
            "includes": {name: self._include_digest(name) for name in self._included(preprocessed)},
            "parts": [path.stem for path in parts],
            "runtime": runtime.stem,
            "kernels": [asdict(kernel) for kernel in translation.kernels],
        }
        self.cache.write(self.key, ".json", json.dumps(record))
        return Built(parts, runtime, translation.kernels)

    # -- preprocessing --

    def preprocess(self) -> str:
        command = [*self.toolchain.clang, *self.toolchain.target, "-E", "-x", "c++", "-undef", "-w", *self._language]
        command += ["-nostdinc", "-nostdinc++", "-D__METAL__=1", "-D__HAVE_BFLOAT__=1", "-D__APPLE__=1"]
        command += [f"-D__METAL_VERSION__={self.compilation.metal_version}", f"-I{HEADERS / 'macros'}"]
        command += [f"-I{folder}" for folder in self.include]
        if self.shader.folder is not None:
            command += ["-iquote", str(self.shader.folder)]
        marked = f'#line 1 "{_escaped(self.shader.name)}"\n{self.shader.text}'
        result = self.toolchain.run([*command, "-"], stdin=marked)
        if result.returncode:
            raise shader_error(result.stderr, self.shader.name)
        return result.stdout

    def _included(self, preprocessed: str) -> Iterator[str]:
        names = {match.group(2) for match in LINE_MARKER.finditer(preprocessed)}
        own = str(HEADERS)
        for name in sorted(names):
            if not name.startswith(("<", own)) and name != self.shader.name:
                yield name

    def _include_digest(self, name: str) -> str:
        """The content of an included file; another, should a file of that name now be found earlier on the path."""
        path = Path(name)
        for folder in self.include:
            if path.is_relative_to(folder):
                relative = path.relative_to(folder)
                path = next((f / relative for f in self.include if (f / relative).is_file()), path)
                break
        try:
            return digest(path.read_bytes())
        except OSError:
            return "missing"

    # -- compiling --

    @property
    def _language(self) -> list[str]:
        return ["-std=c++17" if self.compilation.metal_version >= 400 else "-std=c++14"]

    @property
    def _flags(self) -> list[str]:
        flags = [*self.toolchain.target, *self._language, "-O1", "-fPIC", "-Wno-everything", "-nostdinc", "-nostdinc++"]
        flags += ["-fdeclspec", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-fsigned-char"]
        # Integers wrap, pointers alias, loops need not end, and vectors may stand at any multiple of four bytes.
        flags += ["-fwrapv", "-fno-strict-aliasing", "-fno-finite-loops", "-fmax-type-align=4", "-fno-math-errno"]
        # half rounds after every operation.
        flags += ["-Xclang", "-ffloat16-excess-precision=none"]
        flags += ["-ffp-contract=on" if self.compilation.contract else "-ffp-contract=off"]
        if self.compilation.fast_math:
            flags.append("-DMETAL_CPU_FAST_MATH")
        flags += CHECKED if self.compilation.checked else VECTORISED
        return flags

    def _precompile(self, headers: Path) -> Path:
        """The Metal library as a precompiled header. It refers to the headers by their paths in the cache."""
        command = [*self.toolchain.clang, *self._flags, "-Xclang", "-fno-pch-timestamp", "-x", "c++-header"]
        command.append(str(headers / "headers" / "library" / "metal.h"))
        key = digest(own_sources(), self.toolchain.identity, *self._flags)
        return self.cache.make(key, ".pch", lambda path: self.toolchain.must_run([*command, "-o", str(path)]))

    def _make_runtime(self, headers: Path) -> Path:
        """The shared library that runs kernels, the same for all shaders."""

        def make(path: Path) -> None:
            command = [*self.toolchain.runtime_compiler, "-std=c++17", "-O2", "-fPIC", "-nostdinc++", "-fno-exceptions"]
            command += ["-fno-rtti", "-fno-threadsafe-statics", "-fvisibility=hidden", "-fno-sanitize=all"]
            objects = []
            for source in sorted((headers / "runtime").glob("*.cpp")):
                objects.append(str(path.with_name(source.stem + ".o")))
                self.toolchain.must_run([*command, "-U_FORTIFY_SOURCE", "-c", str(source), "-o", objects[-1]])
            self.toolchain.must_run([*self.toolchain.linker, *objects, "-o", str(path)])

        return self.cache.make(digest("runtime", own_sources(), self.toolchain.identity), ".so", make)

    def _make_part(self, translation: Translation, precompiled: Path, part: int) -> Path:
        flags = [*_choose_part(translation, part), "-include-pch", str(precompiled)]
        key = digest(translation.text, precompiled.name, str(part))
        return self.cache.make(key, ".so", lambda path: self._compile(translation.text, flags, path))

    def _compile(self, text: str, flags: list[str], path: Path) -> None:
        source, compiled = path.with_suffix(".cpp"), path.with_suffix(".o")
        source.write_text(text)
        command = [*self.toolchain.clang, *self._flags, *flags, "-c", str(source), "-o", str(compiled)]
        result = self.toolchain.run(command)
        if result.returncode:
            raise shader_error(result.stderr, self.shader.name)
        self.toolchain.must_run([*self.toolchain.linker, str(compiled), "-o", str(path)])

    def _read_spaces(self, translation: Translation, headers: Path, thread: str) -> tuple[Diagnostic, ...]:
        """The errors about address spaces, with `thread` read as given."""
        read = [*self.toolchain.clang, "-cc1", *self.toolchain.triple, *LANGUAGE, *QUIET]
        header = str(headers / "headers" / "library" / "metal.h")
        precompiled = self.cache.make(
            digest("spaces", own_sources(), self.toolchain.identity),
            ".pch",
            lambda path: self.toolchain.must_run([*read, "-fno-pch-timestamp", "-emit-pch", header, "-o", str(path)]),
        )
        parts = [f"-DMETAL_CPU_PART_{part}(...)=__VA_ARGS__" for part in range(translation.parts)]
        command = [*read, f"-Dthread={thread}", *parts, "-include-pch", str(precompiled), "-fsyntax-only", "-"]
        return tuple(dict.fromkeys(space_errors(self.toolchain.run(command, stdin=translation.spaced_text).stderr)))


def _require_standard_library(preprocessed: str) -> None:
    """The library is always there to compile against; on Metal it has to be included."""
    if f'"{HEADERS}' not in preprocessed:
        use = re.search(r"\bmetal\b(?=\s*(?:::|;))", mask(preprocessed))
        if use:
            raise TranslationError("#include <metal_stdlib> is missing", use.start())


def _choose_part(translation: Translation, chosen: int) -> list[str]:
    return [f"-DMETAL_CPU_PART_{part}(...)={'__VA_ARGS__' * (part == chosen)}" for part in range(translation.parts)]


def _lay_out_headers(folder: Path) -> None:
    shutil.copytree(HEADERS / "library", folder / "headers" / "library")
    shutil.copytree(RUNTIME, folder / "runtime")
    for size in (2, 3, 4):
        (folder / "headers" / "library" / f"swizzle{size}.h").write_text(swizzle_header(size))


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _kernel_from_record(item: dict[str, Any]) -> Kernel:
    parameters = tuple(Parameter(**parameter) for parameter in item["parameters"])
    return Kernel(item["name"], item["symbol"], item["part"], parameters, item["max_threads"])


@once
def own_sources() -> str:
    """A digest of this package: what it compiles to may change with any of its files."""
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return digest(*(os.fspath(path.relative_to(PACKAGE)).encode() + path.read_bytes() for path in sorted(files)))
