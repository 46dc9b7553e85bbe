"""docs/reference.md, written from the commands themselves and from the manifest's keys: python -m tasks.reference.

In a process of its own: invoke takes the help out of a command when it first reads it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from invoke.collection import Collection
from invoke.parser.argument import Argument

import tasks
from pipeline.manifest_keys import LIMITS, OPERATOR, STATUS, TOP, Key

PATH = Path("docs", "reference.md")
_INTRODUCTION = """\
# Reference

Written by `make docs` from the code; a test keeps it equal.

## Commands

`invoke --list` names them, `invoke --help NAME` explains one. Exit codes: 0 done, 1 a check failed or an operator could
not be handled, 2 wrong use. Results go to stdout, progress to stderr.
"""
_MANIFEST = """\
## The manifest

`ops_manifest.yaml` is read strictly: an unknown key, a wrong type or a fragment that does not exist is one error with
its line. Anchors, aliases and tags are not allowed. The pipeline writes only `status:` fields and, with
`invoke survey --write`, new entries at the end; comments, order, quotes and blank lines stay as they are. Saves are
atomic and locked.
"""
_STATES = """\
`state` goes `listed` → `ready` (kernel and stub exist) → `checked` → `branched` → `built` (a Mac ran the kernel, or
tests failed) → `tested` (a Mac built PyTorch and its tests passed) → `approved` → `proposed` → `landed`. Beside it
stand `rejected` (a person closed the pull request), `superseded` (someone else's landed), `reverted`, and `held`, for
the reason that it carries.
"""


def main() -> None:
    (tasks.ROOT / PATH).write_text(reference_text(), encoding="utf-8")
    print(f"written into {PATH}")


def reference_text() -> str:
    collection = Collection.from_module(tasks)
    commands = (
        _command_text(name, inspect.getdoc(collection[name]) or "", collection[name].get_arguments())
        for name in sorted(collection.task_names)
    )
    tables = (
        ("### At the top", TOP),
        ("### `limits`", LIMITS),
        ("### Per operator", OPERATOR),
        ("### `status`", STATUS),
    )
    keys = (
        "\n".join([heading, "", *_table(("key", "value", "meaning"), map(_key_row, group)), ""])
        for heading, group in tables
    )
    return "\n".join([_INTRODUCTION, *commands, _MANIFEST, *keys, _STATES])


def _command_text(name: str, about: str, arguments: Sequence[Argument]) -> str:
    lines = [f"### `invoke {name}`", "", " ".join(about.split()), ""]
    if arguments:
        lines += [*_table(("option", "meaning"), map(_option_row, arguments)), ""]
    return "\n".join(lines)


def _option_row(argument: Argument) -> tuple[str, str]:
    option = f"--{str(argument.name).replace('_', '-')}"
    if argument.kind is not bool:
        option += "[=VALUE]" if argument.optional else " VALUE"
    meaning = argument.help or ""
    if isinstance(argument.default, (str, int)) and argument.default and argument.kind is not bool:
        meaning += f"; {argument.default} when left out"
    return f"`{option}`", meaning


def _key_row(key: Key) -> tuple[str, str, str]:
    notes = [key.meaning, *(["required"] if key.required else [])]
    if key.default:
        notes.append(f"{key.default} when left out")
    return f"`{key.name}`", key.value, "; ".join(notes)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(headings) + " |"
    yield "|" + "---|" * len(headings)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


if __name__ == "__main__":
    main()
