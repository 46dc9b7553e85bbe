"""The commands around pull requests and macOS builds."""

from __future__ import annotations

import json as json_format
import os
import sys
from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.tasks import task
from rich.console import Console

import tasks
from tasks.command import JSON, OP, SOURCE, command
from tasks.views import refresh_readme

if TYPE_CHECKING:
    from pipeline.desk import Desk

_BRANCHED = "every operator that has a branch"


def _desk(source: str) -> Desk:
    from pipeline.campaign import Campaign
    from pipeline.desk import Desk
    from pipeline.forge.place import open_place
    from pipeline.manifest import MANIFEST
    from pipeline.planner import CampaignPlanner
    from pipeline.report.migrated import print_migrated
    from pipeline.runner.github import open_runner

    console = Console(stderr=True)
    campaign = Campaign.open(tasks.ROOT, source)
    planner = CampaignPlanner(campaign, lambda done: print_migrated(console, done))
    place = open_place(tasks.ROOT, campaign.manifest, planner.repository, os.environ)
    return Desk(place, planner, tasks.ROOT / MANIFEST, open_runner(campaign.manifest, os.environ, place.clock))


@task(iterable=["op"], help={"op": OP, "json": JSON})
@command
def ready(_: Context, op: list[str], json: bool = False) -> int:
    """Name the operators that `migrate --all` would work on, or those given, as one list."""
    from pipeline.campaign import workable
    from pipeline.manifest import MANIFEST
    from pipeline.manifest_file import load_manifest

    manifest = load_manifest(tasks.ROOT / MANIFEST)
    names = [manifest.operator(name).name for name in dict.fromkeys(op)] or [item.name for item in workable(manifest)]
    print(json_format.dumps(names) if json else "\n".join(names))
    return 0


@task(iterable=["op"], help={"op": f"{OP}; all when left out", "source": SOURCE})
@command
def push(_: Context, op: list[str], source: str = "pocket") -> int:
    """Push branches to the fork, all at once and never over a person's commit."""
    from pipeline.report.pulls import print_published

    desk = _desk(source)
    with desk.locked():
        results = desk.publish(op)
    print_published(Console(), results)
    return 1 if [result for result in results if result.reason] else 0


@task(
    iterable=["op"],
    help={
        "op": OP,
        "source": SOURCE,
        "level": "shader (released wheel, minutes) or full (PyTorch built and tested, hours)",
        "train": "how many operators may share one build",
    },
)
@command
def build(_: Context, op: list[str], source: str = "pocket", level: str = "shader", train: int = 1) -> int:
    """Build and test branches on macOS, and wait for the result."""
    from pipeline import record
    from pipeline.errors import UsageError
    from pipeline.report.pulls import print_built
    from pipeline.runner.build import Level
    from pipeline.runner.kept import mac_records

    if level not in {known.value for known in Level}:
        raise UsageError(f"there is no level {level!r}", hint="write shader or full")
    if train < 1 or not op:
        raise UsageError("no operator is named" if not op else "a train holds at least one", hint="write --op NAME")
    desk = _desk(source)
    with desk.locked():
        result = desk.build(op, Level(level), train, lambda text: print(text, file=sys.stderr))
    print_built(Console(), result)
    for kept in mac_records(result, desk.place.manifest, record.now()):
        record.save(tasks.ROOT, kept)
    return 0 if set(result.plan.good) == set(op) else 1


@task(
    help={
        "op": OP.replace(" (repeatable)", ""),
        "by": "your name, as in `approvers`",
        "email": "your address; git's user.email when left out",
        "key": "your SSH key; git's user.signingkey when left out",
        "source": SOURCE,
        "show": "print diff and evidence only, record nothing",
    }
)
@command
def approve(
    _: Context, op: str, by: str = "", email: str = "", key: str = "", source: str = "pocket", show: bool = False
) -> int:
    """Show the diff of an operator's commit, its evidence and its build, and record that a person approves it."""
    from pipeline.approving import approver_from, confirmed
    from pipeline.errors import UsageError
    from pipeline.report.pulls import print_review

    if not (by or show):
        raise UsageError("nobody is named", hint="write --by NAME")
    desk = _desk(source)
    with desk.locked():
        review = desk.review(op)
        print_review(Console(), review)
        if show:
            return 0
        approver = approver_from(by, email, key, desk.place)
        if not confirmed(review.head.commit, os.environ):
            print("not approved")
            return 1
        made = desk.approve(review, approver)
    print(f"approved: {made.commit} by {made.by}, {'signed' if made.signed else 'not signed'}")
    return 0


@task(
    iterable=["op", "ignore_claim"],
    help={
        "op": OP,
        "all": _BRANCHED,
        "ready": "mark the pull request ready for review",
        "ignore_claim": "number of a pull request that is no reason to wait (repeatable, with --because)",
        "because": "why; it stands in the pull request",
        "source": SOURCE,
    },
)
@command
def propose(
    _: Context,
    op: list[str],
    ignore_claim: list[str],
    all: bool = False,
    ready: bool = False,
    because: str = "",
    source: str = "pocket",
) -> int:
    """Open a draft pull request for every approved branch, or bring the one that is open up to date."""
    from pipeline.errors import UsageError
    from pipeline.forge.propose import Request
    from pipeline.report.pulls import print_proposed

    if bool(op) == all:
        raise UsageError("no operator is named" if not op else "--op and --all exclude each other",
                         hint="write --op NAME (repeatable) or --all")  # fmt: skip
    ignored = _numbers(ignore_claim)
    if bool(ignored) != bool(because.strip()):
        raise UsageError("--ignore-claim and --because go together", hint="say which pull request and why")
    desk = _desk(source)
    with desk.locked():
        results = desk.propose(Request(tuple(op), ready, ignored), because)
    print_proposed(Console(), results)
    waiting = [result.operator for result in results if result.pull is None]
    return 1 if op and waiting else 0


@task(
    iterable=["op", "ignore_claim"],
    help={
        "op": OP,
        "ignore_claim": "number of a pull request to look past (repeatable)",
        "source": SOURCE,
        "json": JSON,
    },
)
@command
def claims(_: Context, op: list[str], ignore_claim: list[str], source: str = "pocket", json: bool = False) -> int:
    """Tell whether somebody else works on an operator, by the files and symbols of their diffs."""
    from pipeline.forge.claims import ClaimState
    from pipeline.report.pulls import print_claims

    desk = _desk(source)
    wanted = [desk.place.manifest.operator(name).name for name in op]
    found = desk.claims(_numbers(ignore_claim))
    shown = {name: claim for name, claim in found.items() if not wanted or name in wanted}
    if json:
        data = [
            {"operator": name, "state": claim.state.value, "link": claim.link, "evidence": claim.evidence}
            for name, claim in shown.items()
        ]
        print(json_format.dumps(data, indent=2))
    else:
        print_claims(Console(), shown)
    taken = [name for name, claim in shown.items() if claim.state is not ClaimState.FREE]
    return 1 if wanted and taken else 0


@task(help={"source": SOURCE})
@command
def sync(_: Context, source: str = "pocket") -> int:
    """Record in the manifest what became of every branch, build and pull request."""
    from pipeline.errors import UsageError
    from pipeline.report.pulls import print_synced

    desk = _desk(source)
    with desk.locked():
        synced = desk.sync()
    print_synced(Console(), synced)
    try:
        refresh_readme()
    except UsageError as error:
        print(f"note: the status table is not refreshed: {error}", file=sys.stderr)
    return 0


@task
@command
def workflows(_: Context) -> int:
    """Install the workflows into .github/workflows, where GitHub reads them."""
    from pipeline.workflows import install

    changed = install(tasks.ROOT)
    for path in changed:
        print(f"installed {path.relative_to(tasks.ROOT)}")
    if not changed:
        print("all workflows are installed as they are")
    return 0


def _numbers(words: list[str]) -> tuple[int, ...]:
    from pipeline.errors import UsageError

    if wrong := [word for word in words if not word.lstrip("#").isdecimal()]:
        raise UsageError(f"{wrong[0]!r} is not the number of a pull request", hint="write --ignore-claim 123")
    return tuple(int(word.lstrip("#")) for word in words)
