"""The style check: each file of a change by what it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.changeset import Changeset
from pipeline.checks.style.hosts import host_findings, stem_findings
from pipeline.checks.style.kernels import kernel_findings, params_findings
from pipeline.checks.style.layout import STYLE_FILE, clang_format_findings, python_findings
from pipeline.checks.style.opmath import opmath_findings
from pipeline.checks.style.text import text_findings, yaml_findings
from pipeline.checks.style.written import Written
from pipeline.findings import CheckResult, Finding
from pipeline.source import KERNELS, NATIVE_FUNCTIONS, SourceTree

_CHECK = "style"
_NOT_COVERED = ("upstream's clang-tidy, and its other linters for files of other kinds",)


def check_style(changeset: Changeset) -> CheckResult:
    """What the change writes, held against upstream's layout and habits; what was there before is not of the change."""
    after = changeset.after()
    files = [written for change in changeset.files if (written := Written.of_change(change)) is not None]
    style = _style_of(after)
    findings = [finding for written in files for finding in _findings(written, style)]
    findings += [
        finding for written in files if written.path.endswith((".metal", ".mm")) for finding in params_findings(written)
    ]
    findings += stem_findings(tuple(written.path for written in files if written.added))
    return _result(files, findings, style)


def check_style_of_fragments(kernel: tuple[str, str], stub: tuple[str, str], tree: SourceTree) -> CheckResult:
    """Path and text of a kernel and a stub on their own; empty texts are left out."""
    files = [Written.whole(path, text) for path, text in (kernel, stub) if text]
    style = _style_of(tree)
    findings = [finding for written in files for finding in _findings(written, style)]
    # The plan moves a struct out of the kernel; in the stub it would be a second one.
    findings += [finding for written in files if written.path == stub[0] for finding in params_findings(written)]
    return _result(files, findings, style)


def _findings(written: Written, style: str | None) -> Iterator[Finding]:
    yield from text_findings(written)
    if written.path == NATIVE_FUNCTIONS:
        yield from yaml_findings(written)
    elif written.path.endswith(".py"):
        yield from python_findings(written)
    elif written.path.endswith((".mm", ".metal", ".h")):
        yield from clang_format_findings(written, style)
        if written.path.endswith(".mm"):
            yield from host_findings(written)
        elif written.path.endswith(".metal") or written.path.startswith((f"{KERNELS}/", "c10/metal/")):
            yield from kernel_findings(written)
            yield from opmath_findings(written)


def _style_of(tree: SourceTree) -> str | None:
    return tree.read(STYLE_FILE).decode() if tree.has(STYLE_FILE) else None


def _result(files: Sequence[Written], findings: list[Finding], style: str | None) -> CheckResult:
    lines = sum(len(written.added) for written in files)
    whose = "the tree's" if style is not None else "our copy of upstream's"
    summary = f"{lines} lines written in {len(files)} files, with {whose} clang-format style"
    ordered = sorted(findings, key=lambda finding: (finding.path or "", finding.line or 0))
    return CheckResult.from_findings(_CHECK, summary, ordered, _NOT_COVERED)
