"""A git repository's object database: read objects, write commits in one stream, move refs. Never a checkout."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import PipelineError

ZERO = "0" * 40
STAGING = "refs/staging/"
NO_RENAMES = ("-c", "merge.renames=false")  # looking for renames would read thousands of blobs of a partial clone

# Set by git for its hooks, these would point every command at another repository.
_HOOK_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX")


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in _HOOK_VARIABLES}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}


class GitError(PipelineError):
    """git refused; the message is git's own last line."""


@dataclass(frozen=True)
class Identity:
    name: str
    email: str

    def __post_init__(self) -> None:
        for value in (self.name, self.email):
            if not value.strip() or any(mark in value for mark in "<>\n\0"):
                raise ValueError(f"{value!r} cannot stand in a commit; write a plain name and address")

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


@dataclass(frozen=True)
class NewCommit:
    """A commit to write: `files` maps a path to its new content, or to None where the file goes away.

    `parent` is None for the first commit of a history. `when` is the author's and committer's date in git's raw form,
    seconds since 1970 and an offset.
    """

    parent: str | None
    files: Mapping[str, bytes | None]
    message: str
    author: Identity
    when: str


@dataclass(frozen=True)
class RefChange:
    """Move `ref` from `old` to `new` (object names; ZERO for "does not exist")."""

    ref: str
    old: str
    new: str


@dataclass(frozen=True)
class LogEntry:
    """`author` and `committer` are mail addresses."""

    commit: str
    author: str
    committer: str
    trailers: Mapping[str, str]


@dataclass(frozen=True)
class Object:
    """`kind` is blob, tree, commit or tag."""

    name: str
    kind: str
    content: bytes

    def children(self) -> dict[str, str]:
        """What a tree holds: name, with a slash behind that of a folder -> object name. Empty for other kinds."""
        found: dict[str, str] = {}
        at, size = 0, len(self.name) // 2
        while self.kind == "tree" and at < len(self.content):
            end = self.content.index(b"\0", at)
            mode, _, name = self.content[at:end].decode(errors="surrogateescape").partition(" ")
            found[f"{name}/" if mode == "40000" else name] = self.content[end + 1 : end + 1 + size].hex()
            at = end + 1 + size
        return found


class Repository:
    """One repository, bare or not, at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader: subprocess.Popen[bytes] | None = None
        self._reading = threading.Lock()
        self._dates: dict[str, str] = {}

    def run(self, *args: str, stdin: bytes | None = None, settings: Mapping[str, str] | None = None) -> bytes:
        """Run `git ARGS` here and return its output. Raises GitError with git's last line.

        `settings` are environment variables for this one command, for what must stay off a command line.
        """
        done = subprocess.run(
            ["git", "-C", str(self.path), *args],
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            env={**_environment(), **(settings or {})},
            check=False,
        )
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise GitError(f"git {args[0]}: {lines[-1]}", path=str(self.path))
        return done.stdout

    def resolve(self, revision: str) -> str:
        """The commit that `revision` names. Raises GitError when there is none."""
        try:
            return (
                self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
                .decode()
                .strip()
            )
        except GitError:
            raise GitError(f"no commit is called {revision!r}", path=str(self.path)) from None

    def ref(self, name: str) -> str | None:
        """The object a full ref name points at, or None."""
        return self.refs(name).get(name)

    def refs(self, prefix: str) -> dict[str, str]:
        """Ref name -> object name, for `prefix` itself and everything below it."""
        listing = self.run("for-each-ref", "--format=%(refname) %(objectname)", prefix).decode()
        return dict(line.split(" ", 1) for line in listing.splitlines())

    def read(self, commit: str, path: str) -> bytes | None:
        """The content of a file at a commit, or None when it is not a file there."""
        found = self.object(f"{commit}:{path}")
        return found.content if found is not None and found.kind == "blob" else None

    def object(self, revision: str) -> Object | None:
        """What an object name, or COMMIT:PATH, stands for; None where there is nothing."""
        if "\n" in revision:
            return None
        with self._reading:
            reader = self._start_reader()
            assert reader.stdin is not None and reader.stdout is not None
            reader.stdin.write(f"{revision}\n".encode())
            reader.stdin.flush()
            header = reader.stdout.readline().decode(errors="replace").split()
            if len(header) != 3 or header[-1] == "missing":
                return None
            content = reader.stdout.read(int(header[2]) + 1)[:-1]
        return Object(header[0], header[1], content)

    def files(self, commit: str, prefix: str = "") -> tuple[str, ...]:
        """Every file at a commit whose path starts with the folder `prefix` (or equals it)."""
        scope = ["--", prefix.rstrip("/")] if prefix else []
        listing = self.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, *scope)
        return tuple(name for name in listing.decode(errors="surrogateescape").split("\0") if name)

    def changed_paths(self, old: str, new: str) -> tuple[str, ...]:
        """Files that differ between two commits, renames as a removal and an addition."""
        listing = self.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", old, new)
        return tuple(name for name in listing.decode(errors="surrogateescape").split("\0") if name)

    def date(self, commit: str) -> str:
        """The committer's date in git's raw form."""
        if commit not in self._dates:
            self._dates[commit] = self.run("show", "-s", "--format=%cd", "--date=raw", commit).decode().strip()
        return self._dates[commit]

    def log(self, head: str, limit: int) -> list[LogEntry]:
        """The newest `limit` commits reachable from `head`, following first parents."""
        form = "%H%x00%ae%x00%ce%x00%(trailers:only,unfold)%x01"
        log = self.run("-c", "log.showSignature=false", "log", "--first-parent", f"-{limit}", f"--format={form}", head)
        return [_log_entry(record) for record in log.decode(errors="replace").split("\1\n") if record.strip()]

    def write_commits(self, commits: Sequence[NewCommit]) -> list[str]:
        """Write commits in one `git fast-import` stream and return their names. No ref is moved.

        Objects that no ref names are harmless: interrupted here, nothing has happened.
        """
        if not commits:
            return []
        names = [f"{STAGING}{os.getpid()}-{number}" for number in range(len(commits))]
        stream = b"".join(_import_stream(commits, names))
        self.run(
            "fast-import", "--quiet", "--force", "--date-format=raw-permissive", "--done", stdin=stream + b"done\n"
        )
        written = self.refs(STAGING.rstrip("/"))
        self.move_refs([RefChange(name, written[name], ZERO) for name in names])
        return [written[name] for name in names]

    def move_refs(self, changes: Iterable[RefChange]) -> None:
        """All changes or none. Raises GitError when a ref is no longer where `old` says."""
        lines = [f"update {change.ref}\0{change.new}\0{change.old}\0" for change in changes]
        if lines:
            self.run(
                "update-ref", "-z", "--stdin", stdin="".join(["start\0", *lines, "prepare\0", "commit\0"]).encode()
            )

    def close(self) -> None:
        if self._reader is not None:
            self._reader.stdin.close()  # type: ignore[union-attr]
            self._reader.wait()
            self._reader = None

    def _start_reader(self) -> subprocess.Popen[bytes]:
        if self._reader is None or self._reader.poll() is not None:
            self._reader = subprocess.Popen(
                ["git", "-C", str(self.path), "cat-file", "--batch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        return self._reader


def _log_entry(record: str) -> LogEntry:
    commit, author, committer, trailers = record.strip("\1\n").split("\0")
    pairs = (line.split(": ", 1) for line in trailers.splitlines() if ": " in line)
    return LogEntry(commit, author, committer, {key: value.strip() for key, value in pairs})


def _import_stream(commits: Sequence[NewCommit], names: Sequence[str]) -> Iterator[bytes]:
    """The contents file by file, then the commits: git stores a blob as its difference to the one before it."""
    files = {item for commit in commits for item in commit.files.items()}
    contents = dict.fromkeys(content for _, content in sorted((path, text) for path, text in files if text is not None))
    marks = {content: number for number, content in enumerate(contents, start=1)}
    for content, mark in marks.items():
        yield f"blob\nmark :{mark}\ndata {len(content)}\n".encode() + content + b"\n"
    for commit, name in zip(commits, names, strict=True):
        message = commit.message.encode()
        yield (
            (
                f"commit {name}\nauthor {commit.author} {commit.when}\ncommitter {commit.author} {commit.when}\n"
                f"data {len(message)}\n"
            ).encode()
            + message
            + (f"\nfrom {commit.parent}\n" if commit.parent else "\n").encode()
        )
        for path, text in sorted(commit.files.items()):
            quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
            yield (f"D {quoted}\n" if text is None else f"M 100644 :{marks[text]} {quoted}\n").encode()
        yield b"\n"
