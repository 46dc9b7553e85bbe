"""native_functions.yaml: which function every operator runs under every dispatch key.

Parsed once with PyYAML's C composer (0.1 s for 15,000 lines); the marks of its nodes give the exact span of every key
and function, so that edits/dispatch.py can change one row and nothing else.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property

import yaml

from pipeline.collector import collector_paused
from pipeline.errors import Refusal
from pipeline.source import NATIVE_FUNCTIONS

Span = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """One line of a dispatch table, `CPU, CUDA: atan2_out`. Spans are offsets in code points."""

    keys: tuple[str, ...]
    kernel: str
    line: int
    keys_span: Span
    kernel_span: Span

    def __str__(self) -> str:
        return f"{', '.join(self.keys)}: {self.kernel}"


@dataclass(frozen=True)
class Entry:
    """One operator overload. `func` is its name with overload (`atan2.out`), `schema` the whole signature."""

    func: str
    schema: str
    line: int
    rows: tuple[Row, ...] = ()
    structured: bool = False
    structured_delegate: str | None = None
    structured_inherits: str | None = None
    autogen: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    ufunc_inner_loop: bool = False
    dispatch_span: Span | None = None

    def row(self, key: str) -> Row | None:
        """The row that serves a dispatch key by name; composite kernels are not looked through."""
        return next((row for row in self.rows if key in row.keys), None)

    @property
    def shared_kernel(self) -> str | None:
        """The function that CPU and CUDA both run, on one line or two; None when they differ or one is missing."""
        cpu, cuda = self.row("CPU"), self.row("CUDA")
        return cpu.kernel if cpu and cuda and cpu.kernel == cuda.kernel else None


class NativeFunctions:
    """The entries of one native_functions.yaml, by operator name. Raises Refusal where the text cannot be read."""

    def __init__(self, text: str, path: str = NATIVE_FUNCTIONS) -> None:
        self.text = text
        self.path = path
        self.entries: dict[str, Entry] = {}
        with collector_paused():
            entries = list(self._read_entries())
        for entry in entries:
            first = self.entries.setdefault(entry.func, entry)
            if first is not entry:
                raise Refusal(f"{entry.func} has a second entry, the first is on line {first.line}",
                              path=path, line=entry.line, hint="keep one of them")  # fmt: skip

    def entry(self, func: str) -> Entry:
        """The entry of an operator, overload included. Raises Refusal with the nearest names."""
        if func in self.entries:
            return self.entries[func]
        overloads = [name for name in self.entries if name.split(".")[0] == func.split(".", maxsplit=1)[0]]
        near = overloads or difflib.get_close_matches(func, self.entries, n=3)
        hint = f"there is {', '.join(near)}" if near else "write the name as in `- func: NAME(...)`, overload included"
        raise Refusal(f"no entry is called {func}", path=self.path, hint=hint)

    def naming(self, kernel: str) -> list[str]:
        """Every operator, in the file's order, with a row that names this function under any key."""
        return self._by_kernel.get(kernel, [])

    @cached_property
    def _by_kernel(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for entry in self.entries.values():
            # Upstream may write a function with its C++ namespace, `at::native::f`.
            names = {name for row in entry.rows for name in (row.kernel, row.kernel.rpartition("::")[2])}
            for name in names:
                found.setdefault(name, []).append(entry.func)
        return found

    def named_besides(self, funcs: Iterable[str]) -> Set[str]:
        """Every function that rows of other entries than `funcs` name."""
        ours = Counter(row.kernel for func in set(funcs) for row in self.entries[func].rows)
        return self._row_counts.keys() - {kernel for kernel, count in ours.items() if count == self._row_counts[kernel]}

    @cached_property
    def _row_counts(self) -> Counter[str]:
        return Counter(row.kernel for entry in self.entries.values() for row in entry.rows)

    def _read_entries(self) -> Iterator[Entry]:
        try:
            root = yaml.compose(self.text, yaml.CSafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark else None
            message = f"not valid YAML: {getattr(error, 'problem', None) or error}"
            raise Refusal(message, path=self.path, line=line, hint="correct the file first") from None
        if not isinstance(root, yaml.SequenceNode):
            raise Refusal("not a list of `- func:` entries", path=self.path, line=1)
        for node in root.value:
            yield self._read_entry(node)

    def _read_entry(self, node: yaml.Node) -> Entry:
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.MappingNode):
            raise Refusal("an entry is a mapping that starts with `func:`", path=self.path, line=line)
        fields = {key.value: (key, value) for key, value in node.value}
        if "func" not in fields or not isinstance(fields["func"][1], yaml.ScalarNode):
            raise Refusal("the entry has no `func:`", path=self.path, line=line)
        schema = fields["func"][1].value
        rows: tuple[Row, ...] = ()
        span = None
        if "dispatch" in fields:
            key, table = fields["dispatch"]
            rows = tuple(self._read_rows(table))
            if rows:
                span = (key.start_mark.index, max(row.kernel_span[1] for row in rows))
        return Entry(
            func=schema.partition("(")[0].strip(),
            schema=schema,
            line=line,
            rows=rows,
            structured=any(word.lower() == "true" for word in _words(fields, "structured")),
            structured_delegate=next(iter(_words(fields, "structured_delegate")), None),
            structured_inherits=next(iter(_words(fields, "structured_inherits")), None),
            autogen=_words(fields, "autogen"),
            tags=_words(fields, "tags"),
            ufunc_inner_loop="ufunc_inner_loop" in fields,
            dispatch_span=span,
        )

    def _read_rows(self, table: yaml.Node) -> Iterator[Row]:
        if isinstance(table, yaml.ScalarNode) and not table.value:
            return
        line = table.start_mark.line + 1
        if not isinstance(table, yaml.MappingNode):
            raise Refusal("a dispatch table is one `KEY, KEY: function` a line", path=self.path, line=line)
        for keys, kernel in table.value:
            line = keys.start_mark.line + 1
            if not (isinstance(keys, yaml.ScalarNode) and isinstance(kernel, yaml.ScalarNode)):
                raise Refusal("a dispatch row is `KEY, KEY: function`", path=self.path, line=line)
            yield Row(
                keys=tuple(key.strip() for key in keys.value.split(",") if key.strip()),
                kernel=kernel.value.strip(),
                line=line,
                keys_span=(keys.start_mark.index, keys.end_mark.index),
                kernel_span=(kernel.start_mark.index, kernel.end_mark.index),
            )


def _words(fields: dict[str, tuple[yaml.Node, yaml.Node]], name: str) -> tuple[str, ...]:
    """A field's words, whether written `a`, `a, b` or `[a, b]`."""
    if name not in fields:
        return ()
    node = fields[name][1]
    values = [item.value for item in node.value] if isinstance(node, yaml.SequenceNode) else [node.value]
    return tuple(word.strip() for value in values for word in str(value).split(",") if word.strip())
