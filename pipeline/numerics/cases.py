"""The calls an operator is tried with, before they are laid out in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from pipeline.exec_kernel.dtypes import MPS_DTYPES, Dtype
from pipeline.exec_kernel.execute import torch_dtype
from pipeline.numerics import values
from pipeline.numerics.cpu import ReferenceRefusedError, evaluate
from pipeline.numerics.domain import accepts
from pipeline.numerics.targets import Target


@dataclass(frozen=True)
class Case:
    """Arguments by the schema's names; a tensor is dense, `cpu_scalars` name the 0-dim ones that stay on the CPU.

    `thorough` asks for the large-grid layouts, otherwise every small layout is tried; `label` says where it comes from.
    """

    arguments: dict[str, Any]
    label: str
    thorough: bool = False
    plain_only: bool = False
    cpu_scalars: frozenset[str] = frozenset()


DTYPES = tuple(torch_dtype(dtype) for dtype in MPS_DTYPES if dtype not in (Dtype.UINT16, Dtype.UINT32, Dtype.UINT64))

_LENGTHS = (70, 1030)  # more than two simdgroups, more than a threadgroup, and multiples of neither
_MOST_ENLARGED, _MOST_LONG, _MOST_RESULTS = 20_000, 200_000, 40_000
_OTHERS = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8)

_ODD_ONES = 6  # pairs of MIXED that stand in every order

Shape = tuple[int, ...]

# Every dtype once as the common one, the smaller operand on either side.
MIXED = (
    (torch.float32, torch.float16),
    (torch.float16, torch.float32),
    (torch.bfloat16, torch.float32),
    (torch.float32, torch.int32),
    (torch.int64, torch.float32),
    (torch.float16, torch.int64),
    (torch.int16, torch.bfloat16),
    (torch.uint8, torch.int32),
    (torch.int64, torch.int16),
    (torch.int16, torch.int8),
    (torch.bool, torch.int8),
    (torch.uint8, torch.bool),
    (torch.bool, torch.float32),
    (torch.int32, torch.bool),
    (torch.float32, torch.complex64),
    (torch.complex64, torch.int32),
    (torch.complex32, torch.float16),
)


def grids(target: Target, dtype: torch.dtype, scalars: dict[str, Any], extra: Sequence[float]) -> Iterator[Case]:
    """Special values crossed with each other, and values spread over the whole range."""
    distinct = tuple(dict.fromkeys(target.inputs))
    arity = len(distinct)
    if arity == 1:
        yield _case(target, scalars, [values.special(dtype, extra)], "special values", thorough=True)
        yield _case(target, scalars, [values.sweep(dtype)], "sweep", plain_only=True)
        return
    column = values.special(dtype, extra, few=arity > 2 or dtype.is_complex)
    if arity > 2:
        column = _thinned(column, 13)
    elif dtype.is_complex:
        column = _thinned(column, 60)
    yield _case(target, scalars, values.crossed([column] * arity), "special values", thorough=True)
    yield _case(target, scalars, [values.random(dtype, 600, seed) for seed in range(arity)], "random", plain_only=True)


def plain(target: Target, dtype: torch.dtype, scalars: dict[str, Any]) -> Case:
    """A few elements, to see whether the dtype is taken at all."""
    tensors = [values.random(dtype, 6, seed) for seed in range(len(set(target.inputs)))]
    return _case(target, scalars, tensors, "a few elements", plain_only=True)


def specials(target: Target, dtype: torch.dtype, scalars: dict[str, Any]) -> Iterator[Case]:
    """Special values alone, for unusual scalars."""
    distinct = tuple(dict.fromkeys(target.inputs))
    column = _thinned(values.special(dtype, few=True), 40 if len(distinct) < 3 else 13)
    yield _case(target, scalars, values.crossed([column] * len(distinct)), "special values", plain_only=True)


def small(target: Target, dtype: torch.dtype, scalars: dict[str, Any]) -> Iterator[Case]:
    """A few elements of two and three dimensions, for the layouts; and none, and one."""
    distinct = tuple(dict.fromkeys(target.inputs))
    shapes: tuple[Shape, ...] = ((3, 5), (2, 3, 4))
    for shape in shapes:
        tensors = [values.random(dtype, 24, 10 + seed)[: _numel(shape)].reshape(shape) for seed in range(len(distinct))]
        yield _case(target, scalars, tensors, f"shape {list(shape)}")
    edges: tuple[Shape, ...] = ((), (1,), (0,), (3, 0))
    for shape in edges:
        tensors = [values.random(dtype, 24, 20 + seed)[: _numel(shape)].reshape(shape) for seed in range(len(distinct))]
        yield _case(target, scalars, tensors, f"shape {list(shape)}", plain_only=True)


def broadcast(target: Target, dtypes: Sequence[torch.dtype], scalars: dict[str, Any]) -> Iterator[Case]:
    """One operand smaller than the others: a scalar, a row, a column, on either side."""
    arity = len(target.inputs)
    shapes: tuple[Shape, ...] = ((), (1,), (7,), (1, 7), (6, 1))
    for position, name in enumerate(target.inputs):
        for shape in shapes if name not in target.full else ():
            tensors = []
            for index in range(arity):
                wanted = shape if index == position else (6, 7)
                numbers = values.random(dtypes[index], 42, 30 + index)
                tensors.append(numbers[: _numel(wanted)].reshape(wanted))
            yield _case(target, scalars, tensors, f"operand {position} of shape {list(shape)}", plain_only=True)


def scalar_operands(target: Target, dtype: torch.dtype, scalars: dict[str, Any]) -> Iterator[Case]:
    """Special values against one special value as the other operand: a 0-dim tensor, a number, a CPU tensor."""
    column = values.special(dtype, few=True)
    numbers = _thinned(column, 9)
    for position, name in enumerate(target.inputs):
        if name in target.full:
            continue
        for number in numbers:
            tensors = [number if index == position else column for index in range(len(target.inputs))]
            yield _case(target, scalars, tensors, f"0-dim operand {position}", plain_only=True)
        number = numbers[len(numbers) // 2]
        tensors = [number.clone() if index == position else column for index in range(len(target.inputs))]
        case = _case(target, scalars, tensors, f"CPU operand {position}", plain_only=True)
        yield replace(case, cpu_scalars=frozenset({name}))


def in_dtypes(target: Target, case: Case, dtypes: Mapping[str, torch.dtype]) -> Case:
    """The case with these operands in dtypes of their own."""
    changed = {name: case.arguments[name].to(dtype) for name, dtype in dtypes.items()}
    return replace(case, arguments=target.refreshed({**case.arguments, **changed})) if changed else case


def mixed(target: Target, scalars: dict[str, Any]) -> Iterator[Case]:
    """Operands of different dtypes, in every broadcast form; of more than two, each once as the odd one."""
    arity = len(target.inputs)
    for number, (first, other) in enumerate(MIXED):
        dtypes = [first, *[other] * (arity - 1)]
        columns = [values.special(dtype, few=True) for dtype in dtypes]
        length = min(max(len(column) for column in columns), 40)
        tensors = [_cycled(column, length, index) for index, column in enumerate(columns)]
        yield _case(target, scalars, tensors, "mixed dtypes", thorough=True)
        yield _mixed_shape(target, dtypes, scalars)
        yield from broadcast(target, dtypes, scalars)
        for odd in range(1, arity) if arity > 2 and number < _ODD_ONES else ():
            yield _mixed_shape(target, [first if index == odd else other for index in range(arity)], scalars)


def _mixed_shape(target: Target, dtypes: Sequence[torch.dtype], scalars: dict[str, Any]) -> Case:
    tensors = [values.random(dtype, 24, 40 + index)[:15].reshape(3, 5) for index, dtype in enumerate(dtypes)]
    return _case(target, scalars, tensors, "mixed dtypes")


def enlarged(target: Target, call: Case, long: Sequence[int], square: bool = False) -> Iterator[Case]:
    """The call with each of its sizes beyond a simdgroup, beyond a threadgroup, and as `long`; and with one NaN.

    The numbers are positive, so that sums of many do not cancel. Integers beside floats may be indices, and repeat.
    `square` matrices stay square beyond a threadgroup too, which takes a million elements.
    """
    tensors = tensors_of(target, call)
    floats = [name for name, each in tensors.items() if each.is_floating_point()]
    shapes = {name: tuple(each.shape) for name, each in tensors.items()}
    for length in (*_LENGTHS, *long):
        for sizes, larger in _larger(shapes, length, square and length == _LENGTHS[-1]):
            grown = {
                name: _grown(tensors[name], shape, index, keep=bool(floats))
                for index, (name, shape) in enumerate(larger.items())
            }
            label = f"{call.label}, {sizes} made {length}"
            if _result_size(target, {**call.arguments, **grown}) > _MOST_RESULTS:
                continue
            yield Case(target.refreshed({**call.arguments, **grown}), label, plain_only=True)
            for name in floats if length == _LENGTHS[0] else ():
                changed = grown[name].clone()
                changed.reshape(-1)[changed.numel() // 2] = math.nan
                arguments = {**call.arguments, **grown, name: changed}
                yield Case(target.refreshed(arguments), f"{label}, one NaN", plain_only=True)


def _larger(shapes: dict[str, Shape], length: int, square: bool) -> Iterator[tuple[str, dict[str, Shape]]]:
    """The shapes with all dimensions of one size made `length`; where that is too much, one and all others 2."""
    square = square and all(len(shape) == 2 and shape[0] == shape[1] for shape in shapes.values())
    most = length**2 if square else max(_MOST_ENLARGED, min(4 * length, _MOST_LONG), length)
    for size in sorted({size for shape in shapes.values() for size in shape if size > 1}):
        every = {name: tuple(length if each == size else each for each in shape) for name, shape in shapes.items()}
        found = [(f"{size}", every)]
        if max(map(_numel, every.values())) > most:
            ranks = range(max(map(len, shapes.values())))
            found = [(f"{size} at {axis}", _at_axis(shapes, axis, size, length)) for axis in ranks]
        for label, larger in found:
            counts = [_numel(shape) for shape in larger.values()]
            if larger != shapes and min(counts) > 0 and max(counts) <= most:
                yield label, larger


def _at_axis(shapes: dict[str, Shape], axis: int, size: int, length: int) -> dict[str, Shape]:
    changed = {}
    for name, shape in shapes.items():
        sizes = [min(each, 2) for each in shape]
        if axis < len(sizes) and shape[axis] == size:
            sizes[axis] = length
        changed[name] = tuple(sizes)
    return changed


def _result_size(target: Target, arguments: dict[str, Any]) -> int:
    """How many elements the largest result has, 0 where that is not known without computing it."""
    empty = {name: each.to("meta") if isinstance(each, torch.Tensor) else each for name, each in arguments.items()}
    try:
        return max(each.numel() for each in evaluate(target, empty))
    except (ReferenceRefusedError, AssertionError, AttributeError):
        return 0


def from_the_last(target: Target, call: Case) -> Iterator[Case]:
    """The call with its dimensions counted from the last one, as users do with negative numbers."""
    ndim = max((each.dim() for each in tensors_of(target, call).values()), default=0)
    changed = {
        name: [each - ndim for each in value] if isinstance(value, list) else value - ndim
        for name, value in call.arguments.items()
        if name in ("dim", "dims") and _counts_from_the_first(value)
    }
    if changed and ndim and accepts(target, {**call.arguments, **changed}):
        arguments = target.refreshed({**call.arguments, **changed})
        yield Case(arguments, f"{call.label}, dimensions from the last", plain_only=True)


def _counts_from_the_first(value: object) -> bool:
    dims = value if isinstance(value, list) else [value]
    return bool(dims) and all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in dims)


def retyped(target: Target, call: Case) -> Iterator[Case]:
    """The call with one of several tensors in another dtype, as far as the CPU operator takes that."""
    tensors = {name: each for name, each in tensors_of(target, call).items() if not each.is_complex()}
    for name, tensor in tensors.items() if len(tensors) > 1 else ():
        for dtype in _OTHERS:
            arguments = {**call.arguments, name: tensor.to(dtype)}
            if dtype is not tensor.dtype and accepts(target, arguments):
                yield Case(
                    target.refreshed(arguments),
                    f"{call.label}, {name} in {str(dtype).removeprefix('torch.')}",
                    plain_only=True,
                )


def tensors_of(target: Target, call: Case) -> dict[str, torch.Tensor]:
    """Those of the call's arguments that are tensors, by name."""
    given = {name: call.arguments[name] for name in target.tensors(call.arguments)}
    return {name: each for name, each in given.items() if isinstance(each, torch.Tensor)}


def _grown(tensor: torch.Tensor, shape: Sequence[int], seed: int, keep: bool) -> torch.Tensor:
    count = _numel(shape)
    if keep and not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor.reshape(-1).repeat(count // tensor.numel() + 1)[:count].reshape(shape)
    numbers = values.random(tensor.dtype, count, 50 + seed)
    if tensor.is_floating_point():
        numbers = _positive(numbers)
    elif tensor.is_complex():
        numbers = torch.complex(*map(_positive, (numbers.real.float(), numbers.imag.float())))
    return numbers.to(tensor.dtype).reshape(shape)


def _positive(numbers: torch.Tensor) -> torch.Tensor:
    return 0.1 + numbers.abs() % 2


def _case(
    target: Target,
    scalars: dict[str, Any],
    tensors: Sequence[torch.Tensor],
    label: str,
    *,
    thorough: bool = False,
    plain_only: bool = False,
) -> Case:
    distinct = tuple(dict.fromkeys(target.inputs))
    named = dict(zip(distinct, tensors, strict=True))
    return Case(target.bind({**named, **scalars}), label, thorough, plain_only)


def _numel(shape: Sequence[int]) -> int:
    return torch.Size(shape).numel()


def _thinned(column: torch.Tensor, count: int) -> torch.Tensor:
    """At most `count` of the values, spread over the list, always with its first and last."""
    if len(column) <= count:
        return column
    return column[torch.linspace(0, len(column) - 1, count).round().long()]


def _cycled(column: torch.Tensor, length: int, shift: int) -> torch.Tensor:
    """Repeated to `length`, each operand at another pace so that unlike values meet."""
    return column[(torch.arange(length) * (1 + 2 * shift) + shift) % len(column)]
