"""What other people do upstream, and what pytorch's merge bot does to a pull request."""

from __future__ import annotations

from collections.abc import Mapping

from tests.github_stand_in.world import Pull, Repo, World

MERGE_BOT = "pytorchmergebot"
_MERGE_BOT_IDENTITY = f"PyTorch MergeBot <{MERGE_BOT}@users.noreply.github.com>"


def commit(
    world: World,
    repo: Repo,
    branch: str,
    files: Mapping[str, bytes | None],
    message: str,
    *,
    who: str = "Ada <ada@example.org>",
    base: str = "",
) -> str:
    """A person's commit on top of a branch (a new one starts at `base`, or at nothing), pushed. Returns its name."""
    parent = repo.branch(branch) or repo.branch(base)
    ref = f"refs/heads/{branch}"
    when = f"{int(world.now.timestamp())} +0000"
    text = message.encode()
    stream = f"commit {ref}\nauthor {who} {when}\ncommitter {who} {when}\ndata {len(text)}\n".encode() + text
    stream += f"\nfrom {parent}\n".encode() if parent else b"\n"
    for path, content in files.items():
        if content is None:
            stream += f"D {path}\n".encode()
        else:
            stream += f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n"
    repo.git.run("fast-import", "--quiet", "--force", stdin=stream)
    return repo.git.resolve(ref)


def land(world: World, repo: Repo, pull: Pull) -> str:
    """What pytorch/.github/scripts/trymerge.py does: one commit on main whose message is the pull request's text, the
    label Merged, and the pull request *closed*, not merged."""
    message = (
        f"{pull.title} (#{pull.number})\n\n{pull.body}\n\n"
        f"Pull Request resolved: https://github.com/{repo.full_name}/pull/{pull.number}\n"
        "Approved by: https://github.com/reviewer\n"
    )
    landed = commit(world, repo, pull.base, changed(repo, pull), message, who=_MERGE_BOT_IDENTITY)
    pull.labels.append("Merged")
    world.set_state(pull, "closed", MERGE_BOT)
    return landed


def revert(world: World, repo: Repo, pull: Pull, landed: str) -> str:
    """Likewise: a revert commit on main and the pull request opened again."""
    names = repo.git.run("diff", "--name-only", f"{landed}^", landed).decode().splitlines()
    before = {path: repo.git.read(f"{landed}^", path) for path in names}
    message = (
        f'Revert "{pull.title} (#{pull.number})"\n\nThis reverts commit {landed}.\n\n'
        f"Reverted https://github.com/{repo.full_name}/pull/{pull.number} on behalf of "
        "https://github.com/reviewer due to a failing test\n"
    )
    reverted = commit(world, repo, pull.base, before, message, who=_MERGE_BOT_IDENTITY)
    pull.labels.append("Reverted")
    world.set_state(pull, "open", MERGE_BOT)
    return reverted


def changed(repo: Repo, pull: Pull) -> dict[str, bytes | None]:
    scope = f"refs/heads/{pull.base}...{pull.sha}"
    names = repo.git.run("diff", "--name-only", scope).decode().splitlines()
    return {name: repo.git.read(pull.sha, name) for name in names}
