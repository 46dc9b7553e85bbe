"""The commands. Each is one call into pipeline/; errors of a user are one line, exit code 1 or 2."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path

from invoke.context import Context
from invoke.tasks import task
from rich.console import Console

from tasks.authoring import draft, require_one_operator, watch_operator
from tasks.branches import conflicts, migrate, refresh
from tasks.command import ALL, JSON, OP, SOURCE, command, wide_console, wrong_use_exits_2
from tasks.pulls import approve, build, claims, propose, push, ready, sync, workflows
from tasks.views import history, page, status

__all__ = [
    "approve",
    "build",
    "claims",
    "conflicts",
    "draft",
    "history",
    "migrate",
    "page",
    "propose",
    "push",
    "ready",
    "refresh",
    "status",
    "sync",
    "workflows",
]

ROOT = Path(__file__).parents[1]

# invoke puts a package of tasks on the path, but not what stands beside it.
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

wrong_use_exits_2()


@task
@command
def pocket(_: Context) -> int:
    """Build the pocket repository, the default source, and print where it is."""
    from pipeline.pocket import build

    print(build(ROOT))
    return 0


@task(
    iterable=["op"],
    help={"op": OP, "all": ALL, "source": SOURCE, "json": JSON, "diff": "print the unified diff instead"},
)
@command
def plan(
    _: Context, op: list[str], all: bool = False, source: str = "pocket", diff: bool = False, json: bool = False
) -> int:
    """Show every edit a migration would make; nothing is written."""
    from pipeline.campaign import Campaign
    from pipeline.progress import progress
    from pipeline.report.plan import plan_as_data, print_plan

    campaign = Campaign.open(ROOT, source)
    operators = campaign.operators(op, all, unlisted=True)
    with progress("planning", len(operators)) as step:
        changesets = campaign.plan_all(operators, step)
    if json:
        print(json_format.dumps([plan_as_data(changeset) for changeset in changesets], indent=2))
    for changeset in () if json else changesets:
        if diff:
            sys.stdout.write(changeset.diff())
            for gap in changeset.gaps:
                print(f"{changeset.operator.name}: not planned: {gap}", file=sys.stderr)
        else:
            print_plan(Console(), changeset)
    return 1 if [changeset for changeset in changesets if not changeset.complete] else 0


@task(
    iterable=["op", "rule", "skip_rule"],
    help={
        "op": f"{OP}; with --kernel also any operator that OpInfo or aten knows",
        "all": ALL,
        "kernel": "kernel to check instead of the manifest's",
        "stub": "host stub to check instead of the manifest's",
        "source": SOURCE,
        "device": "cpu, or mps on a Mac",
        "rule": "only rules that match, such as contract/* or style/format (repeatable)",
        "skip_rule": "rules to leave out (repeatable)",
        "sarif": "file to write the findings to, for GitHub's code scanning",
        "json": JSON,
        "watch": "check again whenever the kernel or the stub is saved, for one dtype, until Ctrl-C",
        "dtype": "with --watch the dtype, such as float16; float32 when left out, or what the kernel has",
    },
)
@command
def check(
    _: Context,
    op: list[str],
    rule: list[str],
    skip_rule: list[str],
    all: bool = False,
    kernel: str = "",
    stub: str = "",
    source: str = "pocket",
    device: str = "cpu",
    sarif: str = "",
    json: bool = False,
    watch: bool = False,
    dtype: str = "",
) -> int:
    """Run the checks on the planned change, or on any kernel and stub alone; nothing is written."""
    from pipeline.campaign import Campaign
    from pipeline.errors import UsageError
    from pipeline.progress import progress
    from pipeline.report.evidence import evidence_as_data, print_evidence
    from pipeline.report.sarif import write_sarif
    from pipeline.rules import Selection

    if device not in ("cpu", "mps"):
        raise UsageError(f"there is no device {device}", hint="write cpu, or mps on a Mac")
    selection = Selection.of(rule, skip_rule)
    campaign = Campaign.open(ROOT, source)
    if watch or dtype:
        require_one_operator(op, watch, all or json or bool(sarif) or device != "cpu")
        return watch_operator(campaign, op[0], kernel, stub, dtype, selection)
    names = campaign.names(op, all)
    console, results = Console(), []
    with progress("check", len(names)) as step:
        for name in names:
            evidence = campaign.check_operator(name, kernel=kernel, stub=stub, device=device, selection=selection)
            step(name)
            results.append((name, evidence))
            if not json:
                console.rule(name, align="left")
                print_evidence(console, evidence)
    if json:
        data = [{"operator": name, "evidence": evidence_as_data(evidence)} for name, evidence in results]
        print(json_format.dumps(data, indent=2))
    if sarif:
        write_sarif(Path(sarif), results, campaign.manifest, campaign.snapshot.tree.label)
    return 1 if [name for name, evidence in results if not evidence.passed] else 0


@task(help={"source": SOURCE, "json": JSON, "write": "add operators that run on MPSGraph to the manifest as listed"})
@command
def survey(_: Context, source: str = "pocket", json: bool = False, write: bool = False) -> int:
    """Tell, per dispatch row, whether a tree runs it on MPSGraph, where, and what stands in the way."""
    from pipeline.campaign import Campaign
    from pipeline.report.survey import new_entries, print_survey, survey_as_data
    from pipeline.survey import survey_snapshot

    campaign = Campaign.open(ROOT, source)
    rows = survey_snapshot(campaign.snapshot)
    if json:
        print(json_format.dumps(survey_as_data(rows), indent=2))
    else:
        print_survey(wide_console(), campaign.snapshot.tree.label, rows)
    if write:
        entries = new_entries(rows, campaign.manifest)
        campaign.add_operators(entries)
        print(f"{len(entries)} operators added to {campaign.manifest.path}", file=sys.stderr)
    return 0
