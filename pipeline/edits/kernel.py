"""Merge a kernel fragment into a `.metal` file and its shared header, or make a new file of it.

The merge only adds lines: includes that are missing, in order; functors among the functors; registrations among their
kin, through the file's own macros where these say the same; structs named `*Params` in the shared header. What stands
there already is not added again, so a second merge changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath

from pipeline.edits.items import Item, Kind
from pipeline.edits.kernel_file import Call, call_arities, shape
from pipeline.edits.kernel_fragment import KernelFragment, Piece, included, read_kernel_fragment
from pipeline.edits.kernel_placement import Place
from pipeline.edits.kernel_target import read_target
from pipeline.edits.lexer import tokens
from pipeline.edits.objcpp import split
from pipeline.edits.params_header import add_params
from pipeline.errors import Refusal
from pipeline.source import KERNELS, SourceTree

_ATEN = "aten/src/"
_METAL = "c10::metal"


@dataclass(frozen=True)
class KernelEdit:
    """`files` holds the changed and new files. `params_headers` are the shared headers the host file must include.

    By include path, with their text. `kept` names what the fragment defines and the target had already.
    """

    files: Mapping[str, str]
    params_headers: Mapping[str, str]
    kept: tuple[str, ...] = ()


def merge_kernel(fragment: str, target: str, tree: SourceTree, fragment_path: str = "") -> KernelEdit:
    """Merge into the file `target`, which need not exist. Raises Refusal.

    Refused are names that mean something else there, macros that it lacks or that take other arguments, and a params
    struct of another form.
    """
    read = read_kernel_fragment(fragment, fragment_path)
    before = _text(tree, target)
    files: dict[str, str] = {}
    params_headers = {}
    if read.params:
        header_path = _params_header(target, before, tree)
        neighbours = [path for path in tree.files(KERNELS) if path.endswith(".h") and path != header_path]
        header = _text(tree, header_path)
        neighbour = _text(tree, neighbours[0]) if neighbours else None
        files[header_path] = add_params(header, read.params, header_path, neighbour)
        params_headers[header_path.removeprefix(_ATEN)] = files[header_path]
    includes = [*params_headers, *read.includes]
    if before is None:
        files[target] = _new_file(read, includes)
        kept: tuple[str, ...] = ()
    else:
        headers = _reached([*includes, *_includes(split(before, target))], lambda path: _text(tree, path))
        files[target], kept = _Merge(read, before, target, headers).merged(includes)
    changed = {path: text for path, text in sorted(files.items()) if text != _text(tree, path)}
    return KernelEdit(changed, params_headers, kept)


class _Merge:
    def __init__(self, fragment: KernelFragment, text: str, path: str, headers: Mapping[str, str]) -> None:
        self.fragment = fragment
        read = read_target(text, path, headers)
        self.file, self.placement, self.headers = read.file, read.placement, read.headers
        included_here = [*fragment.includes, *_includes(self.file.items)]
        self.knows_headers = all(path in headers for path in included_here if path.startswith("c10/"))
        self.insertions: dict[int, list[tuple[str, bool]]] = {}
        self.kept: list[str] = []

    def merged(self, includes: Iterable[str]) -> tuple[str, tuple[str, ...]]:
        """The text of the target with what it lacks, and the names of what it had."""
        self._check_calls()
        definitions = [piece for piece in self.fragment.definitions if not self._stands(piece)]
        registrations = [piece for piece in self.fragment.registrations if not self._stands(piece)]
        if any("kernel" in piece.item.identifiers for piece in definitions):
            self._insert(Place(len(self.file.items), True), _joined([*definitions, *registrations]))
        else:
            place = self._add_registrations(registrations)
            if definitions:
                self._insert(Place(self.placement.of_functors(place), True), _joined(definitions), first=True)
        if self.insertions:
            self._add_namespaces()
        self._add_includes(includes)
        after = self._applied()
        lines = iter(after.splitlines())
        if not all(line in lines for line in self.file.text.splitlines()):
            raise Refusal("the merge would change lines that stand there", path=self.file.path)
        split(after, self.file.path)
        return after, tuple(self.kept)

    def _check_calls(self) -> None:
        for piece in self.fragment.registrations:
            call = piece.call
            if call is None:
                continue
            macro = self.fragment.file.macros.get(call.macro) or self.file.known_macro(call.macro)
            if macro is None and self.knows_headers:
                raise self._clash(piece, f"{self.file.path} has no macro {call.macro}", "use one of its own or of c10")
            parameters, given = (macro.parameters or ()) if macro else call.arguments, len(call.arguments)
            if len(parameters) != given and "__VA_ARGS__" not in parameters:
                message = f"{call.macro} takes {len(parameters)} arguments in {self.file.path}, not {given}"
                raise self._clash(piece, message, "write the registration as that file does")

    def _stands(self, piece: Piece) -> bool:
        """Whether the target has it already. Raises Refusal where it has something else of that name."""
        call = piece.call
        if call is not None and not self.fragment.file.functors_made(piece.item):
            return set(self.file.bases(call)) <= self.file.registered
        if piece.item.kind is Kind.DECLARATION:
            return any(shape(item.code) == shape(piece.item.code) for item in self.file.items)
        names = piece.item.names or self.fragment.file.functors_made(piece.item)
        known = [item for name in names for item in self.file.definitions.get(name, [])]
        if not known:
            return False
        alike = any(shape(item.code) == shape(piece.item.code) for item in known)
        if not alike and not self._is_spare_functor(names[0], known[0], piece.item):
            raise self._clash(piece, f"{names[0]} means something else in {self.file.path}:{known[0].line}",
                              "give it a name of its own")  # fmt: skip
        self.kept.extend(names)
        return True

    def _is_spare_functor(self, name: str, known: Item, wanted: Item) -> bool:
        """A functor that nothing used until now, called as the fragment's is: it serves, and is not written twice."""
        ours = {base for piece in self.fragment.registrations if piece.call for base in self.file.bases(piece.call)}
        arities = call_arities(self.file.expanded(known))
        return name.endswith("_functor") and not self.file.uses(name, besides=ours) and (
            bool(arities) and call_arities(self.fragment.file.expanded(wanted)) <= arities
        )  # fmt: skip

    def _add_registrations(self, pieces: Sequence[Piece]) -> int:
        """Inserts them and returns the index of the first."""
        plain = [piece.call for piece in pieces if piece.call and piece.call.macro not in self.fragment.file.macros]
        if len(plain) < len(pieces):
            place = self.placement.of_registrations([self._kin_of(pieces)], block=True)
            self._insert(place, _joined(pieces))
            return place.index
        wanted = [base for call in plain for base in self.file.bases(call) if base not in self.file.registered]
        places: list[tuple[Place, str]] = []
        for group in _groups(self.file.contracted(wanted)):
            place = self.placement.of_registrations(group, places[-1][0] if places else None)
            lines = "".join(f"{call}\n" for call in group)
            if places and place == places[-1][0]:
                lines = places.pop()[1] + lines
            places.append((place, lines))
        for place, lines in places:
            self._insert(place, lines)
        return min((place.index for place, _ in places), default=len(self.file.items))

    def _kin_of(self, pieces: Sequence[Piece]) -> Call:
        """The first registration that a fragment's own macros come down to."""
        for piece in pieces:
            if piece.call is not None:
                expanded = split(self.fragment.file.expanded(piece.item))
                return next((Call.of(item) for item in expanded if item.kind is Kind.CALL), piece.call)
        return Call("", ())

    def _add_namespaces(self) -> None:
        usings = [item for item in self.file.items if item.kind is Kind.USING]
        there = {name for item in usings for name in item.names}
        if any(_METAL in item.names and not item.scope for items in self.headers.values() for item in items
               if item.kind is Kind.USING):  # fmt: skip
            there.add(_METAL)
        missing = [name for name in self.fragment.namespaces if name not in there and self._needs(name)]
        last = usings[-1] if usings else next((i for i in reversed(self.file.items) if i.kind is Kind.INCLUDE), None)
        index = self.file.items.index(last) + 1 if last else 0
        for name in missing:
            self._insert(Place(index, False), f"using namespace {name};\n")

    def _needs(self, namespace: str) -> bool:
        """Whether the fragment names something of c10::metal without saying so; other namespaces are always needed."""
        scope = tuple(_METAL.split("::"))
        declared = (item for items in self.headers.values() for item in items if item.scope == scope)
        names = {name for item in declared if item.kind is not Kind.DEFINE for name in item.names}
        return namespace != _METAL or not names or not names.isdisjoint(_unqualified(self.fragment))

    def _add_includes(self, wanted: Iterable[str]) -> None:
        includes = [(index, included(item)) for index, item in enumerate(self.file.items)
                    if item.kind is Kind.INCLUDE and not item.parents]  # fmt: skip
        for path in sorted(set(wanted) - {known for _, known in includes}):
            after = [index for index, known in includes if known < path]
            first = includes[0][0] if includes else 0
            self._insert(Place(max(after) + 1 if after else first, False), f"#include <{path}>\n")

    def _insert(self, place: Place, text: str, *, first: bool = False) -> None:
        if text:
            waiting = self.insertions.setdefault(place.index, [])
            waiting.insert(0 if first else len(waiting), (text, place.paragraph))

    def _applied(self) -> str:
        """The target's items with the insertions between them; paragraphs are set off by blank lines."""
        text, apart = "", False
        for index in range(len(self.file.items) + 1):
            for inserted, paragraph in self.insertions.get(index, ()):
                text += "\n" if text and not text.endswith("\n") else ""
                text += "\n" if text and (paragraph or apart) and not text.endswith("\n\n") else ""
                text += inserted
                apart = paragraph
            for item in self.file.items[index : index + 1]:
                text += "\n" if apart and item.kind is not Kind.BLANK else ""
                text += item.text
                apart = False
        return text

    def _clash(self, piece: Piece, message: str, hint: str) -> Refusal:
        return Refusal(message, path=self.fragment.path or None, line=piece.item.line, hint=hint)


def _new_file(fragment: KernelFragment, includes: Iterable[str]) -> str:
    lines = [f"#include <{path}>\n" for path in sorted(set(includes))]
    lines += [f"using namespace {name};\n" for name in fragment.namespaces]
    pieces = [*fragment.definitions, *fragment.registrations]
    return "".join(lines) + "\n" + _joined(pieces)


def _joined(pieces: Sequence[Piece]) -> str:
    return "".join(("\n" if piece.apart and number else "") + piece.text for number, piece in enumerate(pieces))


def _groups(calls: Sequence[Call]) -> list[list[Call]]:
    return [list(group) for _, group in groupby(calls, key=lambda call: call.macro)]


def _unqualified(fragment: KernelFragment) -> set[str]:
    """The words of the fragment's code that follow neither `::` nor a dot; names of template parameters are its own."""
    found, own, previous = set[str](), set[str](), ""
    for piece in (*fragment.definitions, *fragment.registrations):
        for token in tokens(piece.item.code):
            if token.kind == "word" and previous not in ("::", ".", "->"):
                (own if previous in ("typename", "class") else found).add(token.text)
            previous = token.text
    return found - own


def _params_header(target: str, text: str | None, tree: SourceTree) -> str:
    """The header that the target includes already, else that of its stem; `ActivationKernel.metal` has Activation.h."""
    stem = PurePosixPath(target).stem
    named = [f"{KERNELS}/{stem}.h", f"{KERNELS}/{stem.removesuffix('Kernel')}.h"]
    has = [f"{_ATEN}{path}" for path in _includes(split(text or "", target)) if f"{_ATEN}{path}".startswith(KERNELS)]
    for path in named:
        if path in has or (not has and tree.has(path)):
            return path
    return has[0] if len(has) == 1 else named[0]


def _includes(items: Iterable[Item]) -> list[str]:
    return [included(item) for item in items if item.kind is Kind.INCLUDE]


def _reached(includes: Iterable[str], text_of: Callable[[str], str | None]) -> dict[str, str]:
    """The headers of the tree that are included, directly or by another."""
    found: dict[str, str] = {}
    waiting = list(includes)
    while waiting:
        path = waiting.pop()
        text = text_of(path) if path.startswith("c10/") else text_of(f"{_ATEN}{path}")
        if path not in found and text is not None:
            found[path] = text
            waiting.extend(_includes(split(text, path)))
    return found


def _text(tree: SourceTree, path: str) -> str | None:
    return tree.read(path).decode() if tree.has(path) else None
