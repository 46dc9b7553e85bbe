"""Test expectations that concern an operator on MPS: found in PyTorch's test files, and taken out again.

Found with `ast`, whose columns are bytes; edited with libcst on the one OpInfo or container concerned, so that nothing
else of a 28,000-line file is touched. Which of them should go is the caller's decision: see forecast.py.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.edits.expectation_reader import Expectation, FileExpectations, Kind, Place, read_file
from pipeline.edits.opinfos import COMPLEX, OpInfo, spellings
from pipeline.edits.python_elements import Position, add_to_set, remove_elements
from pipeline.edits.python_names import drop_empty_containers, drop_unused_imports
from pipeline.errors import Refusal
from pipeline.source import COMMON_MPS, OPINFO_DEFINITIONS, OPINFOS, SourceTree

# Up to 2.8 the lists of common_mps.py stood in the test file itself.
TEST_MPS = "test/test_mps.py"


def expectation_files(tree: SourceTree) -> dict[str, bytes]:
    """The files of a tree that hold expectations, by path."""
    definitions = [path for path in tree.files(OPINFO_DEFINITIONS) if path.endswith(".py")]
    return {path: tree.read(path) for path in (COMMON_MPS, TEST_MPS, OPINFOS, *definitions) if tree.has(path)}


def remove(files: Mapping[str, bytes], expectations: Iterable[Expectation]) -> dict[str, bytes]:
    """The files without those expectations. Raises Refusal where one is not in them."""
    return {**files, **Expectations(files).remove(expectations)}


class Expectations:
    """All expectations of some files, each file parsed once. Raises Refusal where one is not valid Python."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = {path: read_file(path, source) for path, source in files.items()}
        self.opinfos = tuple(opinfo for file in self._files.values() for opinfo in file.opinfos)
        by_key: dict[str, OpInfo] = {opinfo.key: opinfo for opinfo in reversed(self.opinfos)}
        computed = [opinfo for opinfo in self.opinfos if opinfo.variant is None]
        self._found: dict[Expectation, tuple[Place, OpInfo | None]] = {}
        for file in self._files.values():
            for expectation, place in file.found:
                key = expectation.key
                opinfo = by_key.get(key) or next((each for each in computed if each.is_key(key)), None)
                resolved = _resolve(expectation, opinfo) if expectation.in_list else expectation
                self._found[resolved] = (place, opinfo)

    @cached_property
    def _by_operator(self) -> Mapping[str, Sequence[OpInfo]]:
        found: dict[str, list[OpInfo]] = defaultdict(list)
        for opinfo in self.opinfos:
            for name in opinfo.operators:
                found[name].append(opinfo)
        return found

    @cached_property
    def _by_ref(self) -> Mapping[str, Sequence[OpInfo]]:
        """The `_refs.` twins of each OpInfo by its name."""
        found: dict[str, list[OpInfo]] = defaultdict(list)
        for opinfo in self.opinfos:
            found[opinfo.ref_of].append(opinfo)
        return found

    @cached_property
    def _by_opinfo(self) -> Mapping[OpInfo, Sequence[Expectation]]:
        found: dict[OpInfo, list[Expectation]] = defaultdict(list)
        for entry, (_, opinfo) in self._found.items():
            if opinfo is not None:
                found[opinfo].append(entry)
        return found

    @property
    def entries(self) -> tuple[Expectation, ...]:
        return tuple(self._found)

    @cached_property
    def stale(self) -> tuple[Expectation, ...]:
        """Entries of lists whose key is no OpInfo's: they have no effect. Needs the OpInfo files among the files."""
        return tuple(entry for entry in self._found if entry.in_list and entry.stale)

    def concerning(self, *operators: str) -> tuple[Expectation, ...]:
        """Every expectation of these operators, their aliases, variants and `_refs.` twins, by file and line.

        An operator is named as in native_functions.yaml (`logit`, `mish_backward`) or as an OpInfo.
        """
        known = self._by_operator
        wanted = {opinfo for each in operators for name in spellings(each) for opinfo in known.get(name, ())}
        wanted |= {twin for name in {opinfo.name for opinfo in wanted} for twin in self._by_ref.get(name, ())}
        entries = [entry for opinfo in wanted for entry in self._by_opinfo.get(opinfo, ())]
        entries.extend(entry for entry in self.stale if entry.key in operators)
        entries.extend(self._missing_from_allow_lists(wanted))
        return tuple(sorted(entries, key=lambda entry: (entry.path, entry.line, entry.column, entry.key)))

    def remove(self, expectations: Iterable[Expectation]) -> dict[str, bytes]:
        """The changed files. One narrowed to some of its dtypes (`dataclasses.replace`) loses only those.

        Comments that speak of nothing else go with an expectation, and so do what it empties and the imports it used.
        """
        by_path: dict[str, list[Expectation]] = defaultdict(list)
        for expectation in expectations:
            by_path[expectation.path].append(expectation)
        return {path: self._remove_from(path, gone) for path, gone in by_path.items()}

    def _missing_from_allow_lists(self, opinfos: Collection[OpInfo]) -> Iterator[Expectation]:
        for file in self._files.values():
            for opinfo in opinfos:
                listed = any(opinfo.key in allowed.names for allowed in file.allow_lists)
                tested = opinfo.variant is not None and not opinfo.name.startswith(("_refs.", "_foreach_"))
                if file.allow_lists and opinfo.complex_dtypes and tested and not listed:
                    allowed = file.allow_lists[0]
                    yield Expectation(
                        path=file.path,
                        line=allowed.line,
                        column=allowed.column,
                        kind=Kind.COMPLEX,
                        name=opinfo.name,
                        variant=opinfo.variant or "",
                        container=allowed.name,
                        test_class=allowed.scope[0],
                        test=allowed.scope[1],
                        dtypes=opinfo.complex_dtypes,
                    )

    def _remove_from(self, path: str, gone: list[Expectation]) -> bytes:
        file = self._files.get(path)
        if file is None:
            raise Refusal("the file is not among those searched for expectations", path=path)
        doomed: dict[tuple[int, int], set[Position]] = defaultdict(set)
        added: dict[tuple[int, int], set[str]] = defaultdict(set)
        for whole, dtypes in self._wholes(gone).items():
            if whole.kind is Kind.COMPLEX:
                allowed = next(each for each in file.allow_lists if each.name == whole.container)
                added[allowed.root].add(whole.key)
            else:
                place = self._found[whole][0]
                doomed[place.root] |= self._doomed(whole, place, dtypes)
        source, dropped = file.source, set[str]()
        for root in sorted({*doomed, *added}, reverse=True):
            before = file.source[slice(*root)].decode()
            after = self._edit(file, root, before, doomed[root], added[root])
            dropped |= set(re.findall(r"\w+", before)) - set(re.findall(r"\w+", after))
            source = source[: root[0]] + after.encode() + source[root[1] :]
        edited = source.decode()
        text = drop_empty_containers(edited, {entry.container for entry in gone if entry.in_list})
        imports = file.imports if text != edited else file.imports & dropped
        return drop_unused_imports(file.source.decode(), text, imports).encode()

    def _edit(
        self, file: FileExpectations, root: tuple[int, int], before: str, doomed: set[Position], added: set[str]
    ) -> str:
        kin = {position for _, place in file.found if place.root == root
               for position in (place.element, *(position for _, position in place.dtypes))}  # fmt: skip
        line = file.source.count(b"\n", 0, root[0])
        try:
            after = remove_elements(before, doomed, kin) if doomed else before
            for name in sorted(added):
                after = add_to_set(after, name)
            ast.parse(f"({after})")
        except Refusal as refusal:
            raise Refusal(refusal.message, path=file.path, line=line + (refusal.line or 1), hint=refusal.hint) from None
        except SyntaxError:
            raise Refusal("the edit would not leave valid Python", path=file.path, line=line + 1) from None
        return after

    def _wholes(self, gone: Iterable[Expectation]) -> dict[Expectation, set[str]]:
        """The expectations as they were found, each with the dtypes it is to lose."""
        wholes: dict[Expectation, set[str]] = {}
        for expectation in gone:
            known: Iterable[Expectation] = self._found
            if expectation.kind is Kind.COMPLEX:
                known = self._missing_from_allow_lists([each for each in self.opinfos if each.key == expectation.key])
            here = (whole for whole in known if (whole.line, whole.column) == (expectation.line, expectation.column))
            whole = next((whole for whole in here if whole == replace(expectation, dtypes=whole.dtypes)), None)
            if whole is None:
                raise Refusal(f"no such expectation of {expectation.key}", path=expectation.path,
                              line=expectation.line, hint="search the file again")  # fmt: skip
            wholes.setdefault(whole, set()).update(expectation.dtypes or ())
            if whole.dtypes is None and expectation.dtypes is not None:
                raise self._indivisible(whole, expectation.dtypes)
        for whole, dtypes in wholes.items():
            if whole.kind is Kind.COMPLEX and dtypes < set(whole.dtypes or ()):
                raise self._indivisible(whole, dtypes)
        return wholes

    def _doomed(self, whole: Expectation, place: Place, dtypes: set[str]) -> set[Position]:
        """Which elements go: the expectation itself, or some of its dtypes."""
        if dtypes >= set(whole.dtypes or ()):
            return {place.element}
        positions = {position for dtype, position in place.dtypes if dtype in dtypes}
        if len(positions) < len(dtypes) or len(place.dtypes) != len(whole.dtypes or ()):
            raise self._indivisible(whole, dtypes)
        return positions

    def _indivisible(self, whole: Expectation, dtypes: Iterable[str]) -> Refusal:
        return Refusal(f"{whole.key} has no plain list from which to take {', '.join(sorted(dtypes))}",
                       path=whole.path, line=whole.line, hint="remove it as a whole")  # fmt: skip


def _resolve(expectation: Expectation, opinfo: OpInfo | None) -> Expectation:
    """A list's entry under the name and variant of its OpInfo."""
    if opinfo is None:
        return replace(expectation, stale=True)
    resolved = replace(expectation, name=opinfo.name, variant=expectation.key.removeprefix(opinfo.name))
    if resolved.dtypes == COMPLEX and opinfo.complex_dtypes:
        # A deny-list speaks of complex at large; only what the OpInfo claims is ever tested.
        return replace(resolved, dtypes=opinfo.complex_dtypes)
    return resolved
