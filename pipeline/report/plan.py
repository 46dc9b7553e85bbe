"""A plan for a person: every edit by file and line, what is left to look at, and what could not be planned."""

from __future__ import annotations

from rich.console import Console

from pipeline.changeset import Changeset


def print_plan(console: Console, changeset: Changeset) -> None:
    say(console, f"{changeset.operator.name} on {changeset.base.label}", style="bold")
    for edit in changeset.edits:
        where = f"{edit.path}:{edit.line}" if edit.line else edit.path
        say(console, f"  {edit.kind.value:<16} {where}: {edit.what}")
    print_files(console, changeset)
    for note in changeset.left:
        say(console, f"  left for the reviewer: {note}", style="yellow")
    for gap in changeset.gaps:
        say(console, f"  not planned: {gap}", style="red")


def print_files(console: Console, changeset: Changeset) -> None:
    for change in changeset.files:
        added, removed = change.counts()
        say(console, f"  {f'+{added}':>5} {f'-{removed}':>5}  {change.path}")


def say(console: Console, line: str, style: str = "") -> None:
    """One line as it is: never wrapped, so that paths can be copied and output can be searched."""
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def plan_as_data(changeset: Changeset) -> dict[str, object]:
    files = []
    for change in changeset.files:
        added, removed = change.counts()
        files.append({"path": change.path, "added": added, "removed": removed})
    return {
        "operator": changeset.operator.name,
        "source": changeset.base.label,
        "commit": changeset.base.commit,
        "complete": changeset.complete,
        "files": files,
        "edits": [
            {"kind": edit.kind.value, "path": edit.path, "line": edit.line, "what": edit.what}
            for edit in changeset.edits
        ],
        "left": list(changeset.left),
        "not_planned": list(changeset.gaps),
    }
