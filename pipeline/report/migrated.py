"""What `invoke migrate` prints at the end: branch, files, evidence, draft, and what remains."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from pipeline.batch import Migrated
from pipeline.branches import Written
from pipeline.report.evidence import evidence_as_data, print_evidence
from pipeline.report.plan import plan_as_data, print_files, say

_WORDS = {
    Written.CREATED: "created",
    Written.UPDATED: "planned again, the branch moved",
    Written.UNCHANGED: "nothing changed, the branch stands as it was",
    Written.LEFT_ALONE: "left alone",
}


def print_migrated(console: Console, done: Migrated) -> None:
    console.rule(done.name, align="left")
    if done.branch is not None:
        say(console, f"branch   {done.branch.branch} ({_WORDS[done.branch.written]})")
        say(console, f"commit   {done.branch.commit}")
        if done.branch.reason:
            say(console, f"reason   {done.branch.reason}")
    if done.changeset is not None and done.changeset.complete:
        print_files(console, done.changeset)
    if done.evidence is not None:
        print_evidence(console, done.evidence)
    if done.error:
        say(console, f"stopped  {done.error}", style="red")
    if done.draft is not None:
        here = Path.cwd()
        shown = done.draft.relative_to(here) if done.draft.is_relative_to(here) else done.draft
        say(console, f"draft    {shown}")
        say(console, "remains  the build and the tests on macOS, a person's approval of the diff, the pull request")


def migrated_as_data(done: Migrated) -> dict[str, object]:
    branch = done.branch
    return {
        "operator": done.name,
        "succeeded": done.succeeded,
        "error": done.error,
        "plan": plan_as_data(done.changeset) if done.changeset else None,
        "evidence": evidence_as_data(done.evidence) if done.evidence else None,
        "branch": branch.branch if branch else None,
        "commit": branch.commit if branch else None,
        "written": branch.written.value if branch else None,
        "reason": branch.reason if branch else "",
        "draft": str(done.draft) if done.draft else None,
        "remains": ["build and test on macOS", "approval by a person", "pull request"],
    }
