"""MetalShaderLibrary, the command encoder and the mtl_ functions of OperationUtils.h."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import Dispatched, Kernels, MissingKernelError, as_bound, by_value, exec_on, run
from pipeline.exec_kernel.launch import MAX_THREADS, Force
from pipeline.exec_kernel.names import Helper, Request
from pipeline.stub_interpreter.errors import FaultError, NotUnderstoodError
from pipeline.stub_interpreter.interpreter import Interpreter
from pipeline.stub_interpreter.iterators import TensorIterator
from pipeline.stub_interpreter.numbers import Number
from pipeline.stub_interpreter.types import Native
from pipeline.stub_interpreter.values import MISSING, Buffer, Grid, Missing, Opaque, Scalar, Struct, item_bytes

SIMD_WIDTH = 32


@dataclass(frozen=True)
class Pipeline:
    """A compute pipeline state: one kernel."""

    name: str
    most_threads: int


@dataclass
class Encoder:
    """The argument table of the current command encoder."""

    pipeline: Pipeline | None = None
    arguments: dict[int, torch.Tensor | bytes] = field(default_factory=dict)
    threadgroup_memory: dict[int, int] = field(default_factory=dict)
    iterator: TensorIterator | None = None  # whose tensors were bound

    def set(self, index: int, value: object) -> None:
        """What mtl_setArg takes: a tensor, a buffer, a number, a list, a struct, an empty optional."""
        if isinstance(value, torch.Tensor):
            self.arguments[index] = value
        elif isinstance(value, Buffer):
            self.arguments[index] = value.tensor.as_strided((1,), (1,), 0)
        elif isinstance(value, Missing):
            self.arguments[index] = bytes(16)
        else:
            self.arguments[index] = item_bytes(value)

    def bind(self, iterator: TensorIterator) -> None:
        """bind_iter_tensors: each tensor from where this part of the iteration starts."""
        self.iterator = iterator
        for index, (tensor, offset) in enumerate(zip(iterator.tensors, iterator.view.offsets, strict=True)):
            on_cpu = index - iterator.outputs in iterator.cpu_scalars
            self.arguments[index] = by_value(tensor) if on_cpu else as_bound(tensor, offset)

    def call(self, interpreter: Interpreter, name: str, arguments: Sequence[object]) -> object:
        raise NotUnderstoodError(f"the encoder's {name}")


@dataclass
class KernelFunction:
    """A MetalKernelFunction of the C++ API."""

    library: Library
    name: str
    encoder: Encoder = field(default_factory=Encoder)

    def call(self, interpreter: Interpreter, name: str, arguments: Sequence[object]) -> object:
        match name:
            case "runCommandBlock":
                interpreter.invoke(arguments[0], [])
            case "startEncoding":
                self.encoder = Encoder(self.library.pipeline(self.name))
            case "setArg":
                self.encoder.set(_integer(arguments[0]), arguments[1])
            case "dispatch":
                threads = _sizes(arguments[0])
                group = _sizes(arguments[1]) if len(arguments) > 1 else [min(threads[0], MAX_THREADS)]
                self.library.dispatch(self.encoder, threads, group)
            case "getMaxThreadsPerThreadgroup":
                return Number(self.library.pipeline(self.name).most_threads, "uint64_t")
            case "getThreadExecutionWidth":
                return Number(SIMD_WIDTH, "uint64_t")
            case _:
                raise NotUnderstoodError(f"MetalKernelFunction::{name}")
        return MISSING


@dataclass
class Library:
    """The shader library that a stub calls `lib`; keeps what was dispatched."""

    kernels: Kernels
    force: Force | None = None
    dispatched: list[Dispatched] = field(default_factory=list)

    def pipeline(self, name: str) -> Pipeline:
        """Raises MissingKernelError."""
        if name not in self.kernels.names:
            raise MissingKernelError(name)
        kernel = getattr(self.kernels.library, name)
        return Pipeline(name, int(getattr(kernel, "max_threads_per_threadgroup", MAX_THREADS)))

    def dispatch(self, encoder: Encoder, threads: Sequence[int], group: Sequence[int]) -> None:
        """Run the encoder's kernel over the grid; both sizes have one to three numbers."""
        if encoder.pipeline is None:
            raise NotUnderstoodError("a dispatch before setComputePipelineState")
        if 0 in (*threads, *group):
            raise FaultError(f"dispatches {encoder.pipeline.name} over no threads, which Metal does not allow")
        count = max(encoder.arguments, default=-1) + 1
        arguments = tuple(encoder.arguments.get(index, bytes(16)) for index in range(count))
        memory = tuple(encoder.threadgroup_memory.get(index, 0) for index in range(len(encoder.threadgroup_memory)))
        name = encoder.pipeline.name
        launch = Dispatched(name, name, arguments, tuple(threads), tuple(group), memory)
        self.dispatched.append(run(self.kernels, launch))

    def call(self, interpreter: Interpreter, name: str, arguments: Sequence[object]) -> object:
        helper = next((each for each in Helper if each.function == name), None)
        if helper is not None:
            self._exec(helper, arguments)
            return MISSING
        match name:
            case "getPipelineStateForFunc":
                return self.pipeline(str(arguments[0]))
            case "getKernelFunction" | "getCachedKernelFunctionPtr":
                return KernelFunction(self, str(arguments[0]))
            case "hasFunction":
                return Number(str(arguments[0]) in self.kernels.names, "bool")
        raise NotUnderstoodError(f"MetalShaderLibrary::{name}")

    def _exec(self, helper: Helper, arguments: Sequence[object]) -> None:
        """An exec helper. `lib.exec_x(iter, name, ...)`, optional arguments in the order of MetalShaderLibrary.h."""
        iterator, name, *rest = arguments
        if not isinstance(iterator, TensorIterator) or not isinstance(name, str):
            raise NotUnderstoodError(f"{helper.function} without an iterator and a name")
        if helper in (Helper.UNARY_WITH_PARAMS, Helper.BINARY_WITH_PARAMS):
            params, type_name = rest
            if not isinstance(params, Struct) or not isinstance(type_name, str):
                raise NotUnderstoodError(f"{helper.function} without a params struct and its type's name")
            request = Request(helper, name, type_name)
            scalar: bytes | None = params.to_bytes()
        else:
            request, scalar = _request(helper, name, rest, iterator)
        self.exec_helper(request, scalar, iterator)

    def exec_helper(self, request: Request, scalar: bytes | None, iterator: TensorIterator) -> None:
        """What the exec helper of `request` does; `scalar` is the encoded alpha or params struct."""
        self.dispatched += exec_on(
            self.kernels,
            request,
            iterator.view,
            iterator.tensors,
            scalar=scalar,
            cpu_scalars=frozenset(iterator.outputs + each for each in iterator.cpu_scalars),
            force=self.force,
        )


def _request(
    helper: Helper, name: str, rest: Sequence[object], iterator: TensorIterator
) -> tuple[Request, bytes | None]:
    given = [*rest, *([MISSING] * (4 - len(rest)))]
    alpha, kind = given[0], given[1]
    natural, threshold = (given[2], given[3]) if helper is Helper.BINARY else (MISSING, given[2])
    limit = _integer(threshold) if isinstance(threshold, Number) else None
    output = natural if isinstance(natural, Dtype) else None
    if isinstance(alpha, Missing):
        return Request(helper, name, None, output, limit), None
    scalar = Scalar(alpha.value) if isinstance(alpha, Number) else alpha
    if not isinstance(scalar, Scalar):
        raise NotUnderstoodError(f"{helper.function} with an alpha that is no scalar")
    dtype = kind if isinstance(kind, Dtype) else iterator.view.common
    return Request(helper, name, dtype.metal, output, limit), scalar.stored_as(dtype)


def _integer(value: object) -> int:
    if not isinstance(value, Number):
        raise NotUnderstoodError(f"{type(value).__name__} where a number belongs")
    return int(value)


def _sizes(value: object) -> list[int]:
    if isinstance(value, Grid):
        return list(value.sizes)
    items = getattr(value, "items", None)
    return [_integer(each) for each in items] if isinstance(items, list) else [_integer(value)]


def _set_arguments(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    """`mtl_setArgs<first>(encoder, ...)`."""
    encoder, *values = arguments
    if not isinstance(encoder, Encoder):
        raise NotUnderstoodError("mtl_setArgs without an encoder")
    for index, value in enumerate(values, int(template[0]) if template else 0):
        encoder.set(index, value)
    return MISSING


def _set_one(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    """`mtl_setBytes(encoder, value, index)` and its like."""
    encoder, value, index = arguments
    if not isinstance(encoder, Encoder):
        raise NotUnderstoodError("mtl_setBytes without an encoder")
    encoder.set(_integer(index), value)
    return MISSING


def _bind_tensors(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    encoder, iterator = arguments[:2]
    if not isinstance(encoder, Encoder) or not isinstance(iterator, TensorIterator):
        raise NotUnderstoodError("bind_iter_tensors without an encoder and an iterator")
    encoder.bind(iterator)
    return MISSING


def _dispatch_1d(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    encoder, pipeline, length = arguments
    count = _integer(length)
    _library(interpreter).dispatch(_encoder(encoder), [count], [max(1, min(count, _most(pipeline)))])
    return MISSING


def _dispatch_2d(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    encoder, pipeline, inner, outer = arguments
    x, y = _integer(inner), _integer(outer)
    width = min(_most(pipeline), x)
    group = [width, max(1, min(y, _most(pipeline) // max(width, 1)))]
    _library(interpreter).dispatch(_encoder(encoder), [x, y], group)
    return MISSING


def _run_block(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    """dispatch_sync and its like: the block runs at once."""
    interpreter.invoke(arguments[-1], [])
    return MISSING


def _opaque(name: str) -> Native:
    def make(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
        return Opaque(name)

    return make


def _size(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    x, y, z = (_integer(each) for each in arguments)
    return Grid((x, y, z))


def _storage(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    tensor = arguments[0]
    if not isinstance(tensor, torch.Tensor):
        raise NotUnderstoodError("the buffer of something that is no tensor")
    return Buffer(tensor)


def message(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    """`[receiver selector: ...]` to an encoder or a pipeline. Raises NotUnderstoodError."""
    receiver, *rest = arguments
    selector = template[0]
    if isinstance(receiver, Pipeline) and selector == "maxTotalThreadsPerThreadgroup":
        return Number(receiver.most_threads, "uint64_t")
    if isinstance(receiver, Pipeline) and selector == "threadExecutionWidth":
        return Number(SIMD_WIDTH, "uint64_t")
    if not isinstance(receiver, Encoder):
        raise NotUnderstoodError(f"the message {selector}")
    match selector:
        case "setComputePipelineState:":
            if not isinstance(rest[0], Pipeline):
                raise NotUnderstoodError("a pipeline state that came from no library")
            receiver.pipeline = rest[0]
        case "setBuffer:offset:atIndex:":
            if not isinstance(rest[0], Buffer):
                raise NotUnderstoodError("a buffer that is no tensor's")
            whole = rest[0].tensor.as_strided((1,), (1,), 0)
            receiver.arguments[_integer(rest[2])] = as_bound(whole, _integer(rest[1]))
        case "setBytes:length:atIndex:":
            receiver.arguments[_integer(rest[2])] = item_bytes(rest[0])[: _integer(rest[1])]
        case "setThreadgroupMemoryLength:atIndex:":
            receiver.threadgroup_memory[_integer(rest[1])] = _integer(rest[0])
        case "dispatchThreads:threadsPerThreadgroup:":
            _library(interpreter).dispatch(receiver, _sizes(rest[0]), _sizes(rest[1]))
        case "dispatchThreadgroups:threadsPerThreadgroup:":
            groups, threads = _sizes(rest[0]), _sizes(rest[1])
            _library(interpreter).dispatch(receiver, [a * b for a, b in zip(groups, threads, strict=True)], threads)
        case _:
            raise NotUnderstoodError(f"the message {selector}")
    return MISSING


def _library(interpreter: Interpreter) -> Library:
    found = interpreter.constants["lib"]
    assert isinstance(found, Library)
    return found


def _encoder(value: object) -> Encoder:
    if not isinstance(value, Encoder):
        raise NotUnderstoodError("a dispatch without an encoder")
    return value


def _most(pipeline: object) -> int:
    return pipeline.most_threads if isinstance(pipeline, Pipeline) else MAX_THREADS


NATIVES: dict[str, Native] = {
    "mtl_setArgs": _set_arguments,
    "mtl_setBytes": _set_one,
    "mtl_setBuffer": _set_one,
    "bind_iter_tensors": _bind_tensors,
    "mtl_dispatch1DJob": _dispatch_1d,
    "mtl_dispatch2DJob": _dispatch_2d,
    "dispatch_sync": _run_block,
    "dispatch_sync_with_rethrow": _run_block,
    "getCurrentMPSStream": _opaque("stream"),
    "getMPSProfiler": _opaque("profiler"),
    "MTLSizeMake": _size,
    "getMTLBufferStorage": _storage,
    "[]": message,
}
