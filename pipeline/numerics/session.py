"""One operator's kernels against the reference: every case in every layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from pipeline.exec_kernel.execute import Kernels, MissingKernelError
from pipeline.exec_kernel.iteration import IterationError
from pipeline.exec_kernel.launch import HelperLimit, HostRefusal, Launch
from pipeline.numerics import layouts, truth
from pipeline.numerics.cases import Case
from pipeline.numerics.compare import Verdict, by_reason, compare, is_exact, subnormal
from pipeline.numerics.frontend import Stub, common_dtype
from pipeline.numerics.host import Host, Invocation
from pipeline.numerics.layouts import Layout, Placed
from pipeline.numerics.reference import Expected, ReferenceRefusedError, expected

_FLUSH_MARGIN = 2.0**24

_CAST_OUT = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.complex64,
    torch.complex32,
    torch.int64,
    torch.uint8,
    torch.bool,
)


@dataclass(frozen=True)
class Run:
    """One layout of one case: what was bound, what was launched, what came out.

    `inputs` are in the iterator's order, `output` is the view the kernel wrote.
    """

    case: Case
    layout: Layout
    inputs: tuple[torch.Tensor, ...]
    output: torch.Tensor
    launches: tuple[Launch, ...] = ()

    @property
    def host_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(launch.host_name for launch in self.launches))


@dataclass(frozen=True)
class Failure:
    """Something wrong with a run. `wrong` marks bad elements; `names` are kernels asked for but not there."""

    rule: str
    reason: str
    run: Run
    expected: Expected | None = None
    wrong: torch.Tensor | None = None
    names: tuple[str, ...] = ()

    @property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(str(each.dtype).removeprefix("torch.") for each in self.run.inputs)

    @property
    def flavours(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(launch.flavour for launch in self.run.launches))


@dataclass
class Tally:
    """What ran: host names launched, dtypes tried, refusals, elements compared and masked."""

    launched: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    dtypes: set[str] = field(default_factory=set)
    runs: int = 0
    elements: int = 0
    masked: int = 0


class Session:
    """Runs cases of one stub and collects failures: the first of each rule, dtypes, flavour and reason."""

    def __init__(self, stub: Stub, host: Host, kernels: Kernels, flushing: Kernels | None = None) -> None:
        """`flushing` are the same kernels run with subnormal floats read and written as zero, as a GPU does."""
        self.stub = stub
        self.host = host
        self.kernels = kernels
        self.flushing = flushing
        self.tally = Tally()
        self.failures: dict[tuple[object, ...], Failure] = {}
        self.operator = stub.overload.overloadpacket.__name__

    def try_case(self, case: Case) -> None:
        """Run a case in all its layouts; a case that the CPU refuses is only counted."""
        answers = self.answer(case.arguments)
        if answers is None:
            return
        accepted: torch.Tensor | None = None
        for layout in self._layouts(case, answers):
            run = self.execute(case, layout, answers)
            if run is not None:
                accepted = self._check(run, answers, accepted)
        if accepted is not None and case.thorough:
            self._try_other_outputs(case, answers, accepted.view(answers.dtype).reshape(answers.shape))

    def attempt(self, case: Case, layout: Layout) -> None:
        """Run a case in one layout only."""
        answers = self.answer(case.arguments)
        if answers is not None:
            run = self.execute(case, layout, answers)
            if run is not None:
                self._check(run, answers, None)

    def answer(self, arguments: dict[str, Any]) -> Expected | None:
        """The acceptable answers, or None where the CPU refuses or the call does not reach the stub."""
        if not self.stub.serves(arguments):
            return None
        try:
            answers = expected(self.stub, arguments)
        except ReferenceRefusedError as refusal:
            self.tally.refused.setdefault(self._dtypes_of(arguments), str(refusal))
            return None
        return truth.corrected(self.operator, arguments, answers)

    def execute(
        self, case: Case, layout: Layout, answers: Expected, out_dtype: torch.dtype | None = None
    ) -> Run | None:
        """Lay out and run; None when the host refuses or a kernel is missing, which is recorded."""
        inputs, arguments = self._place_inputs(case, layout)
        output = (
            inputs[0]
            if layout.in_place
            else layouts.place_output(answers.shape, out_dtype or answers.dtype, layout.output, layout.spacious)
        )
        before = output.outside().clone()
        given = tuple(each.view.clone() for each in inputs) if layout.in_place else ()
        tensors = tuple(each.view for each in inputs)
        run = Run(case, layout, given or tensors, output.view)
        invocation = Invocation(
            (output.view,),
            tensors,
            common_dtype(tensors, answers.dtype),
            self.stub.scalars(arguments),
            frozenset(index for index, name in enumerate(self.stub.inputs) if name in case.cpu_scalars),
            layout.force,
        )
        launches = self._launch(run, invocation, answers)
        if launches is None:
            return None
        run = replace(run, launches=tuple(launches))
        self.tally.runs += 1
        self.tally.launched.update(launch.host_name for launch in launches)
        self.tally.dtypes.update(str(each.dtype).removeprefix("torch.") for each in tensors)
        if not torch.equal(output.outside(), before):
            self._fail(Failure("numerics/out-of-bounds", "wrote outside the output", run))
        return run

    def _launch(self, run: Run, invocation: Invocation, answers: Expected) -> list[Launch] | None:
        kernels = self.flushing if run.layout.flush and self.flushing is not None else self.kernels
        try:
            return self.host.run(kernels, invocation)
        except MissingKernelError as missing:
            other_output = invocation.outputs[0].dtype != answers.dtype
            if other_output and "castout" not in missing.host_name:
                return None
            rule = "numerics/unguarded-dtype" if answers.borrowed else "numerics/missing-kernel"
            self._fail(Failure(rule, "asked for, not registered", run, names=(missing.host_name,)))
        except (HostRefusal, IterationError) as refusal:
            self.tally.refused.setdefault(self._dtypes_of(run.case.arguments), refusal.message)
        except HelperLimit as limit:
            self._fail(Failure("numerics/helper-limit", limit.message, run))
        return None

    def _layouts(self, case: Case, answers: Expected) -> Iterator[Layout]:
        arity = len(self.stub.inputs)
        shapes = {tuple(case.arguments[name].shape) for name in self.stub.inputs}
        if case.plain_only:
            yield Layout(("dense",) * arity, "dense")
        elif case.thorough:
            yield from layouts.whole(arity, self.flushing is not None)
        else:
            first = case.arguments[self.stub.inputs[0]]
            in_place = len(shapes) == 1 and first.dtype == answers.dtype and first.shape == answers.shape
            yield from layouts.small(arity, in_place)

    def _check(self, run: Run, answers: Expected, accepted: torch.Tensor | None) -> torch.Tensor | None:
        """Judge a run; returns the bytes of a right result, so that equal ones need no comparison."""
        if "expanded" in run.layout.inputs:
            own = self.answer({**run.case.arguments, **dict(zip(self.stub.inputs, run.inputs, strict=True))})
            if own is not None:
                self._check(replace(run, layout=replace(run.layout, inputs=())), own, None)
            return accepted
        got = run.output.clone(memory_format=torch.contiguous_format)
        self.tally.elements += got.numel()
        raw = got.reshape(-1).view(torch.uint8)
        if accepted is not None and torch.equal(raw, accepted):
            return accepted
        verdict = self.judge(run, answers)
        self.tally.masked += verdict.masked
        if not verdict.passed:
            exact = is_exact(self.operator, any(each.dtype.is_complex for each in run.inputs))
            for reason, wrong in by_reason(run.output.contiguous(), answers, verdict.wrong, exact).items():
                rule = f"numerics/{reason.replace(' ', '-').lower()}"
                self._fail(Failure(rule, reason, run, answers, wrong))
            return accepted
        if any("castout" in launch.flavour for launch in run.launches):
            self._fail(Failure("numerics/fallback-only", "right only through the cast-out kernel", run))
        return accepted if run.layout.flush else raw

    def judge(self, run: Run, answers: Expected) -> Verdict:
        """Compare the output of a run with the answers."""
        operands = run.inputs
        finite, small = None, None
        exact = is_exact(self.operator, any(each.dtype.is_complex for each in operands))
        if any(each.dtype.is_complex for each in operands):
            finite = torch.ones(answers.shape, dtype=torch.bool)
            for operand in operands:
                finite &= torch.isfinite(operand)
        if run.layout.flush:
            # What is computed on the way from small numbers may be flushed as well.
            small = torch.zeros(answers.shape, dtype=torch.bool)
            for operand in (*operands, answers.same[0]):
                small |= subnormal(operand, _FLUSH_MARGIN)
        elif not exact:
            small = torch.zeros(answers.shape, dtype=torch.bool)
            for operand in operands:
                small |= subnormal(operand)
        return compare(run.output.contiguous(), answers, exact, finite, small)

    def _try_other_outputs(self, case: Case, answers: Expected, natural: torch.Tensor) -> None:
        """`out=` of other dtypes: the natural result, cast as it is stored."""
        arity = len(self.stub.inputs)
        for dtype in _CAST_OUT:
            if dtype == answers.dtype or not torch.can_cast(answers.dtype, dtype):
                continue
            answer = natural.to(dtype)
            exactly = Expected((answer,), None, None, borrowed=True)
            for layout in (Layout(("dense",) * arity, "dense"), *layouts.castout(arity)):
                run = self.execute(case, layout, answers, dtype)
                if run is None or not any("castout" in launch.flavour for launch in run.launches):
                    break  # The helpers of two and more operands compute in the output's dtype instead.
                verdict = compare(run.output.contiguous(), exactly, exact=True)
                if not verdict.passed:
                    self._fail(
                        Failure("numerics/cast-out", "not the natural result, cast", run, exactly, verdict.wrong)
                    )

    def _place_inputs(self, case: Case, layout: Layout) -> tuple[list[Placed], dict[str, Any]]:
        arguments, placed = dict(case.arguments), []
        for name, word in zip(self.stub.inputs, layout.inputs, strict=True):
            tensor = case.arguments[name]
            if name in case.cpu_scalars:
                placed.append(Placed(tensor, tensor))
                continue
            placed.append(layouts.place(tensor, word if tensor.dim() else "dense", layout.spacious))
            arguments[name] = placed[-1].view
        return placed, arguments

    def _dtypes_of(self, arguments: dict[str, Any]) -> str:
        tensors = [arguments[name] for name in self.stub.inputs]
        return ", ".join(dict.fromkeys(str(each.dtype).removeprefix("torch.") for each in tensors))

    def _fail(self, failure: Failure) -> None:
        key = (failure.rule, failure.dtypes, failure.flavours, failure.reason, failure.names)
        self.failures.setdefault(key, failure)
