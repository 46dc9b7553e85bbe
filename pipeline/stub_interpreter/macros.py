"""TORCH_CHECK and AT_DISPATCH: macros that decide what is evaluated."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.stub_interpreter import syntax
from pipeline.stub_interpreter.aten import dtype_argument
from pipeline.stub_interpreter.errors import CheckFailedError, NotUnderstoodError
from pipeline.stub_interpreter.evaluate import Closure, truth
from pipeline.stub_interpreter.interpreter import Interpreter
from pipeline.stub_interpreter.numbers import type_of_dtype
from pipeline.stub_interpreter.standard import spelled
from pipeline.stub_interpreter.types import Macro
from pipeline.stub_interpreter.values import MISSING, Memory

_FLOATING = frozenset({Dtype.FLOAT32, Dtype.FLOAT64})
_INTEGRAL = frozenset({Dtype.UINT8, Dtype.INT8, Dtype.INT16, Dtype.INT32, Dtype.INT64})
_COMPLEX = frozenset({Dtype.COMPLEX64, Dtype.COMPLEX128})
_SETS = {
    "FLOATING": _FLOATING,
    "INTEGRAL": _INTEGRAL,
    "COMPLEX": _COMPLEX,
    "ALL": _FLOATING | _INTEGRAL,
    "FLOATING_AND_COMPLEX": _FLOATING | _COMPLEX,
    "ALL_TYPES_AND_COMPLEX": _FLOATING | _INTEGRAL | _COMPLEX,
    "REDUCED_FLOATING": frozenset({Dtype.FLOAT16, Dtype.BFLOAT16}),
}
_DISPATCH = re.compile(
    r"AT_DISPATCH_(ALL_TYPES_AND_COMPLEX|FLOATING_AND_COMPLEX|REDUCED_FLOATING|FLOATING|INTEGRAL|COMPLEX|ALL)"
    r"(?:_TYPES)?(?:_AND(?P<more>\d?))?"
)


def check(interpreter: Interpreter, nodes: Sequence[syntax.Expression], memory: Memory) -> object:
    """TORCH_CHECK(condition, message...). Raises CheckFailedError with the message."""
    _, condition, *message = nodes
    if not truth(interpreter.evaluate(condition, memory)):
        text = "".join(spelled(interpreter.evaluate(each, memory)) for each in message)
        raise CheckFailedError(text or "a check of the stub failed")
    return MISSING


def dispatch(interpreter: Interpreter, nodes: Sequence[syntax.Expression], memory: Memory) -> object:
    """AT_DISPATCH_X_TYPES(dtype, name, lambda): runs the lambda with `scalar_t` bound, or raises CheckFailedError."""
    macro, *rest = nodes
    assert isinstance(macro, syntax.Name)
    found = _DISPATCH.fullmatch(macro.path)
    if found is None:
        raise NotUnderstoodError(f"the macro {macro.path}")
    more = 0 if found["more"] is None else int(found["more"] or 1)
    extra = {dtype_argument(interpreter.evaluate(each, memory)) for each in rest[:more]}
    dtype = dtype_argument(interpreter.evaluate(rest[more], memory))
    name = interpreter.evaluate(rest[more + 1], memory)
    if dtype not in _SETS[found[1]] | extra:
        raise CheckFailedError(f"{name} not implemented for '{spelled(dtype)}'")
    body = interpreter.evaluate(rest[more + 2], memory)
    if not isinstance(body, Closure):
        raise NotUnderstoodError(f"{macro.path} without a lambda")
    types = {"scalar_t": type_of_dtype(dtype), "opmath_t": type_of_dtype(dtype)}
    return interpreter.invoke(Closure(body.node, Memory(types=types, outer=body.memory)), [])


_CHECKS = ("", "_NOT_IMPLEMENTED", "_TYPE", "_VALUE", "_INDEX", "_LINALG")

MACROS: dict[str, Macro] = {
    **{f"TORCH_CHECK{kind}": check for kind in _CHECKS},
    "TORCH_INTERNAL_ASSERT": check,
    "TORCH_INTERNAL_ASSERT_DEBUG_ONLY": check,
    **{
        f"AT_DISPATCH_{kind}{types}{more}": dispatch
        for kind in _SETS
        for types in ("", "_TYPES")
        for more in ("", "_AND", "_AND2", "_AND3", "_AND4", "_AND5")
    },
}
