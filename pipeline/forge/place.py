"""Where a run works: the local repository, the fork it pushes to, upstream, and where pull requests are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.forge.clock import Clock, SystemClock
from pipeline.forge.github import GitHubForge
from pipeline.forge.local import LocalForge
from pipeline.forge.model import Forge
from pipeline.forge.remote import Remote
from pipeline.forge.session import Credentials, connect
from pipeline.git import Repository
from pipeline.manifest import Manifest

APPROVERS = "approvers"


@dataclass(frozen=True)
class Place:
    """`public`: other people see what is opened here, so approvals have to be signed; `signers` says by whom."""

    root: Path
    repository: Repository
    manifest: Manifest
    forge: Forge
    fork: Remote
    upstream: Remote
    clock: Clock
    public: bool
    signers: Path | None

    @property
    def needs_signature(self) -> bool:
        return self.public or self.signers is not None


def open_place(
    root: Path, manifest: Manifest, repository: Repository, environment: Mapping[str, str], clock: Clock | None = None
) -> Place:
    """GitHub with GITHUB_TOKEN in the environment, otherwise files under `root` and the repository's own `origin`."""
    clock = clock or SystemClock()
    credentials = Credentials.from_environment(environment)
    signers = root / APPROVERS if (root / APPROVERS).is_file() else None
    if credentials is None:
        origin = Remote(repository, "origin", _origin(repository))
        forge: Forge = LocalForge(root, repository, clock)
        return Place(root, repository, manifest, forge, origin, origin, clock, False, signers)
    if not manifest.fork:
        raise UsageError("names no fork", path=manifest.path, hint="write `fork: OWNER/pytorch`: branches go there")
    fork = Remote(repository, manifest.fork, credentials.clone_url(manifest.fork), credentials)
    upstream = Remote(repository, manifest.upstream, credentials.clone_url(manifest.upstream), credentials)
    client = connect(credentials, clock)
    github = GitHubForge(client, manifest.upstream, manifest.base, manifest.fork, clock)
    return Place(root, repository, manifest, github, fork, upstream, clock, True, signers)


def _origin(repository: Repository) -> str:
    url = repository.run("config", "--default", "", "remote.origin.url").decode().strip()
    if not url:
        raise UsageError("has no remote called origin", path=str(repository.path), hint="add one, or set GITHUB_TOKEN")
    return url
