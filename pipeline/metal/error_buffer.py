"""The buffer that TORCH_REPORT_ERROR of c10/metal/error.h writes to, as torch.mps binds it for `error_buf_idx`."""

from __future__ import annotations

import struct

import torch

COUNT = struct.Struct("<I")
MESSAGE = struct.Struct("<128s128s250sxxI")  # file, function, text, line
MESSAGES = 30


def empty_error_buffer() -> torch.Tensor:
    return torch.zeros(COUNT.size + MESSAGES * MESSAGE.size, dtype=torch.uint8)


def raise_first_error(buffer: torch.Tensor) -> None:
    """Raise torch.AcceleratorError, as torch.mps does later, with the first message that a kernel left."""
    data = buffer.numpy().tobytes()
    if COUNT.unpack_from(data)[0]:
        file, function, text, line = MESSAGE.unpack_from(data, COUNT.size)
        raise torch.AcceleratorError(f"{_text(text)} ({_text(function)} at {_text(file)}:{line})")


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode(errors="replace")
