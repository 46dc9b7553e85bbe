"""Arguments of a launch, read as torch.mps reads them (torch/csrc/mps/Module.cpp of 2.13)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

CASTS = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "int32": torch.int32,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint8": torch.uint8,
}


@dataclass
class Bound:
    """What is bound to one index of the argument table.

    A tensor; a list of tensors, as `pointers` to them; `length` bytes of `data`, copied for the launch; or nothing.
    """

    tensors: tuple[torch.Tensor, ...] = ()
    pointers: ctypes.Array[ctypes.c_uint64] | None = None
    data: ctypes.Array[ctypes.c_char] | None = field(default=None, repr=False)
    length: int = 0

    @property
    def address(self) -> int:
        """Where it lies, before anything is moved."""
        held = self.data if self.data is not None else self.pointers
        if held is not None:
            return ctypes.addressof(held)
        return self.tensors[0].data_ptr() if self.tensors else 0

    @property
    def size(self) -> int:
        """Of the bytes that are neither a tensor's nor in one."""
        return ctypes.sizeof(self.pointers) if self.pointers is not None else self.length

    @property
    def room(self) -> int:
        """Bytes from its start to the end of what it lies in."""
        if self.tensors and self.pointers is None:
            storage = self.tensors[0].untyped_storage()
            return storage.nbytes() - (self.address - storage.data_ptr())
        return self.size


def bind(index: int, value: object, casts: Casts, least: int = 0) -> Bound:
    """`value` as a kernel argument; numbers get at least `least` bytes of memory.

    Raises RuntimeError for what torch.mps refuses.
    """
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu":
            raise RuntimeError(f"argument {index} is on {value.device}; kernels run on the CPU here")
        return Bound((value,))
    if isinstance(value, (list, tuple)):
        if not value:
            raise RuntimeError("Empty list/tuple can not be an argument to metal kernel")
        if isinstance(value[0], torch.Tensor):
            return Bound(tuple(value), (ctypes.c_uint64 * len(value))())
        return _constants(casts.encode(index, value), least)
    if isinstance(value, (bytes, bytearray)):
        return _constants(bytes(value), least)
    if isinstance(value, (int, float)):
        return _constants(casts.encode(index, [value]), least)
    raise RuntimeError("Unsupported argument type")


def _constants(data: bytes, least: int) -> Bound:
    held = (ctypes.c_char * max(len(data), least, 1)).from_buffer_copy(data.ljust(max(least, 1), b"\0"))
    return Bound(data=held, length=len(data))


class Casts:
    """`arg_casts` of a launch: one instruction for all scalars, or one by index."""

    def __init__(self, arg_casts: object) -> None:
        self.default: str | None = None
        self.by_index: Mapping[int, str] = {}
        if isinstance(arg_casts, str):
            self.default = arg_casts
        elif isinstance(arg_casts, dict):
            self.by_index = arg_casts
        elif arg_casts is not None:
            raise RuntimeError(f"Unexpected caster arg type {type(arg_casts).__name__}")

    def encode(self, index: int, values: Sequence[object]) -> bytes:
        """Numbers as bytes: int64 or float32 by the first, unless there is a cast."""
        if isinstance(values[0], int):
            natural = torch.int64
        elif isinstance(values[0], float):
            natural = torch.float32
        else:
            raise RuntimeError("Unexpected argument types")
        encoded = torch.tensor(values, dtype=natural)
        cast = self.by_index.get(index, self.default)
        if cast is not None:
            if cast not in CASTS:
                raise RuntimeError(f"Unsupported cast instruction {cast}")
            encoded = encoded.to(CASTS[cast])
        return (
            encoded.numpy().tobytes()
            if encoded.dtype != torch.bfloat16
            else encoded.view(torch.int16).numpy().tobytes()
        )


def sizes(value: object, what: str) -> tuple[int, ...] | None:
    """`threads` or `group_size`: a number, or one to three of them, each of 32 bits."""
    if value is None:
        return None
    numbers = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not 0 < len(numbers) < 4 or not all(isinstance(number, int) and 0 <= number < 2**32 for number in numbers):
        raise RuntimeError(f"{what} takes one to three numbers from 0 to 2**32 - 1, not {value!r}")
    return numbers
