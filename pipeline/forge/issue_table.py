"""A table in a tracking issue, between our marks and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.errors import PipelineError, UsageError
from pipeline.forge.clock import SystemClock
from pipeline.forge.github import GitHubForge
from pipeline.forge.marker import BEGIN, END, replace_ours, without_mentions
from pipeline.forge.session import Credentials, connect
from pipeline.manifest import Manifest


def write_into_issue(manifest: Manifest, number: int, table: str, environment: Mapping[str, str]) -> str:
    """Put the table into an issue of upstream's and say what was done.

    Raises UsageError without a token, PipelineError when the issue has no place marked for it.
    """
    credentials = Credentials.from_environment(environment)
    if credentials is None:
        raise UsageError("an issue is on GitHub", hint="set GITHUB_TOKEN")
    clock = SystemClock()
    forge = GitHubForge(connect(credentials, clock), manifest.upstream, manifest.base, manifest.fork, clock)
    issue = forge.issue(number)
    body = replace_ours(issue.body, without_mentions(table))
    if body is None:
        text = f"{issue.url} has no place for the table"
        raise PipelineError(text, hint=f"add the lines {BEGIN} and {END} to it, once each")
    if body == issue.body:
        return f"{issue.url} says so already"
    forge.edit_issue(number, body)
    return f"written into {issue.url}"
