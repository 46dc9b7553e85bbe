"""What an edit of a Python file leaves without use: empty containers and imported names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence, Set
from itertools import compress

from pipeline.edits.splice import Splice, apply, delete_lines


def drop_empty_containers(text: str, names: Iterable[str]) -> str:
    """Without those containers, local to a function, that are empty now, and what asks them.

    `if key in NAME` statements go, and NAME in a list of several. A container with any other use stays, empty.
    """
    for name in sorted(set(names)):
        file = _File(text)
        for function in [node for node in ast.walk(file.tree) if isinstance(node, ast.FunctionDef)]:
            splices = _without_container(file, function, name)
            if splices:
                text = apply(text, splices)
                break
    return text


def drop_unused_imports(before: str, after: str, names: Set[str]) -> str:
    """`after` without the top-level imports of those names that stand nowhere else in it, and did in `before`."""
    lonely = {name for name in names if _occurs_once(name, after) and not _occurs_once(name, before)}
    if not lonely:
        return after
    file = _File(after)
    splices: list[Splice] = []
    for statement in file.tree.body:
        if isinstance(statement, ast.ImportFrom | ast.Import) and "noqa" not in file.lines[statement.lineno - 1]:
            splices.extend(_without_aliases(file, statement, lonely))
    return apply(after, splices)


class _File:
    """A text with its syntax tree, whose columns are bytes, and the offsets of its lines, in code points."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.stmt | ast.expr | ast.alias) -> tuple[int, int]:
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno or 0, node.end_col_offset or 0)

    def statement_lines(self, node: ast.stmt) -> tuple[int, int]:
        """From the comment lines above a statement to its end, with the blank line after it if one is before too."""
        first, last = node.lineno, node.end_lineno or node.lineno
        while first > 1 and self.lines[first - 2].lstrip().startswith("#"):
            first -= 1
        if first > 1 and last < len(self.lines) and not (self.lines[first - 2] + self.lines[last]).strip():
            last += 1
        return self.starts[first - 1], self.starts[last] - 1


def _without_container(file: _File, function: ast.FunctionDef, name: str) -> list[Splice]:
    """The deletions, or none where the function has no such empty container or needs its name elsewhere."""
    statements = (node for node in ast.walk(function) if isinstance(node, ast.stmt))
    assignment = next((node for node in statements if _assigns_nothing_to(node, name)), None)
    if assignment is None:
        return []
    doomed = [node for node in ast.walk(function) if isinstance(node, ast.If) and _asks(node, name)]
    lists = [node for node in ast.walk(function) if isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1]
    among = [[isinstance(item, ast.Name) and item.id == name for item in node.elts] for node in lists]
    items = [item for node, gone in zip(lists, among, strict=True) for item in compress(node.elts, gone)]
    uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    covered = {id(use) for node in (assignment, *doomed, *items) for use in ast.walk(node)}
    if not all(id(use) in covered for use in uses):
        return []
    lines = [file.statement_lines(node) for node in (assignment, *doomed)]
    splices = delete_lines(file.text, lines)
    for node, gone in zip(lists, among, strict=True):
        splices.extend(_without_items(file, node.elts, gone) if any(gone) else [])
    try:
        ast.parse(apply(file.text, splices))
    except SyntaxError:  # the statement was all its block held
        return []
    return splices


def _occurs_once(name: str, text: str) -> bool:
    found = re.finditer(rf"\b{re.escape(name)}\b", text)
    return next(found, None) is not None and next(found, None) is None


def _assigns_nothing_to(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target, value = node.target, node.value
    else:
        return False
    empty = ast.unparse(value) in ("{}", "set()", "[]")
    return isinstance(target, ast.Name) and target.id == name and empty


def _asks(node: ast.If, name: str) -> bool:
    """`if key in NAME:` or `if key in NAME and ...:`, without an else."""
    tests = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) else [node.test]
    return not node.orelse and any(
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.In)
        and isinstance(test.comparators[0], ast.Name)
        and test.comparators[0].id == name
        for test in tests
    )


def _without_aliases(file: _File, statement: ast.Import | ast.ImportFrom, names: Set[str]) -> list[Splice]:
    unused = [(alias.asname or alias.name) in names for alias in statement.names]
    if all(unused):
        return delete_lines(file.text, [file.span(statement)])
    return _without_items(file, statement.names, unused)


def _without_items(file: _File, items: Sequence[ast.expr | ast.alias], doomed: Sequence[bool]) -> list[Splice]:
    """Delete some of several items between commas, up to where the next one starts or from where the last kept ends."""
    spans = [file.span(item) for item in items]
    last_kept = max(index for index, gone in enumerate(doomed) if not gone)
    splices = [Splice(spans[i][0], spans[i + 1][0]) for i, gone in enumerate(doomed[:last_kept]) if gone]
    if last_kept < len(items) - 1:
        splices.append(Splice(spans[last_kept][1], spans[-1][1]))
    return splices
