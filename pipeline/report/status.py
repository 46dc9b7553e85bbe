"""The status table: every operator, how far it has come, and on what evidence."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table

from pipeline.manifest import Manifest
from pipeline.report.plan import say


def print_status(console: Console, manifest: Manifest) -> None:
    table = Table("operator", "kind", "state", "evidence", "link", box=None, pad_edge=False)
    for operator in manifest.operators:
        status = operator.status
        link = status.link or operator.claim
        table.add_row(operator.name, operator.kind, status.state.value, status.evidence or status.reason, link)
    console.print(table)
    counts = Counter(operator.status.state.value for operator in manifest.operators)
    say(console, f"{len(manifest.operators)} operators: " + ", ".join(f"{n} {state}" for state, n in counts.items()))


def status_as_markdown(manifest: Manifest) -> str:
    """The table for an issue or a README."""
    lines = ["| operator | kind | state | evidence | link |", "|---|---|---|---|---|"]
    for operator in manifest.operators:
        status = operator.status
        link = status.link or operator.claim
        cells = (f"`{operator.name}`", operator.kind, status.state.value, status.evidence or status.reason, link)
        lines.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    counts = Counter(operator.status.state.value for operator in manifest.operators)
    total = ", ".join(f"{n} {state}" for state, n in counts.items())
    return "\n".join([*lines, "", f"{len(manifest.operators)} operators: {total}"])


def status_as_data(manifest: Manifest) -> list[dict[str, object]]:
    return [
        {"operator": operator.name, "kind": operator.kind, "claim": operator.claim, **operator.status.as_mapping()}
        for operator in manifest.operators
    ]
