"""Who approved which commit: one signed tag object per approval, under refs/approvals/.

An approval names a commit, so any new commit of the operator has none. The records lie in git, beside the branches:
they survive the loss of the manifest and go to the fork with the branches. They are ordinary tag objects, signed with
the approver's SSH key and checked against `approvers`, a file in OpenSSH's "allowed signers" format (ssh-keygen(1))
that people keep: the pipeline has no such key and cannot write an approval that counts. `git verify-tag` checks them
without us.

Without an `approvers` file a record is a note of who said so. That does for drafts on this machine, never for GitHub.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.errors import PipelineError, UsageError
from pipeline.git import ZERO, GitError, Identity, RefChange, Repository

REFS = "refs/approvals"
_TAGGER = re.compile(r"^tagger (?P<name>.*) <(?P<email>.*)> (?P<seconds>\d+) [+-]\d{4}$", re.MULTILINE)
_GOOD = re.compile(r'^Good "git" signature for (?P<who>.+) with ', re.MULTILINE)


@dataclass(frozen=True)
class Approval:
    """`signed`: the approver's key in `approvers` made this record. `at` is UTC."""

    operator: str
    commit: str
    by: str
    at: datetime
    signed: bool
    ref: str
    record: str


def ref_of(operator: str, commit: str) -> str:
    return f"{REFS}/{operator}/{commit}"


@dataclass(frozen=True)
class Approver:
    """A person; `key` is their private SSH key (or the public one, with the private in ssh-agent)."""

    who: Identity
    key: Path | None = None

    def is_robot(self, robot: Identity) -> bool:
        name, email = self.who.name.casefold(), self.who.email.casefold()
        return name == robot.name.casefold() or email == robot.email.casefold()


def approve(repository: Repository, operator: str, commit: str, approver: Approver, when: datetime) -> str:
    """Record the approval and return the record's ref. Raises PipelineError when the key cannot sign."""
    who = approver.who
    text = (
        f"object {commit}\ntype commit\ntag approve/{operator}/{commit}\n"
        f"tagger {who} {int(when.timestamp())} +0000\n\n"
        f"{who.name} read the diff of {commit} and approves it for review upstream.\n"
    )
    if approver.key is not None:
        text += _signature(text, approver.key)
    record = repository.run("mktag", stdin=text.encode()).decode().strip()
    ref = ref_of(operator, commit)
    repository.move_refs([RefChange(ref, repository.ref(ref) or ZERO, record)])
    return ref


def approval_of(repository: Repository, operator: str, commit: str, signers: Path | None) -> Approval | None:
    """The record for exactly this commit, or None. A record whose signature does not hold counts as unsigned."""
    ref = ref_of(operator, commit)
    record = repository.ref(ref)
    if record is None:
        return None
    text = _tag_text(repository, record)
    head = text.partition("\n\n")[0]
    tagger = _TAGGER.search(head)
    stated = head.startswith(f"object {commit}\ntype commit\ntag approve/{operator}/{commit}\n")
    if tagger is None or not stated:
        return None
    by = tagger["name"]
    signed = signers is not None and signer_of(repository, record, signers) == by
    return Approval(operator, commit, by, datetime.fromtimestamp(int(tagger["seconds"]), UTC), signed, ref, record)


def approvals(repository: Repository, heads: Iterable[tuple[str, str]], signers: Path | None) -> dict[str, Approval]:
    """Operator -> approval of its present commit, for (operator, commit) pairs."""
    found = (approval_of(repository, operator, commit, signers) for operator, commit in heads)
    return {item.operator: item for item in found if item is not None}


def signer_of(repository: Repository, record: str, signers: Path) -> str | None:
    """The name in `approvers` whose key signed the record, or None."""
    ours = ("-c", f"gpg.ssh.allowedSignersFile={signers.resolve()}", "-c", "gpg.format=ssh")
    done = subprocess.run(
        ["git", "-C", str(repository.path), *ours, "verify-tag", record], capture_output=True, text=True, check=False
    )
    good = _GOOD.search(done.stderr)
    return good["who"] if done.returncode == 0 and good else None


def _tag_text(repository: Repository, record: str) -> str:
    try:
        return repository.run("cat-file", "tag", record).decode(errors="replace")
    except GitError:
        return ""


def _signature(text: str, key: Path) -> str:
    """An SSH signature in git's own namespace, as `git tag -s` makes it."""
    if not key.is_file():
        raise UsageError("no such key", path=str(key), hint="name your SSH key with --key")
    with tempfile.TemporaryDirectory() as folder:
        message = Path(folder, "record")
        message.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run(
                ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(key), str(message)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except FileNotFoundError:
            raise PipelineError("ssh-keygen is not installed", hint="install OpenSSH's client") from None
        signature = message.with_suffix(".sig")
        if done.returncode or not signature.is_file():
            said = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise PipelineError(
                f"the key cannot sign: {said}", path=str(key), hint="unlock it with ssh-add, or name another"
            )
        return signature.read_text(encoding="utf-8")
