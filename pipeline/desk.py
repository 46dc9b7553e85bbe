"""The commands around pull requests and builds, put together: one method a command, values out, nothing printed.

A desk holds the lock of its repository: two runs never work on the same branches and pull requests at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import filelock

from pipeline.changeset import Changeset
from pipeline.errors import PipelineError, UsageError
from pipeline.findings import Evidence
from pipeline.forge.approval import Approval, Approver, approval_of, approve, ref_of
from pipeline.forge.claims import Claim
from pipeline.forge.marker import Marker
from pipeline.forge.observe import Observed, observe
from pipeline.forge.overview import TRAINS, Head, Overview, look
from pipeline.forge.place import Place
from pipeline.forge.proposal import Text
from pipeline.forge.propose import Proposed, Request, propose
from pipeline.forge.publish import Published, publish
from pipeline.forge.sync import Synced, sync
from pipeline.git import ZERO, RefChange
from pipeline.manifest import Operator, Status
from pipeline.manifest_file import save_new_operators, save_status
from pipeline.proofs import save_proof
from pipeline.report.pull_request import OWN_TEMPLATES, MacRun, Subject, pull_request_text
from pipeline.runner.build import Build, Level, Verdict
from pipeline.runner.build import Request as BuildRequest
from pipeline.runner.github import MacRunner, as_build
from pipeline.runner.train_commit import members_of
from pipeline.runner.yard import Result, Yard

_LOCK = "mps-to-metal.lock"


class Planner(Protocol):
    """Plans and checks; what the desk knows of it."""

    def plan_at(self, operator: str, base: str) -> tuple[Changeset, Evidence]:
        """The change of an operator on the commit `base`, and what the checks say of it."""

    def write_again(self, operators: Sequence[str], base: str) -> None:
        """Plan, check and commit those operators anew on `base`; a failure of one stops no other."""


@dataclass(frozen=True)
class Review:
    """What a person sees before approving: the exact diff of the commit, its evidence and its build."""

    head: Head
    diff: str
    evidence: str
    build: Build | None
    approval: Approval | None


@dataclass(frozen=True)
class Desk:
    """`manifest_path` is the file that statuses go to; `runner` is None where no GitHub runs macos.yml."""

    place: Place
    planner: Planner
    manifest_path: Path
    runner: MacRunner | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Raises PipelineError when another run holds the repository."""
        folder = self.place.repository.run("rev-parse", "--absolute-git-dir").decode().strip()
        try:
            with filelock.FileLock(Path(folder, _LOCK), timeout=0):
                yield
        except filelock.Timeout:
            text = "another run works on this repository"
            raise PipelineError(text, path=folder, hint="wait for it to end, then run again") from None

    def review(self, name: str) -> Review:
        """Raises PipelineError when the operator has no branch, or one that may not be approved as it is."""
        observed = self._observe()
        seen = observed.seen.get(name)
        if seen is None or seen.head is None:
            raise PipelineError(f"{name} has no branch", hint=f"run `invoke migrate --op {name}` first")
        if seen.head.problem:
            raise PipelineError(f"{name}: {seen.head.problem}")
        commit = seen.head.commit
        diff = self.place.repository.run("diff", "--no-ext-diff", "--no-color", f"{commit}^", commit)
        approval = approval_of(self.place.repository, name, commit, self.place.signers)
        return Review(seen.head, diff.decode(errors="replace"), seen.head.evidence, seen.build, approval)

    def approve(self, review: Review, approver: Approver) -> Approval:
        """Record that the approver approves exactly what the review showed; with a fork on GitHub, there too.

        Raises UsageError when the approver is the pipeline, or needs a key and has none.
        """
        place, operator, commit = self.place, review.head.operator, review.head.commit
        if approver.is_robot(place.manifest.author):
            text = f"{approver.who.name} is who the pipeline commits as"
            raise UsageError(text, hint="an approval is a person's: name one with --by")
        if place.needs_signature and approver.key is None:
            raise UsageError("an approval that counts is signed", hint="name your SSH key with --key")
        approve(place.repository, operator, commit, approver, place.clock.now())
        made = approval_of(place.repository, operator, commit, place.signers)
        assert made is not None
        if place.needs_signature and not made.signed:
            place.repository.move_refs([RefChange(made.ref, made.record, ZERO)])
            text = f"the signature is not one of {approver.who.name} in `approvers`"
            raise UsageError(text, hint="have the line NAME KEYTYPE KEY added there, or correct --by and --key")
        if place.public:
            there = place.fork.refs(made.ref).get(made.ref, ZERO)
            place.fork.push([RefChange(ref_of(operator, commit), there, made.record)])
        return made

    def publish(self, names: Sequence[str]) -> list[Published]:
        """Push branches. Raises PipelineError when one of `names` has none."""
        observed = self._observe()
        for name in names:
            _require_branch(name, observed.overview)
        return publish(self.place, observed, names)

    def propose(self, request: Request, because: str = "") -> list[Proposed]:
        """`because` says why claims are looked past; it stands in the pull request."""
        builds: dict[str, MacRun] = {}

        def texts(operator: str, commit: str, approval: Approval, marker: Marker) -> Text:
            changeset, evidence = self._replan(operator, commit)
            mac = builds.get(commit) or self._mac_run(changeset.operator, commit)
            claims = tuple(f"#{number} touches the same code. {because}".strip() for number in request.ignored)
            subject = Subject(changeset, evidence, commit, mac, approval.by, claims)
            return pull_request_text(subject, marker, self._own_templates())

        return propose(self.place, texts, request)

    def sync(self) -> Synced:
        observed = self._observe()

        def plan_again(names: Sequence[str]) -> None:
            self.planner.write_again(names, observed.overview.main)

        return sync(self.place, observed, ManifestRecord(self.manifest_path), plan_again)

    def build(self, names: Sequence[str], level: Level, capacity: int, tell: Callable[[str], None]) -> Result:
        """Build branches on macOS, in trains of at most `capacity`, and keep what it proved of test expectations."""
        if self.runner is None:
            hint = "set GITHUB_TOKEN, and `runner: OWNER/NAME` in the manifest"
            raise UsageError("macOS builds run on GitHub", hint=hint)
        overview = look(self.place)
        for name in names:
            _require_branch(name, overview)
            if overview.heads[name].problem:
                raise PipelineError(f"{name}: {overview.heads[name].problem}")
        heads = {name: overview.heads[name].commit for name in names}
        operators = {name: self.place.manifest.operator(name) for name in names}
        result = Yard(self.place, self.runner, heads, operators, level).run(names, capacity, tell)
        for members, (build, reading) in result.builds.items():
            for name in members:
                save_proof(self.place.root, name, reading, build.link)
        return result

    def claims(self, ignored: Sequence[int] = ()) -> Mapping[str, Claim]:
        """Every operator of the manifest -> what others do about it."""
        observed = observe(self.place, ignored=ignored)
        return {operator.name: observed.seen[operator.name].claim for operator in self.place.manifest.operators}

    def _observe(self) -> Observed:
        return observe(self.place, self._builds)

    def _builds(self, overview: Overview) -> dict[str, Build]:
        """Newest build of every head. A train that passed counts for each of its members; one that failed tells nothing
        of any single one."""
        if self.runner is None:
            return {}
        repository = self.place.repository
        trains = {
            commit: members_of(repository, commit)
            for ref, commit in overview.fork_refs.items()
            if ref.startswith(TRAINS)
        }
        found = self.runner.newest_builds({head.commit for head in overview.heads.values()} | set(trains))
        for train, members in trains.items():
            build = found.get(train)
            if build is not None and build.verdict is Verdict.PASSED:
                found = {commit: replace(build, commit=commit) for commit in members.values()} | found
        return found

    def _replan(self, operator: str, commit: str) -> tuple[Changeset, Evidence]:
        """The plan behind a commit. Raises PipelineError when today's plan is another one than was approved."""
        repository = self.place.repository
        base = repository.log(commit, limit=1)[0].trailers["Planned-From"]
        changeset, evidence = self.planner.plan_at(operator, base)
        changed = {change.path: change.after for change in changeset.files}
        listing = repository.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", f"{commit}^", commit)
        paths = {path for path in listing.decode().split("\0") if path}
        if paths != set(changed) or any(repository.read(commit, path) != text for path, text in changed.items()):
            text = f"{operator}: its kernel, stub or entry changed since commit {commit[:12]}"
            raise PipelineError(text, hint=f"run `invoke migrate --op {operator}` and have the new commit approved")
        return changeset, evidence

    def _mac_run(self, operator: Operator, commit: str) -> MacRun | None:
        if self.runner is None:
            return None
        request = BuildRequest(commit, (operator.name,), operator.opinfo, Level.FULL)
        run = self.runner.find(request)
        if run is None or not run.done:
            return None
        reading = self.runner.read(run)
        return MacRun(as_build(request, run, reading), reading)

    def _own_templates(self) -> Path | None:
        folder = self.place.root / OWN_TEMPLATES
        return folder if folder.is_dir() else None


def _require_branch(name: str, overview: Overview) -> None:
    if name not in overview.heads:
        raise PipelineError(f"{name} has no branch", hint=f"run `invoke migrate --op {name}` first")


@dataclass(frozen=True)
class ManifestRecord:
    path: Path

    def save(self, name: str, status: Status) -> None:
        save_status(self.path, name, status)

    def add(self, name: str, status: Status) -> None:
        save_new_operators(self.path, [{"name": name, "status": status.as_mapping()}])
