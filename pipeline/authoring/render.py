"""Facts to text: the skeleton of a kernel and of its stub, laid out by clang-format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jinja2

from pipeline.authoring.dtypes import Overload, overloads, served
from pipeline.authoring.facts import Facts
from pipeline.authoring.functions import Function
from pipeline.authoring.notes import host_notes, kernel_notes
from pipeline.authoring.reference import Reference
from pipeline.authoring.registering import needs_cast_names, params_types, registration_lines
from pipeline.authoring.shape import Pattern, Shape
from pipeline.checks.style.layout import STYLE_FILE, clang_formatter
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.source import SourceTree

_TEMPLATES = Path(__file__).parent / "templates"
_PARAMS = {
    "float": ("float", "float", "isFloatingType(dtype)"),
    "float2": ("float2", "c10::complex<float>", "isComplexType(dtype)"),
    "long": ("long", "int64_t", ""),
}


def render_kernel(facts: Facts, reference: Reference, shape: Shape) -> str:
    """The text of kernels/X.metal."""
    text = (
        _environment(shape)
        .get_template(f"{shape.pattern.value}.metal.j2")
        .render(
            notes=kernel_notes(facts, reference, shape),
            shape=shape,
            overloads=overloads(shape.registered),
            lines=registration_lines(shape),
            params_types=params_types(shape),
            needs_cast_names=needs_cast_names(shape),
        )
    )
    return _formatted(text, facts.operator.kernel or f"{facts.operator.name}.metal", facts.change.base)


def render_host(facts: Facts, shape: Shape) -> str:
    """The text of stubs/X.mm."""
    text = (
        _environment(shape)
        .get_template(f"{shape.pattern.value}.mm.j2")
        .render(
            notes=host_notes(facts, shape),
            shape=shape,
            includes=sorted(set(_includes(shape)), key=_as_clang_format_sorts),
            ops=sorted(set(_operators(facts, shape))),
            params_dispatch=_params_dispatch(shape),
            has_bool=any(each.source is Dtype.BOOL for each in shape.registered),
        )
    )
    return _formatted(text, f"{facts.operator.name}.mm", facts.change.base)


def _environment(shape: Shape) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["suffixed"] = lambda text, suffix: f"{text}{suffix}"
    environment.filters["prefixed"] = lambda text, prefix: f"{prefix}{text}"
    environment.globals["task"] = lambda overload: _task(shape, overload)
    environment.globals["served"] = lambda dtype: served(shape.registered, dtype)
    environment.globals["out_variant"] = lambda function: _out_variant(shape, function)
    environment.globals["read_by"] = lambda function: _read_by(shape, function)
    environment.globals["not_looked_at"] = lambda function: _not_looked_at(shape, function)
    return environment


def _formatted(text: str, name: str, tree: SourceTree) -> str:
    style = tree.read(STYLE_FILE).decode() if tree.has(STYLE_FILE) else None
    return clang_formatter(name, style)(text.strip() + "\n", None)


def _task(shape: Shape, overload: Overload | None) -> str:
    """What stands behind TODO in the kernel."""
    call = f"{shape.operator}({', '.join(shape.inputs)})"
    narrow = any(each.source in (Dtype.FLOAT16, Dtype.BFLOAT16) for each in shape.registered)
    helped = shape.pattern is Pattern.HELPER and len(shape.inputs) > 1 and not shape.numbers
    if overload is not None and overload.returns == "T" and narrow and not helped:
        return f"{call}, in float for half and bfloat."
    return f"{call}."


def _out_variant(shape: Shape, function: Function) -> Function | None:
    """The function that writes into given tensors, for one that returns new ones and takes the same otherwise."""
    if function.outputs or function.structured or not function.operands:
        return None
    names = tuple(each.name for each in function.parameters)
    return next(
        (each for each in shape.functions if each.outputs and tuple(item.name for item in each.inputs) == names), None
    )


def _read_by(shape: Shape, function: Function) -> tuple[str, ...]:
    """The operands of the iterator that a function makes."""
    return shape.inputs if set(shape.inputs) <= set(function.operands) else function.operands


def _not_looked_at(shape: Shape, function: Function) -> tuple[str, ...]:
    numbers = {number.name for number in shape.numbers}
    return tuple(each.name for each in function.inputs if not each.is_tensor and each.name not in {*numbers, shape.dim})


def _includes(shape: Shape) -> Iterator[str]:
    yield "ATen/native/mps/OperationUtils.h"
    if shape.stub is not None:
        yield shape.stub.include
    if any("TensorIterator" in parameter.type for parameter in shape.parameters):
        yield "ATen/TensorIterator.h"
    if shape.pattern is not Pattern.HELPER:
        yield from ("c10/util/TypeCast.h", "fmt/format.h")
    if shape.pattern is Pattern.ITERATOR and shape.casts:
        yield "algorithm"
    if shape.pattern is Pattern.ROWS:
        yield from ("ATen/WrapDimUtils.h", "c10/util/accumulate.h")
    if shape.pattern in (Pattern.ROWS, Pattern.REDUCTION):
        yield "c10/metal/common.h"
    if shape.numbers and not shape.only_floats:
        several = len(shape.numbers) > 1
        if several and "long" in params_types(shape):
            yield "ATen/Dispatch.h"
        if not several and not shape.numbers[0].is_integer:
            yield "ATen/OpMathType.h"


def _as_clang_format_sorts(include: str) -> tuple[bool, str]:
    return "/" not in include, include


def _operators(facts: Facts, shape: Shape) -> Iterator[str]:
    """The per-operator headers, without `ATen/ops/` and `.h`."""
    for function in shape.functions:
        operator = function.func.partition(".")[0]
        yield f"{operator.strip('_') if operator.startswith('__') else operator.removesuffix('_')}_native"
        if _out_variant(shape, function) is not None:
            yield "empty"
        elif not function.outputs and shape.pattern in (Pattern.ROWS, Pattern.ELEMENTS):
            yield "empty_like"


def _params_dispatch(shape: Shape) -> list[tuple[str, str, str]]:
    """Type in Metal, type in C++ and the condition on `dtype`; the last one needs no condition."""
    chosen = [_PARAMS[type_] for type_ in ("float", "float2", "long") if type_ in params_types(shape)]
    return [(*each[:2], each[2] if each is not chosen[-1] else "") for each in chosen]
