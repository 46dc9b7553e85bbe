"""What the commands around pull requests print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.syntax import Syntax

from pipeline.desk import Review
from pipeline.forge.claims import Claim, ClaimState
from pipeline.forge.propose import Proposed
from pipeline.forge.publish import Published
from pipeline.forge.sync import Synced
from pipeline.report.plan import say
from pipeline.runner.build import Verdict
from pipeline.runner.yard import Result


def print_review(console: Console, review: Review) -> None:
    """The exact diff first, then what is known of it."""
    if console.is_terminal:
        console.print(Syntax(review.diff, "diff", background_color="default"))
    else:
        console.out(review.diff, end="", highlight=False)
    head = review.head
    console.rule(head.operator, align="left")
    say(console, f"commit    {head.commit}")
    say(console, f"base      {head.base}")
    say(console, f"evidence  {head.evidence}")
    build = review.build
    if build is None:
        say(console, "macOS     not run", style="yellow")
    else:
        where = ", ".join(part for part in (build.image, build.chip) if part)
        say(console, f"macOS     {build.level.value} {build.verdict.value}: {build.summary} {where}".rstrip())
        say(console, f"          {build.link}")
    if review.approval is not None:
        kind = "signed" if review.approval.signed else "not signed"
        say(console, f"approved  by {review.approval.by}, {kind}")


def print_published(console: Console, results: Sequence[Published]) -> None:
    for result in results:
        word = "pushed" if result.pushed else result.reason or "on the fork already"
        say(console, f"{result.operator}: {word}", style="yellow" if result.reason else "")
    if not results:
        say(console, "no branch to push")


def print_proposed(console: Console, results: Sequence[Proposed]) -> None:
    for result in results:
        if result.pull is None:
            say(console, f"{result.operator}: waits, {result.wait}", style="yellow")
            continue
        state = "draft" if result.pull.draft else "ready for review"
        done = ", ".join(result.steps) if result.steps else "nothing to do"
        say(console, f"{result.operator}: {result.pull.url} ({state}; {done})")
        for note in result.notes:
            say(console, f"  note: {note}", style="yellow")
    if not results:
        say(console, "no operator has a branch")


def print_synced(console: Console, synced: Synced) -> None:
    for change in synced.changes:
        after = change.after
        about = ", ".join(part for part in (after.reason, after.link) if part)
        say(
            console,
            f"{change.operator}: {change.before.value} -> {after.state.value}" + (f" ({about})" if about else ""),
        )
    for name, standing in synced.standings.items():
        parts = {
            "approved by": standing.approved_by,
            "changes requested by": standing.changes_requested_by,
            "failed": standing.failed_checks,
            "pending": standing.pending_checks,
        }
        said = "; ".join(f"{label} {', '.join(names)}" for label, names in parts.items() if names)
        if said:
            say(console, f"{name}: {said}")
    for label, names in (
        ("planned again on upstream's main", synced.again),
        ("files moved upstream, kept as approved", synced.stale),
        ("closed, overtaken", synced.closed),
        ("not recorded, their kernel or stub is missing here", synced.unrecorded),
    ):
        if names:
            say(console, f"{label}: {', '.join(names)}")
    if not synced.changes:
        say(console, "no status changed")


def print_claims(console: Console, claims: Mapping[str, Claim]) -> None:
    for name, claim in claims.items():
        if claim.state is not ClaimState.FREE:
            say(console, f"{name}: {claim.state.value} by {claim.link} ({claim.evidence})", style="yellow")
    free = [name for name, claim in claims.items() if claim.state is ClaimState.FREE]
    say(console, f"free: {', '.join(free) or 'none'}")


def print_built(console: Console, result: Result) -> None:
    for members, (build, reading) in result.builds.items():
        style = "green" if build.verdict is Verdict.PASSED else "red"
        say(console, f"{' + '.join(members)}: {build.verdict.value}, {build.summary}", style=style)
        say(console, f"  {build.link}")
        for test in reading.expectations_to_remove:
            say(console, f"  plan again without the expectation of {test}", style="yellow")
    for label, names in (("good", result.plan.good), ("bad", result.plan.bad)):
        if names:
            say(console, f"{label}: {', '.join(names)}")
    for group in result.plan.together:
        say(console, f"fail only together: {', '.join(group)}", style="red")
    if result.saved_minutes > 0:
        say(console, f"about {result.saved_minutes:.0f} runner minutes saved against one build each")
