"""Calls that OpInfo's samples make of an operator, as the dispatcher sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._ops import OpOverload
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

from pipeline.numerics.own_opinfos import OWN_OPINFOS
from pipeline.numerics.targets import Target, named_arguments

_Call = tuple[OpOverload, tuple[Any, ...], dict[str, Any]]

_MOST_ELEMENTS = 40_000
_MOST_SAMPLES = 40
_MOST_REFERENCES = 60

# Operators that only another one's OpInfo reaches.
_OPINFOS = {
    "_prelu_kernel": ("nn.functional.prelu",),
    "_prelu_kernel_backward": ("nn.functional.prelu",),
    "log_sigmoid_forward": ("nn.functional.logsigmoid",),
    "log_sigmoid_backward": ("nn.functional.logsigmoid",),
    "_softmax": ("softmax",),
    "_softmax_backward_data": ("softmax",),
    "_log_softmax": ("log_softmax",),
    "_log_softmax_backward_data": ("log_softmax",),
    "threshold_backward": ("nn.functional.threshold", "nn.functional.relu"),
    "elu_backward": ("nn.functional.elu", "nn.functional.celu", "nn.functional.selu"),
    "hardtanh_backward": ("nn.functional.hardtanh", "nn.functional.relu6"),
    "mse_loss_backward": ("nn.functional.mse_loss",),
    "_weight_norm_interface_backward": ("_weight_norm_interface",),
}


@dataclass(frozen=True)
class Recorded:
    """Arguments of one call by the schema's names; numbers may stand for tensors."""

    arguments: dict[str, Any]
    label: str


class _Recorder(TorchDispatchMode):
    """Runs everything, and keeps the arguments of one operator's calls."""

    packet: str
    calls: list[_Call]

    @classmethod
    def of(cls, packet: str) -> _Recorder:
        recorder = cls()
        recorder.packet, recorder.calls = packet, []
        return recorder

    def __torch_dispatch__(
        self, function: OpOverload, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if function.overloadpacket.__name__.rstrip("_") == self.packet.rstrip("_") and "out" not in (kwargs or {}):
            kept = tuple(each.detach().clone() if isinstance(each, torch.Tensor) else each for each in args)
            self.calls.append((function, kept, dict(kwargs or {})))
        return function(*args, **(kwargs or {}))


def recorded(target: Target, dtype: torch.dtype) -> list[Recorded]:
    """Distinct calls from sample_inputs and reference_inputs of every OpInfo that reaches the operator.

    Backward operators are reached by differentiating the samples of their forward one. Where OpInfo has none in
    complex32, those in complex64 are rounded.
    """
    found = list(_recorded_in(target, dtype))
    if dtype is torch.complex32 and not found:
        return [
            replace(each, arguments=_rounded(target, each.arguments)) for each in _recorded_in(target, torch.complex64)
        ]
    return found


def _rounded(target: Target, arguments: dict[str, Any]) -> dict[str, Any]:
    """complex64 operands as complex32."""
    complex_ones = {
        name: each.to(torch.complex32)
        for name, each in arguments.items()
        if isinstance(each, torch.Tensor) and each.dtype is torch.complex64
    }
    return target.refreshed({**arguments, **complex_ones})


def _recorded_in(target: Target, dtype: torch.dtype) -> Iterator[Recorded]:
    seen: set[str] = set()
    for opinfo in _opinfos(target.operator):
        if not opinfo.supports_dtype(dtype, "cpu"):
            continue
        backward = not _is_forward(opinfo, target.operator)
        for kind, most in (("sample", _MOST_SAMPLES), ("reference", _MOST_REFERENCES)):
            for call in _calls(opinfo, target.operator, dtype, kind, most, backward):
                named = _matched(target, call)
                if named is None:
                    continue
                mark = _signature(named)
                if mark not in seen:
                    seen.add(mark)
                    yield Recorded(named, f"OpInfo {kind} of {opinfo.name}")


def refused(target: Target) -> Iterator[Recorded]:
    """Calls of OpInfo's error inputs that the operator itself refuses; in the label, what it says."""
    for opinfo in _opinfos(target.operator):
        if opinfo.error_inputs_func is None or not _is_forward(opinfo, target.operator):
            continue
        for error in opinfo.error_inputs("cpu"):
            recorder = _Recorder.of(target.operator)
            sample = error.sample_input
            try:
                with recorder:
                    opinfo.op(sample.input, *sample.args, **sample.kwargs)
            except (error.error_type, RuntimeError) as refusal:
                said = str(refusal).splitlines()[0] if str(refusal) else type(refusal).__name__
                named = _matched(target, recorder.calls[-1]) if recorder.calls else None
                if named is not None:
                    yield Recorded(named, f"OpInfo error input of {opinfo.name}: {said}")


def _calls(opinfo: Any, packet: str, dtype: torch.dtype, kind: str, most: int, backward: bool) -> Iterator[_Call]:
    make = opinfo.sample_inputs if kind == "sample" else opinfo.reference_inputs
    torch.manual_seed(0)
    try:
        samples = make("cpu", dtype, requires_grad=backward)
        for count, sample in enumerate(samples):
            if count >= most:
                return
            yield from _calls_of(opinfo, packet, sample, backward)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, StopIteration):
        return


def _calls_of(opinfo: Any, packet: str, sample: Any, backward: bool) -> list[_Call]:
    recorder = _Recorder.of(packet)
    try:
        with recorder:
            result = opinfo.op(sample.input, *sample.args, **sample.kwargs)
            if backward:
                first = result[0] if isinstance(result, (tuple, list)) else result
                first.backward(torch.randn_like(first))  # ones would hide what a gradient is used for
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        pass
    return recorder.calls


def _matched(target: Target, call: _Call) -> dict[str, Any] | None:
    """The call as one of the target's overload; None when it has other arguments or leaves the target aside."""
    overload, args, kwargs = call
    named = named_arguments(overload, args, kwargs)
    schema = target.overload._schema.arguments
    wanted = {argument.name for argument in schema}
    if not set(named) <= wanted or not set(target.inputs) <= set(named):
        return None
    if any(named.get(name) != value for name, value in target.fixed.items() if name not in ("reduction",)):
        return None
    tensors = [each for each in named.values() if isinstance(each, torch.Tensor)]
    if sum(each.numel() for each in tensors) > _MOST_ELEMENTS:
        return None
    if any(each.dtype in (torch.float64, torch.complex128) for each in tensors):
        return None
    bound = target.bind(named)
    if not all(argument.name in bound and _takes(argument, bound[argument.name]) for argument in schema):
        return None
    operands = [bound[name] for name in target.inputs]
    if any(each is None for each in operands) or not any(isinstance(each, torch.Tensor) for each in operands):
        return None
    return bound if target.serves(bound) else None


def _takes(argument: torch.Argument, value: object) -> bool:
    """A number may stand for a tensor, but no tensor for a number: that is another overload."""
    return not isinstance(value, torch.Tensor) or "Tensor" in str(argument.type)


def _signature(arguments: dict[str, Any]) -> str:
    parts = []
    for name, value in arguments.items():
        if isinstance(value, torch.Tensor):
            sample = value.reshape(-1)[:3].tolist() if value.numel() <= 3 else []
            parts.append(f"{name}:{value.dtype}{tuple(value.shape)}{value.stride()}{sample}")
        else:
            parts.append(f"{name}:{value!r}")
    return "|".join(parts)


def _opinfos(packet: str) -> tuple[Any, ...]:
    names = _OPINFOS.get(packet)
    known = (*op_db, *OWN_OPINFOS)
    found = [each for each in known if (each.name in names if names else _is_forward(each, packet))]
    if not found and packet.endswith("_backward"):
        base = packet.removesuffix("_backward")
        found = [each for each in op_db if _is_forward(each, base)]
    return tuple(found)


def _is_forward(opinfo: Any, packet: str) -> bool:
    plain = packet.strip("_").removeprefix("special_")
    return plain in (
        opinfo.name.split(".")[-1],
        (opinfo.aten_name or "").strip("_").removeprefix("special_"),
        opinfo.name,
    )
