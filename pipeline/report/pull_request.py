"""The text of a pull request: prose from a template per kind, then the record that follows every new commit.

A user's own `templates/NAME.md.j2` goes before ours of the same name: `migrate` (an MPSGraph operator moves), `body`
(only a stub's body changes), `new` (an operator that MPS lacks) and `record`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jinja2

from pipeline.branches import title
from pipeline.changeset import Changeset, EditKind
from pipeline.errors import UsageError
from pipeline.findings import CheckResult, Evidence, Outcome
from pipeline.forge.marker import Marker, fenced, without_mentions
from pipeline.forge.proposal import Text
from pipeline.manifest import Dispatch, Workflow
from pipeline.report.evidence import MACOS_NOT_RUN
from pipeline.runner.build import Build, Level, Verdict
from pipeline.runner.read import Reading

_TEMPLATES = Path(__file__).parent / "templates"
OWN_TEMPLATES = "templates"


@dataclass(frozen=True)
class MacRun:
    """What a macOS runner said of the commit."""

    build: Build
    reading: Reading


@dataclass(frozen=True)
class Subject:
    """All that a text is made from. `claims`: sentences on other people's work that a person chose to look past."""

    changeset: Changeset
    evidence: Evidence
    commit: str
    mac: MacRun | None = None
    approved_by: str = ""
    claims: tuple[str, ...] = ()


def render_pull_request(changeset: Changeset, evidence: Evidence, commit: str, own: Path | None = None) -> str:
    """The draft as a file: title, blank line, body in Markdown. `own` is the folder of a user's own templates."""
    subject = Subject(changeset, evidence, commit)
    return f"{title(changeset)}\n\n{_prose(subject, own)}\n\n{_record(subject, own)}\n"


def pull_request_text(subject: Subject, marker: Marker, own: Path | None = None) -> Text:
    """The same for a pull request: no mentions, and marks around the record, which follows every new commit."""
    ours = f"{without_mentions(_record(subject, own))}\n\n{marker}"
    body = f"{without_mentions(_prose(subject, own))}\n\n{fenced(ours)}\n"
    return Text(title(subject.changeset), body, ours)


def macos_result(mac: MacRun | None) -> CheckResult:
    """The macOS row of the evidence table; it says on what, and never more than what ran."""
    if mac is None or mac.build.verdict in (Verdict.RUNNING, Verdict.INFRASTRUCTURE):
        return MACOS_NOT_RUN
    build = mac.build
    where = ", ".join(part for part in (build.image, build.chip) if part) or "a macOS runner"
    check = "macOS build and tests" if build.level is Level.FULL else "macOS shader (released wheel)"
    outcome = Outcome.PASSED if build.verdict is Verdict.PASSED else Outcome.FAILED
    return CheckResult(check, outcome, f"{build.summary} on {where}: {build.link}")


def _prose(subject: Subject, own: Path | None) -> str:
    changeset = subject.changeset
    operator = changeset.operator
    name = "migrate"
    if operator.workflow is Workflow.NEW:
        name = "new"
    elif operator.dispatch is Dispatch.KEEP:
        name = "body"
    rows = [edit for edit in changeset.edits if edit.kind is EditKind.ROW]
    return _render(name, own, operator=operator, rows=rows, commit=subject.commit)


def _record(subject: Subject, own: Path | None) -> str:
    changeset, results = subject.changeset, subject.evidence.results
    reading = subject.mac.reading if subject.mac else None
    findings = [finding for result in results for finding in result.findings]
    macos = macos_result(subject.mac)
    return _render(
        "record",
        own,
        operator=changeset.operator,
        commit=subject.commit,
        base=changeset.base.commit or changeset.base.label,
        evidence=(*results, macos),
        macos_ran=macos.outcome is not Outcome.NOT_RUN,
        findings=[finding for finding in findings if not finding.accepted],
        not_covered=[note for result in results for note in result.not_covered],
        timings=reading.timings if reading else (),
        machine=reading.machine if reading else None,
        left=changeset.left,
        accepted=[finding for finding in findings if finding.accepted],
        claims=subject.claims,
        approved_by=subject.approved_by,
    )


def _render(name: str, own: Path | None, **known: object) -> str:
    loaders = [jinja2.FileSystemLoader(folder) for folder in (own, _TEMPLATES) if folder is not None]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["cell"] = lambda text: " ".join(str(text).split()).replace("|", "\\|")
    try:
        return environment.get_template(f"{name}.md.j2").render(**known).strip()
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        path = str(own / f"{name}.md.j2") if own else f"{name}.md.j2"
        text = f"{type(error).__name__}: {error}"
        raise UsageError(text, path=path, line=line, hint="correct the template") from None
