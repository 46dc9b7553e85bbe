"""Which of PyTorch's tests concern an operator: an expression for `pytest -k`. Needs nothing but Python.

Test names hold OpInfo's `formatted_name`, in which dots are underscores, followed by device and dtype, as in
`test_output_match_nn_functional_mish_mps_float32`; torch/testing/_internal/common_device_type.py builds them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

_NAME = re.compile(r"[A-Za-z_][\w.]*")


def expression(opinfo: Sequence[str]) -> str:
    """Every test of those OpInfos, their `_refs.` twins and the handwritten ones such as `test_sign`.

    `-k` looks for parts of names, so `_sign_` also selects a test of `_foreach_sign_`: a few too many, none too few.
    Raises ValueError for what is no OpInfo name.
    """
    for name in opinfo:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not an OpInfo name")
    if not opinfo:
        raise ValueError("no OpInfo is named")
    names = [name.replace(".", "_") for name in dict.fromkeys(opinfo)]
    return " or ".join(part for name in names for part in (f"_{name}_", f"test_{name}"))


if __name__ == "__main__":
    try:
        print(expression(" ".join(sys.argv[1:]).split()))
    except ValueError as error:
        raise SystemExit(f"error: {error}") from None
