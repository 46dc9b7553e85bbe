"""The documentation as commands to run: those in its console blocks, what they should print, and a shell to try them.

A block looks as a terminal does: `$ command`, then its output; a line `...` stands for any lines, `...` in a line for
any text. Without output below a command nothing is compared. What stands right before a block says more: a paragraph
`*Not run by the tests: REASON.*` for readers too, or `<!-- exit 1 -->` for the code that its last command ends with.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from pipeline.pocket import build
from tests.gitrepo import git

ROOT = Path(__file__).parents[1]
HOME = "/home/you"
_MARK = re.compile(r"\*Not run by the tests: (?P<reason>.+)\.\*|<!-- exit (?P<code>\d+) -->", re.DOTALL)
_GAP = "..."
_PROGRESS = re.compile(r"\w+ \d+/\d+: \S+")


@dataclass(frozen=True)
class Command:
    """`line` is 1-based; `expected` the lines below it, with `...` for any."""

    line: int
    text: str
    expected: tuple[str, ...]
    code: int = 0


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Fence:
    line: int
    language: str
    content: str
    reason: str
    code: int


def fences(text: str) -> list[Fence]:
    """Every fenced block, with what the comment before it says."""
    found = []
    mark: re.Match[str] | None = None
    for token in MarkdownIt().parse(text):
        if token.type in ("html_block", "inline"):
            mark = _MARK.fullmatch(token.content.strip())
        elif token.type == "fence":
            assert token.map is not None
            reason, code = (" ".join((mark["reason"] or "").split()), int(mark["code"] or 0)) if mark else ("", 0)
            found.append(Fence(token.map[0] + 1, token.info.strip(), token.content, reason, code))
            mark = None
        elif token.type != "paragraph_close":
            mark = None
    return found


def inline_code(text: str) -> list[tuple[int, str]]:
    """(line, code) of every `code` in prose."""
    return [
        ((token.map or [0])[0] + 1, child.content)
        for token in MarkdownIt().enable("table").parse(text)
        for child in token.children or ()
        if child.type == "code_inline"
    ]


def commands(fence: Fence) -> list[Command]:
    """Those of one block. A line that ends in a backslash goes on in the next."""
    found: list[tuple[int, str, list[str]]] = []
    open_command = False
    for number, line in enumerate(fence.content.splitlines(), start=fence.line + 1):
        if open_command:
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{line}", [])
            open_command = line.endswith("\\")
        elif line.startswith("$ "):
            found.append((number, line[2:], []))
            open_command = line.endswith("\\")
        elif found:
            found[-1][2].append(line.rstrip())
        else:
            raise AssertionError(f"line {number}: a console block begins with `$ command`")
    last = len(found) - 1
    return [
        Command(line, text, tuple(expected), fence.code if index == last else 0)
        for index, (line, text, expected) in enumerate(found)
    ]


def wanted(page: Path) -> list[Command]:
    """Those that a test runs."""
    blocks = [fence for fence in fences(page.read_text()) if fence.language == "console" and not fence.reason]
    return [command for block in blocks for command in commands(block)]


def not_run(page: Path) -> dict[str, str]:
    """Those that none runs -> the reason that the page gives."""
    blocks = [fence for fence in fences(page.read_text()) if fence.language == "console" and fence.reason]
    return {command.text: block.reason for block in blocks for command in commands(block)}


def run(wanted: Sequence[Command], project: Path, environment: Mapping[str, str]) -> Iterator[tuple[Command, Ran]]:
    """All in one shell, so that what one command sets holds for the next."""
    out = project.parent / "outputs"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    lines = ["set +e"]
    for index, command in enumerate(wanted):
        target = shlex.quote(str(out / str(index)))
        lines += ["{", command.text, f"}} > {target}.out 2> {target}.err < /dev/null", f"echo $? > {target}.code"]
    script = out / "script"
    script.write_text("\n".join(lines) + "\n")
    subprocess.run(["bash", str(script)], cwd=project, env=dict(environment), check=False, timeout=300)
    for index, command in enumerate(wanted):
        texts = [(out / f"{index}.{part}").read_text() for part in ("out", "err")]
        yield command, Ran(int((out / f"{index}.code").read_text()), *(_at_home(text, project) for text in texts))


def _at_home(text: str, project: Path) -> str:
    return text.replace(str(project), f"{HOME}/mps-to-metal").replace(str(project.parent), HOME)


def printed(ran: Ran) -> list[str]:
    """What a reader would see on a terminal, but for progress."""
    said = [line for line in ran.err.splitlines() if not _PROGRESS.fullmatch(line.strip())]
    return [line.rstrip() for line in (*ran.out.splitlines(), *said)]


def fits(expected: Sequence[str], actual: Sequence[str]) -> bool:
    """Whether the output is as shown, but for object names, numbers, the width of columns and what `...` stands for."""
    if not expected:
        return True
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line == _GAP else rf"{re.escape(line).replace(re.escape(_GAP), '.*')}\n"
        for line in _plain(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _plain(actual))) is not None


def _plain(lines: Sequence[str]) -> list[str]:
    """Numbers change with every kernel and check, and with them the width of columns and where cells are wrapped."""
    found: list[str] = []
    for line in lines:
        text = re.sub(r"\b[0-9a-f]{12}(?:[0-9a-f]{28})?\b", "COMMIT", line)
        text = re.sub(r"\d+(?:\.\d+)*", "N", re.sub(r"[─━]+", "─", text))
        cells = [cell.strip() for cell in text.split("│")[1:-1]]
        if text[:1] in ("┏", "┡", "└"):
            continue
        if cells and not cells[0] and found:
            found[-1] = "│".join(" ".join(pair).strip() for pair in zip(found[-1].split("│"), cells, strict=False))
        else:
            found.append("│".join(cells) if cells else " ".join(text.split()))
    return found


def with_output(text: str, ran: Iterable[tuple[Command, Ran]]) -> str:
    """The page with what its commands printed, where that is not what it shows. Output with gaps is for a person."""
    lines = text.split("\n")
    for command, result in sorted(ran, key=lambda pair: -pair[0].line):
        shown = printed(result)
        if fits(command.expected, shown) or any(_GAP in line for line in command.expected):
            continue
        below = command.line + command.text.count("\n")
        lines[below : below + len(command.expected)] = shown
    return "\n".join(lines)


# What a person's shell has not: marks of a run on GitHub, of these tests, and of the `make` that runs them.
_FOREIGN = ("GITHUB_", "PYTEST_", "MAKE", "MFLAGS")


def copy_of_the_project(folder: Path, caches: Path) -> tuple[Path, dict[str, str]]:
    """A copy as a clone has it, with its environment and its pocket set up; a home beside it, with a repository.

    The repository, `pytorch`, is a clone of the pocket.
    """
    project = folder / "mps-to-metal"
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listing.split("\0")):
        if (ROOT / name).is_file():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, project / name)
    (project / ".cache").symlink_to(caches)
    tools = Path(sys.executable).parent
    (project / ".venv").mkdir()
    (project / ".venv" / "bin").symlink_to(tools)
    (project / ".venv" / ".ready").write_text("")
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)},
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": str(folder / ".gitconfig"),
        "NO_COLOR": "1",
    }
    (folder / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    git(folder, "clone", "--quiet", str(build(project)), "pytorch")
    return project, environment


def begin_again(project: Path) -> None:
    """As a fresh clone has it."""
    for name in ("README.md", "ops_manifest.yaml"):
        shutil.copy(ROOT / name, project)
    for name in (".drafts", "site", "proven"):
        shutil.rmtree(project / name, ignore_errors=True)
    (project / "approvers").unlink(missing_ok=True)
    pocket = project / ".pocket"
    for repository in (pocket / "pytorch", pocket / "origin.git", project.parent / "pytorch"):
        refs = git(repository, "for-each-ref", "--format=%(refname)", "refs/heads/migrate", "refs/approvals")
        for ref in refs.split():
            git(repository, "update-ref", "-d", ref)


def main(*names: str) -> None:
    """Write what the commands print today into the pages named, README.md or docs/X.md."""
    with tempfile.TemporaryDirectory() as folder:
        caches = Path(folder, "caches")
        caches.mkdir()
        project, environment = copy_of_the_project(Path(folder), caches)
        for name in names:
            page = ROOT / name
            begin_again(project)
            page.write_text(with_output(page.read_text(), run(wanted(page), project, environment)))


if __name__ == "__main__":
    main(*sys.argv[1:])
