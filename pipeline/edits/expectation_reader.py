"""Reads what a PyTorch test file expects of MPS: one Expectation per list entry, decorator or dtype claim."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pipeline.collector import collector_paused
from pipeline.edits.opinfos import COMPLEX, OpInfo, call_name, makes_opinfo, read_dtypes, read_opinfo, test_name
from pipeline.edits.python_elements import Position
from pipeline.errors import Refusal


class Kind(Enum):
    XFAIL = "expected failure"
    SKIP = "skip"
    TOLERANCE = "tolerance"
    DTYPES = "dtypes claimed for MPS"
    COMPLEX = "expected failure with complex dtypes"


# The tests that each function of common_mps.py decorates (test/test_mps.py).
_SCOPES = {
    "mps_ops_modifier": ("TestConsistency", None),
    "mps_ops_grad_modifier": ("TestConsistency", "test_output_grad_match"),
    "mps_ops_error_inputs_modifier": ("TestErrorInputs", "test_error_inputs"),
}
_MPS_ONLY_CLASSES = ("TestConsistency", "TestErrorInputs")
_Located = ast.expr | ast.keyword
# A comment line, but not an entry that someone commented out.
_COMMENT = re.compile(r"""#(?!\s*["'][\w.]+["']:)""")
# What stands in the text of any OpInfo's call and in the name of any function that `_Reader` looks into.
_TELLING = (b"Info", b"_opinfo", b"modifier")
_LEAVES = (ast.Constant, ast.Name, ast.expr_context)
_MPS_NAME = re.compile(r"MPS|Mps")


@dataclass(frozen=True)
class Expectation:
    """One thing the tests expect of an operator on MPS.

    `line` is 1-based, `column` counts bytes from 0. `name` and `variant` are the OpInfo's; where no OpInfo matches, the
    key as it stands is the name and `stale` is true. `container` is the list's name, or the keyword of the OpInfo.
    `test_class` and `test` are None where any will do; `dtypes` is None for all. `reason` is the message and comments.
    """

    path: str
    line: int
    column: int
    kind: Kind
    name: str
    variant: str
    container: str
    test_class: str | None = None
    test: str | None = None
    dtypes: tuple[str, ...] | None = None
    reason: str = ""
    stale: bool = False

    @property
    def key(self) -> str:
        return self.name + self.variant

    @property
    def test_name(self) -> str:
        """The operator as it stands in the name of a test."""
        return test_name(self.name, self.variant)

    @property
    def in_list(self) -> bool:
        """An entry of a list in common_mps.py, not part of an OpInfo."""
        return self.container.isupper()

    def __str__(self) -> str:
        test = ".".join(part for part in (self.test_class, self.test) if part)
        dtypes = "" if self.dtypes is None else f" for {', '.join(self.dtypes)}"
        return f"{self.path}:{self.line}: {self.key}: {self.kind.value}{f' of {test}' if test else ''}{dtypes}"


@dataclass(frozen=True)
class Place:
    """Where an expectation is edited: the bytes of its root expression, and positions within that text."""

    root: tuple[int, int]
    element: Position
    dtypes: tuple[tuple[str, Position], ...] = ()


@dataclass(frozen=True)
class AllowList:
    """A set of the names that support complex: what is not in it is expected to fail."""

    name: str
    names: frozenset[str]
    root: tuple[int, int]
    line: int
    column: int
    scope: tuple[str | None, str | None]


@dataclass
class FileExpectations:
    """All that one file says. An expectation of a list has the key as its name until an OpInfo is found for it."""

    path: str
    source: bytes
    imports: frozenset[str] = frozenset()
    opinfos: list[OpInfo] = field(default_factory=list)
    found: list[tuple[Expectation, Place]] = field(default_factory=list)
    allow_lists: list[AllowList] = field(default_factory=list)


@functools.lru_cache(maxsize=64)
def read_file(path: str, source: bytes) -> FileExpectations:
    """A file is read once, however often it comes back. Raises Refusal where it is not valid Python."""
    with collector_paused():
        return _Reader(path, source).read()


class _Reader:
    def __init__(self, path: str, source: bytes) -> None:
        self.path = path
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.result = FileExpectations(path, source)

    def read(self) -> FileExpectations:
        try:
            tree = ast.parse(self.source)
        except SyntaxError as error:
            raise Refusal(f"not valid Python: {error.msg}", path=self.path, line=error.lineno) from None
        for node in self._telling(tree):
            if isinstance(node, ast.Call) and makes_opinfo(node):
                opinfo = read_opinfo(node, self.path)
                if opinfo is not None:
                    self.result.opinfos.append(opinfo)
                    self._read_call(node, opinfo)
            elif isinstance(node, ast.FunctionDef) and re.fullmatch(r"mps_\w*modifier", node.name):
                self._read_lists(node)
        self.result.imports = frozenset(
            alias.asname or alias.name
            for statement in tree.body
            if isinstance(statement, ast.Import | ast.ImportFrom)
            for alias in statement.names
        )
        self.result.found.sort(key=lambda pair: (pair[0].line, pair[0].column))
        return self.result

    def _telling(self, tree: ast.Module) -> Iterator[ast.AST]:
        """As `ast.walk`, without leaves and functions that say nothing here: most only make samples."""
        nodes: list[ast.AST] = [tree]
        for node in nodes:  # grows meanwhile
            if not (isinstance(node, ast.FunctionDef) and self._is_silent(node)):
                nodes.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, _LEAVES))
                yield node

    def _is_silent(self, function: ast.FunctionDef) -> bool:
        first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        start, end = self.starts[first - 1], self.starts[function.end_lineno or first]
        return all(self.source.find(word, start, end) < 0 for word in _TELLING)

    def _read_call(self, call: ast.Call, opinfo: OpInfo) -> None:
        names = {"path": self.path, "name": opinfo.name, "variant": opinfo.variant or ""}
        for keyword in call.keywords:
            if keyword.arg in ("skips", "decorators"):
                for element, comments in self._with_reasons(keyword.value):
                    said = _read_decorator(element)
                    if said is not None:
                        reason = " ".join(part for part in (said.message, comments) if part)
                        self._add(element, call, said.dtypes, kind=said.kind, container=keyword.arg, reason=reason,
                                  test_class=said.test_class, test=said.test, **names)  # fmt: skip
            elif keyword.arg is not None and keyword.arg.endswith("IfMPS"):
                self._add(keyword, call, keyword.value, kind=Kind.DTYPES, container=keyword.arg, **names)

    def _read_lists(self, function: ast.FunctionDef) -> None:
        scope = _SCOPES.get(function.name, (None, None))
        for name, display in _named_displays(function):
            keys = display.keys if isinstance(display, ast.Dict) else display.elts
            if "SUPPORTED" in name and "UNSUPPORTED" not in name:
                names = frozenset(
                    key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
                )
                root = self._span(display)
                self.result.allow_lists.append(AllowList(name, names, root, display.lineno, display.col_offset, scope))
                continue
            kind = Kind.SKIP if re.search(r"SKIP|BLOCK", name) else Kind.XFAIL
            values = display.values if isinstance(display, ast.Dict) else [None] * len(keys)
            for (key, reason), value in zip(self._with_reasons(display), values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    self._add(key, display, value, path=self.path, kind=kind, name=key.value, variant="",
                              container=name, reason=reason, test_class=scope[0], test=scope[1])  # fmt: skip

    def _add(self, element: _Located, root: ast.expr, dtypes: ast.expr | None, **fields: Any) -> None:
        named = read_dtypes(dtypes) if dtypes is not None else None
        if named is None and "UNSUPPORTED_COMPLEX" in fields["container"]:
            named = COMPLEX
        expectation = Expectation(line=element.lineno, column=element.col_offset, dtypes=named, **fields)
        single = dtypes.elts if isinstance(dtypes, ast.Tuple | ast.List) else []
        positions = tuple((read_dtypes(item) or ("",), item) for item in single)
        place = Place(
            root=self._span(root),
            element=self._position(element, root),
            dtypes=tuple((names[0], self._position(item, root)) for names, item in positions if len(names) == 1),
        )
        self.result.found.append((expectation, place))

    def _with_reasons(self, display: ast.expr) -> Iterator[tuple[ast.expr, str]]:
        """The elements of a tuple, list, set or dict, each with the comments that speak of it."""
        if isinstance(display, ast.BinOp):
            yield from self._with_reasons(display.left)
            yield from self._with_reasons(display.right)
        if not isinstance(display, ast.Tuple | ast.List | ast.Set | ast.Dict):
            return
        above = ""
        previous_end = display.lineno
        ends = display.values if isinstance(display, ast.Dict) else display.elts
        for element, end in zip(display.keys if isinstance(display, ast.Dict) else display.elts, ends, strict=True):
            if element is None:  # a `**mapping`
                continue
            between = [line.strip().decode() for line in self.lines[previous_end : element.lineno - 1]]
            if between:
                above = " ".join(line.lstrip("# ") for line in between if _COMMENT.match(line))
            previous_end = end.end_lineno or end.lineno
            after = re.match(rb"\s*,?[ \t]*#[ \t]*([^\r\n]*)", self.lines[previous_end - 1][end.end_col_offset or 0 :])
            yield element, " ".join(part for part in (above, after[1].decode() if after else "") if part)

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def _position(self, node: _Located, root: ast.expr) -> Position:
        """ast counts bytes from the line's start, libcst code points from the expression's."""
        first = root.col_offset if node.lineno == root.lineno else 0
        text = self.lines[node.lineno - 1][first : node.col_offset].decode()
        return node.lineno - root.lineno + 1, len(text)


@dataclass(frozen=True)
class _Decorator:
    kind: Kind
    test_class: str | None = None
    test: str | None = None
    dtypes: ast.expr | None = None
    message: str = ""


def _read_decorator(element: ast.expr) -> _Decorator | None:
    """What an element of `skips` or `decorators` says of MPS, or None where it says nothing."""
    if not (isinstance(element, ast.Call) and call_name(element.func) == "DecorateInfo"):
        name = call_name(element.func if isinstance(element, ast.Call) else element)
        return _Decorator(_kind(name)) if _MPS_NAME.search(name) else None
    given = dict(zip(("decorators", "cls_name", "test_name"), element.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in element.keywords if keyword.arg})
    texts = {name: str(node.value) for name, node in given.items() if isinstance(node, ast.Constant)}
    device = texts.get("device_type")
    if device not in (None, "mps"):
        return None
    decorator = ast.unparse(given["decorators"])
    test_class, test = texts.get("cls_name"), texts.get("test_name")
    of_mps = (
        str(test).endswith("_mps")
        or str(test_class).endswith("MPS")
        or test_class in _MPS_ONLY_CLASSES
        or bool(_MPS_NAME.search(decorator.partition("(")[0]))
    )
    if device is None and not of_mps:
        return None
    said = [node.value for node in ast.walk(given["decorators"]) if isinstance(node, ast.Constant)]
    message = " ".join(text for text in said if isinstance(text, str))
    return _Decorator(_kind(decorator), test_class, test, given.get("dtypes"), message)


def _kind(decorator: str) -> Kind:
    if "expectedFailure" in decorator:
        return Kind.XFAIL
    return Kind.SKIP if "skip" in decorator.lower() else Kind.TOLERANCE


def _named_displays(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Dict | ast.Set | ast.List]]:
    """The dicts, sets and lists of strings behind the function's NAMES, assigned or handed to `NAME.update`."""
    for node in ast.walk(function):
        target: ast.expr | None = None
        value: ast.expr | None = None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign):
            target, value = node.target, node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            target, value = node.func.value, node.args[0] if node.args else None
        if isinstance(target, ast.Name) and target.id.isupper() and isinstance(value, ast.Dict | ast.Set | ast.List):
            yield target.id, value
