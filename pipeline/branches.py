"""Branches written without a checkout: one commit per operator, the same plan giving the same commit."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from pipeline.changeset import Changeset, EditKind
from pipeline.findings import Evidence
from pipeline.git import ZERO, Identity, NewCommit, RefChange, Repository
from pipeline.manifest import Workflow

_HEADS = "refs/heads/"


class Written(Enum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    LEFT_ALONE = "left alone"


@dataclass(frozen=True)
class BranchResult:
    """`commit` is what the branch points at afterwards; `reason` says why it was left alone."""

    operator: str
    branch: str
    commit: str
    written: Written
    reason: str = ""


@dataclass(frozen=True)
class Planned:
    """`parent` is the commit to stand on, that of the tree below where None."""

    changeset: Changeset
    evidence: Evidence
    parent: str | None = None


def write_branches(repository: Repository, planned: Sequence[Planned], author: Identity) -> list[BranchResult]:
    """Write every operator's commit in one stream, then move all branches at once.

    A branch that carries a commit of anyone else, or is checked out somewhere, is left alone. Raises GitError when
    another process moved a branch in the meantime; then no branch has moved.
    """
    commits = repository.write_commits([_commit(repository, item, author) for item in planned])
    heads = repository.refs(f"{_HEADS}migrate")
    checked_out = _checked_out(repository)
    results = [
        _decide(repository, item, commit, heads.get(_HEADS + item.changeset.operator.branch), checked_out, author)
        for item, commit in zip(planned, commits, strict=True)
    ]
    repository.move_refs(
        RefChange(_HEADS + result.branch, heads.get(_HEADS + result.branch, ZERO), result.commit)
        for result in results
        if result.written in (Written.CREATED, Written.UPDATED)
    )
    return results


def commit_message(changeset: Changeset, evidence: Evidence) -> str:
    """Title by upstream's convention, prose, and the trailers the pipeline finds its own commits by."""
    operator = changeset.operator
    body = _wrap(" ".join(_sentences(changeset)))
    trailers = [
        f"Migrated-Op: {operator.name}",
        f"Planned-From: {changeset.base.commit}",
        f"Evidence: {evidence_line(evidence)}",
    ]
    return f"{title(changeset)}\n\n{body}\n\n" + "\n".join(trailers) + "\n"


def title(changeset: Changeset) -> str:
    name = changeset.operator.name
    return f"[MPS] Add {name}" if changeset.operator.workflow is Workflow.NEW else f"[MPS] Migrate {name} to Metal"


def evidence_line(evidence: Evidence) -> str:
    """One line that claims no more than was run."""
    checks = "; ".join(f"{result.check} {result.outcome.value}" for result in evidence.results)
    return f"{checks or 'no check run'}; macOS not run"


def _commit(repository: Repository, item: Planned, author: Identity) -> NewCommit:
    changeset = item.changeset
    base = changeset.base.commit
    if base is None or not changeset.complete:
        raise ValueError(f"{changeset.operator.name} cannot be committed: no commit below it, or the plan has gaps")
    return NewCommit(
        parent=item.parent or base,
        files={change.path: change.after for change in changeset.files},
        message=commit_message(changeset, item.evidence),
        author=author,
        when=repository.date(base),
    )


def _decide(
    repository: Repository, item: Planned, commit: str, head: str | None, checked_out: frozenset[str], author: Identity
) -> BranchResult:
    operator = item.changeset.operator
    result = BranchResult(operator.name, operator.branch, commit, Written.CREATED)
    if head is None:
        return result
    if head == commit:
        return BranchResult(operator.name, operator.branch, head, Written.UNCHANGED)
    reason = foreign_commit(repository, head, author)
    if operator.branch in checked_out:
        reason = "it is checked out in a worktree"
    if reason:
        return BranchResult(operator.name, operator.branch, head, Written.LEFT_ALONE, reason)
    return BranchResult(operator.name, operator.branch, commit, Written.UPDATED)


def foreign_commit(repository: Repository, head: str, author: Identity) -> str:
    """Why a branch is not ours to move: the commit on it that the pipeline did not write. Empty when all are ours."""
    log = repository.log(head, limit=50)
    planned_from = next((entry.trailers["Planned-From"] for entry in log[:1] if "Planned-From" in entry.trailers), None)
    for entry in log:
        if entry.commit == planned_from:
            return ""
        people = {address for address in (entry.author, entry.committer) if address != author.email}
        if people or "Migrated-Op" not in entry.trailers:
            who = ", ".join(sorted(people)) or author.email
            return f"commit {entry.commit[:12]} by {who} is not the pipeline's"
    return "it does not stand on the commit it was planned from"


def stale_branches(repository: Repository, base: str, branches: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Branch -> its files that changed between the commit it was planned from and `base`; empty where it still fits.

    Branches that the pipeline did not plan are left out.
    """
    found = {}
    changed: dict[str, frozenset[str]] = {}
    for branch in branches:
        trailers = repository.log(f"{_HEADS}{branch}", limit=1)[0].trailers
        origin = trailers.get("Planned-From")
        if origin is None:
            continue
        if origin not in changed:
            changed[origin] = frozenset(repository.changed_paths(origin, base))
        ours = repository.changed_paths(origin, f"{_HEADS}{branch}")
        found[branch] = tuple(path for path in ours if path in changed[origin])
    return found


def _checked_out(repository: Repository) -> frozenset[str]:
    listing = repository.run("worktree", "list", "--porcelain").decode().splitlines()
    marker = f"branch {_HEADS}"
    return frozenset(line.removeprefix(marker) for line in listing if line.startswith(marker))


def _sentences(changeset: Changeset) -> Iterable[str]:
    name = changeset.operator.name
    rows = [edit.what for edit in changeset.edits if edit.kind is EditKind.ROW]
    legacy = [edit for edit in changeset.edits if edit.kind is EditKind.LEGACY]
    if changeset.operator.workflow is Workflow.NEW:
        yield f"Adds {name} to the MPS backend with a handwritten Metal kernel."
    else:
        yield f"Moves {name} from MPSGraph to a handwritten Metal kernel, so that no graph is compiled per input shape."
    if rows:
        yield f"In native_functions.yaml: {'; '.join(rows)}."
    if legacy:
        yield f"The MPSGraph code that served it goes away ({', '.join(edit.what for edit in legacy)})."
    if changeset.operator.notes:
        yield " ".join(changeset.operator.notes.split())


def _wrap(text: str) -> str:
    return textwrap.fill(text, width=72, break_long_words=False, break_on_hyphens=False)
