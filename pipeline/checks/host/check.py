"""The touched Objective-C++ files, type-checked for arm64 macOS without a Mac.

Each is read as the two builds read it, with the bundled shader library and with the one compiled at run time, against
the per-operator headers that the edited native_functions.yaml gives: a definition whose row went away is an error.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.checks.host.compiler import DamagedPrefixError, Toolchain, UnavailableError, type_check
from pipeline.checks.host.declarations import UnreadableError, generate_headers, operator_names, unreadable_entries
from pipeline.checks.host.headers import UMBRELLA, Headers, prepare_headers, umbrella_text, write_files
from pipeline.checks.host.items import Surroundings, included_headers, item_findings
from pipeline.checks.host.rules import Places, compiler_findings
from pipeline.dispatch_stubs import declared_stubs
from pipeline.errors import Refusal
from pipeline.findings import CheckResult, Finding, Severity
from pipeline.native_functions import NativeFunctions
from pipeline.source import NATIVE_FUNCTIONS, TAGS, SourceTree

_CHECK = "host"
_NOT_COVERED = (
    "linking, and everything at run time",
    "MPSGraph beyond its arithmetic",
    "which macOS version has a method",
    "names of kernels in strings (the check `contract` looks at those)",
)
_JIT = "PYTORCH_JIT_COMPILE_SHADERS"


def check_host(
    after: SourceTree, touched: Collection[str], cache: Path, before: SourceTree | None = None
) -> CheckResult:
    """Check the `.mm` files among the `touched` paths of `after`; headers among them are seen by those files.

    `cache` is a folder that keeps precompiled headers from run to run. With `before`, an error that a file already had
    is a warning, and a warning that it had is left out.
    """
    paths = sorted(path for path in touched if path.endswith(".mm") and after.has(path))
    if not paths:
        removed = any(path.endswith(".mm") for path in touched)
        return CheckResult.not_run(
            _CHECK, f"the change {'only removes host files' if removed else 'touches no host file'}"
        )
    try:
        found = _findings(after, paths, touched, cache, before)
        if found and before is not None:
            older = _findings(before, paths, touched, cache, before)
            found = list(_without_known(found, older))
    except UnavailableError as error:
        return CheckResult.not_run(_CHECK, str(error))
    except Refusal as error:
        return _unreadable(error)
    summary = f"{len(paths)} host file{'s' * (len(paths) > 1)} for arm64 macOS, with bundled and JIT shader library"
    return CheckResult.from_findings(_CHECK, summary, found, _NOT_COVERED)


def _without_known(found: Sequence[Finding], older: Sequence[Finding]) -> Iterator[Finding]:
    """What was there before the change is not of the change: a warning is left out, an error becomes a warning."""
    known = {(finding.rule, finding.path, finding.message) for finding in older}
    for finding in found:
        if (finding.rule, finding.path, finding.message) not in known:
            yield finding
        elif finding.severity is Severity.ERROR:
            message = f"{finding.message} (as before the change)"
            yield replace(finding, severity=Severity.WARNING, message=message)


def _unreadable(error: Refusal) -> CheckResult:
    finding = Finding("host/native-functions", Severity.ERROR, error.message, NATIVE_FUNCTIONS, error.line)
    return CheckResult.from_findings(_CHECK, "the headers could not be generated", [finding])


def _findings(
    tree: SourceTree, paths: Sequence[str], touched: Collection[str], cache: Path, before: SourceTree | None
) -> list[Finding]:
    try:
        return _look(tree, paths, touched, cache, before)
    except DamagedPrefixError:
        return _look(tree, paths, touched, cache, before)


def _look(
    tree: SourceTree, paths: Sequence[str], touched: Collection[str], cache: Path, before: SourceTree | None
) -> list[Finding]:
    toolchain = Toolchain.find()
    texts = {path: tree.read(path).decode(errors="replace") for path in paths if tree.has(path)}
    functions = NativeFunctions(tree.read(NATIVE_FUNCTIONS).decode())
    generated = _generated(tree, {header for text in texts.values() for header in included_headers(text)}, before)
    headers = prepare_headers(toolchain, tree, generated, touched, cache)
    around = Surroundings(
        tree,
        functions,
        declared_stubs(tree),
        generated,
        operator_names(functions),
        included_headers(umbrella_text(toolchain, tree)),
    )
    found = _compile(toolchain, texts, headers, touched)
    for path, text in texts.items():
        found += item_findings(path, text, around)
    return sorted(found, key=lambda finding: (finding.path or "", finding.line or 0))


def _generated(tree: SourceTree, included: Collection[str], before: SourceTree | None) -> dict[str, bytes]:
    """The headers of the edited rows. Overloads that torchgen could not read before the change are left out."""
    if not tree.has(TAGS):
        raise UnavailableError(f"the tree has no {TAGS}")
    try:
        return generate_headers(tree, included)
    except UnreadableError as error:
        if before is None or not error.entries <= unreadable_entries(before, included):
            raise
        return generate_headers(tree, included, error.entries)


@dataclass(frozen=True)
class _Run:
    """One file as one of the two builds reads it."""

    path: str
    jit: bool
    precompiled: bool


def _compile(
    toolchain: Toolchain, texts: Mapping[str, str], headers: Headers, touched: Collection[str]
) -> list[Finding]:
    runs = [
        _Run(path, jit, UMBRELLA in included_headers(text))
        for path, text in texts.items()
        for jit in ((False, True) if _JIT in text else (False,))
    ]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder).resolve()
        write_files(work / "headers", headers.late)
        write_files(work / "source", {path: text.encode() for path, text in texts.items()})
        includes = [work / "headers", headers.prefix.headers]
        places = Places(work, headers.prefix.headers, touched)

        def check(run: _Run) -> list[Finding]:
            prefix = headers.prefix if run.precompiled else None
            defines = (_JIT,) if run.jit else ()
            said = type_check(toolchain, work / "source" / run.path, prefix, includes, *defines)
            return list(compiler_findings(said, run.path, places))

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            return list(_merged(runs, list(pool.map(check, runs))))


def _merged(runs: Sequence[_Run], found: Sequence[list[Finding]]) -> Iterator[Finding]:
    """What both builds say is said once; what only the JIT build says, names it."""
    seen = set()
    for run, findings in zip(runs, found, strict=True):
        for finding in findings:
            if finding not in seen:
                seen.add(finding)
                yield replace(finding, message=f"{finding.message} (with {_JIT})") if run.jit else finding
