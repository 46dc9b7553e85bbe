"""One upstream, one fork and a bot's local repository, on the GitHub stand-in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.forge.approval import Approval, Approver, approve
from pipeline.forge.github import GitHubForge
from pipeline.forge.marker import Marker, fenced
from pipeline.forge.place import APPROVERS, Place, open_place
from pipeline.forge.proposal import Text
from pipeline.forge.propose import Proposed, Request, propose
from pipeline.forge.remote import Remote
from pipeline.forge.session import Credentials, connect
from pipeline.git import ZERO, Identity, NewCommit, RefChange, Repository
from pipeline.manifest import Manifest, Operator, Status
from tests.github_stand_in.people import commit
from tests.github_stand_in.server import StandIn, serve
from tests.github_stand_in.world import Actor, Repo, World

TOKEN = "ghp_" + "S3cretTokenOfTheBot" + "x" * 17
ROBOT = Identity("mps-to-metal", "bot@example.org")
ADA = Identity("ada", "ada@example.org")
UPSTREAM, FORK, BOT = "pytorch/pytorch", "robot/pytorch", "robot/mps-to-metal"
ROWS = "aten/src/ATen/native/native_functions.yaml"
HOST = "aten/src/ATen/native/mps/operations/UnaryOps.mm"
KERNEL = "aten/src/ATen/native/mps/kernels/UnaryKernel.metal"
OPERATORS = ("abs", "sign", "frac")


def upstream_files(operators: tuple[str, ...] = OPERATORS) -> dict[str, bytes]:
    """Small files in upstream's shapes, with room between operators so that their branches merge."""
    rows = "".join(
        f"- func: {name}.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n  dispatch:\n"
        f"    CPU, CUDA: {name}_out\n    MPS: {name}_out_mps\n" + "\n" * 8
        for name in operators
    )
    host = "".join(f"// {name}\nTORCH_IMPL_FUNC({name}_out_mps)() {{}}\n" + "\n" * 8 for name in operators)
    return {ROWS: rows.encode(), HOST: host.encode(), KERNEL: b"#include <metal_stdlib>\n", "README.md": b"torch\n"}


def migrated(files: Mapping[str, bytes], name: str) -> dict[str, bytes]:
    """The files that migrating `name` changes."""
    rows = files[ROWS].replace(
        f"    CPU, CUDA: {name}_out\n    MPS: {name}_out_mps\n".encode(), f"    CPU, CUDA, MPS: {name}_out\n".encode()
    )
    host = files[HOST].replace(
        f"TORCH_IMPL_FUNC({name}_out_mps)() {{}}".encode(), f"REGISTER_DISPATCH({name}_stub, &{name}_kernel)".encode()
    )
    return {ROWS: rows, HOST: host, f"{KERNEL[:-6]}_{name}.metal": f"struct {name}_functor {{}};\n".encode()}


@dataclass
class TestClock:
    """Follows the world's time; sleeping moves it."""

    world: World
    slept: list[float] = field(default_factory=list)
    __test__ = False

    def now(self) -> datetime:
        return self.world.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.world.advance(seconds=seconds)


def make_manifest(names: tuple[str, ...] = OPERATORS, **changed: Any) -> Manifest:
    operators = tuple(
        Operator(
            name=name, rows=(f"{name}.out",), stub=f"{name}_stub", kernel=f"{name}.metal", host=f"{name}.mm", line=1
        )
        for name in names
    )
    manifest = Manifest("ops_manifest.yaml", UPSTREAM, "main", ROBOT, operators, FORK)
    return replace(manifest, **changed)


def with_status(manifest: Manifest, name: str, status: Status) -> Manifest:
    return replace(
        manifest,
        operators=tuple(
            replace(operator, status=status) if operator.name == name else operator for operator in manifest.operators
        ),
    )


def text_of(operator: str, commit: str, approval: Approval, marker: Marker) -> Text:
    """What `pipeline.report` renders, in short."""
    ours = f"Evidence for {commit}, approved by {approval.by}.\n\n{marker}"
    return Text(f"[MPS] Migrate {operator} to Metal", f"Prose.\n\n{fenced(ours)}\n", ours)


@dataclass
class Site:
    stand_in: StandIn
    local: Repository
    folder: Path
    clock: TestClock
    key: Path

    @property
    def world(self) -> World:
        return self.stand_in.world

    @property
    def upstream(self) -> Repo:
        return self.world.repos[UPSTREAM]

    @property
    def fork(self) -> Repo:
        return self.world.repos[FORK]

    @property
    def credentials(self) -> Credentials:
        return Credentials(TOKEN, self.stand_in.base, self.stand_in.base)

    def forge(self) -> GitHubForge:
        return GitHubForge(connect(self.credentials, self.clock, pace=0), UPSTREAM, "main", FORK, self.clock)

    def remote(self, full_name: str = FORK) -> Remote:
        return Remote(self.local, full_name, self.credentials.clone_url(full_name), self.credentials)

    def place(self, manifest: Manifest | None = None) -> Place:
        environment = {
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_API_URL": self.stand_in.base,
            "GITHUB_SERVER_URL": self.stand_in.base,
        }
        opened = open_place(self.folder / "bot", manifest or make_manifest(), self.local, environment, self.clock)
        return replace(opened, forge=self.forge())

    def approve(self, name: str, key: Path | None = None) -> str:
        """Ada approves the local branch's commit with her key."""
        commit = self.local.resolve(f"migrate/{name}")
        return approve(self.local, name, commit, Approver(ADA, key or self.key), self.world.now)

    def propose(self, *names: str, manifest: Manifest | None = None, **asked: Any) -> list[Proposed]:
        return propose(self.place(manifest), text_of, Request(names, **asked))

    def branch(self, name: str, note: str = "") -> str:
        """Plan `name` on upstream's present main and commit it as the pipeline does. Returns the commit."""
        base = self.upstream.branch("main") or ""
        self.remote(UPSTREAM).fetch("+refs/heads/main:refs/remotes/upstream/main")
        files = {path: self.local.read(base, path) or b"" for path in (ROWS, HOST)}
        message = f"[MPS] Migrate {name} to Metal\n\nProse.{note}\n\nMigrated-Op: {name}\nPlanned-From: {base}\n"
        message += "Evidence: rows passed; macOS not run\n"
        new = NewCommit(base, migrated(files, name), message, ROBOT, self.local.date(base))
        [made] = self.local.write_commits([new])
        ref = f"refs/heads/migrate/{name}"
        self.local.move_refs([RefChange(ref, self.local.ref(ref) or ZERO, made)])
        return made

    def graph(self) -> str:
        """Branches of the fork and pull requests upstream, for a person to read and a test to compare."""
        for pull in self.upstream.pulls:
            self.world.refresh(self.upstream, pull)
        subjects = {
            ref: self.fork.git.run("show", "-s", "--format=%an: %s", commit).decode().strip()
            for ref, commit in self.fork.git.refs("refs/heads").items()
            if ref != "refs/heads/main"
        }
        lines = [f"{ref.removeprefix('refs/heads/')}  {subject}" for ref, subject in sorted(subjects.items())]
        for pull in sorted(self.upstream.pulls, key=lambda pull: pull.number):
            kind = "draft" if pull.draft and pull.state == "open" else pull.state
            labels = f" [{', '.join(pull.labels)}]" if pull.labels else ""
            asked = f" reviewers {', '.join(pull.reviewers)}" if pull.reviewers else ""
            lines.append(f"#{pull.number} {kind}: {pull.title} <- {pull.head}{labels}{asked}")
        return "\n".join(lines)

    def assert_sound(self) -> None:
        """GitHub's description was kept, and the token stands nowhere it could be read."""
        assert not self.stand_in.broken, "\n".join(self.stand_in.broken)
        found = subprocess.run(
            ["grep", "-rlaF", TOKEN, str(self.folder)], capture_output=True, text=True, check=False
        ).stdout
        assert found == "", f"the token stands in {found}"


def make_key(folder: Path, name: str = "ada") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True)
    return key


@contextmanager
def open_site(folder: Path) -> Iterator[Site]:
    """A running site: upstream with one commit, its fork, the bot's own repository, a local mirror of upstream."""
    with serve(folder / "hub") as stand_in:
        world = stand_in.world
        world.tokens[TOKEN] = Actor("robot")
        upstream = world.add_repo(UPSTREAM)
        commit(world, upstream, "main", upstream_files(), "Begin")
        world.fork(UPSTREAM, "robot")
        local = folder / "local.git"
        Repository(folder).run("clone", "-q", "--bare", str(upstream.git.path), str(local))
        (folder / "bot").mkdir()
        key = make_key(folder / "keys")
        public = key.with_suffix(".pub").read_text().split()
        (folder / "bot" / APPROVERS).write_text(f"{ADA.name} {public[0]} {public[1]}\n")
        site = Site(stand_in, Repository(local), folder, TestClock(world), key)
        yield site
        site.local.close()
        site.assert_sound()
