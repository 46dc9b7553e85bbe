"""plan: from an operator, its fragments and a source tree to the files of its change. Nothing is read but the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from pipeline.changeset import Changeset, Edit, EditKind, FileChange
from pipeline.edits import dispatch
from pipeline.edits.expectation_reader import Expectation
from pipeline.edits.forecast import KernelFacts, MacRun, Verdict, needs_samples, predict, proven
from pipeline.edits.fragment import read_fragment
from pipeline.edits.host import HostEdit, RemovedItem, place_fragment, remove_legacy
from pipeline.edits.kernel import merge_kernel
from pipeline.edits.splice import apply
from pipeline.errors import PipelineError, Refusal
from pipeline.manifest import Dispatch, Expectations, Operator
from pipeline.native_functions import Entry
from pipeline.snapshot import Snapshot
from pipeline.source import NATIVE_FUNCTIONS, OPERATIONS


@dataclass(frozen=True)
class Samples:
    """The dtypes for which the kernel's OpInfo samples came out on a CPU as they should, and those where not."""

    agrees: frozenset[str]
    differs: frozenset[str]


@dataclass(frozen=True)
class Fragments:
    """The text of the handwritten kernel and host stub; None where there is none yet, empty where none is needed.

    `proof` is what tests on a Mac said of the expectations, `samples` what the CPU said of the kernel.
    """

    kernel: str | None = None
    host: str | None = None
    proof: MacRun | None = None
    samples: Samples | None = None


@dataclass
class _Draft:
    """The plan while it is being made: texts by path over the tree's own, None where a file goes away."""

    operator: Operator
    snapshot: Snapshot
    rows: tuple[str, ...] = ()
    legacy: tuple[str, ...] = ()
    texts: dict[str, str | None] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    params_headers: Mapping[str, str] = field(default_factory=dict)

    def finish(self) -> Changeset:
        files = []
        for path, text in sorted(self.texts.items()):
            before = self.snapshot.tree.read(path) if self.snapshot.tree.has(path) else None
            after = None if text is None else text.encode(errors="surrogateescape")
            if before != after:
                files.append(FileChange(path, before, after))
        return Changeset(
            operator=self.operator,
            base=self.snapshot.tree,
            files=tuple(files),
            edits=tuple(self.edits),
            rows=self.rows,
            legacy=self.legacy,
            gaps=tuple(self.gaps),
            left=tuple(self.left),
        )


def plan(operator: Operator, fragments: Fragments, snapshot: Snapshot) -> Changeset:
    """The whole change of one operator. What cannot be planned is a gap with its reason; the rest is planned."""
    draft = _Draft(operator, snapshot)
    steps: tuple[Callable[[_Draft, Fragments], None], ...] = (
        _find_rows,
        _edit_rows,
        _merge_kernel,
        _edit_host,
        _remove_expectations,
    )
    for step in steps:
        try:
            step(draft, fragments)
        except PipelineError as error:
            draft.gaps.append(str(error))
    return draft.finish()


def _find_rows(draft: _Draft, _: Fragments) -> None:
    """The rows the manifest names or the operator's name does, and every other row of the same legacy functions."""
    functions, operator = draft.snapshot.functions, draft.operator
    named = [functions.entry(func) for func in operator.rows]
    if not named:
        overloads = [entry for entry in functions.entries.values() if entry.func.partition(".")[0] == operator.name]
        named = [
            entry for entry in overloads if _is_dedicated(entry) or (operator.dispatch is Dispatch.ADD and entry.rows)
        ]
    if operator.dispatch is Dispatch.ADD:
        draft.rows = tuple(entry.func for entry in named)
    else:
        legacy = operator.legacy or tuple(
            dict.fromkeys(row.kernel for entry in named if _is_dedicated(entry) and (row := entry.row("MPS")))
        )
        draft.legacy = legacy
        sharing = [func for function in legacy for func in functions.naming(function)]
        draft.rows = tuple(dict.fromkeys([*(entry.func for entry in named), *sharing]))
    if not draft.rows and not operator.stub:
        raise Refusal(
            f"no row of {operator.name} has a function for MPS alone",
            path=NATIVE_FUNCTIONS,
            hint="it is migrated already, or name its rows in the manifest",
        )


def _is_dedicated(entry: Entry) -> bool:
    """MPS has a function of its own in this entry."""
    row = entry.row("MPS")
    return row is not None and not {"CPU", "CUDA"} & set(row.keys)


def _edit_rows(draft: _Draft, _: Fragments) -> None:
    if draft.operator.dispatch is Dispatch.KEEP:
        draft.rows = ()
        return
    functions = draft.snapshot.functions
    splices, edits = [], []
    for func in draft.rows:
        entry = functions.entry(func)
        row = entry.row("MPS")
        match draft.operator.dispatch:
            case Dispatch.COLLAPSE:
                splices += dispatch.collapse_splices(functions, func)
                what = f"{func}: MPS joins CPU and CUDA ({row.kernel if row else ''} -> {entry.shared_kernel})"
            case Dispatch.DROP:
                splices += dispatch.drop_splices(functions, func)
                what = f"{func}: the MPS key goes away, the composite serves"
            case _:
                kernel = entry.shared_kernel or f"{func.replace('.', '_')}_mps"
                splices += dispatch.add_splices(functions, func, kernel)
                what = f"{func}: MPS runs {kernel}"
        edits.append(Edit(EditKind.ROW, NATIVE_FUNCTIONS, row.line if row else entry.line, what))
    draft.texts[NATIVE_FUNCTIONS] = apply(functions.text, splices)
    draft.edits += edits


def _merge_kernel(draft: _Draft, fragments: Fragments) -> None:
    if draft.operator.dispatch is Dispatch.DROP or fragments.kernel == "":
        return
    if fragments.kernel is None:
        raise _no_fragment(draft, f"kernels/{draft.operator.name}.metal")
    target = _target(draft, "kernel")
    edit = merge_kernel(fragments.kernel, target, draft.snapshot.tree, draft.operator.kernel)
    draft.texts.update(edit.files)
    draft.params_headers = edit.params_headers
    draft.edits += [Edit(EditKind.KERNEL, path, None, _adds(draft, path)) for path in edit.files]
    draft.left += [f"{target} has {name} already, so it is not added" for name in edit.kept]


def _edit_host(draft: _Draft, fragments: Fragments) -> None:
    """The legacy code goes and the stub comes, in one edit: what both use stays.

    Where the stub cannot be placed, what goes is planned all the same.
    """
    host = draft.snapshot.host
    if not any(path.endswith(".mm") for path in host.paths):
        label = draft.snapshot.tree.label
        raise Refusal(f"{label} holds no host files", path=OPERATIONS, hint="plan on a repository")
    try:
        edit = _place_stub(draft, fragments)
    except Refusal:
        _host_edited(draft, remove_legacy(host, draft.legacy, kept=_still_named(draft), headers=draft.snapshot.headers))
        raise
    _host_edited(draft, edit)


def _place_stub(draft: _Draft, fragments: Fragments) -> HostEdit:
    snapshot, operator, kept = draft.snapshot, draft.operator, _still_named(draft)
    if operator.dispatch is Dispatch.DROP or fragments.host == "":
        return remove_legacy(snapshot.host, draft.legacy, kept=kept, headers=snapshot.headers)
    if fragments.host is None:
        raise _no_fragment(draft, f"stubs/{operator.name}.mm")
    target = _target(draft, "host")
    fragment = read_fragment(fragments.host, operator.host)
    functions = [name for name in draft.legacy if name not in fragment.native_functions]
    library = PurePosixPath(operator.into.kernel).stem if operator.into else ""
    edit = place_fragment(
        snapshot.host, target, fragment, functions, kept, snapshot.headers, draft.params_headers, library
    )
    draft.edits.append(Edit(EditKind.HOST, target, None, _adds(draft, target)))
    return edit


def _host_edited(draft: _Draft, edit: HostEdit) -> None:
    draft.texts.update(edit.files)
    draft.edits += [_removed(item) for item in edit.removed if item.kind != "comment"]
    for name in edit.missing:
        draft.gaps.append(f"{OPERATIONS}: no definition of {name} was found; name the legacy function in the manifest")


def _no_fragment(draft: _Draft, path: str) -> Refusal:
    return Refusal(f"there is no {path}", hint=f"`invoke draft --op {draft.operator.name}` starts one")


def _target(draft: _Draft, kind: Literal["kernel", "host"]) -> str:
    """The file a fragment goes into. One that the tree lacks, older or newer than ours, is not guessed."""
    operator, tree = draft.operator, draft.snapshot.tree
    if operator.into is None:
        raise Refusal(f"nothing says which files {operator.name} goes into", hint="write `into:` in the manifest")
    target: str = getattr(operator.into, kind)
    if not tree.has(target) and not operator.into.may_be_new:
        raise Refusal(
            f"{tree.label} has no such file to put {operator.name} into",
            path=target,
            hint="write `new_file:` in the manifest where it should be made, or plan on another commit",
        )
    return target


def _adds(draft: _Draft, path: str) -> str:
    return (
        f"{draft.operator.name} is added" if draft.snapshot.tree.has(path) else f"a new file with {draft.operator.name}"
    )


def _still_named(draft: _Draft) -> frozenset[str]:
    """The functions that rows of native_functions.yaml name after the edit."""
    return frozenset(draft.snapshot.functions.named_besides(draft.rows))


def _removed(item: RemovedItem) -> Edit:
    return Edit(EditKind.LEGACY, item.path, item.line, f"{item.kind} {item.name}".strip())


def _remove_expectations(draft: _Draft, fragments: Fragments) -> None:
    """Those that a Mac refuted, and those that the kernel makes void, as far as the manifest's policy goes."""
    operator = draft.operator
    all_of_them = draft.snapshot.expectations
    concerned = all_of_them.concerning(operator.name, *operator.opinfo)
    facts = _facts(draft, fragments.samples)
    void = _refuted(draft, concerned, fragments.proof)
    places = {(each.path, each.line, each.column) for each in void}
    kept = [each for each in concerned if (each.path, each.line, each.column) not in places]
    for judgement in (judgement for expectation in kept for judgement in predict(expectation, facts)):
        if judgement.verdict is Verdict.PREDICTED and operator.expectations is Expectations.PREDICTED:
            void.append(judgement.expectation)
            what = f"{judgement.expectation.key}: {judgement.expectation.kind.value} goes: {judgement.reason}"
            draft.edits.append(Edit(EditKind.EXPECTATION, judgement.expectation.path, judgement.expectation.line, what))
        else:
            draft.left.append(f"{judgement.expectation}: {judgement.reason}")
    for path, content in all_of_them.remove(void).items():
        draft.texts[path] = content.decode(errors="surrogateescape")


def _facts(draft: _Draft, samples: Samples | None) -> KernelFacts:
    """A backward kernel says nothing of its OpInfo's outputs, which the forward one makes."""
    operator = draft.operator
    keys = operator.opinfo if samples is not None and not operator.name.endswith("_backward") else ()
    return KernelFacts(
        shared_path=operator.dispatch is Dispatch.COLLAPSE,
        agrees={key: samples.agrees for key in keys if samples},
        differs={key: samples.differs for key in keys if samples},
        implemented=frozenset(draft.rows) if operator.dispatch is Dispatch.ADD else frozenset(),
    )


def awaits_samples(operator: Operator, snapshot: Snapshot) -> bool:
    """Whether some expectation goes or stays by what the kernel's samples show."""
    if operator.expectations is not Expectations.PREDICTED or operator.name.endswith("_backward"):
        return False
    keys = set(operator.opinfo)
    concerned = snapshot.expectations.concerning(operator.name, *operator.opinfo)
    return any(each.key in keys and needs_samples(each) for each in concerned)


def _refuted(draft: _Draft, concerned: Sequence[Expectation], proof: MacRun | None) -> list[Expectation]:
    if proof is None or draft.operator.expectations is Expectations.KEEP:
        return []
    found = proven(concerned, proof, draft.snapshot.expectations.opinfos)
    for each in found:
        what = f"{each.key}: {each.kind.value} goes: it passed on a Mac"
        draft.edits.append(Edit(EditKind.EXPECTATION, each.path, each.line, what))
        if each not in concerned:
            draft.left.append(f"{each.key}: {each.kind.value} stays for the dtypes that did not pass on a Mac")
    return found
