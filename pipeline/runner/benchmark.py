"""Time operators on a device, and set two timings side by side. Needs nothing but torch, so that it runs unchanged
under a new build and under a released wheel:

    python benchmark.py measure mps new.json sign hypot
    python benchmark.py compare released.json new.json benchmark.json

Microseconds per call: the median over repeats, and half the interquartile range as the spread.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

SIZES = (1_000, 100_000, 10_000_000)
REPEATS = 30
_DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.complex64)
_LEAST_SECONDS = 0.002  # of one repeat, so that the clock's resolution does not show

Row = dict[str, Any]


def measure(names: Sequence[str], device: str, sizes: Sequence[int] = SIZES, repeats: int = REPEATS) -> dict[str, Any]:
    """Rows for every OpInfo of those names, dtype and number of elements; what cannot be timed is listed, with why."""
    rows: list[Row] = []
    untimed: list[str] = []
    infos: list[Any] = [info for info in op_db if info.name in names]
    for info in infos:
        for dtype in (dtype for dtype in _DTYPES if dtype in info.supported_dtypes(device)):
            for size in sizes:
                about = {"operator": info.formatted_name, "dtype": str(dtype).removeprefix("torch."), "elements": size}
                try:
                    median, spread = time_call(_call(info, device, dtype, size), _waiter(device), repeats)
                except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
                    untimed.append(f"{about['operator']} {about['dtype']} {size}: {str(error).splitlines()[0][:200]}")
                else:
                    rows.append({**about, "us": round(median, 3), "spread_us": round(spread, 3)})
    return {"torch": torch.__version__, "device": device, "rows": rows, "untimed": untimed}


def compare(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The rows that both have, as pipeline.runner.read reads them."""
    known = {_key(row): row for row in old["rows"]}
    rows = [
        {
            **{key: row[key] for key in ("operator", "dtype", "elements")},
            "old_us": known[_key(row)]["us"],
            "old_spread_us": known[_key(row)]["spread_us"],
            "new_us": row["us"],
            "new_spread_us": row["spread_us"],
        }
        for row in new["rows"]
        if _key(row) in known
    ]
    return {"old": old["torch"], "new": new["torch"], "rows": rows, "untimed": new["untimed"]}


def time_call(call: Callable[[], object], wait: Callable[[], None], repeats: int) -> tuple[float, float]:
    """(median, half the interquartile range) in microseconds per call; `wait` returns when the device is idle."""
    for _ in range(3):
        call()
    wait()
    calls = 1
    while True:
        seconds = _seconds(call, wait, calls)
        if seconds >= _LEAST_SECONDS or calls >= 1 << 16:
            break
        calls *= 2
    samples = [_seconds(call, wait, calls) / calls * 1e6 for _ in range(repeats)]
    low, middle, high = statistics.quantiles(samples, n=4)
    return middle, (high - low) / 2


def _seconds(call: Callable[[], object], wait: Callable[[], None], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    wait()
    return time.perf_counter() - start


def _call(info: Any, device: str, dtype: torch.dtype, size: int) -> Callable[[], object]:
    """The operator on the first of its samples, every tensor of the input's shape made `size` elements long."""
    sample = next(iter(info.sample_inputs(device, dtype)))
    shape = sample.input.shape

    def grown(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.shape != shape:
            return value
        bounds = (0.1, 0.9) if value.is_floating_point() else (None, None)
        return torch.testing.make_tensor(size, dtype=value.dtype, device=device, low=bounds[0], high=bounds[1])

    first = grown(sample.input)
    args = tuple(grown(value) for value in sample.args)
    kwargs = {key: grown(value) for key, value in sample.kwargs.items()}
    return lambda: info.op(first, *args, **kwargs)


def _waiter(device: str) -> Callable[[], None]:
    return torch.mps.synchronize if device == "mps" else lambda: None


def _key(row: Row) -> tuple[object, ...]:
    return row["operator"], row["dtype"], row["elements"]


def main(arguments: Sequence[str]) -> int:
    match list(arguments):
        case ["measure", device, out, *names] if names:
            Path(out).write_text(json.dumps(measure(names, device), indent=1), encoding="utf-8")
        case ["compare", old, new, out]:
            timings = (json.loads(Path(path).read_text(encoding="utf-8")) for path in (old, new))
            Path(out).write_text(json.dumps(compare(*timings), indent=1), encoding="utf-8")
        case _:
            print("usage: benchmark.py measure DEVICE OUT NAME... | compare OLD NEW OUT", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
