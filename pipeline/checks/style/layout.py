"""Layout as upstream's formatters make it, compared on the lines a change touches."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import clang_format
from ruff import find_ruff_bin

from pipeline.changeset import FileChange
from pipeline.checks.style.written import Written
from pipeline.errors import PipelineError
from pipeline.findings import Finding, Severity

STYLE_FILE = ".clang-format"
_OUR_STYLE = Path(__file__).parents[3] / STYLE_FILE
_CLANG_FORMAT = Path(clang_format.__file__).parent / "data/bin/clang-format"

# torch's packaging wraps headers in a guard with this line; upstream's tree has none.
_PACKAGING = "TORCH_STABLE_ONLY or TORCH_TARGET_VERSION"

Formatter = Callable[[str, Collection[int] | None], str]


def clang_formatter(path: str, style: str | None) -> Formatter:
    """Formats the text of `path`, on some lines (1-based) or all. `style` is the tree's file, ours where it is None."""

    def format_text(text: str, lines: Collection[int] | None) -> str:
        ranges = [f"--lines={first}:{last}" for first, last in _runs(lines)] if lines is not None else []
        with tempfile.TemporaryDirectory() as folder:
            # The suffix .metal says nothing to clang-format, which then takes no section of the style file.
            assumed = Path(folder) / Path(path).with_suffix(".mm" if path.endswith(".mm") else ".cpp").name
            (Path(folder) / STYLE_FILE).write_text(style if style is not None else _OUR_STYLE.read_text())
            return _run([str(_CLANG_FORMAT), "--style=file", f"--assume-filename={assumed}", *ranges], text)

    return format_text


def clang_format_findings(written: Written, style: str | None) -> Iterator[Finding]:
    """Upstream's CLANGFORMAT: added lines, and the ends of what remains where something was removed."""
    if not written.touched:
        return
    formatter = clang_formatter(written.path, style)
    known = set()
    if written.before is not None:
        known = {expected for _, expected in differences(written.before, formatter(written.before, None))}
    for line, expected in differences(written.text, formatter(written.text, written.touched)):
        if expected not in known and _PACKAGING not in written.lines[line - 1]:
            wanted = expected.strip().split("\n")[0]
            hint = f"write {wanted.strip()!r}" if wanted else "remove the line"
            yield _error("style/clang-format", "clang-format lays this out otherwise", written.path, line, hint)


def python_findings(written: Written) -> Iterator[Finding]:
    """Upstream's PYFMT, for files that were formatted before the change, and what pyflakes says that is new."""
    formatted = _ruff_format(written.text)
    if formatted is not None and written.before is not None and _ruff_format(written.before) == written.before:
        for line, expected in differences(written.text, formatted):
            hint = f"write {expected.strip()!r}" if expected.strip() else "remove the line"
            yield _error("style/python-format", "ruff format lays this out otherwise", written.path, line, hint)
    known = [message for _, message in _pyflakes(written.before or "")]
    for line, message in _pyflakes(written.text):
        if message in known:
            known.remove(message)
        else:
            yield _error("style/python-lint", message, written.path, line, "")


def differences(text: str, formatted: str) -> Iterator[tuple[int, str]]:
    """Where a formatter changes something: the line (1-based) and what it writes. Lines that meet count as one."""
    old, new = (each.encode(errors="surrogateescape") for each in (text, formatted))
    end = -2
    for hunk in FileChange("", old, new).hunks():
        if hunk.start > end + 1:
            yield hunk.start + 1, b"".join(hunk.lines).decode(errors="surrogateescape")
        end = hunk.end


def _runs(lines: Collection[int]) -> Iterator[tuple[int, int]]:
    """Consecutive numbers as first and last."""
    first = previous = None
    for line in sorted(lines):
        if previous is None or line > previous + 1:
            if first is not None and previous is not None:
                yield first, previous
            first = line
        previous = line
    if first is not None and previous is not None:
        yield first, previous


def _ruff_format(text: str) -> str | None:
    """None for a text that is not Python; pyflakes says so."""
    try:
        return _run([find_ruff_bin(), "format", "--isolated", "--stdin-filename=a.py", "-"], text)
    except PipelineError:
        return None


def _pyflakes(text: str) -> list[tuple[int, str]]:
    command = [
        find_ruff_bin(),
        "check",
        "--isolated",
        "--select=F",
        "--ignore=F405",
        "--output-format=json",
        "--exit-zero",
        "-",
    ]
    return [(item["location"]["row"], item["message"]) for item in json.loads(_run(command, text))]


def _run(command: list[str], text: str) -> str:
    """Raises PipelineError when the tool fails."""
    done = subprocess.run(command, input=text.encode(errors="surrogateescape"), capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise PipelineError(f"{Path(command[0]).name}: {said[0]}")
    return done.stdout.decode(errors="surrogateescape")


def _error(rule: str, message: str, path: str, line: int, hint: str) -> Finding:
    return Finding(rule, Severity.ERROR, message, path, line, hint)
