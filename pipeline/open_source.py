"""From what the user writes behind --source to a tree of files, and the repository branches can be written to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pipeline import pocket
from pipeline.errors import UsageError
from pipeline.git import Repository
from pipeline.source import NATIVE_FUNCTIONS, SourceTree
from pipeline.source_git import open_path, open_url
from pipeline.source_wheel import open_wheel

POCKET = "pocket"
_URL = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")


@dataclass(frozen=True)
class Source:
    """`repository` is None for a wheel: it can be planned on, not committed to."""

    tree: SourceTree
    repository: Repository | None


def open_source(spec: str, root: Path) -> Source:
    """Open `pocket`, `PATH[@REF]`, `wheel:VERSION` or `URL[@REF]`; caches live under `root`.

    Raises UsageError when it names nothing, or something that is not PyTorch's tree.
    """
    source = _open(spec, root)
    if not source.tree.has(NATIVE_FUNCTIONS):
        raise UsageError(f"not a tree of PyTorch: it has no {NATIVE_FUNCTIONS}", path=source.tree.label)
    return source


def is_url(spec: str) -> bool:
    return _URL.match(spec) is not None


def _open(spec: str, root: Path) -> Source:
    if spec == POCKET:
        tree = open_path(pocket.build(root), "main")
        tree.label = f"pocket@{str(tree.commit)[:12]}"
        return Source(tree, tree.repository)
    if spec.startswith("wheel:"):
        return Source(open_wheel(spec.removeprefix("wheel:"), root / ".cache" / "wheels"), None)
    if is_url(spec):
        tree = open_url(*_split_url(spec), root / ".cache" / "sources")
        return Source(tree, tree.repository)
    path, ref = _split_path(spec)
    tree = open_path(path, ref)
    return Source(tree, tree.repository)


def _split_path(spec: str) -> tuple[Path, str]:
    """A folder may have an @ in its name, so the whole is tried first."""
    whole = Path(spec).expanduser()
    if whole.exists() or "@" not in spec:
        return whole, "HEAD"
    path, ref = spec.rsplit("@", 1)
    return Path(path).expanduser(), ref


def _split_url(spec: str) -> tuple[str, str]:
    """The @ of a user name stands before the path, that of a ref behind it."""
    path_at = spec.find("/", spec.find("://") + 3) if "://" in spec else spec.find(":")
    ref_at = spec.rfind("@")
    if ref_at > path_at:
        return spec[:ref_at], spec[ref_at + 1 :]
    return spec, "HEAD"
