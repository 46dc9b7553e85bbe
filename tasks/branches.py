"""The commands that write branches, and those that say how branches stand to each other and to upstream."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.tasks import task
from rich.console import Console

import tasks
from tasks.command import ALL, JSON, OP, SOURCE, command

if TYPE_CHECKING:
    from pipeline.batch import Migrated


@task(
    iterable=["op"],
    help={
        "op": OP,
        "all": ALL,
        "source": SOURCE,
        "stack": "each branch on top of the one before, dependencies first",
        "json": JSON,
    },
)
@command
def migrate(
    _: Context, op: list[str], all: bool = False, source: str = "pocket", stack: bool = False, json: bool = False
) -> int:
    """Plan, check, commit on a branch, and draft the pull request."""
    from pipeline import batch
    from pipeline.campaign import Campaign

    campaign = Campaign.open(tasks.ROOT, source)
    operators = campaign.operators(op, all)
    run = batch.migrate_stacked if stack else batch.migrate
    return _show_migrated(run(campaign, operators), len(operators), json)


@task(help={"source": SOURCE, "json": JSON})
@command
def refresh(_: Context, source: str = "pocket", json: bool = False) -> int:
    """Plan again the branches whose files changed upstream since they were planned; say which and why."""
    from pipeline import batch
    from pipeline.campaign import Campaign

    campaign = Campaign.open(tasks.ROOT, source)
    stale = batch.stale_operators(campaign)
    for name, paths in stale.items():
        said = f"{', '.join(paths)} changed since" if paths else "none of its files changed since"
        print(f"{name}: {said}", file=sys.stderr)
    operators = [campaign.manifest.operator(name) for name, paths in stale.items() if paths]
    return _show_migrated(batch.migrate(campaign, operators), len(operators), json)


def _show_migrated(results: Iterator[Migrated], total: int, json: bool) -> int:
    from pipeline.progress import progress
    from pipeline.report.migrated import migrated_as_data, print_migrated

    done = []
    with progress("migrate", total) as step:
        for result in results:
            step(result.name)
            done.append(result)
            if not json:
                print_migrated(Console(), result)
    if json:
        print(json_format.dumps([migrated_as_data(result) for result in done], indent=2))
    return 1 if [result for result in done if not result.succeeded] else 0


@task(iterable=["op"], help={"op": OP, "all": ALL, "source": SOURCE, "json": JSON})
@command
def conflicts(_: Context, op: list[str], all: bool = False, source: str = "pocket", json: bool = False) -> int:
    """Show which operators' branches would conflict, and the largest groups that do not."""
    from pipeline.campaign import Campaign
    from pipeline.conflicts import conflicts as find_conflicts
    from pipeline.conflicts import independent_sets
    from pipeline.progress import progress
    from pipeline.report.conflicts import conflicts_as_data, print_conflicts

    campaign = Campaign.open(tasks.ROOT, source)
    operators = campaign.operators(op, all)
    with progress("planning", len(operators)) as step:
        changesets = campaign.plan_all(operators, step)
    found = find_conflicts(changesets)
    groups = independent_sets([changeset.operator.name for changeset in changesets], found)
    if json:
        print(json_format.dumps(conflicts_as_data(found, groups), indent=2))
    else:
        print_conflicts(Console(), found, groups)
    return 0
