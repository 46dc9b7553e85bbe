"""Where host files define a native function or register a dispatch stub, macro lines evaluated."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pipeline.edits.hostfile import Entry, HostFiles, Place
from pipeline.edits.items import Item, Kind
from pipeline.edits.placement import NATIVE
from pipeline.errors import Refusal


@dataclass(frozen=True)
class Definition:
    """Where a function has its body or a stub its registration; `macro` is what the line there calls, if any."""

    path: str
    line: int
    macro: str
    place: Place


def definitions(host: HostFiles, function: str) -> tuple[Definition, ...]:
    """Where namespace at::native defines `function`, each overload on its own."""
    found = (_definition(host, place) for place in host.defining.get(function, ()))
    return tuple(definition for definition, item in found if in_native(item))


def registrations(host: HostFiles, stub: str) -> tuple[Definition, ...]:
    """Where `stub` is registered for MPS."""
    return tuple(_definition(host, place)[0] for place in host.registering.get(stub, ()))


def _definition(host: HostFiles, place: Place) -> tuple[Definition, Item]:
    item = host[place.path].items[place.index]
    macro = item.macro if item.kind is Kind.CALL else ""
    return Definition(place.path, item.line, macro, place), item


def declarations(host: HostFiles, functions: Collection[str]) -> frozenset[Place]:
    """Forward declarations of native functions."""
    found = {place for name in functions for place in host.declaring.get(name, ())}
    return frozenset(place for place in found if in_native(host[place.path].items[place.index]))


def in_native(item: Item) -> bool:
    """The item stands in at::native, unnamed namespaces apart."""
    return tuple(name for name in item.scope if name) == NATIVE


def refuse_partial(entry: Entry, path: str, names: Collection[str]) -> None:
    """Raises Refusal where a macro line would also take away something that is not in `names`."""
    if entry.item.kind is not Kind.CALL:
        return
    made = [name for part in entry.parts if part.kind is Kind.FUNCTION and not part.internal for name in part.names]
    for name in (*made, *(registration.stub for registration in entry.registrations)):
        if name not in names:
            raise Refusal(
                f"this {entry.item.macro} line also makes {name}",
                path=path,
                line=entry.item.line,
                hint=f"remove {name} in the same change",
            )
