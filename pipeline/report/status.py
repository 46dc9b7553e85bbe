"""The status table: every operator, how far it has come, on what evidence, and what it waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.errors import UsageError
from pipeline.findings import Outcome
from pipeline.forge.marker import BEGIN, END, replace_ours
from pipeline.manifest import Manifest, Operator, State, Status
from pipeline.next_step import DONE, NextStep, next_step, short_link
from pipeline.record import Record
from pipeline.report.plan import say

_STYLES = {State.LANDED: "green", State.PROPOSED: "cyan", State.REJECTED: "red", State.REVERTED: "red"}
_MAY_GO = ("pull request", "claim", "age")
_WITHOUT_BRANCH = (State.LISTED, State.READY, State.CHECKED)
_DECIDED = (State.PROPOSED, State.LANDED, State.REJECTED, State.REVERTED, State.SUPERSEDED)


@dataclass(frozen=True)
class StatusRow:
    """One operator. `cpu` and `macos` say what ran; `since` is when the state was recorded, in ISO 8601, or empty."""

    operator: str
    kind: str
    state: str
    cpu: str
    macos: str
    pull_request: str
    claim: str
    since: str
    next: str
    waits_for: str
    files: tuple[str, ...]


def status_rows(
    manifest: Manifest, states: Collection[str] = (), files: Collection[str] = (), records: Mapping[str, Record] = {}
) -> list[StatusRow]:
    """Those in one of `states` and with one of `files` (a path, or a stem such as UnaryKernel) among their targets.

    What `records` know of an operator fills in for evidence that the manifest does not hold yet. Raises UsageError for
    a state or a file that no operator can have.
    """
    known = [state.value for state in State]
    for state in states:
        if state not in known:
            raise UsageError(f"there is no state {state!r}", hint=f"write one of {', '.join(known)}")
    rows = [_row(operator, manifest, records.get(operator.name)) for operator in manifest.operators]
    for file in files:
        if not any(_is_in(row, file) for row in rows):
            stems = sorted({PurePosixPath(path).stem for row in rows for path in row.files})
            raise UsageError(f"no operator goes into {file!r}", hint=f"there are {', '.join(stems)}")
    return [
        row
        for row in rows
        if (not states or row.state in states) and (not files or any(_is_in(row, file) for file in files))
    ]


def print_status(console: Console, rows: Sequence[StatusRow], summary: str, now: datetime) -> None:
    """Columns that are empty all the way down make room for the others."""
    headings = ("operator", "kind", "state", "CPU", "macOS", "pull request", "claim", "age", "next step")
    lines = [
        (
            *(row.operator, row.kind, row.state, row.cpu, row.macos),
            *(short_link(row.pull_request), short_link(row.claim), age(row.since, now), row.next),
        )
        for row in rows
    ]
    used = [at for at, heading in enumerate(headings) if heading not in _MAY_GO or any(line[at] for line in lines)]
    table = Table(box=None, pad_edge=False)
    for at in used:
        table.add_column(headings[at], no_wrap=headings[at] in ("operator", "state", "claim", "age"), overflow="fold")
    for row, line in zip(rows, lines, strict=True):
        cells = (Text(line[at], style="red" if " failed" in line[at] else "") for at in used)
        table.add_row(*cells, style=_STYLES.get(State(row.state)))
    console.print(table)
    say(console, summary)


def status_as_markdown(rows: Sequence[StatusRow], summary: str) -> str:
    """The table with dates instead of ages: the same rows give the same text."""
    lines = [
        "| operator | kind | state | CPU | macOS | pull request | claim | since | next step |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        step = f"`{row.next}`" if row.next.startswith("invoke ") else row.next
        links = (_link(row.pull_request), _link(row.claim))
        cells = (f"`{row.operator}`", row.kind, row.state, row.cpu, row.macos, *links, row.since[:10], step)
        lines.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, "", summary])


def status_as_data(
    rows: Sequence[StatusRow], manifest: Manifest, now: datetime, records: Mapping[str, Record] = {}
) -> dict[str, object]:
    """`status` is what the manifest holds, word by word; `age_days` is None where it holds no time."""
    statuses = {operator.name: operator.status.as_mapping() for operator in manifest.operators}
    return {
        "operators": [
            {**asdict(row), "age_days": _days(row.since, now), "status": statuses[row.operator]} for row in rows
        ],
        "counts": dict(_counts(manifest)),
        "waiting": dict(waiting(manifest, records).most_common()),
    }


def waiting(manifest: Manifest, records: Mapping[str, Record] = {}) -> Counter[str]:
    """How many operators wait for each kind of thing; those that are done are left out."""
    rows = status_rows(manifest, records=records)
    return Counter(row.waits_for for row in rows if row.waits_for != DONE)


def status_summary(manifest: Manifest, records: Mapping[str, Record] = {}) -> str:
    """One line: how many operators in each state, and what most of them wait for."""
    counts = ", ".join(f"{count} {state}" for state, count in _counts(manifest).items())
    blocked = ", ".join(f"{what} ({count})" for what, count in waiting(manifest, records).most_common(3))
    text = f"{len(manifest.operators)} operators: {counts or 'none'}"
    return f"{text}. They wait for {blocked}." if blocked else f"{text}."


def manifest_as_markdown(manifest: Manifest) -> str:
    """For a README or an issue: all operators, by what the manifest alone says."""
    return status_as_markdown(status_rows(manifest), status_summary(manifest))


def with_status_table(readme: str, manifest: Manifest, path: str) -> str:
    """The README with the table between the marks. Raises UsageError when it does not have each mark once."""
    text = replace_ours(readme, manifest_as_markdown(manifest))
    if text is None:
        raise UsageError("has no place for the table", path=path, hint=f"add the lines {BEGIN} and {END}, once each")
    return text


def age(since: str, now: datetime) -> str:
    """`5 h`, `3 d`; empty where the manifest holds no time."""
    days = _days(since, now)
    if days is None:
        return ""
    hours = int((now - _time(since)).total_seconds() // 3600)
    return f"{hours} h" if hours < 48 else f"{days} d"


def macos_result(status: Status) -> str:
    """What a Mac said, as far as the manifest holds it; the runner's image is recorded with every build that counts."""
    if not status.image:
        return "not run"
    if status.state is State.TESTED:
        return f"passed on {status.image}"
    if status.state is State.BUILT:
        return f"tests failed on {status.image}" if status.reason else f"kernel ran on {status.image}"
    if status.state is State.BRANCHED:
        return f"build failed on {status.image}"
    return f"ran on {status.image}"


def cpu_result(evidence: str) -> str:
    """`rows passed; host passed; numerics not run; macOS not run` -> `2 passed, numerics not run`."""
    outcomes: dict[str, list[str]] = {"failed": [], "passed": [], "not run": []}
    for part in evidence.split("; ") if evidence else ():
        outcome = next((known for known in outcomes if part.endswith(f" {known}")), None)
        if outcome is None:
            return evidence
        outcomes[outcome].append(part.removesuffix(f" {outcome}"))
    outcomes["not run"] = [name for name in outcomes["not run"] if name != "macOS"]
    passed = [f"{len(outcomes['passed'])} passed"] if outcomes["passed"] else []
    failed = [f"{name} failed" for name in outcomes["failed"]]
    return ", ".join([*failed, *passed, *(f"{name} not run" for name in outcomes["not run"])])


def _row(operator: Operator, manifest: Manifest, record: Record | None) -> StatusRow:
    status, step = operator.status, _step(operator, manifest, record)
    evidence = status.evidence
    if not evidence and record is not None:
        evidence = "; ".join(f"{result['check']} {result['outcome']}" for result in record.evidence)
        evidence = evidence.replace("macOS build and tests", "macOS")
    is_pull = status.state in _DECIDED or "/pull" in status.link
    targets = operator.into
    return StatusRow(
        operator=operator.name,
        kind=operator.kind,
        state=status.state.value,
        cpu=cpu_result(evidence) or "not run",
        macos=macos_result(status),
        pull_request=status.link if is_pull and status.state is not State.HELD else "",
        claim=operator.claim or (status.link if status.state is State.HELD else ""),
        since=status.at,
        next=step.what,
        waits_for=step.waits_for,
        files=(targets.kernel, targets.host) if targets is not None else (),
    )


def _step(operator: Operator, manifest: Manifest, record: Record | None) -> NextStep:
    """As the manifest has it, but for an operator whose last checks failed: that comes first."""
    if record is not None and not record.commit and not operator.claim and operator.status.state in _WITHOUT_BRANCH:
        failed = [result["check"] for result in record.evidence if result["outcome"] == Outcome.FAILED.value]
        if failed:
            return NextStep(f"correct what {' and '.join(failed)} found", "a correction")
    return next_step(operator, manifest)


def _is_in(row: StatusRow, file: str) -> bool:
    return any(file in (path, PurePosixPath(path).stem, PurePosixPath(path).name) for path in row.files)


def _counts(manifest: Manifest) -> Counter[str]:
    """In the order of the states."""
    found = Counter(operator.status.state for operator in manifest.operators)
    return Counter({state.value: found[state] for state in State if found[state]})


def _days(since: str, now: datetime) -> int | None:
    return (now - _time(since)).days if since else None


def _time(since: str) -> datetime:
    at = datetime.fromisoformat(since)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _link(link: str) -> str:
    return f"[{short_link(link)}]({link})" if "://" in link else link
