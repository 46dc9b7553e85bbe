"""The process that runs an operator of the installed torch on the CPU, once for every dtype that MPS has.

An entry on standard input, its reference on standard output. Tensors of ones, of which ATen trusts some operators to
check more than they do: a process of its own may die.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._ops import OpOverload

from pipeline.authoring.reference import Reference
from pipeline.exec_kernel.dtypes import MPS_DTYPES, Dtype
from pipeline.numerics.conventions import target_of_function, targets_of_stub
from pipeline.numerics.targets import Target, UnknownOperatorError
from pipeline.operator_kind import schema_arguments

_UNSIGNED = (Dtype.UINT16, Dtype.UINT32, Dtype.UINT64)
_CONDITIONS = ("condition", "mask")
_FROM_ZERO = ("dim", "dims", "reduction", "offset", "start")


def main() -> None:
    warnings.simplefilter("ignore")
    asked = json.loads(sys.stdin.read())
    print(observed(**asked).to_json())


def observed(func: str, schema: str, stub: str = "", function: str = "") -> Reference:
    """The reference of the operator `func`, as it calls `stub`, or as MPS calls `function`, where that is known."""
    target = _target(func.partition(".")[0], stub, function)
    if target is not None:
        results = dict(_results(target.overload, target.only))
        return Reference(str(target.overload), _operands(target), results, target.pointwise, target.results)
    arguments = list(schema_arguments(schema))
    written = {each.name for each in arguments if "!" in each.type and each.keyword}
    inputs = tuple(each.name for each in arguments if _is_operand(each.type) and each.name not in written)
    overload = _functional(func.partition(".")[0], inputs)
    if overload is None:
        return Reference(inputs=inputs)
    return Reference(str(overload), inputs, dict(_results(overload, lambda dtype: True)))


def _target(operator: str, stub: str, function: str) -> Target | None:
    try:
        target = targets_of_stub(stub, operator)[0] if stub else target_of_function(function)
    except UnknownOperatorError:
        return None
    return target if target.operator == operator else None


def _operands(target: Target) -> tuple[str, ...]:
    """The names of what the iterator reads; a tensor that gives two operands comes twice."""
    if target.operands is None or target.flips:
        return target.inputs
    arguments = target.bind({each.name: _value(each, torch.float32) for each in target.overload._schema.arguments})
    _, read = target.operands([torch.ones(2)], arguments)
    return (*target.inputs, *target.inputs)[: len(read)] if len(read) > len(target.inputs) else target.inputs


def _is_operand(type_: str) -> bool:
    return type_.startswith("Tensor") and not type_.endswith(("?", "]"))


def _functional(operator: str, inputs: tuple[str, ...]) -> OpOverload | None:
    """The overload that returns new tensors and takes these tensors."""
    packet = getattr(torch.ops.aten, operator, None)
    for name in packet.overloads() if packet is not None else ():
        overload: OpOverload = getattr(packet, name)
        schema = overload._schema
        tensors = tuple(each.name for each in schema.arguments if str(each.type) == "Tensor")
        if tensors == inputs and not any(each.is_out for each in schema.arguments):
            return overload
    return None


def _results(overload: OpOverload, serves: Callable[[torch.dtype], bool]) -> Iterator[tuple[Dtype, Dtype]]:
    for dtype in MPS_DTYPES:
        given = getattr(torch, dtype.torch_name)
        if dtype in _UNSIGNED or not serves(given):
            continue
        result = _run(overload, given)
        if result is not None:
            yield dtype, Dtype.of_torch(str(result))


def _run(overload: OpOverload, dtype: torch.dtype) -> torch.dtype | None:
    """The dtype of the first result; None where the operator refuses, or gives no tensor."""
    arguments = {each.name: _value(each, dtype) for each in overload._schema.arguments}
    try:
        result = overload(**arguments)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return None
    first = result[0] if isinstance(result, (tuple, list)) and result else result
    return first.dtype if isinstance(first, torch.Tensor) else None


def _value(argument: Any, dtype: torch.dtype) -> Any:
    """A value that most operators take: a tensor of two ones, the default, a dtype, 0 or 1."""
    type_, name = str(argument.type), argument.name
    if type_ == "Tensor":
        return torch.ones(2, dtype=torch.bool if name in _CONDITIONS else dtype)
    if name.endswith("dtype") and not type_.startswith("Optional"):
        return dtype
    if argument.has_default_value():
        return argument.default_value
    if type_.startswith("Optional"):
        return None
    if type_.startswith("List[Tensor"):
        return [torch.ones(2, dtype=dtype)]
    number = False if type_ == "bool" else 0 if name in _FROM_ZERO else 1
    return [number] if type_.startswith("List") else number


if __name__ == "__main__":
    main()
