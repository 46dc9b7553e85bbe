"""Evidence by dtype and flavour: which kernels ran, how often, and which were wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

# The suffix of scalarToMetalTypeString -> the dtype, in the order of rows.
_DTYPES = {
    "float": "float32",
    "half": "float16",
    "bfloat": "bfloat16",
    "float2": "complex64",
    "half2": "complex32",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "uchar": "uint8",
    "bool": "bool",
}
_PARTS = "ilp4|ilp|scalar_lhs|scalar|broadcast_rhs|broadcast|castout|cast"
_NAME = re.compile(rf"(?P<kernel>.+?)_(?P<flavour>(?:dense|strided|inner_contiguous)(?:_(?:{_PARTS}))*)_(?P<types>\w+)")
_MISSING = "numerics/missing-kernel"
# Rules about calls that reach no kernel, or that the helper of a release cannot serve, whatever the kernel.
_HARMLESS = ("numerics/unguarded-dtype", "numerics/helper-limit")
_OWN = "one"
"""The column of kernels that a stub launches itself, without flavours."""


class Cell(Enum):
    """WRONG: a run gave another result than torch on the CPU. MISSING: a case asks for it and it is not registered.
    IDLE: registered, and no case asks for it.
    """

    PASSED = "passed"
    WRONG = "wrong"
    MISSING = "missing"
    IDLE = "not reached"
    ABSENT = "not registered"


@dataclass(frozen=True)
class HeatCell:
    state: Cell
    runs: int
    names: tuple[str, ...]

    def words(self, dtype: str, flavour: str) -> str:
        """The cell as a sentence."""
        what = f"{dtype}, {flavour}: {self.state.value}"
        return f"{what} in {self.runs} runs" if self.runs else what


@dataclass(frozen=True)
class HeatMap:
    """One kernel: `rows` are dtypes of the input, with a cell for each of `flavours`."""

    kernel: str
    flavours: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]


def heat_maps(data: Mapping[str, Any]) -> tuple[HeatMap, ...]:
    """From the data of the numerical check (`invoke check --json`); empty when it did not run."""
    runs: Mapping[str, int] = data.get("launched", {})
    reports: Sequence[Mapping[str, Any]] = data.get("reports", ())
    missing = [name for report in reports if report["rule"] == _MISSING for name in report.get("host_names", ())]
    names = dict.fromkeys([*runs, *data.get("idle", ()), *missing])
    wrong = [name for name in names if any(_blames(report, name) for report in reports)]
    places = {name: _place(name) for name in names}
    maps = []
    for kernel in dict.fromkeys(kernel for kernel, _, _ in places.values()):
        own = {name: (flavour, dtype) for name, (of, flavour, dtype) in places.items() if of == kernel}
        flavours = tuple(sorted({flavour for flavour, _ in own.values()}, key=_by_flavour))
        dtypes = sorted({dtype for _, dtype in own.values()}, key=_by_dtype)
        cells = {
            (flavour, dtype): _cell([name for name in own if own[name] == (flavour, dtype)], runs, wrong, missing)
            for flavour in flavours
            for dtype in dtypes
        }
        rows = tuple((dtype, tuple(cells[flavour, dtype] for flavour in flavours)) for dtype in dtypes)
        maps.append(HeatMap(kernel, flavours, rows))
    return tuple(maps)


def _cell(names: Sequence[str], runs: Mapping[str, int], wrong: Sequence[str], missing: Sequence[str]) -> HeatCell:
    count = sum(runs.get(name, 0) for name in names)
    if not names:
        state = Cell.ABSENT
    elif count and any(name in wrong for name in names):
        state = Cell.WRONG
    elif any(name in missing for name in names):
        state = Cell.MISSING
    else:
        state = Cell.PASSED if count else Cell.IDLE
    return HeatCell(state, count, tuple(names))


def _blames(report: Mapping[str, Any], name: str) -> bool:
    """A report names the kernels of its first case, and the flavours that showed the same fault on its dtypes."""
    if report["rule"] in _HARMLESS:
        return False
    if name in report.get("host_names", ()):
        return True
    _, flavour, dtype = _place(name)
    return flavour in report.get("flavours", ()) and set(report.get("dtypes", ())) == {dtype}


def _place(name: str) -> tuple[str, str, str]:
    """(kernel, flavour, dtype of the input) of a host name.

    After the flavour stand output and input, and the scalar's type behind them; a cast-out kernel names its input only
    (see docs/architecture.md).
    """
    found = _NAME.fullmatch(name)
    if found is None:
        words = name.split("_")
        types = [word for word in words if word in _DTYPES]
        kernel = "_".join(word for word in words if word not in _DTYPES)
        return kernel, _OWN, _DTYPES[types[-1]] if types else "any"
    types = [word for word in found["types"].split("_") if word in _DTYPES]
    if not types:
        return found["kernel"], found["flavour"], "any"
    given = types[1] if len(types) > 1 and "castout" not in found["flavour"] else types[0]
    return found["kernel"], found["flavour"], _DTYPES[given]


def _by_flavour(flavour: str) -> tuple[int, int, str]:
    """Plain flavours before casts, dense before strided."""
    return "cast" in flavour, not flavour.startswith("dense"), flavour


def _by_dtype(dtype: str) -> int:
    order = [*_DTYPES.values(), "any"]
    return order.index(dtype)
