"""Failures as findings for people, and as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from pipeline.findings import Finding, Severity
from pipeline.numerics.failure import Failure
from pipeline.numerics.reproduction import script
from pipeline.numerics.session import Session

SEVERITIES = {
    "numerics/imprecise": Severity.WARNING,
    "numerics/unguarded-dtype": Severity.WARNING,
    "numerics/helper-limit": Severity.WARNING,
    "numerics/flushing": Severity.WARNING,
    "numerics/inactive-lane": Severity.WARNING,
    "numerics/lenient": Severity.WARNING,
}
"""Rules that do not fail the check; every other rule does."""

_HINTS = {
    "numerics/nan": "a bare metal::min or max drops NaN, and a comparison with NaN is false",
    "numerics/infinity": "look for an intermediate that overflows, or infinity times zero",
    "numerics/sign-of-zero": "0 - x and x + 0 lose the sign of a zero",
    "numerics/relative": "upstream's absolute tolerance would have passed this",
    "numerics/imprecise": "upstream's tolerance passes this",
    "numerics/missing-kernel": "register it, or refuse the dtype in the stub",
    "numerics/unguarded-dtype": "the CPU refuses this dtype; refuse it in the stub too",
    "numerics/incomplete-guard": "the stub refuses other dtypes; refuse this one, which the CPU refuses, as well",
    "numerics/flushing": "an intermediate falls below the smallest normal number",
    "numerics/inactive-lane": "run full simdgroups, or as many of them as there are lanes",
    "numerics/helper-limit": "this version's exec helper cannot do better",
    "numerics/fallback-only": "register the operator's own result dtype as the kernel's output",
    "numerics/lenient": "a wrong call should be told so on every device",
    "numerics/refuses": "serve it, or refuse the dtype as a whole",
    "numerics/raises": "give the helper or encoder what the kernel takes, in its order",
    "numerics/unwritten": "check the number of threads, and the last elements where each thread takes several",
    "numerics/out-of-bounds": "check the strides of the output and the number of threads",
}


@dataclass(frozen=True)
class Reported:
    """One finding with its data."""

    finding: Finding
    data: dict[str, Any]


def grouped(failures: Iterable[Failure]) -> list[tuple[Failure, tuple[str, ...]]]:
    """The first failure of each rule, dtypes and reason, with every flavour that showed it.

    What a helper cannot do is no matter of dtypes, unless it shows in values; nor is how a header uses its lanes.
    """
    groups: dict[tuple[object, ...], list[Failure]] = {}
    for failure in failures:
        key: tuple[object, ...] = (tuple(dict.fromkeys(failure.dtypes)), failure.reason)
        if failure.rule == "numerics/helper-limit" and failure.wrong is None:
            key = (failure.reason,)
        elif failure.rule == "numerics/inactive-lane":
            key = ()
        groups.setdefault((failure.rule, *key), []).append(failure)
    return [
        (group[0], tuple(dict.fromkeys(flavour for each in group for flavour in each.flavours)))
        for group in groups.values()
    ]


def reported(session: Session, failure: Failure, flavours: tuple[str, ...], kernel_path: str) -> Reported:
    """The finding for one shrunk failure."""
    run = failure.run
    data: dict[str, Any] = {
        "rule": failure.rule,
        "operator": session.target.operator,
        "dtypes": list(failure.dtypes),
        "flavours": list(flavours),
        "layout": str(run.layout),
        "case": run.case.label,
        "host_names": list(run.host_names or failure.names),
        "inputs": {name: _shown(each) for name, each in run.inputs.items()},
        "scalars": {name: _plain(value) for name, value in _scalars(failure).items()},
    }
    message = _headline(session, failure, flavours)
    if failure.wrong is not None and failure.expected is not None:
        data["expected"] = _shown(failure.expected.same[0][failure.wrong])
        data["got"] = _shown(run.outputs[failure.result][failure.wrong])
        data["wrong"] = int(failure.wrong.sum())
    if run.dispatched:
        data["reproduction"] = script(run, kernel_path, _reference(session, failure))
    severity = SEVERITIES.get(failure.rule, Severity.ERROR)
    finding = Finding(failure.rule, severity, message, path=kernel_path, hint=_HINTS.get(failure.rule, ""))
    return Reported(finding, data)


def _headline(session: Session, failure: Failure, flavours: tuple[str, ...]) -> str:
    operator, run = session.target.operator, failure.run
    where = f"{operator} on {', '.join(dict.fromkeys(failure.dtypes))}"
    if failure.names:
        return f"{where}: {failure.names[0]} is {failure.reason}"
    kernels = f" in {', '.join(flavours)}" if flavours else ""
    if failure.wrong is None or failure.expected is None:
        laid_out = f"{run.layout}, " if run.layout.inputs else ""
        return f"{where}{kernels}: {failure.reason} ({laid_out}{run.case.label})"
    got = show(run.outputs[failure.result][failure.wrong])
    expected = show(failure.expected.same[0][failure.wrong])
    words = [*_operand_words(session, failure), *_scalar_words(failure)]
    result = f"result {failure.result} of " if failure.result else ""
    return f"{where}{kernels}: {result}{operator}({', '.join(words)}) is {got}, expected {expected} ({run.layout})"


def _operand_words(session: Session, failure: Failure) -> list[str]:
    """The operands of the wrong elements; for what is not pointwise, the whole operands."""
    assert failure.wrong is not None
    inputs = failure.run.inputs.values()
    if not session.target.pointwise:
        return [show(each) if each.numel() <= 6 else f"{list(each.shape)} {each.dtype}" for each in inputs]
    return [show(torch.broadcast_to(each, failure.wrong.shape)[failure.wrong]) for each in inputs]


def _scalars(failure: Failure) -> dict[str, Any]:
    arguments = failure.run.case.arguments
    return {name: value for name, value in arguments.items() if not isinstance(value, torch.Tensor)}


def _scalar_words(failure: Failure) -> list[str]:
    return [f"{name}={value!r}" for name, value in _scalars(failure).items() if value is not None]


def _reference(session: Session, failure: Failure) -> str:
    words = []
    for argument in session.target.overload._schema.arguments:
        value = failure.run.case.arguments.get(argument.name)
        word = argument.name if argument.name in failure.run.inputs else repr(value)
        words.append(f"{argument.name}={word}" if argument.kwarg_only else word)
    return f"torch.ops.{session.target.overload}({', '.join(words)})"


def _plain(value: object) -> object:
    return value if isinstance(value, (int, float, bool, str, type(None))) else repr(value)


def _shown(tensor: torch.Tensor) -> dict[str, Any]:
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "values": show(tensor),
    }


def show(tensor: torch.Tensor) -> str:
    """Up to six values in full precision."""
    values = tensor.to(torch.complex64) if tensor.dtype is torch.complex32 else tensor
    text = ", ".join(f"{value!r}" for value in values.reshape(-1)[:6].tolist())
    if tensor.numel() == 1:
        return text
    return f"[{text}{', ...' if tensor.numel() > 6 else ''}]"
