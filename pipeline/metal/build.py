"""From the text of a shader to shared libraries: preprocess, translate, compile, and remember."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from re import Pattern
from typing import Any

from pipeline.metal.cache import Cache, digest
from pipeline.metal.compile import HEADERS, Compiler, language, own_sources
from pipeline.metal.diagnostics import Diagnostic, ShaderError, shader_error
from pipeline.metal.options import Compilation
from pipeline.metal.scan import LINE_MARKER, mask, position_of
from pipeline.metal.signature import Kernel, Parameter, TranslationError
from pipeline.metal.spaces import THREAD_READINGS
from pipeline.metal.toolchain import Toolchain, find_toolchain
from pipeline.metal.translate import Translation, translate


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
    shader: Shader,
    include: Sequence[Path],
    only: Pattern[str] | None,
    compilations: Sequence[Compilation],
    cache: Cache,
) -> tuple[Built, ...]:
    """The compiled shader, out of the cache if neither it nor a file it includes has changed; once per compilation.

    What the compilations have in common is done once, so their compiler and Metal version must be the same. Raises
    ShaderError for errors in the shader and ToolchainError for any other failure.
    """
    first = compilations[0]
    if any((each.compiler, each.metal_version) != (first.compiler, first.metal_version) for each in compilations):
        raise ValueError("compilations in one go have the same compiler and metal_version")
    job = _job(shader, include, only, first, cache)
    found = [job.recall(compilation) for compilation in compilations]
    missing = [compilation for compilation, built in zip(compilations, found, strict=True) if built is None]
    made = iter(job.build(missing)) if missing else iter(())
    return tuple(built or next(made) for built in found)


def preprocess(shader: Shader, include: Sequence[Path], compilation: Compilation, cache: Cache) -> str:
    """The shader's text with includes and macros expanded. Raises ShaderError and ToolchainError."""
    return _job(shader, include, None, compilation, cache).preprocess()


def _job(
    shader: Shader, include: Sequence[Path], only: Pattern[str] | None, compilation: Compilation, cache: Cache
) -> _Job:
    toolchain = find_toolchain(compilation.compiler, cache.folder / "compiler")
    return _Job(shader, tuple(folder.resolve() for folder in include), only, compilation, cache, toolchain)


@dataclass(frozen=True)
class _Job:
    """`reading` tells the language version that the text is read in."""

    shader: Shader
    include: tuple[Path, ...]
    only: Pattern[str] | None
    reading: Compilation
    cache: Cache
    toolchain: Toolchain

    def _key(self, compilation: Compilation) -> str:
        return digest(
            self.shader.text,
            self.shader.name,
            str(self.shader.folder),
            self.only.pattern if self.only else "",
            repr(compilation),
            self.toolchain.identity,
            own_sources(),
            *map(str, self.include),
        )

    def recall(self, compilation: Compilation) -> Built | None:
        """What an earlier build of the same text made, provided that its includes are still the same files."""
        path = self.cache.find(self._key(compilation), ".json")
        if path is None:
            return None
        try:
            record = json.loads(path.read_text())
        except (OSError, ValueError):
            return None
        if any(self._include_digest(name) != seen for name, seen in record["includes"].items()):
            return None
        parts = [self.cache.find(key, ".so") for key in record["parts"]]
        runtime = self.cache.find(record["runtime"], ".so")
        if runtime is None or not all(parts):
            return None
        return Built(tuple(filter(None, parts)), runtime, tuple(map(_kernel_from_record, record["kernels"])))

    def build(self, compilations: Sequence[Compilation]) -> list[Built]:
        preprocessed = self.preprocess()
        translation = self._translate(preprocessed)
        runtime, made = self._compile(translation, compilations)
        includes = {name: self._include_digest(name) for name in self._included(preprocessed)}
        kernels = [asdict(kernel) for kernel in translation.kernels]
        for compilation, parts in zip(compilations, made, strict=True):
            stems = [path.stem for path in parts]
            record = {"includes": includes, "parts": stems, "runtime": runtime.stem, "kernels": kernels}
            self.cache.write(self._key(compilation), ".json", json.dumps(record))
        return [Built(parts, runtime, translation.kernels) for parts in made]

    # -- from Metal to C++ --

    def preprocess(self) -> str:
        version = self.reading.metal_version
        command = [*self.toolchain.clang, *self.toolchain.target, "-E", "-x", "c++", "-undef", "-w"]
        command += [*language(self.reading), "-nostdinc", "-nostdinc++", "-D__METAL__=1", "-D__HAVE_BFLOAT__=1"]
        command += ["-D__APPLE__=1", f"-D__METAL_VERSION__={version}", f"-I{HEADERS / 'macros'}"]
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

    def _translate(self, preprocessed: str) -> Translation:
        try:
            _require_standard_library(preprocessed)
            return translate(preprocessed, self.only)
        except TranslationError as error:
            file, line = position_of(preprocessed, error.offset)
            diagnostic = Diagnostic(file or self.shader.name, line, 1, error.message)
            raise ShaderError((diagnostic,), str(diagnostic), self.shader.name) from None

    # -- from C++ to libraries --

    def _compile(
        self, translation: Translation, compilations: Sequence[Compilation]
    ) -> tuple[Path, list[tuple[Path, ...]]]:
        """The runtime, and each compilation's parts. What others wait for is begun first, so that no thread waits."""
        compiler = Compiler.of(self.toolchain, self.cache)
        name = self.shader.name
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            for compilation in compilations:
                pool.submit(compiler.precompile, compilation)
            pool.submit(compiler.precompile_with_spaces)
            parts = [
                [pool.submit(compiler.part, translation, each, name, part) for part in range(translation.parts)]
                for each in compilations
            ]
            readings = [pool.submit(compiler.space_errors, translation, thread) for thread in THREAD_READINGS]
            runtime = compiler.runtime(pool)
            made = [tuple(future.result() for future in each) for each in parts]
            self._require_spaces(readings)
        finally:
            pool.shutdown(cancel_futures=True)
        return runtime, made

    def _require_spaces(self, readings: Sequence[Future[tuple[Diagnostic, ...]]]) -> None:
        for reading in readings:
            errors = reading.result()
            if errors:
                raise ShaderError(errors, "\n".join(map(str, errors)), self.shader.name)


def _require_standard_library(preprocessed: str) -> None:
    """The library is always there to compile against; on Metal it has to be included."""
    if f'"{HEADERS}' not in preprocessed:
        use = re.search(r"\bmetal\b(?=\s*(?:::|;))", mask(preprocessed))
        if use:
            raise TranslationError("#include <metal_stdlib> is missing", use.start())


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _kernel_from_record(item: dict[str, Any]) -> Kernel:
    parameters = tuple(Parameter(**parameter) for parameter in item["parameters"])
    return Kernel(item["name"], item["symbol"], item["part"], parameters, item["max_threads"])
