"""Everything that git and GitHub show of our branches, read once at the start of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pipeline.branches import foreign_commit
from pipeline.forge.model import PullRequest
from pipeline.forge.place import Place
from pipeline.git import NO_RENAMES, GitError, Repository

HEADS = "refs/heads/migrate/"
TRAINS = "refs/heads/train/"
MAIN = "refs/upstream/main"
_FORK = "refs/fork/"
_RESOLVED = re.compile(r"^Pull Request resolved: \S+/pull/(\d+)$", re.MULTILINE)
_REVERTED = re.compile(r"^Reverted \S+/pull/(\d+) ", re.MULTILINE)
_SUBJECT = re.compile(r"\(#(\d+)\)$")


@dataclass(frozen=True)
class Landing:
    """A commit of upstream's main that lands a pull request, or (with `revert`) takes it back."""

    number: int
    commit: str
    at: datetime
    revert: bool


@dataclass(frozen=True)
class Head:
    """The commit an operator's branch stands on, planned from `base`.

    `foreign` says which commit on it is a person's (then nothing here moves it); `unrelated`: upstream's main does not
    hold `base`; `conflicts`: it does not merge with main; `moved`: main changed one of its files since `base`.
    """

    operator: str
    commit: str
    base: str
    files: frozenset[str]
    evidence: str
    foreign: str = ""
    unrelated: bool = False
    conflicts: bool = False
    moved: bool = False

    @property
    def problem(self) -> str:
        """Why it cannot be proposed as it is; empty when it can."""
        if self.foreign:
            return self.foreign
        if self.unrelated:
            return f"it was planned on {self.base[:12]}, which upstream's main does not hold; plan it on a clone of it"
        return "it conflicts with upstream's main; plan it again" if self.conflicts else ""


@dataclass(frozen=True)
class Overview:
    """`main` is upstream's newest commit, `fork_refs` the fork's branches and approvals, `landings` oldest first."""

    main: str
    heads: Mapping[str, Head]
    fork_refs: Mapping[str, str]
    pulls: Mapping[str, tuple[PullRequest, ...]]
    landings: tuple[Landing, ...]

    @property
    def all_pulls(self) -> list[PullRequest]:
        return [pull for pulls in self.pulls.values() for pull in pulls]


def look(place: Place) -> Overview:
    """Fetch upstream's main and the fork's branches, list our pull requests, and put them together by operator.

    An operator's head is its local branch, or the fork's where there is none or where it was planned on a newer base:
    a fresh clone knows what the last one did.
    """
    repository = place.repository
    fork_refs = place.fork.refs(f"{HEADS}*", f"{TRAINS}*", "refs/approvals/*")
    place.upstream.fetch(f"+refs/heads/{place.manifest.base}:{MAIN}")
    if fork_refs:
        known = repository.refs("refs/approvals")
        place.fork.fetch(*(f"+{ref}:{_fetched(ref)}" for ref in fork_refs if ref not in known))
    main = repository.resolve(MAIN)
    local = repository.refs(HEADS.rstrip("/"))
    names = sorted({ref.removeprefix(HEADS) for ref in (*local, *fork_refs) if ref.startswith(HEADS)})
    pulls = place.forge.own_pull_requests([f"migrate/{name}" for name in names])
    by_operator: dict[str, list[PullRequest]] = {}
    for pull in pulls:
        by_operator.setdefault(pull.branch.removeprefix("migrate/"), []).append(pull)
    heads = {}
    for name in names:
        ref = HEADS + name
        heads[name] = _read_head(place, name, local.get(ref, ""), fork_refs.get(ref, ""), main)
    since = [head.base for head in heads.values() if head.base]
    return Overview(
        main=main,
        heads=heads,
        fork_refs=fork_refs,
        pulls={name: tuple(found) for name, found in by_operator.items()},
        landings=tuple(landings(repository, main, pulls, since)),
    )


def _fetched(ref: str) -> str:
    """Approvals keep their name, so that a lost clone gets its ledger back; branches stay apart from local ones."""
    return ref if ref.startswith("refs/approvals/") else ref.replace("refs/heads/", _FORK, 1)


def _read_head(place: Place, name: str, local: str, on_fork: str, main: str) -> Head:
    repository, author = place.repository, place.manifest.author
    commit = local or on_fork
    foreign = foreign_commit(repository, commit, author)
    trailers = repository.log(commit, limit=1)[0].trailers
    base = trailers.get("Planned-From", "")
    if not foreign and on_fork and on_fork != commit:
        theirs = foreign_commit(repository, on_fork, author)
        newer = repository.log(on_fork, limit=1)[0].trailers
        foreign = f"on the fork, {theirs}" if theirs else ""
        if not theirs and newer["Planned-From"] != base and is_ancestor(repository, base, newer["Planned-From"]):
            commit, trailers, base = on_fork, newer, newer["Planned-From"]
    evidence = trailers.get("Evidence", "")
    if foreign:
        return Head(name, commit, base, frozenset(), evidence, foreign=foreign)
    files = frozenset(changed_files(repository, f"{commit}^", commit))
    if not is_ancestor(repository, base, main):
        return Head(name, commit, base, files, evidence, unrelated=True)
    moved = base != main and bool(changed_files(repository, base, main, files))
    conflicts = moved and not merges(repository, main, commit)
    return Head(name, commit, base, files, evidence, conflicts=conflicts, moved=moved)


def changed_files(repository: Repository, old: str, new: str, among: Iterable[str] = ()) -> list[str]:
    """Paths that differ between two commits, all or those `among` the given."""
    scope = ["--", *(f":(literal){path}" for path in sorted(among))]
    listing = repository.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, *scope).decode()
    return [path for path in listing.split("\0") if path]


def is_ancestor(repository: Repository, older: str, newer: str) -> bool:
    try:
        repository.run("merge-base", "--is-ancestor", older, newer)
    except GitError:
        return False
    return True


def merges(repository: Repository, ours: str, theirs: str) -> bool:
    """Whether two commits merge without a conflict; nothing is written but objects."""
    try:
        repository.run(*NO_RENAMES, "merge-tree", "--write-tree", "--no-messages", ours, theirs)
    except GitError:
        return False
    return True


def landings(repository: Repository, main: str, pulls: Sequence[PullRequest], bases: Iterable[str]) -> list[Landing]:
    """Where upstream's main lands or reverts our pull requests, oldest first.

    The merge bot closes a pull request instead of merging it: the commit is the only sign. It ends in "Pull Request
    resolved: URL"; its revert says "Reverted URL on behalf of" (pytorch/.github/scripts/trymerge.py).
    """
    numbers = {pull.number for pull in pulls}
    if not numbers:
        return []
    since = min(pull.created for pull in pulls).strftime("%Y-%m-%dT%H:%M:%SZ")
    log = repository.run("log", "--reverse", f"--since={since}", "--format=%H%x00%ct%x00%s%x00%B%x02", main)
    found = []
    for record in log.decode(errors="replace").split("\2\n"):
        if record.count("\0") != 3:
            continue
        commit, seconds, subject, body = record.split("\0")
        reverted = _REVERTED.search(body)
        resolved = reverted or _RESOLVED.search(body) or _SUBJECT.search(subject)
        if resolved and int(resolved[1]) in numbers:
            at = datetime.fromtimestamp(int(seconds), UTC)
            found.append(Landing(int(resolved[1]), commit, at, revert=reverted is not None))
    return found
