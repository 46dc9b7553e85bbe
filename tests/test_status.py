"""The status table says of every operator what is true of it, and what it waits for."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.errors import UsageError
from pipeline.manifest import MANIFEST, Manifest, Operator, State, Status, parse_manifest, targets_of
from pipeline.manifest_file import load_manifest
from pipeline.next_step import next_step
from pipeline.record import MacRecord, Record, load_mac_records, load_records, save
from pipeline.report.status import (
    age,
    cpu_result,
    manifest_as_markdown,
    print_status,
    status_as_data,
    status_rows,
    status_summary,
    waiting,
    with_status_table,
)

ROOT = Path(__file__).parents[1]
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PULL = "https://github.com/pytorch/pytorch/pull/7"
TEXT = """\
upstream: {repository: pytorch/pytorch, base: main}
author: {name: bot, email: bot@example.org}
operators: []
"""


def manifest(*operators: Operator) -> Manifest:
    return replace(parse_manifest(TEXT, MANIFEST), operators=operators)


def operator(state: State, name: str = "sign", claim: str = "", **status: str) -> Operator:
    kernel, host = f"kernels/{name}.metal", f"stubs/{name}.mm"
    return Operator(name, kind="unary", kernel=kernel, host=host, claim=claim, status=Status(state, **status))


RECORD = Record(
    operator="sign",
    source="pocket@1",
    base="1" * 40,
    at="2026-11-30T02:00:00Z",
    commit="2" * 40,
    error="",
    evidence=[{"check": "rows", "outcome": "passed"}, {"check": "macOS build and tests", "outcome": "not run"}],
    left=[],
    diff="",
    machine="Linux x86_64",
    torch="2.13.0",
)


@pytest.mark.parametrize(
    ("entry", "what", "waits_for"),
    [
        (Operator("sign"), "write kernels/sign.metal and stubs/sign.mm", "a kernel"),
        (Operator("sign", kernel="none"), "write stubs/sign.mm", "a kernel"),
        (Operator("sign", status=Status(reason="needs a new helper")), "needs a new helper", "a person's decision"),
        (operator(State.LISTED), "set its state to ready", "a person's decision"),
        (operator(State.READY), "invoke migrate --op sign", "a plan and its checks"),
        (operator(State.READY, claim=PULL), "ask in #7", "someone else's pull request"),
        (operator(State.BRANCHED), "invoke build --op sign", "a Mac"),
        (operator(State.BRANCHED, reason="the build failed: x"), "the build failed: x", "a repair"),
        (operator(State.BUILT), "invoke build --op sign --level full", "a Mac"),
        (operator(State.BUILT, reason="2 of 9 tests failed"), "2 of 9 tests failed", "a repair"),
        (operator(State.TESTED), "invoke approve --op sign --by NAME", "a person's approval"),
        (operator(State.APPROVED), "invoke propose --op sign", "a pull request"),
        (operator(State.PROPOSED, link=PULL), "review of #7", "a review upstream"),
        (operator(State.LANDED), "", ""),
        (operator(State.SUPERSEDED), "", ""),
        (operator(State.REJECTED, reason="closed by ada"), "closed by ada", "a person's decision"),
        (operator(State.HELD, reason="claimed: #7"), "claimed: #7", "someone else's pull request"),
        (operator(State.HELD), "say why in its reason", "a person's decision"),
    ],
)
def test_what_an_operator_waits_for(entry: Operator, what: str, waits_for: str) -> None:
    step = next_step(entry, manifest(entry))
    assert (step.what, step.waits_for) == (what, waits_for)


def test_an_approved_operator_waits_for_those_it_depends_on() -> None:
    needed, ready = operator(State.PROPOSED), replace(operator(State.APPROVED, "sgn"), depends_on=("sign",))
    assert next_step(ready, manifest(needed, ready)).what == "wait until sign landed"
    landed = operator(State.LANDED)
    assert next_step(ready, manifest(landed, ready)).what == "invoke propose --op sgn"


def test_every_state_has_a_next_step_and_only_ends_have_none() -> None:
    steps = {state: next_step(operator(state), manifest(operator(state))) for state in State}
    assert {state for state, step in steps.items() if not step.waits_for} == {State.LANDED, State.SUPERSEDED}
    assert waiting(manifest(*(operator(state, state.value) for state in State)))["a Mac"] == 2


def test_what_a_check_found_comes_before_the_next_try() -> None:
    entry, failed = operator(State.READY), {"check": "numerics", "outcome": "failed"}
    record = Record("sign", "pocket", "1" * 40, "2026-11-30T02:00:00Z", "", "", [failed], [], "", "", "")
    entries, records = manifest(entry), {"sign": record}
    (row,) = status_rows(entries, records=records)
    assert (row.next, row.cpu) == ("correct what numerics found", "numerics failed")
    assert status_summary(entries, records).endswith("They wait for a correction (1).")
    assert status_as_data([row], entries, NOW, records)["waiting"] == {"a correction": 1}
    for later in (operator(State.BRANCHED), replace(entry, claim="https://github.com/a/b/pull/1")):
        (row,) = status_rows(manifest(later), records=records)
        assert row.next == next_step(later, manifest(later)).what
    (row,) = status_rows(entries, records={"sign": replace(record, evidence=[{**failed, "outcome": "passed"}])})
    assert row.next == "invoke migrate --op sign"


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ("", ""),
        ("rows passed; host passed; macOS not run", "2 passed"),
        ("rows passed; numerics not run; macOS not run", "1 passed, numerics not run"),
        ("rows passed; numerics failed; macOS not run", "numerics failed, 1 passed"),
        ("no check run; macOS not run", "no check run; macOS not run"),
        ("seen by ada", "seen by ada"),
    ],
)
def test_evidence_in_few_words(evidence: str, said: str) -> None:
    assert cpu_result(evidence) == said


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Status(State.READY), "not run"),
        (Status(State.BUILT, image="macos-15"), "kernel ran on macos-15"),
        (Status(State.BUILT, image="macos-15", reason="2 tests failed"), "tests failed on macos-15"),
        (Status(State.BRANCHED, image="macos-15", reason="the build failed"), "build failed on macos-15"),
        (Status(State.TESTED, image="macos-15"), "passed on macos-15"),
        (Status(State.PROPOSED, image="macos-15", link=PULL), "ran on macos-15"),
    ],
)
def test_a_mac_is_only_named_where_one_ran(status: Status, said: str) -> None:
    [row] = status_rows(manifest(Operator("sign", status=status, kernel="a", host="b")))
    assert row.macos == said


def test_filters_by_state_and_file() -> None:
    unary, binary = targets_of("UnaryKernel"), targets_of("BinaryKernel")
    entries = manifest(
        replace(operator(State.READY, "sign"), into=unary),
        replace(operator(State.LANDED, "frac"), into=unary),
        replace(operator(State.READY, "pow"), into=binary),
        operator(State.READY, "dot"),
    )

    def names(states: list[str], files: list[str]) -> list[str]:
        return [row.operator for row in status_rows(entries, states, files)]

    assert names(["ready"], []) == ["sign", "pow", "dot"]
    assert names([], ["UnaryKernel"]) == ["sign", "frac"]
    assert names(["ready"], ["UnaryKernel.mm", binary.kernel]) == ["sign", "pow"]
    assert names(["landed"], ["BinaryKernel"]) == []
    with pytest.raises(UsageError, match="there is no state 'done'; write one of listed, ready"):
        names(["done"], [])
    with pytest.raises(UsageError, match="no operator goes into 'Unary'; there are BinaryKernel, UnaryKernel"):
        names([], ["Unary"])


def test_what_ran_here_fills_in_for_what_the_manifest_lacks() -> None:
    entry, told = operator(State.READY), operator(State.BRANCHED, "frac", evidence="rows failed; macOS not run")
    rows = status_rows(manifest(entry, told), records={"sign": RECORD, "frac": replace(RECORD, operator="frac")})
    assert [row.cpu for row in rows] == ["1 passed", "rows failed"]


def test_table_and_summary() -> None:
    entries = manifest(
        operator(State.PROPOSED, "sign", link=PULL, at="2026-11-27T12:00:00Z", evidence="rows passed; macOS not run"),
        operator(State.READY, "frac", claim="https://github.com/pytorch/pytorch/pull/9"),
        operator(State.HELD, "pow", reason="[bold]odd[/bold] | text"),
    )
    shown = io.StringIO()
    print_status(Console(file=shown, width=160), status_rows(entries), status_summary(entries), NOW)
    lines = shown.getvalue().splitlines()
    assert " ".join(lines[0].split()) == "operator kind state CPU macOS pull request claim age next step"
    assert " ".join(lines[1].split()) == "sign unary proposed 1 passed not run #7 3 d review of #7"
    assert " ".join(lines[3].split()) == "pow unary held not run not run [bold]odd[/bold] | text"
    assert (
        lines[4]
        == status_summary(entries)
        == (
            "3 operators: 1 ready, 1 proposed, 1 held. They wait for a review upstream (1), "
            "someone else's pull request (1), a person's decision (1)."
        )
    )
    shown = io.StringIO()
    print_status(Console(file=shown, width=160), status_rows(entries, [State.HELD.value]), "", NOW)
    assert " ".join(shown.getvalue().split()).startswith("operator kind state CPU macOS next step pow unary held")
    markdown = manifest_as_markdown(entries).splitlines()
    assert markdown[2] == (
        f"| `sign` | unary | proposed | 1 passed | not run | [#7]({PULL}) |  | 2026-11-27 | review of #7 |"
    )
    assert markdown[4].endswith("| [bold]odd[/bold] \\| text |")
    data = json.loads(json.dumps(status_as_data(status_rows(entries), entries, NOW)))
    assert data["operators"][0]["age_days"] == 3 and data["operators"][1]["age_days"] is None
    assert data["operators"][0]["status"]["evidence"] == "rows passed; macOS not run"
    assert data["counts"] == {"ready": 1, "proposed": 1, "held": 1}


def test_ages() -> None:
    assert [age(at, NOW) for at in ("", "2026-11-30T11:30:00Z", "2026-11-29T10:00:00+00:00", "2026-11-01")] == [
        *("", "0 h", "26 h", "29 d")
    ]
    text = TEXT.replace("[]", "[{name: sign, status: {state: listed, at: yesterday}}]")
    with pytest.raises(UsageError, match=r"3: 'yesterday' is not a time; write e\.g\. 2026-11-30T02:00:00Z"):
        parse_manifest(text, MANIFEST)


def test_the_readme_holds_the_table_of_the_manifest() -> None:
    """When this fails, run `invoke status --readme`."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == with_status_table(readme, load_manifest(ROOT / MANIFEST), "README.md")
    with pytest.raises(UsageError, match=r"README.md: has no place for the table; add the lines <!-- mps-to-metal:"):
        with_status_table("no marks", manifest(), "README.md")


def test_records_are_kept_by_operator_and_nothing_else_is_taken_for_one(tmp_path: Path) -> None:
    mac = MacRecord("sign", "2" * 40, RECORD.at, "full", "passed", "9 tests passed", PULL, "macos-15", "M1", [], [])
    save(tmp_path, RECORD)
    save(tmp_path, mac)
    assert load_records(tmp_path) == {"sign": RECORD} and load_mac_records(tmp_path) == {"sign": mac}
    for content in ("[]", "{", json.dumps({"operator": "odd"}), (tmp_path / ".drafts" / "sign.json").read_text()):
        (tmp_path / ".drafts" / "odd.json").write_text(content)
        with pytest.raises(UsageError, match=r"\.drafts/odd\.json: is not what a run wrote; delete it and run again"):
            load_records(tmp_path)
