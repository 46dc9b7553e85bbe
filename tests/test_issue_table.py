"""The status table in a tracking issue: between our marks, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import PipelineError, UsageError
from pipeline.forge.issue_table import write_into_issue
from pipeline.forge.marker import BEGIN, END
from pipeline.manifest import State, Status
from pipeline.report.status import manifest_as_markdown
from tests.forge_site import TOKEN, UPSTREAM, Site, make_manifest, open_site, with_status
from tests.github_stand_in.world import Actor

MANIFEST = with_status(make_manifest(), "abs", Status(State.HELD, reason="by @ada | later", link="https://x/1"))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        opened.world.tokens[TOKEN] = Actor("robot", frozenset({UPSTREAM}))
        yield opened


def environment(site: Site) -> dict[str, str]:
    return {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": site.stand_in.base, "GITHUB_SERVER_URL": site.stand_in.base}


def test_only_between_the_marks(site: Site) -> None:
    issue = site.world.add_issue(site.upstream, "Tracking", f"Hello\n{BEGIN}\nold\n{END}\nBye @bo", "ada")
    table = manifest_as_markdown(MANIFEST)
    assert write_into_issue(MANIFEST, 1, table, environment(site)).startswith("written into http")
    assert issue.body.startswith(f"Hello\n{BEGIN}\n| operator |") and issue.body.endswith(f"{END}\nBye @bo")
    assert "| `abs` |  | held | not run | not run |  | [#1](https://x/1) |  | by ada \\| later |" in issue.body
    assert "3 operators: 2 listed, 1 held." in issue.body
    writes = site.stand_in.writes
    assert write_into_issue(MANIFEST, 1, table, environment(site)).endswith("says so already")
    assert site.stand_in.writes == writes


def test_an_issue_without_a_place(site: Site) -> None:
    site.world.add_issue(site.upstream, "Tracking", "Hello", "ada")
    with pytest.raises(PipelineError, match="has no place for the table; add the lines <!-- mps-to-metal:begin -->"):
        write_into_issue(MANIFEST, 1, "table", environment(site))
    with pytest.raises(PipelineError, match="404"):
        write_into_issue(MANIFEST, 2, "table", environment(site))
    with pytest.raises(UsageError, match="set GITHUB_TOKEN"):
        write_into_issue(replace(MANIFEST), 1, "table", {})
