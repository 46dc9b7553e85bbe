"""Which planned operators conflict with each other, and how to group them so that none do."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from pipeline.conflicts import Conflict
from pipeline.report.plan import say


def print_conflicts(console: Console, found: Sequence[Conflict], groups: Sequence[Sequence[str]]) -> None:
    for conflict in found:
        say(console, f"{conflict.first} and {conflict.second} conflict in {', '.join(conflict.paths)}")
    total = sum(len(group) for group in groups)
    say(console, f"{total} operators, {len(found)} pairs conflict, {len(groups)} groups without conflict:")
    for number, group in enumerate(groups, 1):
        say(console, f"{number:>3}. {len(group)}: {', '.join(group)}")


def conflicts_as_data(found: Sequence[Conflict], groups: Sequence[Sequence[str]]) -> dict[str, object]:
    return {
        "conflicts": [{"operators": [item.first, item.second], "paths": list(item.paths)} for item in found],
        "groups": [list(group) for group in groups],
    }
