"""A commit's files as git keeps them: every folder and file that did not change is the same object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pipeline.errors import PipelineError
from pipeline.git import Repository
from pipeline.snapshot import HOST_FOLDERS, HOST_SUFFIXES
from pipeline.source import NATIVE_FUNCTIONS, NATIVE_HEADERS


class MissingObjectError(PipelineError):
    """The repository does not hold what a commit names."""


@dataclass(frozen=True)
class Files:
    """Object names, by path: native_functions.yaml, the MPS back end, and what lies directly in ATen/native."""

    rows: str
    host: Mapping[str, str]
    headers: Mapping[str, str]
    sources: Mapping[str, str]


class ObjectReader:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._children = lru_cache(maxsize=1024)(self._read_folder)
        self.host_text = lru_cache(maxsize=512)(self.text)

    def files(self, commit: str) -> Files:
        """Raises MissingObjectError when the commit has no native_functions.yaml, or an object is not there."""
        native = self._read_folder(f"{commit}:{NATIVE_HEADERS}")
        rows = native.get(NATIVE_FUNCTIONS.rpartition("/")[2])
        if rows is None:
            raise MissingObjectError("the commit has no such file", path=NATIVE_FUNCTIONS)
        host = {
            path: name
            for folder in HOST_FOLDERS
            for path, name in self._below(self._host_folder(commit, folder, native), folder)
            if path.endswith(HOST_SUFFIXES)
        }
        direct = {f"{NATIVE_HEADERS}/{name}": found for name, found in native.items()}
        return Files(
            rows=rows,
            host=host,
            headers={path: name for path, name in direct.items() if path.endswith(".h")},
            sources={path: name for path, name in direct.items() if path.endswith(".cpp")},
        )

    def text(self, name: str, path: str) -> str:
        found = self._repository.object(name)
        if found is None or found.kind != "blob":
            raise MissingObjectError(f"the repository lacks the file's object {name}", path=path)
        return found.content.decode(errors="surrogateescape")

    def _host_folder(self, commit: str, folder: str, native: Mapping[str, str]) -> Mapping[str, str]:
        """What it holds, by way of ATen/native where it lies below; empty where it does not exist."""
        if not folder.startswith(f"{NATIVE_HEADERS}/"):
            found = self._repository.object(f"{commit}:{folder}")
            return found.children() if found is not None else {}
        children = native
        for part in folder.removeprefix(f"{NATIVE_HEADERS}/").split("/"):
            child = children.get(f"{part}/")
            children = self._children(child) if child is not None else {}
        return children

    def _below(self, children: Mapping[str, str], folder: str) -> Iterator[tuple[str, str]]:
        for name, found in sorted(children.items()):
            if name.endswith("/"):
                yield from self._below(self._children(found), f"{folder}/{name[:-1]}")
            else:
                yield f"{folder}/{name}", found

    def _read_folder(self, name: str) -> Mapping[str, str]:
        found = self._repository.object(name)
        if found is None or found.kind != "tree":
            raise MissingObjectError(f"the repository lacks the folder {name}")
        return found.children()
