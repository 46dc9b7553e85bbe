"""`invoke sync`: the manifest's statuses from git and GitHub, and the little that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.forge.marker import Marker, Stage, set_marker
from pipeline.forge.model import PullRequest, Standing
from pipeline.forge.observe import Observed
from pipeline.forge.place import Place
from pipeline.forge.track import Seen, overtaken, status_of
from pipeline.manifest import State, Status

# States that an operator may have in the manifest without a kernel and a stub (manifest_file.py).
_BARE = (State.LISTED, State.HELD, State.REJECTED, State.SUPERSEDED)


class Record(Protocol):
    """The manifest, as far as sync writes it."""

    def save(self, name: str, status: Status) -> None: ...

    def add(self, name: str, status: Status) -> None:
        """An operator that the manifest lost: its branch or pull request is there, its entry is not."""


@dataclass(frozen=True)
class Change:
    operator: str
    before: State
    after: Status


@dataclass(frozen=True)
class Synced:
    """`again`: planned again on the new main; `stale`: their files moved, but a person approved what they are;
    `unrecorded`: they have come far, but the manifest may not say so while their kernel or stub is missing here."""

    changes: tuple[Change, ...]
    statuses: Mapping[str, Status]
    standings: Mapping[str, Standing]
    again: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    unrecorded: tuple[str, ...] = ()


def sync(place: Place, observed: Observed, record: Record, plan_again: Callable[[Sequence[str]], None]) -> Synced:
    """Record every status that changed, close what was overtaken if the manifest says so, plan stale branches again.

    `plan_again` writes the branches of those operators anew on upstream's main.
    """
    now = place.clock.now()
    closed = [
        name
        for name, seen in observed.seen.items()
        if place.manifest.close_superseded and overtaken(seen) and _close(place, seen)
    ]
    statuses = {name: status_of(seen, now) for name, seen in observed.seen.items()}
    begun = [name for name in observed.seen if statuses[name].state not in _BARE]
    unrecorded = [name for name in begun if not observed.seen[name].written]
    changes = [
        _save(record, seen, statuses[name], place) for name, seen in observed.seen.items() if name not in unrecorded
    ]
    again = [name for name, seen in observed.seen.items() if needs_planning(seen, statuses[name])]
    if again:
        plan_again(again)
    moved = [name for name, seen in observed.seen.items() if seen.head and seen.head.moved and name not in again]
    return Synced(
        changes=tuple(change for change in changes if change is not None),
        statuses=statuses,
        standings={
            name: place.forge.standing(seen.pulls[-1])
            for name, seen in observed.seen.items()
            if seen.pulls and seen.pulls[-1].open
        },
        again=tuple(again),
        stale=tuple(name for name in moved if statuses[name].state in (State.APPROVED, State.PROPOSED)),
        closed=tuple(closed),
        unrecorded=tuple(unrecorded),
    )


def needs_planning(seen: Seen, status: Status) -> bool:
    """Its files moved upstream and nobody approved it yet, or it no longer merges. A new plan voids an approval."""
    if seen.head is None or seen.head.foreign or seen.head.unrelated or not seen.written:
        return False
    if status.state in (State.APPROVED, State.PROPOSED):
        return seen.head.conflicts
    return seen.head.moved and status.state in (State.BRANCHED, State.BUILT, State.TESTED)


def _save(record: Record, seen: Seen, status: Status, place: Place) -> Change | None:
    if not place.manifest.has(seen.operator):
        record.add(seen.operator, status)
        return Change(seen.operator, State.LISTED, status)
    if status == seen.recorded:
        return None
    record.save(seen.operator, status)
    return Change(seen.operator, seen.recorded.state, status)


def _close(place: Place, seen: Seen) -> bool:
    """The mark first, then comment and closing: a run that was cut short is continued by the next."""
    pull = seen.pulls[-1]
    marker = pull.marker
    if marker is not None and marker.stage is not Stage.SUPERSEDED:
        mark = Marker(marker.operator, marker.commit, Stage.SUPERSEDED)
        place.forge.edit_body(pull.number, set_marker(pull.body, mark))
    place.forge.close(pull.number, closing_words(pull, seen))
    return True


def closing_words(pull: PullRequest, seen: Seen) -> str:
    where = f" ({seen.claim.evidence})" if seen.claim.evidence else ""
    return f"Closing: {seen.claim.link} landed the same change{where}. `{seen.operator}` needs nothing more from here."
