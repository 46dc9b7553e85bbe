"""A plan for a person: every edit by file and line, what is left to look at, and what could not be planned."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from pipeline.changeset import Changeset


def print_plan(console: Console, changeset: Changeset) -> None:
    console.print(f"[bold]{changeset.operator.name}[/bold] on {changeset.base.label}", highlight=False)
    table = Table("edit", "where", "what", box=None, pad_edge=False)
    for edit in changeset.edits:
        table.add_row(edit.kind.value, f"{edit.path}:{edit.line}" if edit.line else edit.path, edit.what)
    console.print(table)
    print_files(console, changeset)
    for note in changeset.left:
        console.print(f"left for the reviewer: {note}", highlight=False, markup=False, soft_wrap=True)
    for gap in changeset.gaps:
        console.print(f"not planned: {gap}", style="red", highlight=False, markup=False, soft_wrap=True)


def print_files(console: Console, changeset: Changeset) -> None:
    table = Table("file", "added", "removed", box=None, pad_edge=False)
    for change in changeset.files:
        added, removed = change.counts()
        table.add_row(change.path, f"+{added}", f"-{removed}")
    console.print(table)


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
