"""The commands that show where everything stands; they change no repository."""

from __future__ import annotations

import json as json_format
import os
from datetime import UTC, datetime
from pathlib import Path

from invoke.context import Context
from invoke.tasks import task

import tasks
from tasks.command import JSON, command, wide_console


@task(
    iterable=["state", "file"],
    help={
        "state": "only operators in this state (repeatable)",
        "file": "only operators that go into this file, by path or stem, such as UnaryKernel (repeatable)",
        "json": JSON,
        "markdown": "print Markdown instead of text",
        "readme": "bring the table in README.md up to date",
        "issue": "upstream's tracking issue to write the table into, between our marks",
    },
)
@command
def status(
    _: Context,
    state: list[str],
    file: list[str],
    json: bool = False,
    markdown: bool = False,
    readme: bool = False,
    issue: int = 0,
) -> int:
    """Show how far every operator of the manifest has come, and what it waits for."""
    from pipeline.forge.issue_table import write_into_issue
    from pipeline.manifest import MANIFEST
    from pipeline.manifest_file import load_manifest
    from pipeline.record import load_records
    from pipeline.report.status import (
        manifest_as_markdown,
        print_status,
        status_as_data,
        status_as_markdown,
        status_rows,
        status_summary,
    )

    manifest = load_manifest(tasks.ROOT / MANIFEST)
    records = load_records(tasks.ROOT)
    rows, summary = status_rows(manifest, state, file, records), status_summary(manifest, records)
    now = datetime.now(UTC)
    if issue:
        print(write_into_issue(manifest, issue, manifest_as_markdown(manifest), os.environ))
    elif readme:
        print(refresh_readme())
    elif markdown:
        print(status_as_markdown(rows, summary))
    elif json:
        print(json_format.dumps(status_as_data(rows, manifest, now, records), indent=2))
    else:
        print_status(wide_console(), rows, summary, now)
    return 0


def refresh_readme() -> str:
    """Write the status table into the README and say whether it changed. Raises UsageError when it has no place."""
    from pipeline.errors import UsageError
    from pipeline.manifest import MANIFEST
    from pipeline.manifest_file import load_manifest
    from pipeline.report.status import with_status_table

    path = tasks.ROOT / "README.md"
    if not path.is_file():
        raise UsageError("does not exist", path=path.name)
    before = path.read_text(encoding="utf-8")
    after = with_status_table(before, load_manifest(tasks.ROOT / MANIFEST), path.name)
    if after == before:
        return f"{path.name} says so already"
    path.write_text(after, encoding="utf-8")
    return f"written into {path.name}"


@task(
    optional=["tags"],
    help={
        "source": "pocket, or PATH[@REF] of a repository with its history",
        "tags": "count at tags only: releases, or those that match a pattern such as 'v2.*'",
        "all-parents": "follow merged branches too, not only first parents",
        "plot": "file to write the plot to, as SVG",
        "json": JSON,
    },
)
@command
def history(
    _: Context,
    source: str = "pocket",
    tags: str | bool = "",
    all_parents: bool = False,
    plot: str = "",
    json: bool = False,
) -> int:
    """Count the rows on MPSGraph at every commit that touches them, or at tags."""
    from pipeline.history import RELEASES, open_history
    from pipeline.progress import progress
    from pipeline.report.history import history_as_data, history_plot, print_history

    found = open_history(source, tasks.ROOT, RELEASES if tags is True else str(tags or ""), every_parent=all_parents)
    points = []
    with progress("history", len(found.moments)) as step:
        for point in found.points():
            points.append(point)
            step(point.moment.commit[:12])
    if plot:
        Path(plot).write_text(history_plot(points), encoding="utf-8")
    if json:
        print(json_format.dumps(history_as_data(found.label, points), indent=2))
    else:
        print_history(wide_console(), found.label, points)
    return 0


@task(
    help={
        "out": "folder to write the site into; it is replaced as a whole",
        "history": "what `invoke history --json` printed, for the plot of rows on MPSGraph",
    }
)
@command
def page(_: Context, out: str = "site", history: str = "") -> int:
    """Write a static site: all operators, and a page for each with evidence, failing inputs, diff and timeline."""
    from pipeline.manifest import MANIFEST
    from pipeline.manifest_file import load_manifest
    from pipeline.page import Inputs, manifest_versions, write_site
    from pipeline.record import load_mac_records, load_records
    from pipeline.report.history import load_history

    root = tasks.ROOT
    inputs = Inputs(
        manifest=load_manifest(root / MANIFEST),
        records=load_records(root),
        mac_records=load_mac_records(root),
        versions=manifest_versions(root),
        history=load_history(Path(history)) if history else None,
    )
    count = write_site(inputs, Path(out))
    print(f"{count} pages in {out}, to be opened at {Path(out) / 'index.html'}")
    return 0
