"""The MPSGraph code that an operator runs today: where it stands, and which calls it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.edits.definitions import definitions, registrations
from pipeline.edits.hostfile import Entry, HostFiles, Place
from pipeline.edits.preprocessor import arguments
from pipeline.survey import SurveyRow

_CHECK = re.compile(r"\bTORCH_CHECK\w*\s*(?=\()")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Refused:
    """A call that the code refuses: where, and what it says; `...` stands for what it fills in."""

    path: str
    line: int
    message: str


@dataclass(frozen=True)
class Legacy:
    """`way` are the calls from `function` to the graph."""

    function: str
    path: str
    line: int
    way: tuple[str, ...]
    refused: tuple[Refused, ...]


def legacy_of(host: HostFiles, row: SurveyRow) -> Legacy | None:
    """None where the tree does not hold the code that runs for this row."""
    if row.path is None or row.line is None:
        return None
    name = row.function.rpartition("::")[2]
    found = definitions(host, name) or tuple(place for stub in row.stubs for place in registrations(host, stub))
    places = [definition.place for definition in found]
    called = [
        place
        for name in row.way
        for place in host.defining.get(name, ())
        if place.path in {each.path for each in places}
    ]
    registered = [
        place
        for each in places
        for registration in host[each.path].entries[each.index].registrations
        for place in host.defining.get(registration.function, ())
    ]
    refused = [each for place in dict.fromkeys([*places, *registered, *called]) for each in _refused(host, place)]
    return Legacy(name, row.path, row.line, row.way, tuple(dict.fromkeys(refused)))


def _refused(host: HostFiles, place: Place) -> Iterator[Refused]:
    entry: Entry = host[place.path].entries[place.index]
    for part in entry.parts:
        for check in _CHECK.finditer(part.code):
            message = _message(part.code[check.start() :])
            if message:
                own = part is entry.item
                line = entry.item.line + (part.code.count("\n", 0, check.start()) if own else 0)
                yield Refused(place.path, line, message)


def _message(code: str) -> str:
    """The words of the check that `code` begins with, empty where it has none."""
    given = arguments(code)[1:]
    words = ["".join(_TEXT.findall(argument)) if _TEXT.match(argument) else "..." for argument in given]
    return "" if not any(_TEXT.match(argument) for argument in given) else "".join(words)
