"""Branches on a remote repository: read them, fetch them, push all at once. The token never reaches a command line."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.errors import PipelineError
from pipeline.forge.session import Credentials
from pipeline.git import ZERO, GitError, RefChange, Repository

HISTORY_DAYS = 120


class PushRefused(PipelineError):
    """Nothing was pushed: a ref had moved, or the token may not push there."""


@dataclass(frozen=True)
class Remote:
    """A repository at `url`, seen from the local `repository`. `credentials` are sent to their own server alone."""

    repository: Repository
    name: str
    url: str
    credentials: Credentials | None = field(default=None, repr=False)

    def refs(self, *patterns: str) -> dict[str, str]:
        """Ref name -> object name, as the remote has them now. Raises GitError when it cannot be read."""
        listing = self._run(f"read {self.name}", "ls-remote", "--quiet", self.url, *patterns)
        pairs = (line.split("\t") for line in listing.decode().splitlines())
        return {ref: commit for commit, ref in pairs if not ref.endswith("^{}")}

    def fetch(self, *refspecs: str) -> None:
        """Bring objects (and the refs that the refspecs name) here; without a refspec's right side only objects."""
        self._run(
            f"fetch from {self.name}", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self.url, *refspecs
        )

    def push(self, changes: Sequence[RefChange]) -> None:
        """All changes or none, and only if every ref is still where `old` says. Raises PushRefused."""
        if not changes:
            return
        leases = [f"--force-with-lease={change.ref}:{'' if change.old == ZERO else change.old}" for change in changes]
        specs = [f"{'' if change.new == ZERO else change.new}:{change.ref}" for change in changes]
        try:
            self._run(f"push to {self.name}", "push", "--quiet", "--atomic", *leases, self.url, *specs)
        except GitError as error:
            now = self.refs(*[change.ref for change in changes])
            moved = [change.ref for change in changes if now.get(change.ref, ZERO) not in (change.old, change.new)]
            if moved:
                text = f"{', '.join(moved)} moved on {self.name} in the meantime"
                raise PushRefused(text, hint="nothing was pushed; run again") from None
            if any(now.get(change.ref, ZERO) != change.new for change in changes):
                raise PushRefused(error.message, hint=error.hint or "nothing was pushed") from None

    def _run(self, what: str, *args: str) -> bytes:
        try:
            return self.repository.run(*args, settings=self._settings())
        except GitError as error:
            said = error.message.partition(": ")[2] or error.message
            raise GitError(f"could not {what}: {said}", hint=_hint(said)) from None

    def _settings(self) -> Mapping[str, str]:
        """git reads configuration from these variables; other processes of other users cannot."""
        if self.credentials is None or not self.url.startswith(self.credentials.server_url + "/"):
            return {}
        pair = base64.b64encode(f"x-access-token:{self.credentials.token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": f"http.{self.credentials.server_url}/.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {pair}",
            "GIT_CONFIG_KEY_1": "http.followRedirects",  # a redirect to another host must not carry the header along
            "GIT_CONFIG_VALUE_1": "false",
        }


def _hint(said: str) -> str:
    if "not found" in said:
        return "fork the upstream repository first, or correct `fork` in the manifest"
    if "403" in said or "denied" in said or "Authentication" in said or "could not read Username" in said:
        return "the token may not push there; give it contents: write on the fork"
    return ""
