"""The commands for writing kernels by hand."""

from __future__ import annotations

import sys
import time
from itertools import chain
from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.tasks import task

import tasks
from tasks.command import SOURCE, command

if TYPE_CHECKING:
    from pipeline.authoring import Facts
    from pipeline.campaign import Campaign
    from pipeline.rules import Selection


@task(
    iterable=["op"],
    help={
        "op": "operator to begin, of the manifest or of native_functions.yaml (repeatable)",
        "source": SOURCE,
        "force": "replace a kernel or stub that exists",
        "write": "add the entry to ops_manifest.yaml instead of printing it",
    },
)
@command
def draft(_: Context, op: list[str], source: str = "pocket", force: bool = False, write: bool = False) -> int:
    """Write the skeleton of a kernel and its stub, from what the tree says of the operator."""
    from pipeline.authoring import draft as drafted
    from pipeline.authoring import facts_of, observe, write_files
    from pipeline.campaign import Campaign
    from pipeline.errors import PipelineError, UsageError

    if not op:
        raise UsageError("no operator is named", hint="write --op NAME (repeatable)")
    campaign = Campaign.open(tasks.ROOT, source)
    code = 0
    for name in dict.fromkeys(op):
        try:
            facts = facts_of(name, campaign.manifest, campaign.snapshot)
            files = drafted(facts, observe(facts)).files
            write_files(tasks.ROOT, files, force=force)
        except PipelineError as error:
            print(f"error: {error}", file=sys.stderr)
            code = max(code, 2 if isinstance(error, UsageError) else 1)
            continue
        print("\n".join(f"wrote {path}" for path in files))
        _show_entry(campaign, facts, write)
    return code


def _show_entry(campaign: Campaign, facts: Facts, write: bool) -> None:
    """Print what the manifest lacks, or write it there."""
    from pipeline.authoring import entry_text, missing_keys
    from pipeline.authoring.propose import as_entry

    manifest, operator = campaign.manifest, facts.operator
    if not facts.is_listed and write:
        campaign.add_operators([as_entry(operator)])
        print(f"{operator.name} added to {manifest.path}")
    elif not facts.is_listed:
        print(f"to be added to {manifest.path} (--write does it):\n{entry_text(operator)}", end="")
    else:
        for key, value in missing_keys(manifest.operator(operator.name), operator).items():
            print(f"{manifest.path}:{operator.line}: {operator.name} has no `{key}: {value}`, which the draft goes by")
    print(f"next: fill in what says TODO; `invoke check --op {operator.name} --watch` runs it on every save")


def require_one_operator(op: list[str], watch: bool, otherwise: bool) -> None:
    """Raises UsageError for options that do not go with --watch."""
    from pipeline.errors import UsageError

    if not watch:
        raise UsageError("--dtype goes with --watch", hint="without it every dtype is checked")
    if len(op) != 1:
        raise UsageError("--watch takes one operator", hint="write --op NAME once")
    if otherwise:
        raise UsageError("--watch goes with --op, --dtype, --kernel, --stub, --source and rules only")


def watch_operator(campaign: Campaign, name: str, kernel: str, stub: str, dtype: str, selection: Selection) -> int:
    """Check on every save until Ctrl-C; the exit code is that of the last verdict."""
    from rich.console import Console

    from pipeline.report.watch import print_beginning, print_end, print_verdict
    from pipeline.watch import Difference, Saves, Verdict, WarmProcess, subject_of

    subject = subject_of(campaign, name, kernel, stub, dtype, selection)
    console = Console()
    verdict: Verdict | None = None
    try:
        print_beginning(console, subject)
        sys.stdout.flush()
        saves = Saves(subject.paths)
        with WarmProcess() as warm:
            for saved in chain([time.time()], saves):
                now = subject.check(warm.check)
                # An interrupt may come at any moment: what is shown is what counts.
                difference, verdict = Difference.between(verdict, now), now
                print_verdict(console, verdict, difference, time.time() - saved)
                sys.stdout.flush()
    except KeyboardInterrupt:
        print_end(console, subject)
    return 0 if verdict is not None and verdict.passed else 1
