"""Compiled shaders are remembered: what invalidates them, many processes, kills, and the size of the folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from pipeline.metal import (
    Cache,
    Compilation,
    Library,
    ShaderError,
    compile_file,
    compile_shader,
    compile_shader_each,
)
from pipeline.metal.cache import CACHE_VARIABLE, default_folder, digest
from pipeline.metal.toolchain import Toolchain

SOURCE = "kernel void k(device float* x) { x[0] = VALUE; }"


def value(library: Library) -> float:
    x = torch.zeros(1)
    library.k(x)
    return float(x.item())


def entries(cache: Cache) -> set[str]:
    return {path.name for path in cache.entries.iterdir()}


def test_the_folder_is_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform == "linux":
        assert default_folder() == tmp_path / "xdg" / "metal-cpu"


def test_digests_keep_parts_apart() -> None:
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
    assert digest("a", b"b") == digest("a", "b")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    cache = Cache(tmp_path_factory.mktemp("cache"))
    compile_shader(SOURCE.replace("VALUE", "0"), cache=cache)
    return cache


def test_an_unchanged_shader_is_found_again(warm: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_shader(SOURCE.replace("VALUE", "1"), cache=warm)
    before = entries(warm)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("the compiler was called"))
    assert value(compile_shader(SOURCE.replace("VALUE", "1"), cache=warm)) == 1
    assert entries(warm) == before


def test_what_a_shader_depends_on(warm: Cache, tmp_path: Path) -> None:
    """Its text, its options, the files it includes, and files that come to stand before them on the path."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    source = '#include <value.h>\n#include "other.h"\n' + SOURCE
    (second / "value.h").write_text("#define VALUE 1")
    (second / "other.h").write_text("")

    def compiled() -> float:
        return value(compile_shader(source, include=[first, second], cache=warm))

    assert compiled() == 1
    (second / "value.h").write_text("#define VALUE 2")
    assert compiled() == 2
    (second / "value.h").write_text("#define VALUE 1")
    assert compiled() == 1
    (first / "value.h").write_text("#define VALUE 3")
    assert compiled() == 3
    (first / "value.h").unlink()
    assert compiled() == 1
    (second / "other.h").write_text("#undef VALUE\n#define VALUE 4")
    assert compiled() == 4
    version = "kernel void k(device float* x) { x[0] = __METAL_VERSION__; }"
    assert value(compile_shader(version, cache=warm)) == 310
    assert value(compile_shader(version, cache=warm, compilation=Compilation(metal_version=400))) == 400


def test_files_and_their_neighbours(warm: Cache, tmp_path: Path) -> None:
    shader = tmp_path / "shader.metal"
    shader.write_text('#include "neighbour.h"\n' + SOURCE)
    (tmp_path / "neighbour.h").write_text("#define VALUE 5")
    assert value(compile_file(shader, cache=warm)) == 5
    (tmp_path / "neighbour.h").write_text("#define VALUE wrong")
    with pytest.raises(SyntaxError) as caught:
        compile_file(shader, cache=warm)
    assert (caught.value.filename, caught.value.lineno) == (str(shader), 2)
    (tmp_path / "neighbour.h").write_text("#define VALUE 6")
    assert value(compile_file(shader, cache=warm)) == 6


WAYS = [Compilation(), Compilation(checked=True)]


def kinds_of_commands(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts what the compiler is called for from now on, by the flag that tells it."""
    seen: Counter[str] = Counter()
    run = Toolchain.run

    def counted(self: Toolchain, command: Sequence[str], *, stdin: str | None = None) -> object:
        seen.update(flag for flag in ("-E", "-fsyntax-only", "-c", "-shared") if flag in command)
        return run(self, command, stdin=stdin)

    monkeypatch.setattr(Toolchain, "run", counted)
    return seen


def test_what_compilations_have_in_common_is_done_once(warm: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    source = SOURCE.replace("VALUE", "8")
    compile_shader_each(SOURCE.replace("VALUE", "0"), WAYS, cache=warm)
    seen = kinds_of_commands(monkeypatch)
    libraries = compile_shader_each(source, WAYS, cache=warm)
    assert seen == {"-E": 1, "-fsyntax-only": 2, "-c": 2, "-shared": 2}
    assert [value(library) for library in libraries] == [8, 8]
    seen.clear()
    assert [value(library) for library in compile_shader_each(source, WAYS[::-1], cache=warm)] == [8, 8]
    assert not seen
    contracted = Compilation(contract=True)
    assert [value(each) for each in compile_shader_each(source, [WAYS[0], contracted, WAYS[1]], cache=warm)] == [8] * 3
    assert seen["-c"] == 1


def test_each_compilation_keeps_its_place_whichever_is_known(warm: Cache) -> None:
    source = "kernel void k(device float* x) { x[0] = x[1]; }"
    compile_shader(source, cache=warm, compilation=WAYS[1])
    for ways in (WAYS, WAYS[::-1]):
        libraries = compile_shader_each(source, ways, cache=warm)
        seen = [bool(library.k(torch.zeros(1), threads=1).events) for library in libraries]
        assert seen == [way.checked for way in ways]


@pytest.mark.parametrize("only", ["plain", "checked", "both"])
def test_errors_are_those_of_the_shader_whatever_is_known(only: str, warm: Cache) -> None:
    ways = {"plain": WAYS[:1], "checked": WAYS[1:], "both": WAYS}[only]
    wrong = {
        "kernel void k(device float* o) {\n float x = 1; device float* q = &x;\n o[0] = q[0]; }": "'device float \\*'",
        "kernel void k(device float* o) {\n o[0] = nothing;\n}": "undeclared",
        "kernel void k(device float* o) {\n double x = 1; o[0] = x;\n}": "double",
        "kernel void k(device float* o) {\n#error no\n}": "no",
    }
    for source, word in wrong.items():
        for _ in range(2):  # an error is not remembered as a success
            with pytest.raises(ShaderError, match=word) as caught:
                compile_shader_each(source, ways, cache=warm, name="mine.metal")
            assert (caught.value.filename, caught.value.lineno) == ("mine.metal", 2)


def test_compilations_in_one_go_read_the_text_alike(warm: Cache) -> None:
    with pytest.raises(ValueError, match="metal_version"):
        compile_shader_each(SOURCE, [Compilation(), Compilation(metal_version=400)], cache=warm)


@pytest.mark.parametrize("damage", ["", '{"includes": {'])
def test_a_damaged_record_is_made_again(damage: str, warm: Cache) -> None:
    source = SOURCE.replace("VALUE", f"9 + {len(damage)} * 0")
    compile_shader_each(source, WAYS, cache=warm)
    for record in warm.entries.glob("*.json"):
        record.write_text(damage)
    assert [value(library) for library in compile_shader_each(source, WAYS, cache=warm)] == [9, 9]


def write(text: str) -> Callable[[Path], None]:
    def build(path: Path) -> None:
        path.write_text(text)

    return build


def test_the_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=350)
    for age, key in ((300, "old"), (200, "older than it looks"), (100, "young")):
        path = cache.make(key, ".so", write("x" * 100))
        os.utime(path, (time.time() - age,) * 2)
    assert cache.find("old", ".so") is not None  # looked at, so used
    cache.make("new", ".so", write("x" * 100))
    assert entries(cache) == {"old.so", "young.so", "new.so"}
    cache.make("larger than the limit", ".so", write("x" * 500))
    assert entries(cache) == {"larger than the limit.so"}


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)

    def fail(path: Path) -> None:
        path.write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.make("key", ".so", fail)
    assert cache.find("key", ".so") is None
    assert list(cache.scratch.iterdir()) == []
    cache.make("key", ".so", write("whole"))
    assert (cache.entries / "key.so").read_text() == "whole"


PROCESS = """
import sys
import torch
from pipeline.metal import Compilation, compile_shader_each
ways = [Compilation(), Compilation(checked=True)]
for library in compile_shader_each("kernel void k(device float* x) { x[0] += 7; }", ways):
    x = torch.zeros(1)
    library.k(x)
    print(x.item())
"""


def start(folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, CACHE_VARIABLE: str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS],
        env=environment,
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_share_a_cold_cache(tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(3)]
    assert [process.communicate(timeout=300)[0].split() for process in processes] == [["7.0", "7.0"]] * 3
    assert not list((tmp_path / "scratch").iterdir())
    runtimes = [path for path in (tmp_path / "entries").iterdir() if path.suffix == ".so"]
    assert len(runtimes) == 3  # the shader in both ways and the runtime, each made once


# What may be half-made when a process is killed.
STAGES = {
    "headers": "scratch/*",
    "a header": "entries/*.pch",
    "a library": "entries/*.so",
    "a record": "entries/*.json",
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_process_does_no_harm(stage: str, tmp_path: Path) -> None:
    process = start(tmp_path)
    deadline = time.time() + 120
    while not list(tmp_path.glob(STAGES[stage])) and process.poll() is None and time.time() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    again = start(tmp_path)
    assert again.communicate(timeout=300)[0].split() == ["7.0", "7.0"]
    cache = Cache(tmp_path)
    for leftover in cache.scratch.iterdir():
        os.utime(leftover, (time.time() - 100_000,) * 2)
    cache.shrink()
    assert not list(cache.scratch.iterdir())
