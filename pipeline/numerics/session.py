"""One target's kernels against the reference: every case in every layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch

from pipeline.errors import PipelineError
from pipeline.exec_kernel.execute import Dispatched, Kernels, MissingKernelError
from pipeline.exec_kernel.iteration import IterationError
from pipeline.exec_kernel.launch import HelperLimit, HostRefusal
from pipeline.exec_kernel.names import Helper
from pipeline.metal import KernelCrash
from pipeline.numerics import layouts, truth
from pipeline.numerics.arrangement import arrangements
from pipeline.numerics.builds import Builds
from pipeline.numerics.cases import Case
from pipeline.numerics.compare import HEADER_LIMITED, Verdict, by_reason
from pipeline.numerics.cpu import ReferenceRefusedError, evaluate
from pipeline.numerics.domain import Domain, answerable, refused_everywhere
from pipeline.numerics.failure import Failure, Run, Tally
from pipeline.numerics.host import Host, Invocation
from pipeline.numerics.judge import every_bit, judged, reconsidered, rule_of, within_helper
from pipeline.numerics.layouts import Bystanders, Layout, Placed
from pipeline.numerics.other_outputs import try_other_outputs, try_output
from pipeline.numerics.patience import Patience
from pipeline.numerics.reference import Expected, expected
from pipeline.numerics.refusals import Refusals
from pipeline.numerics.seen import Seen
from pipeline.numerics.targets import Target
from pipeline.numerics.watching import found, noticed
from pipeline.stub_interpreter.errors import CheckFailedError, FaultError


class Session:
    """Runs cases of one target and collects failures: the first of each rule, dtypes, flavour and reason."""

    def __init__(self, target: Target, host: Host, builds: Builds) -> None:
        self.target = target
        self.host = host
        self.builds = builds
        self.tally = Tally()
        self.refusals = Refusals()
        self.failures: dict[tuple[object, ...], Failure] = {}
        self.patience = Patience()
        self._seen = Seen(some=1 if target.pointwise else 3)
        self._domain = Domain(target)

    def try_case(self, case: Case) -> None:
        """Run a case in all its layouts; a case that the CPU refuses is only counted."""
        if self.patience.exhausted:
            return
        case = replace(case, arguments=answerable(self.target, case.arguments))
        answers = self.answer(case.arguments)
        if answers is None and self.target.pointwise:
            narrowed = self._domain.part(case.arguments)
            if narrowed is not None:
                case = replace(case, arguments=narrowed)
                answers = self.answer(narrowed)
        if answers is None or (self.target.in_place and not self.target.holds(case.arguments, answers[0].same[0])):
            return
        accepted: list[torch.Tensor | None] = [None] * len(answers)
        for layout in self._layouts(case, answers):
            if layout.flush and accepted[0] is None:
                continue
            if self.patience.exhausted:
                return
            run = self.execute(case, layout, answers)
            if run is not None:
                self._check(run, answers, accepted)
        first = accepted[0]
        if first is not None and not self.host.returns and self._is_worth_other_outputs(case):
            try_other_outputs(self, case, answers, first.view(answers[0].dtype).reshape(answers[0].shape))

    def attempt(self, case: Case, layout: Layout, out_dtype: torch.dtype | None = None) -> None:
        """Run a case in one layout only; with `out_dtype` where the output is to be cast to that."""
        answers = self.answer(case.arguments)
        if answers is None:
            return
        plain = Layout(("dense",) * len(self.names(case.arguments)), "dense")
        run = self.execute(case, layout if out_dtype is None else plain, answers)
        if run is not None and out_dtype is None:
            self._check(run, answers, [None] * len(answers))
        elif run is not None:
            try_output(self, case, layout, answers, run.outputs[0].to(out_dtype))

    def probe(self, case: Case) -> None:
        """A dtype that the CPU refuses: the host must refuse it too, rather than ask for a kernel that is not there.

        Where the host refuses some dtypes, one that it lets through by mistake is an error, else a warning. What a
        part of ATen that all devices share refuses or answers does not get to the host.
        """
        if (
            self.patience.exhausted
            or not self.target.serves(case.arguments)
            or (self.host.guarded and refused_everywhere(self.target, case.arguments))
        ):
            return
        given = case.arguments[self.target.inputs[0]]
        outputs = [layouts.place_output(tuple(given.shape), given.dtype, "dense").view]
        invocation = Invocation(self.target, outputs, case.arguments, given.dtype)
        run = Run(case, Layout((), "dense"), {name: case.arguments[name] for name in self.names(case.arguments)}, ())
        try:
            self.host.run(self.builds.plain, invocation)
        except MissingKernelError as missing:
            guarded = any(word in self.host.source for word in ("TORCH_CHECK", "AT_DISPATCH"))
            rule = "numerics/incomplete-guard" if guarded else "numerics/unguarded-dtype"
            self.fail(Failure(rule, "asked for, not registered", run, names=(missing.host_name,)))
        except (PipelineError, RuntimeError):
            return

    def try_refused(self, case: Case, rule: str = "numerics/accepted") -> None:
        """A call that the CPU refuses; where no shared part of ATen stands before the host code, it must refuse too."""
        try:
            evaluate(self.target, case.arguments)
        except ReferenceRefusedError as refusal:
            said = str(refusal)
        else:
            return
        outputs = tuple(torch.empty(0) for _ in self.target.overload._schema.returns)
        run = Run(case, Layout((), "dense"), {name: case.arguments[name] for name in self.names(case.arguments)}, ())
        try:
            self.host.run(self.builds.plain, Invocation(self.target, outputs, case.arguments, torch.float32))
        except KernelCrash as crash:
            self._crashed(run, crash)
        except (PipelineError, RuntimeError, ValueError, IndexError, TypeError):
            self.tally.errors += 1
        else:
            self.fail(Failure(rule, f"the CPU refuses this: {said}", run))

    def answer(self, arguments: dict[str, Any]) -> tuple[Expected, ...] | None:
        """The acceptable answers, or None where the CPU refuses or the call does not reach the target."""
        if not self.target.serves(arguments):
            return None
        try:
            answers = expected(self.target, arguments)
        except ReferenceRefusedError as refusal:
            self.tally.refused.setdefault(self._dtypes_of(arguments), str(refusal))
            return None
        if len(answers) == 1:
            return (truth.corrected(self.target.operator, arguments, answers[0]),)
        return answers

    def execute(
        self, case: Case, layout: Layout, answers: tuple[Expected, ...], out_dtype: torch.dtype | None = None
    ) -> Run | None:
        """Lay out and run; None when the host refuses or a kernel is missing, which is recorded."""
        placed, arguments = self._place_inputs(case, layout)
        if layout.in_place:
            outputs = [next(iter(placed.values()))]
        else:
            outputs = [
                layouts.place_output(each.shape, out_dtype or each.dtype, layout.output, layout.spacious)
                for each in answers
            ]
        read = [name for name in list(placed)[layout.in_place :] if name not in case.cpu_scalars]
        bystanders = Bystanders({name: placed[name] for name in read}, outputs)
        given = {name: each.view.clone() if layout.in_place else each.view for name, each in placed.items()}
        run = Run(case, layout, given, tuple(each.view for each in outputs))
        invocation = Invocation(self.target, run.outputs, arguments, answers[0].dtype, case.cpu_scalars, layout.force)
        done = self._launch(run, invocation, answers[0])
        if done is None:
            return None
        dispatched, returned = done
        run = replace(run, dispatched=tuple(dispatched), outputs=returned or run.outputs)
        for rule, sentence in noticed(dispatched):
            self.fail(Failure(rule, sentence, run))
        self.refusals.taken(run)
        self.tally.runs += 1
        self.tally.launched.update(each.host_name for each in dispatched)
        self.tally.dtypes.update(str(each.dtype).removeprefix("torch.") for each in given.values())
        for sentence in bystanders.hit():
            self.fail(Failure("numerics/out-of-bounds", sentence, run))
        return run

    def _launch(
        self, run: Run, invocation: Invocation, answers: Expected
    ) -> tuple[list[Dispatched], tuple[torch.Tensor, ...]] | None:
        try:
            with self.patience.timed():
                done = self.host.run(self._kernels_for(run.layout), invocation)
            if self.patience.slow:
                self.fail(Failure("numerics/slow", "takes so long that the cases after this one were not tried", run))
            return done
        except MissingKernelError as missing:
            other_output = invocation.outputs[0].dtype != answers.dtype
            if other_output and "castout" not in missing.host_name:
                return None
            if not answers.borrowed:
                self.fail(
                    Failure("numerics/missing-kernel", "asked for, not registered", run, names=(missing.host_name,))
                )
            else:
                self.tally.refused.setdefault(self._dtypes_of(run.case.arguments), "the CPU lacks this dtype")
        except (HostRefusal, CheckFailedError, IterationError) as refusal:
            self.tally.refused.setdefault(self._dtypes_of(run.case.arguments), refusal.message)
            self.refusals.refused(run, invocation, answers.dtype, refusal)
        except HelperLimit as limit:
            if run.layout.vast:
                self.tally.unsplit = limit.message
            else:
                self.fail(Failure("numerics/helper-limit", limit.message, run))
        except KernelCrash as crash:
            self._crashed(run, crash)
        except (RuntimeError, ValueError, FaultError) as error:
            self.fail(Failure("numerics/raises", f"raises: {str(error).splitlines()[0]}", run))
        return None

    def _kernels_for(self, layout: Layout) -> Kernels:
        other = self.builds.flushing if layout.flush else self.builds.watched if layout.watched else None
        return other or self.builds.plain

    def _crashed(self, run: Run, crash: KernelCrash) -> None:
        """Note it, and from now on run kernels where an access beyond their buffers does no harm."""
        self.patience.crashed(crash)
        self.fail(Failure("numerics/crash", str(crash).splitlines()[0], run))
        for rule, sentence in found(crash.report):
            self.fail(Failure(rule, sentence, run))
        self.builds = self.builds.isolated()

    def differing(self, every: Iterable[Layout]) -> Iterator[Layout]:
        """Without those that pin a flavour or lay out an output where the host code leaves no choice of that."""
        source = self.host.source
        by_helper = not source or any(helper.function in source for helper in Helper)
        given = not self.host.returns
        differing = (each for each in every if (by_helper or each.force is None) and (given or each.output == "dense"))
        if not self.target.in_place:
            return differing
        return (replace(each, in_place=True) for each in differing if each.inputs[0] != "expanded")

    def _layouts(self, case: Case, answers: tuple[Expected, ...]) -> Iterator[Layout]:
        dtypes, operands = self._dtypes_of(case.arguments), self._operands(case)
        every = arrangements(
            self.target,
            case,
            operands,
            answers,
            self.builds,
            asks_with_params="exec_binary_kernel_with_params" in self.host.source,
            spreads=lambda: self._seen.spreads(dtypes, operands),
            resizes=not (self.host.guarded or self.host.returns),
        )
        yield from self.differing(every)

    def _is_worth_other_outputs(self, case: Case) -> bool:
        one_dtype = len({each.dtype for each in self._operands(case)}) == 1
        return self._is_new(case) or (case.thorough and one_dtype)

    def _is_new(self, case: Case) -> bool:
        return not case.plain_only and self._seen.first_of_rank(self._dtypes_of(case.arguments), self._operands(case))

    def _operands(self, case: Case) -> list[torch.Tensor]:
        return [case.arguments[name] for name in self.names(case.arguments)]

    def names(self, arguments: dict[str, Any]) -> tuple[str, ...]:
        """The arguments that are laid out: tensors, in the order of the target's operands."""
        return tuple(name for name in self.target.tensors(arguments) if isinstance(arguments[name], torch.Tensor))

    def _check(self, run: Run, answers: tuple[Expected, ...], accepted: list[torch.Tensor | None]) -> None:
        """Judge a run; right results are kept as bytes in `accepted`, so that equal ones need no comparison."""
        if "expanded" in run.layout.inputs:
            own = self.answer(self.target.refreshed({**run.case.arguments, **run.inputs}))
            if own is not None:
                self._check(replace(run, layout=replace(run.layout, inputs=())), own, [None] * len(own))
            return
        for index, answer in enumerate(answers[: self.target.results]):
            if index >= len(run.outputs) or answer.shape != run.outputs[index].shape:
                self.fail(Failure("numerics/shape", f"result {index} has another shape", run, index))
                continue
            raw = self._judged(run, index, answers, accepted[index])
            if raw is not None and not run.layout.flush:
                accepted[index] = raw

    def _judged(
        self, run: Run, index: int, answers: tuple[Expected, ...], accepted: torch.Tensor | None
    ) -> torch.Tensor | None:
        """The bytes of a result that is right, else None."""
        answer = answers[index]
        got = run.outputs[index].clone(memory_format=torch.contiguous_format)
        if got.dtype != answer.dtype and answer.dtype in (torch.float64, torch.complex128):
            answer = answer.held_as(got.dtype)  # MPS has no such dtype
        if got.dtype != answer.dtype:
            self.fail(Failure("numerics/dtype", f"result {index} is {got.dtype}, not {answer.dtype}", run, index))
            return None
        self.tally.elements += got.numel()
        raw = got.reshape(-1).view(torch.uint8)
        if accepted is not None and torch.equal(raw, accepted):
            return raw
        verdict = judged(self.target, run, got, answer)
        if not verdict.passed and self.target.pointwise and index == 0:
            verdict = reconsidered(self.target, run, got, answer, verdict)
        if not verdict.passed and not torch.isfinite(got[verdict.wrong]).all():
            verdict = self._fused(run, index, answers, got, verdict)
        self.tally.masked += verdict.masked
        if not verdict.passed:
            self._report(run, index, got, answer, verdict.wrong)
            return None
        if any("castout" in each.flavour for each in run.dispatched):
            self.fail(Failure("numerics/fallback-only", "right only through the cast-out kernel", run, index))
        return raw

    def _fused(
        self, run: Run, index: int, answers: tuple[Expected, ...], got: torch.Tensor, verdict: Verdict
    ) -> Verdict:
        """Without infinities and NaN that are right once products are added unrounded, as Apple's compiler has it."""
        if self.builds.fusing is None or not run.layout.inputs:
            return verdict
        fusing = Session(self.target, self.host, Builds(self.builds.fusing()))
        other = fusing.execute(run.case, run.layout, answers)
        if other is None or other.outputs[index].dtype != got.dtype:
            return verdict
        wrong = judged(self.target, other, other.outputs[index].contiguous(), answers[index]).wrong
        return replace(verdict, wrong=verdict.wrong & (wrong | torch.isfinite(got)))

    def _report(self, run: Run, index: int, got: torch.Tensor, answer: Expected, wrong: torch.Tensor) -> None:
        """A failure for each way in which elements are wrong."""
        unwritten = wrong & layouts.untouched(got)
        if bool(unwritten.any()):
            self.fail(Failure("numerics/unwritten", "not written", run, index, answer, unwritten))
        excused = within_helper(self.target, run, got, answer, wrong & ~unwritten)
        if bool(excused.any()):
            self.fail(
                Failure("numerics/helper-limit", "operands read in the output's dtype", run, index, answer, excused)
            )
        limited = self.target.operator in HEADER_LIMITED
        rest = wrong & ~unwritten & ~excused
        for reason, mask in by_reason(got, answer, rest, every_bit(self.target, run), limited).items():
            self.fail(Failure(rule_of(self.target, run, reason, mask), reason, run, index, answer, mask))

    def _place_inputs(self, case: Case, layout: Layout) -> tuple[dict[str, Placed], dict[str, Any]]:
        arguments, placed = dict(case.arguments), {}
        words = layout.inputs or ("dense",) * len(self.names(case.arguments))
        for name, word in zip(self.names(case.arguments), words, strict=True):
            tensor = case.arguments[name]
            if name in case.cpu_scalars:
                placed[name] = Placed(tensor, tensor)
                continue
            placed[name] = layouts.place(tensor, word if tensor.dim() else "dense", layout.spacious)
            arguments[name] = placed[name].view
        return placed, arguments

    def _dtypes_of(self, arguments: dict[str, Any]) -> str:
        tensors = [arguments[name] for name in self.names(arguments)]
        return ", ".join(dict.fromkeys(str(each.dtype).removeprefix("torch.") for each in tensors))

    def fail(self, failure: Failure) -> None:
        reason = "" if failure.rule == "numerics/raises" else failure.reason
        key = (failure.rule, failure.dtypes, failure.flavours, reason, failure.names)
        self.failures.setdefault(key, failure)
