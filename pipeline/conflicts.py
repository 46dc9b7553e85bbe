"""Which planned changes would conflict as branches, computed from their lines: no merge, no checkout.

Two changes of one file conflict where git's three-way merge says so: where they change, or insert at, lines that touch,
and do not change them in the same way (xdiff's rule; one unchanged line between two changes keeps them apart).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import networkx

from pipeline.changeset import Changeset, FileChange, Hunk

# Above this size a connected part of the graph is searched greedily, not exhaustively.
_EXACT_LIMIT = 24


@dataclass(frozen=True)
class Conflict:
    first: str
    second: str
    paths: tuple[str, ...]


def conflicts(changesets: Sequence[Changeset]) -> tuple[Conflict, ...]:
    """Every pair of operators whose changes conflict, with the files they conflict in."""
    edited = [
        (item.operator.name, {change.path: (change, change.hunks()) for change in item.files}) for item in changesets
    ]
    found = []
    for (first, files), (second, others) in combinations(edited, 2):
        paths = tuple(path for path in files if path in others and _clash(files[path], others[path]))
        if paths:
            found.append(Conflict(first, second, paths))
    return tuple(found)


def independent_sets(names: Iterable[str], found: Iterable[Conflict]) -> tuple[tuple[str, ...], ...]:
    """All operators in as few groups as is easily found, each free of conflicts, the largest group first."""
    graph: networkx.Graph[str] = networkx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from((conflict.first, conflict.second) for conflict in found)
    order = {name: position for position, name in enumerate(graph)}
    groups = []
    while graph:
        group = sorted(
            (name for part in networkx.connected_components(graph) for name in _largest(graph.subgraph(part))),
            key=order.__getitem__,
        )
        groups.append(tuple(group))
        graph.remove_nodes_from(group)
    return tuple(groups)


def _clash(one: tuple[FileChange, tuple[Hunk, ...]], two: tuple[FileChange, tuple[Hunk, ...]]) -> bool:
    (first, ours), (second, theirs) = one, two
    if first.after == second.after:
        return False
    if first.before is None or first.after is None or second.after is None:
        return True
    return any(
        mine.start <= other.end and other.start <= mine.end and mine != other for mine in ours for other in theirs
    )


def _largest(part: networkx.Graph[str]) -> set[str]:
    if len(part) <= _EXACT_LIMIT:
        clique, _ = networkx.max_weight_clique(networkx.complement(part), weight=None)
        return set(clique)
    chosen: set[str] = set()
    left = part.copy()
    while left:
        lonely = min(left, key=lambda name: (left.degree(name), name))
        chosen.add(lonely)
        left.remove_nodes_from([lonely, *left[lonely]])
    return chosen
