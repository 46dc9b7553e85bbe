"""The stubs that the shared functions of a commit call, read anew only from files that changed and matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pipeline.dispatch_stubs import Stub, stubs_of_header
from pipeline.history.objects import Files, ObjectReader
from pipeline.history.rows import MpsRow
from pipeline.stub_calls import calls_of_file, mentions_stubs, stub_by_name

_WORD = re.compile(r"\w+")
_Calls = Mapping[str, tuple[str, ...]]


@dataclass
class _Source:
    """One version of a source file. `words` is empty where it calls no stub; `pastes`: its macros make up names."""

    name: str
    words: frozenset[str]
    pastes: bool
    calls: dict[frozenset[str], _Calls] = field(default_factory=dict)


class StubTable:
    """Turned from commit to commit; what an unchanged file says is kept."""

    def __init__(self, objects: ObjectReader) -> None:
        self._objects = objects
        self._of_header: dict[str, tuple[Stub, ...]] = {}
        self._headers: Mapping[str, str] = {}
        self._declared: dict[str, Stub] = {}
        self._sources: dict[str, _Source] = {}

    def turn_to(self, files: Files) -> None:
        if files.headers != self._headers:
            self._headers = files.headers
            self._declared = {}
            for path, name in sorted(files.headers.items()):
                for stub in self._stubs(path, name):
                    self._declared.setdefault(stub.name, stub)
        known = self._sources
        self._sources = {
            path: known[path] if path in known and known[path].name == name else self._source(path, name)
            for path, name in sorted(files.sources.items())
        }

    def called(self, rows: Iterable[MpsRow]) -> dict[str, tuple[str, ...]]:
        """Operator -> stubs, as the survey tells them: those its shared function calls, or the one named after it."""
        chosen = tuple(rows)
        wanted = {row.shared_function for row in chosen}
        calls = self._calls(lambda source: not wanted.isdisjoint(source.words))
        if not wanted <= calls.keys():
            calls = self._calls(lambda source: source.pastes) | calls
        return {
            row.entry.func: calls[row.shared_function] if row.shared_function in calls else self._named(row)
            for row in chosen
        }

    def _calls(self, choose: Callable[[_Source], bool]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for path, source in self._sources.items():
            if choose(source):
                found |= self._calls_of(path, source)
        return found

    def _calls_of(self, path: str, source: _Source) -> _Calls:
        """It depends on the stubs that exist, but only on those that it mentions."""
        mentioned = source.words.intersection(self._declared)
        if mentioned not in source.calls:
            declared = {stub: self._declared[stub] for stub in mentioned}
            source.calls[mentioned] = calls_of_file(path, self._objects.text(source.name, path), declared)
        return source.calls[mentioned]

    def _named(self, row: MpsRow) -> tuple[str, ...]:
        function = row.shared_function
        named = stub_by_name(row.entry.func, function, self._declared) if function else None
        return (named,) if named else ()

    def _stubs(self, path: str, name: str) -> tuple[Stub, ...]:
        if name not in self._of_header:
            self._of_header[name] = tuple(stubs_of_header(self._objects.text(name, path), path))
        return self._of_header[name]

    def _source(self, path: str, name: str) -> _Source:
        text = self._objects.text(name, path)
        if not mentions_stubs(text):
            return _Source(name, frozenset(), pastes=False)
        return _Source(name, frozenset(_WORD.findall(text)), pastes="##" in text)
