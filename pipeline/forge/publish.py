"""Branches to the fork, in one atomic push with a lease: for builds to fetch, and for the next machine to find."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pipeline.forge.observe import Observed
from pipeline.forge.place import Place
from pipeline.forge.track import Seen
from pipeline.git import ZERO, RefChange


@dataclass(frozen=True)
class Published:
    """`reason` is why a branch was not pushed; empty when it is on the fork now."""

    operator: str
    commit: str
    pushed: bool
    reason: str = ""


def publish(place: Place, observed: Observed, names: Collection[str] = ()) -> list[Published]:
    """Push the branches of `names` (of all operators when empty) that may be pushed. Raises PushRefused."""
    results, changes = [], []
    for name, seen in observed.seen.items():
        if seen.head is None or (names and name not in names):
            continue
        ref = f"refs/heads/migrate/{name}"
        there = observed.overview.fork_refs.get(ref, ZERO)
        reason = why_not(seen)
        if not reason and there != seen.head.commit:
            changes.append(RefChange(ref, there, seen.head.commit))
        results.append(Published(name, seen.head.commit, not reason and there != seen.head.commit, reason))
    place.fork.push(changes)
    return results


def why_not(seen: Seen) -> str:
    """Never over a person's commit, never foreign history, never unapproved into an open pull request."""
    assert seen.head is not None
    if seen.head.foreign or seen.head.unrelated:
        return seen.head.problem
    open_pull = next((pull for pull in seen.pulls if pull.open), None)
    if open_pull is not None and open_pull.commit != seen.head.commit and seen.approval is None:
        return f"{open_pull.url} is open and would show it; approve {seen.head.commit[:12]} first"
    return ""
