"""`out=` of other dtypes than the natural one: the natural result, cast as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from pipeline.exec_kernel.execute import Dispatched
from pipeline.exec_kernel.promotion import common_dtype
from pipeline.numerics import layouts
from pipeline.numerics.cases import Case
from pipeline.numerics.compare import compare
from pipeline.numerics.cpu import stored
from pipeline.numerics.failure import Failure
from pipeline.numerics.layouts import Layout
from pipeline.numerics.reference import Expected

if TYPE_CHECKING:
    from pipeline.numerics.session import Session

_DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.complex64,
    torch.complex32,
    torch.int64,
    torch.uint8,
    torch.bool,
)


def try_other_outputs(session: Session, case: Case, answers: Sequence[Expected], natural: torch.Tensor) -> None:
    """Run a case with an output of every other dtype; `natural` is what its kernel computed for its own."""
    operands = [case.arguments[name] for name in session.names(case.arguments)]
    common = common_dtype(operands, natural.dtype)
    if natural.is_floating_point() and common.is_floating_point and common != natural.dtype:
        return  # With `out=`, an operator whose own result is narrower than its operands may keep their digits.
    watched = session.builds.watched is not None
    for dtype in _DTYPES:
        if dtype == natural.dtype or stored(session.target, case.arguments, dtype) is None:
            continue
        for layout in session.differing(layouts.castout(len(operands), several=not case.thorough, watched=watched)):
            if not try_output(session, case, layout, answers, natural.to(dtype)):
                break


def try_output(session: Session, case: Case, layout: Layout, answers: Sequence[Expected], wanted: torch.Tensor) -> bool:
    """Run a case whose output is to hold `wanted`; False when the host does not leave the cast to the kernel.

    The helpers of two and more operands compute in the output's dtype instead.
    """
    run = session.execute(case, layout, tuple(answers), wanted.dtype)
    if run is None or not any(_casts_out(each) for each in run.dispatched):
        return False
    exactly = Expected((wanted,), borrowed=True)
    got = run.outputs[0].contiguous()
    verdict = compare(got, exactly, exact=True)
    if not verdict.passed and not session.target.takes_iterator:
        # Operators that choose the output's dtype themselves may compute in it.
        own = stored(session.target, case.arguments, wanted.dtype)
        if own is not None and compare(got, Expected((own,)), exact=False).passed:
            return True
    if not verdict.passed:
        reason = "not the natural result, cast"
        session.fail(Failure("numerics/cast-out", reason, run, 0, exactly, verdict.wrong))
    return True


def _casts_out(dispatched: Dispatched) -> bool:
    """Whether the output's dtype was left to the kernel: a cast-out flavour, or a stub that dispatches itself."""
    return "castout" in dispatched.flavour or dispatched.flavour == dispatched.host_name
