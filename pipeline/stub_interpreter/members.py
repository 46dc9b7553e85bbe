"""Member functions of what stubs hold: tensors, iterators, scalars, lists, optionals."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import dtype_of, torch_dtype
from pipeline.stub_interpreter.aten import called, from_python, to_python
from pipeline.stub_interpreter.errors import NotUnderstoodError
from pipeline.stub_interpreter.interpreter import Interpreter
from pipeline.stub_interpreter.iterators import IteratorConfig, TensorIterator
from pipeline.stub_interpreter.metal import Encoder, KernelFunction, Library
from pipeline.stub_interpreter.numbers import Number, canonical, convert
from pipeline.stub_interpreter.values import MISSING, Array, Missing, Opaque, Options, Scalar, longs


def member(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    """`owner.name<template>(rest)`; arguments are the owner, the name and the rest. Raises NotUnderstoodError."""
    owner, name, *rest = arguments
    assert isinstance(name, str)
    optional = _of_optional(owner, name, rest)
    if optional is not None:
        return optional
    match owner:
        case torch.Tensor():
            return _of_tensor(owner, name, rest, template)
        case TensorIterator() | IteratorConfig():
            return owner.call(name, rest)
        case Scalar():
            return _of_scalar(owner, name, rest, template)
        case Array():
            return _of_array(owner, name, rest)
        case Options():
            return _of_options(owner, name, rest)
        case Library() | Encoder() | KernelFunction():
            return owner.call(interpreter, name, rest)
        case Opaque():
            return _of_opaque(owner, name)
        case str() if name in ("c_str", "data"):
            return owner
        case Dtype() if name == "toScalarType":
            return owner
    raise NotUnderstoodError(f"{type(owner).__name__}::{name}")


def _of_optional(owner: object, name: str, rest: Sequence[object]) -> object | None:
    present = not isinstance(owner, Missing)
    if name in ("has_value", "defined"):
        return Number(present, "bool")
    if name == "value_or":
        return owner if present else rest[0]
    if name == "value" and not rest:
        if not present:
            raise NotUnderstoodError("the value of an empty optional")
        return owner
    return None


def _of_tensor(owner: torch.Tensor, name: str, rest: Sequence[object], template: tuple[str, ...]) -> object:
    match name:
        case "scalar_type" | "dtype":
            return dtype_of(owner)
        case "sizes":
            return longs(owner.shape)
        case "strides":
            return longs(owner.stride())
        case "ndimension":
            return Number(owner.dim(), "int64_t")
        case "options":
            return Options(owner.dtype)
        case "is_same":
            return Number(owner is rest[0], "bool")
        case "device" | "device_type":
            return Opaque("device")
        case "nbytes":
            return Number(owner.numel() * owner.element_size(), "uint64_t")
        case "item":
            kind = canonical(template[0]) if template else None
            value = from_python(owner.item())
            return convert(value, kind) if kind else value
        case "to":
            dtypes = [each for each in rest if isinstance(each, Dtype)]
            return owner.to(torch_dtype(dtypes[0])) if dtypes else owner
    method = getattr(owner, name, None)
    if not callable(method) or name.startswith("__"):
        raise NotUnderstoodError(f"Tensor::{name}")
    values = [to_python(each) for each in rest]
    if values and isinstance(values[-1], torch.memory_format):
        return from_python(called(method, values[:-1], memory_format=values[-1]))
    return from_python(called(method, values))


def _of_scalar(owner: Scalar, name: str, rest: Sequence[object], template: tuple[str, ...]) -> object:
    if name == "to" and template:
        kind = canonical(template[0])
        if kind is None:
            raise NotUnderstoodError(f"Scalar::to<{template[0]}>")
        return owner.to(kind)
    if name == "equal" and isinstance(rest[0], Number):
        return Number(owner.value == rest[0].value, "bool")
    kinds = {"toFloat": "float", "toDouble": "double", "toInt": "int", "toLong": "int64_t", "toBool": "bool"}
    if name in kinds:
        return owner.to(kinds[name])
    value = owner.value
    tests = {
        "isFloatingPoint": isinstance(value, float),
        "isComplex": isinstance(value, complex),
        "isBoolean": isinstance(value, bool),
        "isIntegral": isinstance(value, int),
    }
    if name in tests:
        return Number(tests[name], "bool")
    raise NotUnderstoodError(f"Scalar::{name}")


def _of_array(owner: Array, name: str, rest: Sequence[object]) -> object:
    match name:
        case "begin" | "end" | "vec" | "data":
            return owner
        case "size":
            return Number(len(owner.items), "uint64_t")
        case "empty":
            return Number(not owner.items, "bool")
        case "front":
            return owner.items[0]
        case "back":
            return owner.items[-1]
        case "push_back" | "emplace_back":
            owner.items.append(convert(rest[0], owner.element) if owner.element else rest[0])
            return MISSING
        case "equals":
            other = rest[0]
            return Number(isinstance(other, Array) and other.items == owner.items, "bool")
        case "slice":
            bounds = [int(each) for each in rest if isinstance(each, Number)]
            end = bounds[0] + bounds[1] if len(bounds) > 1 else len(owner.items)
            return Array(owner.items[bounds[0] : end], owner.element)
    raise NotUnderstoodError(f"a list's {name}")


def _of_options(owner: Options, name: str, rest: Sequence[object]) -> object:
    if name == "dtype" and rest and isinstance(rest[0], Dtype):
        return Options(torch_dtype(rest[0]))
    if name == "dtype":
        return from_python(owner.dtype)
    if name in ("device", "memory_format", "requires_grad"):
        return owner
    raise NotUnderstoodError(f"TensorOptions::{name}")


def _of_opaque(owner: Opaque, name: str) -> object:
    """Streams and profilers only lead to each other."""
    if name == "commandEncoder":
        return Encoder()
    if name in ("queue", "beginProfileKernel", "endProfileKernel", "commandBuffer", "device"):
        return Opaque(name)
    raise NotUnderstoodError(f"{owner.name}->{name}")
