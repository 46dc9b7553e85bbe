"""Holds one operator together, in a process of its own: a job on standard input, the result on standard output."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.checks.contract.job import CHECK, Job
from pipeline.checks.contract.judge import HostCode, Judge, Judged, never_asked
from pipeline.checks.contract.recorder import Recorder
from pipeline.checks.remembered import result_to_json
from pipeline.errors import PipelineError
from pipeline.exec_kernel.names import Request
from pipeline.findings import CheckResult, Finding, Severity
from pipeline.metal import ShaderError
from pipeline.metal.listing import Listing, list_kernels
from pipeline.metal.signature import TranslationError
from pipeline.numerics.conventions import target_of_function, target_of_operator, targets_of_stub
from pipeline.numerics.host import Invocation, StubHost, implied_host
from pipeline.numerics.targets import Target, UnknownOperatorError
from pipeline.stub_interpreter.stub import StubText

_SHOWN = 4
_NOT_COVERED = (
    "values: what a kernel computes is for the check numerics",
    "uint16, uint32 and uint64, which kernels of upstream seldom have",
)


@dataclass(frozen=True)
class _Written:
    """A function of the stub's text."""

    text: StubText
    function: str
    returns: bool = False

    def run(self, recorder: Recorder, invocation: Invocation) -> None:
        values = StubHost(self.text, self.function, self.returns).arguments(invocation)
        self.text.call(self.function, values, recorder)


@dataclass(frozen=True)
class _Implied:
    """The stub that the registered names imply: one exec helper on the operator's iterator."""

    request: Request

    def run(self, recorder: Recorder, invocation: Invocation) -> None:
        recorder.exec_helper(self.request, None, invocation.iterator())


def hold(job: Job) -> CheckResult:
    """Raises PipelineError where host code or operator are not known well enough."""
    include = [Path(job.include)]
    try:
        listing = list_kernels(job.kernel, include=include, name=job.kernel_path)
        before = list_kernels(job.kernel_before, include=include).names if job.kernel_before else frozenset()
    except (ShaderError, TranslationError) as error:
        finding = Finding("contract/unreadable-kernel", Severity.ERROR, str(error).splitlines()[0], job.kernel_path)
        return CheckResult.from_findings(CHECK, "the kernel cannot be read", [finding])
    judge = Judge(listing, job.claimed)
    judged = [judge.judge(target, host) for target, host, _ in _targets(job, listing)]
    unknown = [each.target.operator for each in judged if not each.calls]
    if len(unknown) == len(judged):
        raise PipelineError(f"no call of {', '.join(unknown)} is known that torch's CPU operator takes")
    asked = set[str]().union(*(each.asked for each in judged))
    lines = {target.name: line for target, _, line in _targets(job, listing)}
    findings = [finding for each in judged for finding in _findings(job, each, lines[each.target.name])]
    findings += _about_registrations(job, listing, before, asked)
    return _result(findings, judged, asked)


def _targets(job: Job, listing: Listing) -> list[tuple[Target, HostCode, int | None]]:
    """What the host code implements, and the line of each function."""
    if not job.stub:
        target = target_of_operator(job.operator)
        return [(target, _Implied(implied_host(target, job.operator, sorted(listing.names)).request), None)]
    text = StubText(job.stub, [job.kernel, *job.headers], job.stub_path)
    lines = {function.name: function.line for function in text.file.functions}
    found: list[tuple[Target, HostCode, int | None]] = []
    for stub, name in text.registered.items():
        found += [(target, _Written(text, name), lines.get(name)) for target in targets_of_stub(stub, job.operator)]
    for function in () if found else text.file.functions:
        if job.functions and function.name not in job.functions:
            continue
        try:
            target = target_of_function(function.name)
        except UnknownOperatorError:
            continue
        returns = not function.implements and len(function.parameters) == len(target.overload._schema.arguments)
        found.append((target, _Written(text, function.name, returns), function.line))
    if not found:
        raise PipelineError("the stub registers nothing, and no dispatch row names one of its functions")
    return found


def _findings(job: Job, judged: Judged, line: int | None) -> Iterator[Finding]:
    path = job.stub_path if job.stub else job.kernel_path
    for fault in judged.faults:
        yield Finding(fault.rule, fault.severity, fault.message(judged.target.operator), path, line, fault.hint)


def _about_registrations(job: Job, listing: Listing, before: frozenset[str], asked: set[str]) -> Iterator[Finding]:
    for line, names in never_asked(listing, before, asked):
        text = f"registered, but nothing asks for {_some(names)}"
        hint = "remove the registration, or serve the dtype in the stub"
        yield Finding("contract/never-asked", Severity.WARNING, text, job.kernel_path, line, hint)
    lost = sorted(before - listing.names)
    if lost:
        text = f"kernels that were registered before are gone: {_some(lost)}"
        hint = "keep them: other stubs may ask for them"
        yield Finding("contract/kernel-lost", Severity.ERROR, text, job.kernel_path, None, hint)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _result(findings: list[Finding], judged: Sequence[Judged], asked: set[str]) -> CheckResult:
    dtypes = Counter(name for each in judged for name in each.served)
    summary = f"{len(asked)} names asked for in {sum(each.calls for each in judged)} calls on {len(dtypes)} dtypes"
    notes = list(_NOT_COVERED)
    outputs = sorted(set[str]().union(*(each.unknown_outputs for each in judged)))
    if outputs:
        notes.append(f"{', '.join(outputs)}: the exec helper of torch 2.13 has no kernel that stores another dtype")
    unknown = sorted({each.target.operator for each in judged if not each.calls})
    if unknown:
        notes.append(f"{', '.join(unknown)}: no call is known that torch's CPU operator takes")
    return CheckResult.from_findings(CHECK, summary, findings, notes)


def main() -> None:
    warnings.simplefilter("ignore")
    job = Job.from_json(sys.stdin.read())
    try:
        result = hold(job)
    except PipelineError as error:
        result = CheckResult.not_run(CHECK, str(error))
    print(result_to_json(result))
