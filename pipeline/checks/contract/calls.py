"""The calls that a stub is tried with: small ones, since only what it asks for and binds is looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch

from pipeline.numerics.cases import DTYPES, MIXED
from pipeline.numerics.cpu import ReferenceRefusedError, evaluate, stored
from pipeline.numerics.domain import survive
from pipeline.numerics.targets import Target

_OUTPUTS = (torch.float32, torch.float16, torch.complex64, torch.int64, torch.uint8, torch.bool)
# Where the CPU lacks a dtype, another of which it takes the same outputs.
_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
# Torch's operators need their operands to fit together; these shapes fit most.
_SHAPES: tuple[tuple[int, ...], ...] = ((4,), (4, 6), (1, 4, 6))
_NUMBERS = (2, -1, 2.5)
_LACKING = re.compile(r"not implemented for '(\w+)'")
_INTEGRAL = {
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Bool": torch.bool,
}
LARGE = 2**31 + 64


class Kind(Enum):
    """Why a call is made. PLAIN calls have one dtype, dense."""

    PLAIN = "plain"
    STRIDED = "strided"
    MIXED = "mixed"
    NUMBER = "number"
    OUT = "out"
    EMPTY = "empty"
    LARGE = "large"


class Served(Enum):
    """What torch's CPU operator makes of a call."""

    YES = "yes"
    NO_KERNEL = "the CPU has no kernel for it"
    REFUSED = "the operator refuses it on every device"
    UNKNOWN = "the CPU refuses it, other devices may not"


@dataclass(frozen=True)
class Call:
    """Arguments by the schema's names, what each result is like, and what the CPU says.

    `results` are tensors of the right shape and dtype; `natural` is the first one's own dtype, that of an `out=` apart.
    """

    kind: Kind
    arguments: dict[str, Any]
    results: tuple[torch.Tensor, ...]
    natural: torch.dtype
    served: Served

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Distinct dtypes of the operands, the output's last where it is not the natural one."""
        tensors = [each for each in self.arguments.values() if isinstance(each, torch.Tensor)]
        names = [_name(each.dtype) for each in tensors]
        names += [
            "a number" for each in self.arguments.values() if self.kind is Kind.NUMBER and isinstance(each, float)
        ]
        if self.kind is Kind.OUT:
            names.append(f"out={_name(self.results[0].dtype)}")
        return tuple(dict.fromkeys(names))

    @property
    def promoted(self) -> str:
        """The dtype that the tensors and numbers promote to."""
        operands = [each for each in self.arguments.values() if isinstance(each, torch.Tensor)]
        promoted = operands[0].dtype
        for each in operands[1:]:
            promoted = torch.promote_types(promoted, each.dtype)
        return _name(promoted)


def calls_of(target: Target) -> Iterator[Call]:
    """All calls of a target; none where no call is known that its CPU operator accepts."""
    base = _accepted(target)
    if base is None:
        return
    for dtype in DTYPES:
        yield from _of_dtype(target, base, dtype)
    if len(set(target.inputs)) > 1 and target.pointwise:
        for first, other in MIXED:
            operands = {name: first if index == 0 else other for index, name in enumerate(dict.fromkeys(target.inputs))}
            yield from _call(target, Kind.MIXED, _typed(target, base, operands))
        yield from _with_numbers(target, base)
    yield from _of_other_sizes(target, base)


def _of_dtype(target: Target, base: dict[str, Any], dtype: torch.dtype) -> Iterator[Call]:
    plain = _typed(target, base, dict.fromkeys(target.tensors(base), dtype))
    for arguments in (plain, *_variants(target, plain)):
        yield from _call(target, Kind.PLAIN, arguments)
    if target.pointwise:
        yield from _call(target, Kind.STRIDED, _strided(target, plain))
    yield from _of_other_dtype_argument(target, plain)
    if target.takes_iterator:
        wider = _typed(target, plain, dict.fromkeys(target.tensors(base), _WIDER.get(dtype, dtype)))
        for call in _call(target, Kind.OUT, plain):
            for out in _OUTPUTS if len(call.results) == 1 and call.served is not Served.REFUSED else ():
                if call.natural != out and stored(target, wider, out) is not None:
                    yield Call(Kind.OUT, plain, (call.results[0].to(out),), call.natural, call.served)


def _of_other_dtype_argument(target: Target, plain: dict[str, Any]) -> Iterator[Call]:
    """`_softmax_backward_data` of a float gradient into half, which the CPU does not do."""
    dtypes = [name for name, each in plain.items() if isinstance(each, torch.dtype) and each is torch.float32]
    for name in dtypes:
        for call in _call(target, Kind.PLAIN, {**plain, name: torch.float16}):
            if call.served is Served.REFUSED:
                halves = tuple(each.half() for each in call.results)
                yield Call(Kind.PLAIN, call.arguments, halves, torch.float16, Served.UNKNOWN)
            else:
                yield call


def _of_other_sizes(target: Target, base: dict[str, Any]) -> Iterator[Call]:
    """No elements; and more than 32 bits can count, as shapes without memory."""
    dtype = next((each for each in DTYPES if _serves(target, base, each)), None)
    if dtype is None:
        return
    plain = _typed(target, base, dict.fromkeys(target.tensors(base), dtype))
    empty = {name: each[:0] if isinstance(each, torch.Tensor) and each.dim() else each for name, each in plain.items()}
    if survive(target, [empty]):
        yield from _call(target, Kind.EMPTY, empty)
    if target.takes_iterator and target.pointwise:
        for call in _call(target, Kind.LARGE, plain):
            large = {name: _huge(each) for name, each in plain.items()}
            yield Call(Kind.LARGE, large, tuple(map(_huge, call.results)), call.natural, call.served)


def _huge(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty(LARGE, dtype=value.dtype, device="meta")


def _with_numbers(target: Target, base: dict[str, Any]) -> Iterator[Call]:
    """A Python number in place of each operand but one."""
    names = tuple(dict.fromkeys(target.inputs))
    for name in names:
        for dtype in (torch.float32, torch.float16, torch.int32):
            arguments = _typed(target, base, dict.fromkeys(names, dtype))
            yield from _call(target, Kind.NUMBER, {**arguments, name: 2.5})


def _call(target: Target, kind: Kind, arguments: dict[str, Any]) -> Iterator[Call]:
    """The call, unless it leaves the target aside."""
    if not target.serves(arguments):
        return
    try:
        results = evaluate(target, arguments)
        served = Served.YES
    except ReferenceRefusedError as refusal:
        lacking = _LACKING.search(str(refusal))
        served = Served.NO_KERNEL if lacking else Served.REFUSED
        results = _foreseen(target, arguments, lacking[1] if lacking else "")
    if results:
        yield Call(kind, arguments, results, results[0].dtype, served)


def _foreseen(target: Target, arguments: dict[str, Any], common: str) -> tuple[torch.Tensor, ...]:
    """Results as torch works them out without computing; all like the first operand where it cannot.

    `common` is the dtype that the CPU has no kernel for. Torch's decompositions may compute integers in float where
    the operator itself does not; the common dtype shows it.
    """
    shapes = {name: each.to("meta") if isinstance(each, torch.Tensor) else each for name, each in arguments.items()}
    try:
        results = evaluate(target, shapes)
    except (ReferenceRefusedError, AssertionError):  # torch's decompositions assert
        first = shapes[target.inputs[0]]
        results = (first,) * len(target.overload._schema.returns) if isinstance(first, torch.Tensor) else ()
    integral = _INTEGRAL.get(common)
    return tuple(
        torch.empty(each.shape, dtype=integral if integral and each.dtype.is_floating_point else each.dtype)
        for each in results
    )


def _accepted(target: Target) -> dict[str, Any] | None:
    """Arguments that the CPU operator takes, in float32 or another dtype."""
    for shape in _SHAPES:
        for grads_half in (False, True):
            arguments = {
                argument.name: _value(argument, shape, grads_half, argument.name in target.inputs)
                for argument in target.overload._schema.arguments
            }
            arguments = target.bind({name: each for name, each in arguments.items() if each is not ...})
            if any(_serves(target, arguments, dtype) for dtype in (torch.float32, torch.int32, torch.complex64)):
                return arguments
    return None


def _serves(target: Target, arguments: dict[str, Any], dtype: torch.dtype) -> bool:
    typed = _typed(target, arguments, dict.fromkeys(target.tensors(arguments), dtype))
    return any(call.served is Served.YES for call in _call(target, Kind.PLAIN, typed))


def _value(argument: Any, shape: Sequence[int], grads_half: bool, is_operand: bool) -> Any:
    """A value for one of the schema's arguments; an ellipsis to leave it to its default."""
    kind = str(argument.type)
    if kind == "Tensor" or is_operand:
        halved = grads_half and argument.name.startswith("grad")
        return torch.ones((*shape[:-1], shape[-1] // 2) if halved else shape)
    if argument.has_default_value():
        return ...
    if argument.name.endswith("dtype"):
        return torch.float32
    usual: dict[str, Any] = {"number": 1, "int": 0, "float": 1.0, "bool": False, "List[int]": [0], "str": "none"}
    return usual.get(kind)


def _typed(target: Target, arguments: dict[str, Any], dtypes: dict[str, torch.dtype]) -> dict[str, Any]:
    """The arguments with those dtypes; a condition stays bool, and a dtype among them follows the first."""
    typed = dict(arguments)
    for name, dtype in dtypes.items():
        if isinstance(typed.get(name), torch.Tensor):
            typed[name] = typed[name].to(torch.bool if name == "condition" else dtype)
    first = next((dtype for name, dtype in dtypes.items() if name != "condition"), None)
    for name, each in typed.items():
        if isinstance(each, torch.dtype) and first is not None:
            typed[name] = first
    return _refreshed(target, typed)


def _refreshed(target: Target, arguments: dict[str, Any]) -> dict[str, Any]:
    """With derived arguments computed again, where the CPU can."""
    try:
        return target.refreshed(arguments)
    except (RuntimeError, NotImplementedError):
        return arguments


def _variants(target: Target, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Other values of the arguments that are no tensors, on which a stub may branch."""
    schema = [each for each in target.overload._schema.arguments if each.name not in target.fixed]
    numbers = [each.name for each in schema if str(each.type) in ("number", "float")]
    optional = [each.name for each in schema if str(each.type) in ("Optional[number]", "Optional[float]")]
    flags = [each.name for each in schema if str(each.type) == "bool"]
    if numbers:
        yield from ({**arguments, **dict.fromkeys(numbers, number)} for number in _NUMBERS)
    if optional:
        yield {**arguments, **dict.fromkeys(optional, 0.25)}
    yield from ({**arguments, name: not arguments[name]} for name in flags)


def _strided(target: Target, arguments: dict[str, Any]) -> dict[str, Any]:
    """Operands that no dense kernel takes: two dimensions, transposed in every second operand."""
    laid = dict(arguments)
    for index, name in enumerate(target.tensors(arguments)):
        each = laid[name]
        if isinstance(each, torch.Tensor):
            grid = each.new_ones((4, 6)) if index % 2 else each.new_ones((6, 4)).t()
            laid[name] = grid[:, ::2]
    return _refreshed(target, laid)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
