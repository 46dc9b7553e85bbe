"""The manifest, a source tree and the operators chosen from them: what every command begins with."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.changeset import Changeset
from pipeline.checks.remembered import key_of_tree, remembered_evidence
from pipeline.checks.run import Alone, Subject, check_kernel, run_checks, run_samples
from pipeline.errors import PipelineError, UsageError
from pipeline.findings import Evidence
from pipeline.manifest import MANIFEST, NO_FRAGMENT, Manifest, Operator, State
from pipeline.manifest_file import load_manifest, save_new_operators
from pipeline.migration import Fragments, awaits_samples, plan
from pipeline.open_source import Source, open_source
from pipeline.proofs import load_proof
from pipeline.rules import EVERY_RULE, Selection, require_known_suppressions
from pipeline.snapshot import Snapshot
from pipeline.source import SourceTree

# The parsed views of a tree are made when first asked for.
_planning = threading.Lock()
_NOT_READY = (State.LISTED, State.HELD, State.REJECTED, State.SUPERSEDED, State.LANDED)


@dataclass(frozen=True)
class Campaign:
    """The manifest at `root` and one commit of a source tree."""

    root: Path
    manifest: Manifest
    snapshot: Snapshot
    source: Source = field(repr=False)

    @classmethod
    def open(cls, root: Path, source: str) -> Campaign:
        """Raises UsageError when the manifest or the source cannot be used."""
        manifest = load_manifest(root / MANIFEST)
        opened = open_source(source, root)
        return cls(root, manifest, Snapshot(opened.tree), opened)

    def operators(self, names: Iterable[str], everything: bool, *, unlisted: bool = False) -> list[Operator]:
        """The operators named, or with `everything` all that are ready to be worked on.

        With `unlisted` a name may be missing in the manifest, if the tree knows it.
        """
        chosen = [self._operator(name, unlisted) for name in dict.fromkeys(names)]
        if everything:
            chosen += [operator for operator in workable(self.manifest) if operator not in chosen]
        if not chosen:
            raise UsageError("no operator is named", hint="write --op NAME (repeatable) or --all")
        return chosen

    def _operator(self, name: str, unlisted: bool) -> Operator:
        if unlisted and not self.manifest.has(name):
            entries = self.snapshot.functions.entries.values()
            if any(entry.func.partition(".")[0] == name for entry in entries):
                return Operator(name)
        return self.manifest.operator(name)

    def plan(self, operator: Operator) -> Changeset:
        """The plan, with what the kernel's samples show on this CPU where a test expectation depends on it."""
        return self.settle(self.first_plan(operator))

    def plan_all(self, operators: Sequence[Operator], tell: Callable[[str], None]) -> list[Changeset]:
        """Plans in the order given; kernels whose samples are awaited run side by side, `tell` hears of each plan."""

        def settled(changeset: Changeset) -> Changeset:
            done = self.settle(changeset)
            tell(changeset.operator.name)
            return done

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(settled, (self.first_plan(operator) for operator in operators)))

    def first_plan(self, operator: Operator) -> Changeset:
        """The plan as far as it goes without running the kernel."""
        with _planning:
            return plan(operator, self.fragments(operator), self.snapshot)

    def settle(self, changeset: Changeset) -> Changeset:
        """Plan again once the samples have run, if anything waits for them. Several threads may settle at once."""
        operator, fragments = changeset.operator, self.fragments(changeset.operator)
        if not (changeset.complete and fragments.kernel and awaits_samples(operator, self.snapshot)):
            return changeset
        samples = run_samples(Subject(changeset, fragments, self.root / ".cache"))
        with _planning:
            return plan(operator, replace(fragments, samples=samples), self.snapshot)

    def on(self, tree: SourceTree) -> Campaign:
        """The same on another tree, such as this one with an operator migrated."""
        return replace(self, snapshot=Snapshot(tree))

    def names(self, names: Iterable[str], everything: bool) -> list[str]:
        """As `operators`, for names that need not be in the manifest."""
        if everything or not names:
            return [operator.name for operator in self.operators(names, everything)]
        return list(dict.fromkeys(names))

    def check_operator(
        self, name: str, *, kernel: str = "", stub: str = "", device: str = "cpu", selection: Selection = EVERY_RULE
    ) -> Evidence:
        """Evidence on the planned change, or, with files or a device of one's own, on the kernel alone.

        Raises UsageError when there is no kernel to check or a file cannot be read.
        """
        operator = self.manifest.operator(name) if self.manifest.has(name) else Operator(name)
        if not (kernel or stub or device != "cpu"):
            return self._check_planned(self.manifest.operator(name), selection)
        fragments = self.fragments(operator)
        if kernel:
            fragments = replace(fragments, kernel=_read(kernel))
        if stub:
            fragments = replace(fragments, host=_read(stub))
        if not fragments.kernel:
            raise UsageError(f"there is no kernel of {name}", hint="write --kernel FILE")
        operator = replace(operator, kernel=kernel or operator.kernel, host=stub or operator.host)
        require_known_suppressions(operator)
        return check_kernel(Alone(operator, fragments, self.snapshot.tree, self.root / ".cache", device), selection)

    def _check_planned(self, operator: Operator, selection: Selection) -> Evidence:
        """Neither planned nor checked again when nothing that either depends on has changed."""
        key = key_of_tree(
            "evidence", operator, self.snapshot.tree, self.fragments(operator), selection, operator.suppress
        )
        return remembered_evidence(
            self.root / ".cache" / "results",
            key,
            lambda: self.check(self._complete_plan(operator), selection),
            selection.runs,
        )

    def check(self, changeset: Changeset, selection: Selection = EVERY_RULE) -> Evidence:
        """Raises UsageError when the manifest suppresses a rule that does not exist."""
        require_known_suppressions(changeset.operator)
        return run_checks(Subject(changeset, self.fragments(changeset.operator), self.root / ".cache"), selection)

    def _complete_plan(self, operator: Operator) -> Changeset:
        """Raises PipelineError with what could not be planned."""
        changeset = self.plan(operator)
        if not changeset.complete:
            raise PipelineError(f"{operator.name}: {'; '.join(changeset.gaps)}")
        return changeset

    def add_operators(self, entries: Sequence[Mapping[str, Any]]) -> None:
        save_new_operators(self.root / MANIFEST, entries)

    def fragments(self, operator: Operator) -> Fragments:
        proof = load_proof(self.root, operator.name)
        return Fragments(self._fragment(operator.kernel), self._fragment(operator.host), proof)

    def _fragment(self, path: str) -> str | None:
        if path == NO_FRAGMENT:
            return ""
        return (self.root / path).read_text(encoding="utf-8") if path else None


def workable(manifest: Manifest) -> list[Operator]:
    """Operators whose code is there and that nobody has decided on yet."""
    return [operator for operator in manifest.operators if operator.status.state not in _NOT_READY]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8 text'}", path=path) from None
