"""The edit of host files (`.mm`): legacy functions go with all that dies with them, a fragment takes their place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.edits.cut import codes, with_surroundings, without
from pipeline.edits.definitions import declarations, definitions, refuse_partial, registrations
from pipeline.edits.followers import followers
from pipeline.edits.fragment import Fragment, Piece, shape
from pipeline.edits.hostfile import Entry, HostFile, HostFiles, Place, Registration, included
from pipeline.edits.includes import Headers
from pipeline.edits.items import Item, Kind
from pipeline.edits.liveness import liveness_of
from pipeline.edits.objcpp import split
from pipeline.edits.stub import fitted, insert_stub, is_registered, new_host_file
from pipeline.errors import Refusal

_CONTENT = (
    Kind.FUNCTION,
    Kind.DECLARATION,
    Kind.TYPE,
    Kind.ALIAS,
    Kind.VARIABLE,
    Kind.CALL,
    Kind.METHOD,
    Kind.OTHER,
)


@dataclass(frozen=True)
class RemovedItem:
    """`kind` as of `items.Kind`, `name` what the item declared, called or included."""

    path: str
    line: int
    kind: str
    name: str


@dataclass(frozen=True)
class HostEdit:
    """The files that change, None for one without content left; what was removed; functions that were not found."""

    files: Mapping[str, str | None]
    removed: tuple[RemovedItem, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class _Task:
    """What goes, what is replaced by which text, and which code comes into the file `target`."""

    removed: frozenset[Place]
    replaced: Mapping[Place, str]
    target: str = ""
    coming: tuple[Entry, ...] = ()


def remove_legacy(
    host: HostFiles,
    functions: Collection[str],
    stubs: Collection[str] = (),
    kept: Collection[str] = (),
    headers: Headers | None = None,
) -> HostEdit:
    """Removes legacy functions, registrations of stubs, and all that only they needed.

    `host` holds every file that may name something of the others. `kept` are the functions that native_functions.yaml
    still names after the edit. Only deletes lines; a second run finds nothing to do. Raises Refusal where code that
    stays calls a removed function, where one macro line also defines something that stays, and where an item shares its
    line with other code.
    """
    task = _Task(_places(host, functions, stubs, {}), {})
    return _carried_out(host, task, functions, stubs, kept, headers or Headers())


def place_fragment(
    host: HostFiles,
    target: str,
    fragment: Fragment,
    functions: Collection[str] = (),
    kept: Collection[str] = (),
    headers: Headers | None = None,
    params_headers: Mapping[str, str] | None = None,
    library: str = "",
) -> HostEdit:
    """Removes `functions` and puts the fragment into the file `target`, which need not exist.

    A function that the fragment defines anew is replaced: where it stands in `target` in its place, else it goes from
    its old file. Likewise a stub that it registers anew, whose old code goes with all that only it needed. In other
    respects as `remove_legacy` and `insert_stub`.
    """
    headers = headers or Headers()
    fragment = fitted(host[target], fragment) if target in host.texts else fragment
    replaced = _replaced(host, target, fragment)
    moved = [
        name for name in fragment.native_functions if any(known.path != target for known in definitions(host, name))
    ]
    stubs = [known.stub for known in fragment.registrations if not _stays(host, target, fragment, known, replaced)]
    stubs = [stub for stub in stubs if registrations(host, stub)]
    coming = HostFile("", "".join(piece.text for piece in fragment.pieces)).entries
    task = _Task(_places(host, [*functions, *moved], stubs, replaced), replaced, target, coming)
    edit = _carried_out(host, task, functions, stubs, kept, headers)
    before = edit.files.get(target, host.texts.get(target))
    if before is None:
        after = _heading(host, target) + new_host_file(target, fragment, params_headers, library)
    else:
        after = insert_stub(
            before, fragment, path=target, headers=headers, params_headers=params_headers, library=library
        )
    files = {path: text for path, text in {**edit.files, target: after}.items() if text != host.texts.get(path)}
    return replace(edit, files=dict(sorted(files.items())))


def _heading(host: HostFiles, target: str) -> str:
    """The comment that starts the file which the fragment replaces as a whole, empty for a new one."""
    first = host[target].items[0] if host.texts.get(target) else None
    return first.text if first is not None and first.kind is Kind.COMMENT else ""


def _places(
    host: HostFiles, functions: Collection[str], stubs: Collection[str], replaced: Collection[Place]
) -> frozenset[Place]:
    """Where the functions and registrations stand that go."""
    found = [
        *(known.place for name in functions for known in definitions(host, name)),
        *(known.place for stub in stubs for known in registrations(host, stub)),
    ]
    going = {place for place in found if place not in replaced}
    for place in sorted(going):
        refuse_partial(host[place.path].entries[place.index], place.path, {*functions, *stubs})
    staying = {name for place in replaced for name in host[place.path].items[place.index].names}
    return frozenset(going) | declarations(host, set(functions) - staying)


def _replaced(host: HostFiles, target: str, fragment: Fragment) -> dict[Place, str]:
    """The functions of `target` that the fragment defines anew, native ones and those of a registered stub."""
    found: dict[Place, Piece] = {}
    if target not in host.texts:
        return {}
    registered = {known.function for known in fragment.registrations}
    for piece in fragment.pieces:
        native = {
            known.place.index
            for name in piece.names
            if name in fragment.native_functions
            for known in definitions(host, name)
            if known.path == target
        }
        kernels = {
            index
            for index, item in enumerate(host[target].items)
            if item.kind is Kind.FUNCTION and not registered.isdisjoint(item.names) and item.names == piece.names
        }
        places = sorted(native | kernels)
        if len(places) > 1:
            line = host[target].items[places[1]].line
            raise Refusal(f"defines {piece.names[0]} more than once", path=target, line=line)
        if places and shape(host[target].items[places[0]].code) != piece.shape:
            found[Place(target, places[0])] = piece
    return _with_helpers(host[target], fragment, found)


def _with_helpers(file: HostFile, fragment: Fragment, replaced: Mapping[Place, Piece]) -> dict[Place, str]:
    """The new text of each place; helpers that the file lacks stand above the first function that needs them."""
    there = {name for entry in file.entries for name in entry.defines}
    taken = there | {known.function for known in fragment.registrations} | set(fragment.native_functions)
    helpers = [piece for piece in fragment.pieces if taken.isdisjoint(piece.names)]
    texts: dict[Place, str] = {}
    for place in sorted(replaced):
        needed = _needed(helpers, replaced[place])
        helpers = [piece for piece in helpers if piece not in needed]
        texts[place] = "\n".join(piece.text for piece in (*needed, replaced[place]))
    return texts


def _needed(helpers: Sequence[Piece], piece: Piece) -> list[Piece]:
    """Those of `helpers` that the piece uses, or that these use, in their order."""
    used, size = set(piece.item.identifiers), -1
    while size != len(used):
        size = len(used)
        for helper in helpers:
            if not used.isdisjoint(helper.names):
                used |= helper.item.identifiers
    return [helper for helper in helpers if not used.isdisjoint(helper.names)]


def _stays(host: HostFiles, target: str, fragment: Fragment, wanted: Registration, replaced: Collection[Place]) -> bool:
    """The target's registration is right as it is: for the same code, or for the function replaced in its place."""
    if target not in host.texts:
        return False
    if is_registered(host[target], fragment, wanted):
        return True
    names = {name for place in replaced for name in host[target].items[place.index].names}
    lines = [entry for entry in host[target].entries if wanted in entry.registrations]
    return wanted.function in names and any(entry.parts == (entry.item,) for entry in lines)


def _carried_out(
    host: HostFiles,
    task: _Task,
    functions: Collection[str],
    stubs: Collection[str],
    kept: Collection[str],
    headers: Headers,
) -> HostEdit:
    coming = frozenset().union(*(entry.uses for entry in task.coming))
    touched = task.removed | task.replaced.keys()
    dead = task.removed | liveness_of(host).died(touched, coming | frozenset(kept))
    missing = tuple(
        [name for name in functions if not definitions(host, name)]
        + [stub for stub in stubs if not registrations(host, stub)]
    )
    for name in missing:
        if (refusal := host.refusal(name)) is not None:
            raise refusal
    _refuse_use(host, task, set(functions) - set(missing), dead | touched)
    gone: dict[str, frozenset[int]] = {}
    for path in sorted({place.path for place in dead | touched}):
        here = {place.index for place in dead if place.path == path}
        also = {place.index for place in task.replaced if place.path == path}
        added = task.coming if path == task.target else ()
        here |= followers(host, host[path], here | also, added, headers) - also
        gone[path] = with_surroundings(host[path].items, here)
    return _written(host, _without_deleted_headers(host, gone), task, missing)


def _refuse_use(host: HostFiles, task: _Task, names: Collection[str], going: Collection[Place]) -> None:
    """Raises Refusal where code that stays or comes still calls one of the functions `names`."""
    own = {name for entry in task.coming for name in entry.functions}
    for name in sorted(names):
        if name not in own and any(name in entry.uses for entry in task.coming):
            raise Refusal(f"the fragment uses {name}, which goes", path=task.target, hint=f"do without {name}")
    for user in liveness_of(host).users(names, going):
        entry = host[user.path].entries[user.index]
        name = min(name for name in names if name in entry.uses)
        what = ", ".join(entry.item.names) or entry.item.kind.value
        raise Refusal(f"{what} still uses {name}", path=user.path, line=entry.item.line,
                      hint=f"remove it in the same change, or keep {name}")  # fmt: skip


def _without_deleted_headers(host: HostFiles, gone: dict[str, frozenset[int]]) -> dict[str, frozenset[int]]:
    """`gone` with the includes of headers that have no content left."""
    deleted = {path for path, indexes in gone.items() if _without_content(host[path], indexes)}
    names = {path.removeprefix("aten/src/") for path in deleted if host[path].is_header}
    found = dict(gone)
    for path in host.paths if names else ():
        including = {index for index, item in enumerate(host[path].items) if included(item) in names}
        if including and path not in deleted:
            found[path] = with_surroundings(host[path].items, gone.get(path, frozenset()) | including)
    return found


def _written(host: HostFiles, gone: Mapping[str, frozenset[int]], task: _Task, missing: tuple[str, ...]) -> HostEdit:
    files: dict[str, str | None] = {}
    removed: list[RemovedItem] = []
    for path, indexes in sorted(gone.items()):
        items = host[path].items
        replaced = {
            place.index: _fitted(items, place.index, text)
            for place, text in task.replaced.items()
            if place.path == path
        }
        removed += [
            RemovedItem(path, item.line, item.kind.value, included(item) or ", ".join(item.names) or item.macro)
            for index, item in enumerate(items)
            if index in indexes and item.kind not in (Kind.BLANK, Kind.CLOSE)
        ]
        files[path] = None
        if replaced or not _without_content(host[path], indexes):
            files[path] = without(items, indexes, path, replaced)
            _require_unchanged(items, indexes, replaced, files[path] or "", path)
    return HostEdit(files, tuple(removed), missing)


def _require_unchanged(
    items: Sequence[Item], gone: Collection[int], replaced: Mapping[int, str], text: str, path: str
) -> None:
    """Raises Refusal where the edited text splits into other items than those that were to stay."""
    expected: list[str] = []
    for index, item in enumerate(items):
        if index not in gone:
            expected += codes(split(replaced[index], path)) if index in replaced else codes([item])
    if codes(split(text, path)) != expected:
        line = items[min(gone, default=0)].line
        raise Refusal("what is left would read differently", path=path, line=line, hint="edit this file by hand")


def _fitted(items: Sequence[Item], index: int, text: str) -> str:
    """A function that replaces a macro line stands between blank lines, as the lines around it need not."""
    if items[index].kind is not Kind.CALL:
        return text
    above = "" if items[index - 1].kind in (Kind.BLANK, Kind.OPEN) else "\n"
    below = "" if items[index + 1].kind in (Kind.BLANK, Kind.CLOSE) else "\n"
    return f"{above}{text}{below}"


def _without_content(file: HostFile, gone: Collection[int]) -> bool:
    left = [item for index, item in enumerate(file.items) if index not in gone]
    return not any(item.kind in _CONTENT or (file.is_header and item.kind is Kind.DEFINE) for item in left)
