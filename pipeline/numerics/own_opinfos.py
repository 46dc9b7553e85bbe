"""OpInfos for operators that upstream's op_db does not reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.testing import make_tensor
from torch.testing._internal.common_dtype import floating_types_and
from torch.testing._internal.opinfo.core import OpInfo, SampleInput


def _weight_norm_samples(
    opinfo: Any, device: str, dtype: torch.dtype, requires_grad: bool, **kwargs: Any
) -> Iterator[SampleInput]:
    """Slices along the first and the last dimension, also longer than a threadgroup has threads.

    None without elements: the CPU divides by their number, which ends the process.
    """
    for shape in ((5,), (4, 6), (3, 2, 5), (2, 1500), (1500, 2), (1, 1)):
        for dim in sorted({0, len(shape) - 1}):
            kept = [size if axis == dim else 1 for axis, size in enumerate(shape)]
            v = make_tensor(shape, dtype=dtype, device=device, requires_grad=requires_grad)
            g = make_tensor(kept, dtype=dtype, device=device, requires_grad=requires_grad)
            yield SampleInput(v, args=(g, dim))


OWN_OPINFOS = (
    OpInfo(
        "_weight_norm_interface",
        op=torch.ops.aten._weight_norm_interface,
        dtypes=floating_types_and(torch.half, torch.bfloat16),
        sample_inputs_func=_weight_norm_samples,
        supports_out=False,
    ),
)
