from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from pipeline.git import ZERO, GitError, Identity, NewCommit, RefChange, Repository
from tests.gitrepo import commit_files, git, make_repository

BOT = Identity("A Bot", "bot@example.org")
FILES = {"a.txt": "one\n", "folder/b c.txt": "two\n", "folder/ü.txt": "three\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "repo", FILES)


def new_commit(repository: Repository, files: dict[str, bytes | None], message: str = "Edit\n") -> NewCommit:
    return NewCommit(repository.resolve("main"), files, message, BOT, "1700000100 +0000")


def test_reads_files_by_path(repository: Repository) -> None:
    commit = repository.resolve("main")
    assert repository.read(commit, "folder/b c.txt") == b"two\n"
    assert repository.read(commit, "folder/ü.txt") == b"three\n"
    assert repository.read(commit, "folder") is None
    assert repository.read(commit, "none") is None
    assert repository.read(commit, "a\nb") is None
    assert repository.files(commit) == tuple(sorted(FILES))
    assert repository.files(commit, "folder/") == ("folder/b c.txt", "folder/ü.txt")
    repository.close()
    assert repository.read(commit, "a.txt") == b"one\n"


def test_commits_are_written_without_touching_a_ref_or_a_file(repository: Repository) -> None:
    before = git(repository.path, "status", "--porcelain"), repository.refs("refs")
    binary = bytes(range(256))
    first, second = repository.write_commits(
        [
            new_commit(repository, {"folder/b c.txt": None, 'q"uote\\.txt': binary}),
            new_commit(repository, {"a.txt": b"", "ü/ñ.txt": b"x"}, "Títle\n\nBody.\n\nKey: value\n"),
        ]
    )
    assert (git(repository.path, "status", "--porcelain"), repository.refs("refs")) == before
    assert repository.files(first) == ("a.txt", "folder/ü.txt", 'q"uote\\.txt')
    assert repository.read(first, 'q"uote\\.txt') == binary
    assert repository.read(second, "a.txt") == b"" and repository.read(second, "ü/ñ.txt") == b"x"
    shown = git(repository.path, "show", "-s", "--format=%an <%ae> %ad|%cn|%P|%B", "--date=raw", second)
    assert shown == (
        f"A Bot <bot@example.org> 1700000100 +0000|A Bot|{repository.resolve('main')}|Títle\n\nBody.\n\nKey: value"
    )
    assert git(repository.path, "fsck", "--strict", "--no-dangling") == ""


def test_contents_that_commits_share(repository: Repository) -> None:
    first, second, third = repository.write_commits(
        [
            new_commit(repository, {"a.txt": b"same\n", "z.txt": b"same\n"}),
            new_commit(repository, {"a.txt": b"other\n", "z.txt": b"same\n"}),
            new_commit(repository, {"a.txt": None, "b.txt": b"other\n", "z.txt": b""}),
        ]
    )
    found = [
        {path: repository.read(commit, path) for path in ("a.txt", "b.txt", "z.txt")} for commit in (first, second)
    ]
    assert found == [
        {"a.txt": b"same\n", "b.txt": None, "z.txt": b"same\n"},
        {"a.txt": b"other\n", "b.txt": None, "z.txt": b"same\n"},
    ]
    assert repository.read(third, "a.txt") is None
    assert (repository.read(third, "b.txt"), repository.read(third, "z.txt")) == (b"other\n", b"")


def test_versions_of_a_file_are_stored_as_differences(repository: Repository) -> None:
    numbers = Random(0)
    one, two = ([f"{numbers.random()}\n" for _ in range(5000)] for _ in range(2))
    before = _packed_kib(repository)
    repository.write_commits(
        [
            new_commit(repository, {"one": _with_line(one, number), "two": _with_line(two, number)})
            for number in range(40)
        ]
    )
    assert before < _packed_kib(repository) < 4 * len("".join(one + two)) / 1024


def _with_line(lines: list[str], number: int) -> bytes:
    return "".join([*lines[: 100 * number], "a new line\n", *lines[100 * number :]]).encode()


def _packed_kib(repository: Repository) -> int:
    counts = dict(line.split(": ") for line in git(repository.path, "count-objects", "-v").splitlines())
    return int(counts["size-pack"])


def test_the_same_commit_twice_has_the_same_name(repository: Repository) -> None:
    commit = new_commit(repository, {"a.txt": b"new\n"})
    assert len({*repository.write_commits([commit, commit]), *repository.write_commits([commit])}) == 1
    assert repository.write_commits([]) == []


def test_refs_move_together_or_not_at_all(repository: Repository) -> None:
    main = repository.resolve("main")
    (fresh,) = repository.write_commits([new_commit(repository, {"a.txt": b"new\n"})])
    repository.move_refs([RefChange("refs/heads/x", ZERO, fresh), RefChange("refs/heads/y", ZERO, fresh)])
    assert repository.refs("refs/heads/x") == {"refs/heads/x": fresh}
    with pytest.raises(GitError, match="cannot lock ref 'refs/heads/y'"):
        repository.move_refs([RefChange("refs/heads/x", fresh, main), RefChange("refs/heads/y", main, main)])
    assert repository.ref("refs/heads/x") == fresh and repository.ref("refs/heads/z") is None


def test_the_log_gives_people_and_trailers(repository: Repository) -> None:
    (ours,) = repository.write_commits(
        [new_commit(repository, {"a.txt": b"n"}, "T\n\nB.\n\nMigrated-Op: x\nE: a: b\n")]
    )
    newest, oldest = repository.log(ours, limit=5)
    assert (newest.commit, newest.author, newest.committer) == (ours, BOT.email, BOT.email)
    assert newest.trailers == {"Migrated-Op": "x", "E": "a: b"}
    assert (oldest.author, oldest.trailers) == ("ada@example.org", {})


def test_what_git_refuses_is_one_line(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(GitError, match="no commit is called 'none'") as caught:
        repository.resolve("none")
    assert "\n" not in str(caught.value)
    with pytest.raises(GitError, match="no commit is called '--all'"):
        repository.resolve("--all")
    with pytest.raises(GitError):
        Repository(tmp_path / "nowhere").run("status")


def test_a_hooks_environment_is_not_obeyed(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = make_repository(tmp_path / "other", {"z.txt": "z"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    assert repository.files(repository.resolve("main")) == tuple(sorted(FILES))


def test_a_newer_commit_is_seen(repository: Repository) -> None:
    newer = commit_files(repository.path, {"a.txt": "later\n"}, "Later")
    assert repository.read(repository.resolve("main"), "a.txt") == b"later\n"
    assert repository.date(newer) == "1700000000 +0000"


@pytest.mark.parametrize("name", ["", " ", "a<b", "a\nb"])
def test_an_identity_git_could_not_write_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a commit"):
        Identity(name, "x@y")
