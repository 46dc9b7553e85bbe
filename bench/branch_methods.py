"""Ways to turn planned changes into branches on a remote. Each gets a clone and the changes, and pushes the branches.

Run as `python -m bench.branch_methods METHOD COUNT TREE FOLDER`: one method in a process of its own, so that its memory
is its own; prints wall and CPU seconds, peak memory in MiB and how many branches the remote holds afterwards.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from all_repos import autofix_lib

from bench.pytorch_shape import fresh_clone, fresh_remote
from pipeline.branches import Planned, commit_message, write_branches
from pipeline.campaign import Campaign
from pipeline.changeset import Changeset
from pipeline.findings import Evidence
from pipeline.git import Identity, Repository

ROOT = Path(__file__).parents[1]
BOT = Identity("Bench", "bench@example.org")
NO_EVIDENCE = Evidence(())

Method = Callable[[Repository, Sequence[Changeset]], None]


def pipeline_writes(clone: Repository, changes: Sequence[Changeset]) -> None:
    write_branches(clone, [Planned(change, NO_EVIDENCE) for change in changes], BOT)
    push(clone, changes)


def fast_import(clone: Repository, changes: Sequence[Changeset]) -> None:
    """The floor: git's own importer fed with finished contents, one path's versions after the other, and one push."""
    contents = dict.fromkeys(sorted((file.path, file.after or b"") for change in changes for file in change.files))
    marks = {content: f":{number}" for number, content in enumerate(contents, 1)}
    stream = [
        f"blob\nmark {mark}\ndata {len(content)}\n".encode() + content + b"\n" for (_, content), mark in marks.items()
    ]
    for change in changes:
        message = commit_message(change, NO_EVIDENCE).encode()
        who = f"{BOT} 1700000000 +0000"
        stream.append(f"commit refs/heads/{change.operator.branch}\ncommitter {who}\ndata {len(message)}\n".encode())
        stream.append(message + f"\nfrom {change.base.commit}\n".encode())
        stream += [f"M 100644 {marks[file.path, file.after or b'']} {file.path}\n".encode() for file in change.files]
    clone.run("fast-import", "--quiet", "--done", stdin=b"".join(stream) + b"done\n")
    push(clone, changes)


def sparse_worktree_reused(clone: Repository, changes: Sequence[Changeset]) -> None:
    folder = _sparse(clone, clone.path.parent / "sparse", changes)
    for change in changes:
        _git(folder, "checkout", "--quiet", "-B", change.operator.branch, str(change.base.commit))
        _commit(folder, change)
    push(clone, changes)


def sparse_worktree_each(clone: Repository, changes: Sequence[Changeset]) -> None:
    for change in changes:
        folder = _sparse(clone, clone.path.parent / change.operator.name, [change])
        _git(folder, "checkout", "--quiet", "-B", change.operator.branch, str(change.base.commit))
        _commit(folder, change)
        _git(clone.path, "worktree", "remove", "--force", str(folder))
    push(clone, changes)


def full_worktree_each(clone: Repository, changes: Sequence[Changeset]) -> None:
    for change in changes:
        folder = clone.path.parent / change.operator.name
        _git(
            clone.path, "worktree", "add", "--quiet", "-b", change.operator.branch, str(folder), str(change.base.commit)
        )
        _commit(folder, change)
        _git(clone.path, "worktree", "remove", "--force", str(folder))
    push(clone, changes)


def all_repos(clone: Repository, changes: Sequence[Changeset]) -> None:
    """all-repos as it works on one repository: a clone, a branch, the fix, a commit and a push per change."""
    for change in changes:
        with autofix_lib.repo_context(str(clone.path), use_color=False):
            _git(Path.cwd(), "checkout", "--quiet", "-b", change.operator.branch)
            _commit(Path.cwd(), change)
            _git(Path.cwd(), "push", "--quiet", "origin", "HEAD")


METHODS: dict[str, Method] = {
    "pipeline": pipeline_writes,
    "fast-import": fast_import,
    "sparse worktree, reused": sparse_worktree_reused,
    "sparse worktree per branch": sparse_worktree_each,
    "full worktree per branch": full_worktree_each,
    "all-repos": all_repos,
}


def push(clone: Repository, changes: Sequence[Changeset]) -> None:
    clone.run("push", "--quiet", "--atomic", "origin", *(f"refs/heads/{change.operator.branch}" for change in changes))


def plan_many(campaign: Campaign, count: int) -> list[Changeset]:
    """`count` plans: the operators that are ready, in turn, under names of their own where they come again."""
    operators = campaign.operators([], True)
    turns = [operators[number % len(operators)] for number in range(count)]
    plans = [campaign.first_plan(operator) for operator in turns]
    return [
        replace(plan, operator=replace(plan.operator, name=f"{plan.operator.name}_{number}"))
        for number, plan in enumerate(plans)
    ]


def _sparse(clone: Repository, folder: Path, changes: Sequence[Changeset]) -> Path:
    _git(clone.path, "worktree", "add", "--quiet", "--no-checkout", "--detach", str(folder), "HEAD")
    folders = sorted({str(Path(file.path).parent) for change in changes for file in change.files})
    _git(folder, "sparse-checkout", "set", "--cone", *folders)
    return folder


def _commit(folder: Path, change: Changeset) -> None:
    _write(folder, change)
    _git(folder, "add", "--all")
    who = ["-c", f"user.name={BOT.name}", "-c", f"user.email={BOT.email}"]
    _git(folder, *who, "commit", "--quiet", "-m", commit_message(change, NO_EVIDENCE))


def _write(folder: Path, change: Changeset) -> None:
    for file in change.files:
        path = folder / file.path
        if file.after is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.after)


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, stdout=subprocess.DEVNULL)


def run(method: str, count: int, tree: Path, folder: Path) -> dict[str, object]:
    """`pipeline, planned` counts the planning too; the other methods get their changes planned beforehand."""
    remote = fresh_remote(tree, folder / "remote.git")
    clone = fresh_clone(tree, folder / "clone", remote)
    planned = method == "pipeline, planned"
    campaign = Campaign.open(ROOT, str(clone.path))
    changes = [] if planned else plan_many(campaign, count)
    cpu, start = _cpu(), time.perf_counter()
    if planned:
        changes = plan_many(Campaign.open(ROOT, str(clone.path)), count)
        pipeline_writes(clone, changes)
    else:
        METHODS[method](clone, changes)
    wall, used = time.perf_counter() - start, _cpu() - cpu
    heads = Repository(remote).refs("refs/heads/migrate")
    verified = all(
        Repository(remote).read(heads[f"refs/heads/{change.operator.branch}"], file.path) == file.after
        for change in changes[:: max(1, len(changes) // 10)]
        for file in change.files
    )
    # The changes that other methods are handed were planned in this process; only what they start is theirs.
    processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) if planned else (resource.RUSAGE_CHILDREN,)
    peak = max(resource.getrusage(who).ru_maxrss for who in processes) / 1024
    return {"method": method, "branches": count, "wall": wall, "cpu": used, "peak_mib": peak,
            "on_remote": len(heads), "verified": verified}  # fmt: skip


def _cpu() -> float:
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


if __name__ == "__main__":
    _method, _count, _tree, _folder = sys.argv[1:]
    try:
        print(json.dumps(run(_method, int(_count), Path(_tree), Path(_folder))))
    finally:
        shutil.rmtree(_folder, ignore_errors=True)
