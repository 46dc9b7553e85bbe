"""The text of a pull request, from a template."""

from __future__ import annotations

from pathlib import Path

import jinja2

from pipeline.branches import title
from pipeline.changeset import Changeset, EditKind
from pipeline.findings import Evidence
from pipeline.manifest import Workflow
from pipeline.report.evidence import rows

_TEMPLATES = Path(__file__).parent / "templates"


def render_pull_request(changeset: Changeset, evidence: Evidence, commit: str) -> str:
    """Title, blank line, body in Markdown."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = lambda text: " ".join(str(text).split()).replace("|", "\\|")
    return environment.get_template("pull_request.md.j2").render(
        title=title(changeset),
        operator=changeset.operator,
        new=changeset.operator.workflow is Workflow.NEW,
        commit=commit,
        base=changeset.base.commit,
        rows=[edit for edit in changeset.edits if edit.kind is EditKind.ROW],
        left=changeset.left,
        evidence=rows(evidence),
        findings=[finding for result in evidence.results for finding in result.findings],
        not_covered=[note for result in evidence.results for note in result.not_covered],
    )
