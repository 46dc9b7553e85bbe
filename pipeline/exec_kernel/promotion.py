"""TensorIterator's common dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes


def common_dtype(inputs: Sequence[Any], natural: torch.dtype) -> torch.dtype:
    """The promoted dtype of tensors and Python numbers, or the float `natural` that integers are promoted to."""
    _, result = elementwise_dtypes(*inputs, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)
    assert isinstance(result, torch.dtype)
    integral = not (result.is_floating_point or result.is_complex)
    return natural if integral and (natural.is_floating_point or natural.is_complex) else result
