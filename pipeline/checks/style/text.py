"""What upstream's line-based linters reject, and the round trip of native_functions.yaml."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from pipeline.checks.style.written import Written
from pipeline.findings import Finding, Severity

_ENTRY = re.compile(r"^- func:", re.MULTILINE)


def text_findings(written: Written) -> Iterator[Finding]:
    """Upstream's SPACES, TABS, NEWLINE and INCLUDE."""
    for number in sorted(written.added):
        line = written.lines[number - 1] if number <= len(written.lines) else ""
        if line.endswith("\r"):
            yield _error("style/white-space", "the line ends in a carriage return", written, number, "end it with \\n")
        elif line != line.rstrip():
            yield _error("style/white-space", "the line ends in blanks", written, number, "remove them")
        if "\t" in line:
            yield _error("style/white-space", "the line has a tab", written, number, "use spaces")
        if line.lstrip().startswith('#include "'):
            yield _error("style/quoted-include", "an include in quotes", written, number, "use angle brackets")
    if written.text and written.touched:
        ends = len(written.text) - len(written.text.rstrip("\n"))
        if ends != 1:
            last = written.text.rstrip("\n").count("\n") + 1
            what = "the file does not end in a line end" if ends == 0 else "the file ends in blank lines"
            yield _error("style/white-space", what, written, last, "end it with one \\n")


def yaml_findings(written: Written) -> Iterator[Finding]:
    """Upstream's NATIVEFUNCTIONS: ruamel loads and dumps the file and gets the same text.

    It does so entry by entry, so only the entries that changed are tried: the whole file takes half a minute.
    """
    starts = [match.start() for match in _ENTRY.finditer(written.text)]
    if not starts:
        return
    first = written.text.count("\n", 0, starts[0]) + 1
    for start, end in zip(starts, [*starts[1:], len(written.text)], strict=True):
        entry = written.text[start:end]
        count = entry.count("\n")
        if not written.touched.isdisjoint(range(first, first + count)):
            line = _different_line(entry)
            if line is not None:
                what = "ruamel.yaml writes this entry otherwise"
                hint = "indent and space it as the entries around it"
                yield _error("style/yaml-round-trip", what, written, first + line, hint)
        first += count


class _Yaml(YAML):
    """With the settings of upstream's tools/linter/adapters/nativefunctions_linter.py."""

    def __init__(self) -> None:
        super().__init__()
        self.preserve_quotes = True
        self.width = 1000
        self.boolean_representation = ["False", "True"]


def _different_line(entry: str) -> int | None:
    """The first line (0-based) that ruamel writes otherwise or cannot load."""
    yaml, stream = _Yaml(), io.StringIO()
    try:
        yaml.dump(yaml.load(entry), stream)
    except MarkedYAMLError as error:
        return error.problem_mark.line if error.problem_mark else 0
    if stream.getvalue() == entry:
        return None
    lines, others = entry.split("\n"), stream.getvalue().split("\n")
    return next((at for at, (a, b) in enumerate(zip(lines, others, strict=False)) if a != b), len(others) - 1)


def _error(rule: str, message: str, written: Written, line: int, hint: str) -> Finding:
    return Finding(rule, Severity.ERROR, message, written.path, line, hint)
