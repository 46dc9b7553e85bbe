"""What a survey found, as a table, as data, and as entries for the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from pipeline.manifest import Manifest
from pipeline.report.plan import say
from pipeline.survey import Backend, SurveyRow, graphs_per_file


def print_survey(console: Console, label: str, rows: Sequence[SurveyRow]) -> None:
    """The rows that run on MPSGraph one by one; of the others only how many there are."""
    table = Table("row", "function", "where", "kind", "size", "stub", "obstacle", box=None, pad_edge=False)
    for row in rows:
        if row.backend is Backend.GRAPH:
            where = f"{row.path.rsplit('/', 1)[-1]}:{row.line}" if row.path else ""
            table.add_row(
                row.func, row.function, where, row.kind, row.difficulty.value, ", ".join(row.stubs), row.obstacle
            )
    console.print(table)
    say(console, f"{label}: {len(rows)} rows name MPS: " + _counts(Counter(row.backend.value for row in rows)))
    say(console, f"on MPSGraph by file: {_counts(_by_file(rows))}")


def survey_as_data(rows: Sequence[SurveyRow]) -> dict[str, object]:
    return {
        "rows": [
            {
                "row": row.func,
                "function": row.function,
                "backend": row.backend.value,
                "shared": row.shared,
                "path": row.path,
                "line": row.line,
                "way": list(row.way),
                "stubs": list(row.stubs),
                "kind": row.kind,
                "difficulty": row.difficulty.value,
                "obstacle": row.obstacle,
            }
            for row in rows
        ],
        "counts": dict(Counter(row.backend.value for row in rows)),
        "graphs_per_file": graphs_per_file(tuple(rows)),
    }


def new_entries(rows: Sequence[SurveyRow], manifest: Manifest) -> list[dict[str, Any]]:
    """One `listed` entry per operator on MPSGraph whose rows no entry of the manifest names."""
    known = {func for operator in manifest.operators for func in operator.rows}
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        name = row.func.partition(".")[0]
        if row.backend is not Backend.GRAPH or row.func in known or manifest.has(name):
            continue
        entry = found.setdefault(name, {"name": name, "kind": row.kind, "rows": [], "status": {"state": "listed"}})
        entry["rows"].append(row.func)
        if row.stubs and "stub" not in entry:
            entry["stub"] = row.stubs[0]
        if row.obstacle:
            entry["notes"] = row.obstacle
    return list(found.values())


def _by_file(rows: Sequence[SurveyRow]) -> dict[str, int]:
    return {path.rsplit("/", 1)[-1]: count for path, count in graphs_per_file(tuple(rows)).items()}


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"
