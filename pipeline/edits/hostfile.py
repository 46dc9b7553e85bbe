"""What each item of a host file defines, registers and uses, with the file's own macros evaluated."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from pipeline.edits.items import Item, Kind
from pipeline.edits.objcpp import split
from pipeline.edits.preprocessor import Macro, arguments, expand, macro_of
from pipeline.errors import Refusal

_INCLUDE = re.compile(r'#[ \t]*(?:include|import)[ \t]*[<"]([^>"]+)[>"]')
_REGISTRATION = re.compile(r"REGISTER_(?:MPS_)?DISPATCH")
_LOCAL_KEYS = ("struct", "class", "enum", "using")
_FUNCTION = re.compile(r"&?\s*([\w:]+)")
_DEFINING = (Kind.FUNCTION, Kind.TYPE, Kind.ALIAS, Kind.VARIABLE, Kind.DEFINE)


@dataclass(frozen=True, order=True)
class Place:
    """The item `index` of the file at `path`."""

    path: str
    index: int


@dataclass(frozen=True)
class Registration:
    """`REGISTER_DISPATCH(stub, function)`."""

    stub: str
    function: str


@dataclass(frozen=True)
class Call:
    """A name that is called or taken from `at::`; `scope` as written before it, `at::mps` of `at::mps::sign_outf`."""

    scope: str
    name: str


@dataclass(frozen=True)
class Entry:
    """One item of a host file and what it means once its macros are evaluated.

    `parts` is the item itself, or the items a macro call expands to. `uses` are the names it mentions, `selectors` all
    identifiers including those behind a dot or in a message.
    """

    item: Item
    parts: tuple[Item, ...]
    uses: frozenset[str]
    selectors: frozenset[str]
    calls: frozenset[Call]

    @property
    def defines(self) -> tuple[str, ...]:
        """Names of the functions, types, aliases, variables and macros it defines."""
        return tuple(name for part in self.parts if part.kind in _DEFINING for name in part.names)

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions with a body here, those under TORCH_IMPL_FUNC included."""
        return tuple(name for part in self.parts if part.kind is Kind.FUNCTION for name in part.names)

    @property
    def registrations(self) -> tuple[Registration, ...]:
        found = (registration_of(part) for part in self.parts)
        return tuple(registration for registration in found if registration is not None)


class HostFile:
    """A file split once; its entries are evaluated on demand. `inherited` are the macros of headers it includes."""

    def __init__(self, path: str, text: str, inherited: tuple[Macro, ...] = ()) -> None:
        self.path = path
        self.text = text
        self.items = split(text, path)
        own = (macro_of(item.code) for item in self.items if item.kind is Kind.DEFINE)
        self.own_macros = tuple(macro for macro in own if macro is not None)
        self.macros: Mapping[str, Macro] = {macro.name: macro for macro in (*inherited, *self.own_macros)}

    @property
    def is_header(self) -> bool:
        return self.path.endswith((".h", ".hpp"))

    @cached_property
    def includes(self) -> tuple[str, ...]:
        return tuple(included(item) for item in self.items if item.kind is Kind.INCLUDE)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """One entry per item, in the same order."""
        return tuple(self._entry(item) for item in self.items)

    def _entry(self, item: Item) -> Entry:
        if item.kind is Kind.INCLUDE:
            return Entry(item, (item,), frozenset(), frozenset(), frozenset())
        uses, selectors, calls = _mentions(item.code)
        if item.kind is Kind.DEFINE or self.macros.keys().isdisjoint(selectors):
            return Entry(item, (item,), uses - _only_declared(item), selectors, calls)
        try:
            code = expand(item.code, self.macros)
            parts = split(code) if item.kind is Kind.CALL and item.macro in self.macros else (item,)
        except Refusal as refused:
            message = f"what {item.macro or 'this'} expands to cannot be read: {refused.message}"
            raise Refusal(message, path=self.path or None, line=item.line) from None
        expanded_uses, expanded_selectors, expanded_calls = _mentions(code)
        return Entry(item, parts, uses | expanded_uses, selectors | expanded_selectors, calls | expanded_calls)


class UnreadableFile(HostFile):
    """A file that cannot be split or evaluated: one item, with everything it mentions in use. `refusal` says why."""

    def __init__(self, path: str, text: str, refusal: Refusal) -> None:
        self.path = path
        self.text = text
        self.refusal = refusal
        self.items = (Item(Kind.OTHER, text, 0, 1, text),)
        self.own_macros = ()
        self.macros = {}


@functools.lru_cache(maxsize=1024)
def _host_file(path: str, text: str, inherited: tuple[Macro, ...] = ()) -> HostFile:
    try:
        file = HostFile(path, text, inherited)
        assert len(file.entries) == len(file.items)  # evaluated here, where a macro that cannot be read is caught
    except Refusal as refusal:
        return UnreadableFile(path, text, refusal)
    return file


@functools.lru_cache(maxsize=1024)
def _unevaluated(path: str, text: str) -> HostFile:
    """The file for its includes and #defines alone, which need no macro of another file."""
    try:
        return HostFile(path, text)
    except Refusal as refusal:
        return UnreadableFile(path, text, refusal)


class HostFiles:
    """Host files by path, sources and headers. A text is split and evaluated once, however often it comes back."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.texts = dict(files)
        self._headers = {path.removeprefix("aten/src/"): path for path in files if path.endswith(".h")}
        self._read: dict[str, HostFile] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(self.texts))

    def __getitem__(self, path: str) -> HostFile:
        """The file, an UnreadableFile where it cannot be split: it may still name what others define."""
        if path not in self._read:
            macros: dict[str, Macro] = {}
            for header in self._reached(path):
                macros |= {macro.name: macro for macro in _unevaluated(header, self.texts[header]).own_macros}
            self._read[path] = _host_file(path, self.texts[path], tuple(macros.values()))
        return self._read[path]

    def refusal(self, name: str) -> Refusal | None:
        """Why a file that mentions `name` cannot be read, if there is one."""
        files = (self[path] for path in self.paths if name in self.texts[path])
        return next((file.refusal for file in files if isinstance(file, UnreadableFile)), None)

    @cached_property
    def defining(self) -> Mapping[str, tuple[Place, ...]]:
        """Function -> where it has a body, in order of path."""
        return self._places(lambda entry: entry.functions)

    @cached_property
    def registering(self) -> Mapping[str, tuple[Place, ...]]:
        """Stub -> where it is registered, in order of path."""
        return self._places(lambda entry: tuple(known.stub for known in entry.registrations))

    @cached_property
    def declaring(self) -> Mapping[str, tuple[Place, ...]]:
        """Name -> where it is only declared, in order of path."""
        return self._places(lambda entry: entry.item.names if entry.item.kind is Kind.DECLARATION else ())

    def _places(self, names: Callable[[Entry], tuple[str, ...]]) -> Mapping[str, tuple[Place, ...]]:
        found: dict[str, dict[Place, None]] = {}
        for path in self.paths:
            for index, entry in enumerate(self[path].entries):
                for name in names(entry):
                    found.setdefault(name, {})[Place(path, index)] = None
        return {name: tuple(places) for name, places in found.items()}

    def names_in(self, path: str, namespace: str) -> frozenset[str]:
        """What the headers that `path` includes and the file itself declare in `namespace`, `mps` or `at::mps`."""
        wanted = namespace.split("::")
        return frozenset(
            name
            for source in (path, *self._reached(path))
            for item in self[source].items
            if list(item.scope[-len(wanted) :]) == wanted and item.kind not in (Kind.OPEN, Kind.CLOSE)
            for name in item.names
        )

    def _reached(self, path: str) -> tuple[str, ...]:
        """The headers among these files that `path` includes, directly or through others."""
        seen: dict[str, None] = {}
        waiting = [path]
        while waiting:
            current = waiting.pop()
            for include in _unevaluated(current, self.texts[current]).includes:
                header = self._headers.get(include)
                if header is not None and header not in seen and header != path:
                    seen[header] = None
                    waiting.append(header)
        return tuple(seen)


def _only_declared(item: Item) -> frozenset[str]:
    """Names of a function that its code does not mention again."""
    if item.kind is not Kind.FUNCTION:
        return frozenset()
    return frozenset(name for name in item.names if len(re.findall(rf"\b{re.escape(name)}\b", item.code)) == 1)


def included(item: Item) -> str:
    """The path that an #include names, empty for other items."""
    found = _INCLUDE.match(item.code) if item.kind is Kind.INCLUDE else None
    return found[1] if found else ""


def registration_of(item: Item) -> Registration | None:
    """The stub and function of a dispatch registration, None for any other item."""
    if item.kind is not Kind.CALL or not _REGISTRATION.fullmatch(item.macro):
        return None
    given = arguments(item.code)
    function = _FUNCTION.match(given[1]) if len(given) == 2 else None
    return Registration(given[0], function[1]) if function else None


# What names are not read from: comments, literals, numbers.
_SKIPPED = re.compile(
    r"""//(?:[^\\\n]|\\\r?\n|\\.)*|/\*.*?\*/|(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
      |"(?:[^"\\\n]|\\\r?\n|\\.)*"|'(?:[^'\\\n]|\\.)+'|(?<!\w)\.?\d(?:'?\w|\.)*""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"(?:(->|\.)\s*)?((?:[^\W\d]\w*\s*::\s*)*)([^\W\d]\w*)(?=\s*([({:=])?)")


@functools.lru_cache(maxsize=50_000)
def _mentions(code: str) -> tuple[frozenset[str], frozenset[str], frozenset[Call]]:
    """Names used, all identifiers, and names called, of a piece of code.

    A name behind a dot or an arrow is a member and no use; nor is the name of a type that the code itself declares.
    """
    uses: set[str] = set()
    local: set[str] = set()
    identifiers: set[str] = set()
    calls: set[Call] = set()
    before = ""
    for access, scope, name, after in _NAME.findall(_SKIPPED.sub(" ", code)):
        identifiers.add(name)
        scopes = [part.strip() for part in scope.split("::")[:-1]]
        if before in _LOCAL_KEYS and after in ("{", ":", "="):
            local.add(name)
        elif not access:
            uses.add(name)
            uses.update(scopes)
            if scopes or after == "(":
                calls.add(Call("::".join(scopes), name))
        before = name
    return frozenset(uses - local), frozenset(identifiers | uses), frozenset(calls)
