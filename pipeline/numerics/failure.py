"""One run of one case, what was wrong with it, and the count of all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import torch

from pipeline.exec_kernel.execute import Dispatched
from pipeline.numerics.cases import Case
from pipeline.numerics.layouts import Layout
from pipeline.numerics.reference import Expected


@dataclass(frozen=True)
class Run:
    """One layout of one case: what was bound, what was dispatched, what came out.

    `inputs` are the operands by name as they were before the run, `outputs` the views that the kernels wrote.
    """

    case: Case
    layout: Layout
    inputs: dict[str, torch.Tensor]
    outputs: tuple[torch.Tensor, ...]
    dispatched: tuple[Dispatched, ...] = ()

    @property
    def host_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.host_name for each in self.dispatched))


@dataclass(frozen=True)
class Failure:
    """Something wrong with result number `result` of a run.

    `wrong` marks bad elements; `names` are kernels asked for but not there.
    """

    rule: str
    reason: str
    run: Run
    result: int = 0
    expected: Expected | None = None
    wrong: torch.Tensor | None = None
    names: tuple[str, ...] = ()

    @property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(str(each.dtype).removeprefix("torch.") for each in self.run.inputs.values())

    @property
    def flavours(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.flavour for each in self.run.dispatched))


@dataclass
class Tally:
    """What ran: host names launched, dtypes tried, refusals, elements compared and masked, error inputs refused.

    `unsplit` says why the helper does not serve operands of more than 2**31 bytes, where it does not.
    """

    launched: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    dtypes: set[str] = field(default_factory=set)
    runs: int = 0
    elements: int = 0
    masked: int = 0
    errors: int = 0
    unsplit: str = ""
