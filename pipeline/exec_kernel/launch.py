"""Which kernel an exec helper launches for one layout, with which arguments and grid."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

from pipeline.errors import PipelineError
from pipeline.exec_kernel import names
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.iteration import Iteration, Operand
from pipeline.exec_kernel.names import ILP_THRESHOLD, ILP_WIDTH, Helper, Request

MAX_THREADS = 1024
INNER_CONTIGUOUS_MIN_EXTENT = 16
UINT32_MAX = 2**32 - 1


class HostRefusal(PipelineError):
    """The helper's own TORCH_CHECK: a clean error for the user of PyTorch."""


class HelperLimit(PipelineError):
    """The helper of this version cannot serve the call, whatever kernel it is given."""


@dataclass(frozen=True)
class OperandArgument:
    """Operand number `index`, from `offset` bytes after its first element; `cast_to` where the host casts a scalar."""

    index: int
    offset: int = 0
    cast_to: Dtype | None = None


Argument = OperandArgument | bytes


@dataclass(frozen=True)
class Launch:
    """One dispatch: `arguments` in the order of buffer indices, `threads` and `group` as (x, y)."""

    host_name: str
    flavour: str
    arguments: tuple[Argument, ...]
    threads: tuple[int, int]
    group: tuple[int, int]


@dataclass(frozen=True)
class Force:
    """Pins a flavour whatever the size, as PYTORCH_UNARY_FORCE_FLAVOR and PYTORCH_BINARY_FORCE_FLAVOR do upstream.

    `ilp` None leaves the choice to the threshold; `inner_contiguous` likewise to the extent of the inner run.
    `every_flavour` lets exec_binary_kernel_with_params choose like exec_binary_kernel, for the flavours that are
    registered for its kernels although it never asks for them.
    """

    ilp: bool | None = None
    inner_contiguous: bool | None = None
    every_flavour: bool = False


Registered = Callable[[str], bool]


def plan(
    request: Request,
    iteration: Iteration,
    scalar: bytes | None,
    registered: Registered,
    force: Force | None = None,
) -> list[Launch]:
    """The launches for one call: none for an empty iteration, several where 32-bit indexing makes parts.

    `scalar` is the encoded alpha or params struct, `registered` answers `hasFunction`. The names may be missing from
    the library; whoever launches finds out. Raises HostRefusal where the helper checks and refuses, HelperLimit where
    the modelled version is at fault.
    """
    force = force or Force()
    if force.every_flavour and request.helper is Helper.BINARY_WITH_PARAMS:
        request = replace(request, helper=Helper.BINARY)
    if (scalar is None) != (request.scalar is None):
        raise ValueError("a scalar's bytes come with its type name")
    if request.helper.arity > len(iteration.inputs):
        raise HostRefusal(f"{request.helper.function} on an iterator with {len(iteration.inputs)} inputs")
    if request.helper.arity > 1 and iteration.output.dtype is Dtype.FLOAT64:
        raise HostRefusal("float64 is not supported on MPS")
    if iteration.numel == 0:
        return []
    if request.helper is Helper.TERNARY and not iteration.can_use_32bit_indexing:
        raise HelperLimit("exec_ternary_kernel hands the parts of a large iterator to exec_binary_kernel (until 2.14)")
    launches = []
    for part in iteration.with_32bit_indexing():
        match request.helper:
            case Helper.UNARY | Helper.UNARY_RAW:
                launches.append(_unary(request, part, scalar, registered, force))
            case Helper.UNARY_WITH_PARAMS:
                launches.append(_unary_with_params(request, part, scalar))
            case Helper.BINARY:
                launches.append(_binary(request, part, scalar, registered, force))
            case Helper.BINARY_WITH_PARAMS:
                launches.append(_binary_with_params(request, part, scalar))
            case Helper.TERNARY:
                launches.append(_ternary(request, part))
    return launches


def _unary(request: Request, part: Iteration, scalar: bytes | None, registered: Registered, force: Force) -> Launch:
    source, output = part.inputs[0].dtype, part.output.dtype
    plain = request.scalar is None
    ilp = False
    if part.is_contiguous and plain:
        eligible = output.is_floating or request.ilp_threshold is not None
        ilp = eligible and part.numel >= _or_default(request.ilp_threshold, ILP_THRESHOLD)
        ilp = ilp if force.ilp is None else force.ilp
    inner = plain and _uses_inner_contiguous(part, force)
    if inner:
        flavour = "inner_contiguous"
    elif not part.is_contiguous:
        flavour = "strided"
    else:
        flavour = "dense" if ilp or not plain else "dense_scalar"
    name = names.unary_name(request, flavour, output, source)
    if inner and not registered(name):
        inner, flavour = False, "strided"
        name = names.unary_name(request, flavour, output, source)
    if plain and (request.helper is Helper.UNARY_RAW or not registered(name)):
        return _unary_castout(request, part, registered, force, inner)
    tensors = _tensors(part, 1)
    if inner:
        packed = struct.pack("2I", part.ndim - 1, part.shape[0])
        return _tiled(name, flavour, part, (*tensors, *_outer(part, (1, 0)), packed))
    if flavour == "strided":
        return _rows(name, flavour, part, (*tensors, *_unary_strides(part), _uints(part.ndim), *_given(scalar)))
    if ilp:
        return _line(name, flavour, _tiles(part.numel), (*tensors, _uints(part.numel)))
    return _line(name, flavour, part.numel, (*tensors, *_given(scalar)))


def _unary_castout(request: Request, part: Iteration, registered: Registered, force: Force, inner: bool) -> Launch:
    source, output = part.inputs[0].dtype, part.output.dtype
    threshold = request.ilp_threshold
    ilp = part.is_contiguous and threshold is not None and part.numel >= threshold
    ilp = ilp if force.ilp is None or not part.is_contiguous else force.ilp
    tensors = _tensors(part, 1)
    if ilp:
        name = names.castout_name(request, "dense_castout_ilp", source)
        packed = struct.pack("4I", output.size, output.code, part.numel, 0)
        return _line(name, "dense_castout_ilp", _tiles(part.numel), (*tensors, packed))
    if part.is_contiguous:
        name = names.castout_name(request, "dense_castout", source)
        return _line(name, "dense_castout", part.numel, (*tensors, _uints(output.size, output.code)))
    inner_name = names.castout_name(request, "inner_contiguous_castout", source)
    if (inner or _uses_inner_contiguous(part, force)) and registered(inner_name):
        packed = struct.pack("4I", part.ndim - 1, part.shape[0], output.size, output.code)
        return _tiled(inner_name, "inner_contiguous_castout", part, (*tensors, *_outer(part, (1, 0)), packed))
    name = names.castout_name(request, "strided_castout", source)
    strides = _unary_strides(part)
    return _rows(name, "strided_castout", part, (*tensors, *strides, _uints(part.ndim, output.code)))


def _unary_with_params(request: Request, part: Iteration, scalar: bytes | None) -> Launch:
    source, output = part.inputs[0].dtype, part.output.dtype
    flavour = "dense" if part.is_contiguous else "strided"
    name = names.unary_name(request, flavour, output, source)
    tensors = _tensors(part, 1)
    if part.is_contiguous:
        return _line(name, flavour, part.numel, (*tensors, *_given(scalar)))
    return _rows(name, flavour, part, (*tensors, *_unary_strides(part), _uints(part.ndim), *_given(scalar)))


def _binary(request: Request, part: Iteration, scalar: bytes | None, registered: Registered, force: Force) -> Launch:
    left, right, output = _downcast(part.inputs[0]), _downcast(part.inputs[1]), part.output.dtype
    given = _given(scalar)
    if request.natural not in (None, output):
        name = names.binary_castout_name(request, part.common)
        return _line(name, "strided_castout", part.numel, (*_tensors(part, 2), *_strided(part, left, right, output)))
    broadcast = _broadcast_flavour(part)
    cast = left is not right
    if broadcast is not None:
        return _binary_broadcast(request, part, broadcast, (left, right), given)
    if part.is_contiguous:
        ilp = False
        if not cast and request.scalar is None:
            default = ILP_THRESHOLD if output.is_floating else UINT32_MAX
            ilp = part.numel >= _or_default(request.ilp_threshold, default)
            ilp = ilp if force.ilp is None else force.ilp
        flavour = f"dense_ilp{ILP_WIDTH}" if ilp else "dense"
        name = names.binary_name(request, flavour, cast, output, left, part.common)
        flavour += "_cast" if cast else ""
        if ilp:
            return _line(name, flavour, _tiles(part.numel), (*_tensors(part, 2), _uints(part.numel)))
        sizes = (_uints(left.size, right.size, left.code, right.code),) if cast else ()
        return _line(name, flavour, part.numel, (*_tensors(part, 2), *given, *sizes))
    inner_name = names.binary_name(request, "inner_contiguous", False, output, left, part.common)
    if not cast and request.scalar is None and _uses_inner_contiguous(part, force) and registered(inner_name):
        packed = struct.pack("2I", part.ndim - 1, part.shape[0])
        return _tiled(inner_name, "inner_contiguous", part, (*_tensors(part, 2), *_outer(part, (0, 1, 2)), packed))
    name = names.binary_name(request, "strided", cast, output, left, part.common)
    flavour = "strided_cast" if cast else "strided"
    return _line(name, flavour, part.numel, (*_tensors(part, 2), *given, *_strided(part, left, right, output)))


def _binary_broadcast(
    request: Request, part: Iteration, flavour: str, types: tuple[Dtype, Dtype], given: tuple[bytes, ...]
) -> Launch:
    left, right = types
    small = 0 if flavour in ("dense_scalar_lhs", "dense_broadcast_rhs") else 1
    full = types[1 - small]
    cast = left is not right
    tensors = list(_tensors(part, 2))
    is_scalar = flavour.startswith("dense_scalar")
    if cast and is_scalar and names.promotes_scalar_on_host(full, types[small], part.common):
        tensors[1 + small] = OperandArgument(1 + small, part.offsets[1 + small], cast_to=part.common)
        cast = False
    name = names.binary_name(request, flavour, cast, part.output.dtype, full, part.common)
    count = () if is_scalar else (_longs((part.inputs[small].numel,)),)
    sizes = (_uints(left.size, right.size, left.code, right.code),) if cast else ()
    label = f"{flavour}_cast" if cast else flavour
    return _line(name, label, part.numel, (*tensors, *count, *given, *sizes))


def _binary_with_params(request: Request, part: Iteration, scalar: bytes | None) -> Launch:
    left, right, output = _downcast(part.inputs[0]), _downcast(part.inputs[1]), part.output.dtype
    cast = left is not right
    flavour = "dense" if part.is_contiguous else "strided"
    name = names.binary_params_name(request, flavour, cast, output, left)
    label = f"{flavour}_cast" if cast else flavour
    if not part.is_contiguous:
        strides = _strided(part, left, right, output)
        return _line(name, label, part.numel, (*_tensors(part, 2), *_given(scalar), *strides))
    sizes = (_uints(left.size, right.size, left.code, right.code),) if cast else ()
    return _line(name, label, part.numel, (*_tensors(part, 2), *_given(scalar), *sizes))


def _ternary(request: Request, part: Iteration) -> Launch:
    types = tuple(_downcast(operand) for operand in part.inputs[:3])
    cast = types[0] is not types[1] or types[0] is not types[2]
    flavour = "dense" if part.is_contiguous else "strided"
    name = names.ternary_name(request, flavour, cast, part.output.dtype, types[0])
    label = f"{flavour}_cast" if cast else flavour
    if part.is_contiguous:
        # Bound as three ints to a uint3, which the shader reads as 16 bytes.
        sizes = _uints(*(each.size for each in types), 0)
        codes = _uints(*(each.code for each in types), 0)
        return _line(name, label, part.numel, (*_tensors(part, 3), *((sizes, codes) if cast else ())))
    strides = tuple(_longs(stride) for stride in part.strides[:4])
    codes = _uints(*(each.code for each in types), part.output.dtype.code)
    casts = (codes,) if cast else ()
    return _line(name, label, part.numel, (*_tensors(part, 3), _longs(part.shape), *strides, _uints(part.ndim), *casts))


def _broadcast_flavour(part: Iteration) -> str | None:
    """The flavour for one full, contiguous operand and one that repeats along the outer dimensions."""
    left, right, output = part.inputs[0], part.inputs[1], part.output
    if _repeats(left, output) and right.numel == output.numel and right.is_contiguous and output.is_contiguous:
        return "dense_scalar_lhs" if left.numel == 1 else "dense_broadcast_rhs"
    if _repeats(right, output) and left.numel == output.numel and left.is_contiguous and output.is_contiguous:
        return "dense_scalar" if right.numel == 1 else "dense_broadcast"
    return None


def _repeats(small: Operand, full: Operand) -> bool:
    if small.numel == full.numel or not small.is_contiguous or not full.is_contiguous:
        return False
    ones_only = False
    for size, other in zip(reversed(small.sizes), reversed(full.sizes), strict=False):
        if ones_only:
            if size != 1:
                return False
        else:
            ones_only = size != other
    return True


def _uses_inner_contiguous(part: Iteration, force: Force) -> bool:
    """2.14 and later: a unit-stride innermost run for every operand."""
    if part.is_contiguous or part.ndim < 2 or not part.has_contiguous_first_dim:
        return False
    if force.inner_contiguous is not None:
        return force.inner_contiguous
    return part.shape[0] >= INNER_CONTIGUOUS_MIN_EXTENT


def _downcast(operand: Operand) -> Dtype:
    """A 0-dim double, as a Python number becomes, is read as float."""
    if operand.sizes == ():
        return {Dtype.FLOAT64: Dtype.FLOAT32, Dtype.COMPLEX128: Dtype.COMPLEX64}.get(operand.dtype, operand.dtype)
    return operand.dtype


def _or_default(threshold: int | None, default: int) -> int:
    return default if threshold is None else threshold


def _given(scalar: bytes | None) -> tuple[bytes, ...]:
    return () if scalar is None else (scalar,)


def _tensors(part: Iteration, inputs: int) -> tuple[OperandArgument, ...]:
    """The output and the inputs that the kernel reads; what the iterator has beyond is bound over."""
    return tuple(OperandArgument(index, offset) for index, offset in enumerate(part.offsets[: 1 + inputs]))


def _strided(part: Iteration, left: Dtype, right: Dtype, output: Dtype) -> tuple[bytes, ...]:
    strides = tuple(_longs(stride) for stride in part.strides[:3])
    return (_longs(part.shape), *strides, _uints(part.ndim, left.code, right.code, output.code))


def _unary_strides(part: Iteration) -> tuple[bytes, ...]:
    return (_longs(part.shape), _longs(part.strides[1]), _longs(part.strides[0]))


def _outer(part: Iteration, order: tuple[int, ...]) -> tuple[bytes, ...]:
    return (_longs(part.shape[1:]), *(_longs(part.strides[index][1:]) for index in order))


def _longs(values: tuple[int, ...]) -> bytes:
    return struct.pack(f"{max(len(values), 1)}q", *(values or (0,)))


def _uints(*values: int) -> bytes:
    return struct.pack(f"{len(values)}I", *values)


def _tiles(numel: int) -> int:
    return (numel + ILP_WIDTH - 1) // ILP_WIDTH


def _line(name: str, flavour: str, length: int, arguments: tuple[Argument, ...]) -> Launch:
    return Launch(name, flavour, arguments, (length, 1), (min(length, MAX_THREADS), 1))


def _rows(name: str, flavour: str, part: Iteration, arguments: tuple[Argument, ...]) -> Launch:
    """A 2D grid: x along the innermost dimension, y over the rest."""
    return _grid(name, flavour, part.shape[0], part.numel // part.shape[0], arguments)


def _tiled(name: str, flavour: str, part: Iteration, arguments: tuple[Argument, ...]) -> Launch:
    return _grid(name, flavour, _tiles(part.shape[0]), part.numel // part.shape[0], arguments)


def _grid(name: str, flavour: str, inner: int, outer: int, arguments: tuple[Argument, ...]) -> Launch:
    x = min(MAX_THREADS, inner)
    return Launch(name, flavour, arguments, (inner, outer), (x, max(1, min(outer, MAX_THREADS // x))))
