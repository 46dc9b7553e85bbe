"""Many operators in one go: planned on one snapshot, checked side by side, committed as they come.

One operator's failure stops no other. A branch is written only when its operator is done, so an interrupted run leaves
finished operators finished and the others untouched; the next run finds them by their branches and goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.branches import BranchResult, Planned, Written, stale_branches, write_branches
from pipeline.campaign import Campaign
from pipeline.changeset import Changeset
from pipeline.errors import PipelineError, UsageError
from pipeline.findings import Evidence
from pipeline.git import Repository
from pipeline.manifest import Operator
from pipeline.record import DRAFTS, Record, here, now, save
from pipeline.report.evidence import evidence_as_data
from pipeline.report.pull_request import render_pull_request


@dataclass(frozen=True)
class Migrated:
    """How far one operator came; `error` says what stopped it."""

    name: str
    changeset: Changeset | None = None
    evidence: Evidence | None = None
    branch: BranchResult | None = None
    draft: Path | None = None
    error: str = ""

    @property
    def succeeded(self) -> bool:
        checked = self.evidence is not None and self.evidence.passed
        return not self.error and checked and self.branch is not None and self.branch.written is not Written.LEFT_ALONE


def migrate(campaign: Campaign, operators: Sequence[Operator], workers: int | None = None) -> Iterator[Migrated]:
    """Plan, check, commit and draft; yields each operator as it is done, in the order they finish.

    Planning goes on while earlier operators are checked; `workers` checks run at a time, one per processor when None.
    Raises UsageError when the source is no repository.
    """
    repository = _repository(campaign)
    pool = ThreadPoolExecutor(workers or os.cpu_count() or 1)
    try:
        waiting: set[Future[Migrated]] = set()
        for operator in operators:
            planned = _plan(campaign, operator)
            if planned.error:
                yield _recorded(campaign, planned)
            else:
                waiting.add(pool.submit(_check, campaign, planned))
            done = {future for future in waiting if future.done()}
            waiting -= done
            yield from _commit(campaign, repository, done)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from _commit(campaign, repository, done)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def migrate_stacked(campaign: Campaign, operators: Sequence[Operator]) -> Iterator[Migrated]:
    """Like `migrate`, one branch on top of the other, each commit holding one operator, dependencies first.

    An operator that fails is left out of the stack, and so are those that depend on it.
    """
    repository = _repository(campaign)
    parent: str | None = None
    failed: set[str] = set()
    for operator in in_order(operators):
        missing = [name for name in operator.depends_on if name in failed]
        item = (
            Migrated(operator.name, error=f"it depends on {', '.join(missing)}")
            if missing
            else _plan(campaign, operator)
        )
        if not item.error:
            item = _check(campaign, item)
        if not item.error:
            assert item.changeset is not None and item.evidence is not None
            (item,) = _write(campaign, repository, [item], parent)
        if item.succeeded:
            assert item.changeset is not None and item.branch is not None
            parent, campaign = item.branch.commit, campaign.on(item.changeset.after())
        else:
            failed.add(operator.name)
        yield _recorded(campaign, item)


def stale_operators(campaign: Campaign) -> dict[str, tuple[str, ...]]:
    """Operator -> the files of its branch that changed in the source since it was planned, for all with a branch."""
    repository = _repository(campaign)
    base = campaign.source.tree.commit
    assert base is not None
    heads = repository.refs("refs/heads/migrate")
    branches = {operator.branch: operator.name for operator in campaign.manifest.operators}
    present = [branch for branch in branches if f"refs/heads/{branch}" in heads]
    return {branches[branch]: paths for branch, paths in stale_branches(repository, base, present).items()}


def in_order(operators: Sequence[Operator]) -> list[Operator]:
    """Dependencies before what depends on them, else as given."""
    by_name = {operator.name: operator for operator in operators}
    ordered: dict[str, Operator] = {}

    def add(operator: Operator) -> None:
        for name in operator.depends_on:
            if name in by_name:
                add(by_name[name])
        ordered.setdefault(operator.name, operator)

    for operator in operators:
        add(operator)
    return list(ordered.values())


def _repository(campaign: Campaign) -> Repository:
    if campaign.source.repository is None:
        raise UsageError(f"{campaign.source.tree.label} is not a repository", hint="`invoke plan` works on it")
    return campaign.source.repository


def _plan(campaign: Campaign, operator: Operator) -> Migrated:
    try:
        changeset = campaign.first_plan(operator)
    except PipelineError as error:
        return Migrated(operator.name, error=str(error))
    return Migrated(operator.name, changeset, error="; ".join(changeset.gaps))


def _check(campaign: Campaign, planned: Migrated) -> Migrated:
    assert planned.changeset is not None
    try:
        changeset = campaign.settle(planned.changeset)
        evidence = campaign.check(changeset)
    except PipelineError as error:
        return replace(planned, error=str(error))
    failed = "" if evidence.passed else "a check failed, so nothing was committed"
    return replace(planned, changeset=changeset, evidence=evidence, error=failed)


def _commit(campaign: Campaign, repository: Repository, done: Iterable[Future[Migrated]]) -> Iterator[Migrated]:
    checked = [future.result() for future in done]
    yield from (_recorded(campaign, item) for item in checked if item.error)
    passed = [item for item in checked if not item.error]
    yield from (_recorded(campaign, item) for item in _write(campaign, repository, passed))


def _write(
    campaign: Campaign, repository: Repository, passed: Sequence[Migrated], parent: str | None = None
) -> Iterator[Migrated]:
    """Write the branches of all that have passed in one stream, and their drafts."""
    planned = [Planned(item.changeset, item.evidence, parent) for item in passed if item.changeset and item.evidence]
    try:
        branches = write_branches(repository, planned, campaign.manifest.author)
    except PipelineError as error:
        yield from (replace(item, error=str(error)) for item in passed)
        return
    for item, branch in zip(passed, branches, strict=True):
        yield replace(item, branch=branch, draft=_write_draft(campaign, item, branch))


def _write_draft(campaign: Campaign, item: Migrated, branch: BranchResult) -> Path | None:
    if branch.written is Written.LEFT_ALONE or item.changeset is None or item.evidence is None:
        return None
    path = campaign.root / DRAFTS / f"{item.name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(render_pull_request(item.changeset, item.evidence, branch.commit), encoding="utf-8")
    return path


def _recorded(campaign: Campaign, item: Migrated) -> Migrated:
    """Keep what was found beside the draft, whether it passed or not."""
    tree = item.changeset.base if item.changeset is not None else campaign.snapshot.tree
    record = Record(
        operator=item.name,
        source=campaign.source.tree.label,
        base=tree.commit or "",
        at=now(),
        commit=item.branch.commit if item.branch is not None else "",
        error=item.error or (item.branch.reason if item.branch is not None else ""),
        evidence=evidence_as_data(item.evidence) if item.evidence is not None else [],
        left=item.changeset.left if item.changeset is not None else (),
        diff=item.changeset.diff() if item.changeset is not None else "",
        **here(),
    )
    save(campaign.root, record)
    return item
