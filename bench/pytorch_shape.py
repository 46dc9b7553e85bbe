"""A generated repository of PyTorch's size and shape: 20,000 files, the pocket's among them, some hundred commits.

The text of the other files is made up, compresses about as code does and is the same every time. A real tree serves
as well: BENCH_TREE names a repository, bare or not.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pipeline.git import Repository
from pipeline.pocket.contents import pocket_files

FILES = 20_000
COMMITS = 300
_FOLDERS = (
    "aten/src/ATen",
    "c10",
    "caffe2",
    "docs/source",
    "functorch",
    "test",
    "tools",
    "torch",
    "torch/csrc",
    "torchgen",
)
_ENDINGS = (".cpp", ".h", ".py", ".py", ".py", ".cu", ".rst", ".txt")
_WORDS = [f"{one}_{two}" for one in ("at", "tensor", "size", "index", "self", "grad", "out") for two in "abcdefghijkl"]


def make_repository(folder: Path) -> Path:
    """A bare repository with branch main at `folder`; made once."""
    if not (folder / "HEAD").exists():
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(folder)], check=True)
        stream = b"".join(_stream())
        subprocess.run(
            ["git", "-C", str(folder), "fast-import", "--quiet", "--done"], input=stream + b"done\n", check=True
        )
        subprocess.run(["git", "-C", str(folder), "repack", "-adq"], check=True)
    return folder


def _stream() -> Iterator[bytes]:
    generator = random.Random(0)
    paths = [_path(generator, number) for number in range(FILES - len(pocket_files()))]
    yield _commit(0)
    for path, content in pocket_files().items():
        yield _file(path, content)
    for path in paths:
        yield _file(path, _text(generator))
    for number in range(1, COMMITS):
        yield _commit(number)
        for path in generator.sample(paths, 5):
            yield _file(path, _text(generator))


def _path(generator: random.Random, number: int) -> str:
    folder = generator.choice(_FOLDERS)
    deeper = "/".join(generator.choice(_WORDS) for _ in range(generator.randint(0, 3)))
    return f"{folder}/{deeper}/file{number}{generator.choice(_ENDINGS)}".replace("//", "/")


def _text(generator: random.Random) -> bytes:
    lines = [" ".join(generator.choices(_WORDS, k=generator.randint(1, 9))) for _ in range(generator.randint(20, 200))]
    return "\n".join(lines).encode() + b"\n"


def _commit(number: int) -> bytes:
    message = f"Commit {number}\n".encode()
    who = f"A Person <person@example.org> {1_700_000_000 + number} +0000"
    return f"commit refs/heads/main\ncommitter {who}\ndata {len(message)}\n".encode() + message + b"\n"


def _file(path: str, content: bytes) -> bytes:
    return f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n"


def fresh_remote(repository: Path, folder: Path) -> Path:
    """An empty-handed bare remote that knows main: pushes to it carry only what is new."""
    subprocess.run(["git", "clone", "--quiet", "--bare", "--shared", str(repository), str(folder)], check=True)
    return folder


def fresh_clone(repository: Path, folder: Path, remote: Path) -> Repository:
    """A clone without a work tree whose `origin` is the remote."""
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", "--shared", str(repository), str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "set-url", "origin", str(remote)], check=True)
    return Repository(folder)
