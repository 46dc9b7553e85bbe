"""A train's commit: the branches of several operators merged into one, without a checkout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.errors import PipelineError
from pipeline.git import NO_RENAMES, GitError, Identity, Repository

_MEMBER = "Train-Member"


def couple(repository: Repository, members: Mapping[str, str], author: Identity) -> str:
    """Merge the commits of `members` (operator -> commit), in the order of their names, and return the last merge.

    The same members give the same commit, so that a build of them is found again. No ref is moved. Raises PipelineError
    when two of them conflict.
    """
    names = sorted(members)
    when = max((repository.date(members[name]) for name in names), key=lambda date: int(date.split()[0]))
    train = members[names[0]]
    for index, name in enumerate(names[1:], 2):
        try:
            tree = repository.run(*NO_RENAMES, "merge-tree", "--write-tree", "--no-messages", train, members[name])
        except GitError:
            others = ", ".join(names[: index - 1])
            raise PipelineError(f"{name} conflicts with {others}", hint="build it alone") from None
        message = _message({member: members[member] for member in names[:index]})
        train = _commit(repository, tree.decode().split()[0], (train, members[name]), message, (author, when))
    return train


def members_of(repository: Repository, train: str) -> dict[str, str]:
    """Operator -> commit, as the train's message says; empty for a commit that is no train."""
    message = repository.run("show", "-s", "--format=%(trailers:key=" + _MEMBER + ",valueonly)", train).decode()
    pairs = (line.split() for line in message.splitlines() if line.strip())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _message(members: Mapping[str, str]) -> str:
    trailers = "\n".join(f"{_MEMBER}: {name} {commit}" for name, commit in members.items())
    return f"Build {', '.join(members)} together\n\n{trailers}\n"


def _commit(
    repository: Repository, tree: str, parents: Sequence[str], message: str, signed: tuple[Identity, str]
) -> str:
    author, when = signed
    settings = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", author.name), ("EMAIL", author.email), ("DATE", when))
    }
    links = [part for parent in parents for part in ("-p", parent)]
    made = repository.run("commit-tree", "--no-gpg-sign", tree, *links, stdin=message.encode(), settings=settings)
    return made.decode().strip()
