"""Runs a stub's calls on a recording library and says where host code and kernels do not fit together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch

from pipeline.checks.contract.calls import Call, Kind, Served, calls_of
from pipeline.checks.contract.recorder import Asked, Dispatch, Recorder
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import dtype_of
from pipeline.exec_kernel.iteration import IterationError
from pipeline.exec_kernel.launch import HelperLimit, HostRefusal
from pipeline.exec_kernel.names import Helper, registered_with_input
from pipeline.findings import Severity
from pipeline.metal.listing import Argument, Listing
from pipeline.numerics.host import Invocation
from pipeline.numerics.targets import Target
from pipeline.stub_interpreter.errors import CheckFailedError

_SHOWN = 3
_OF_ONE_DTYPE = (Kind.PLAIN, Kind.STRIDED, Kind.EMPTY, Kind.LARGE)


@dataclass
class Fault:
    """One thing wrong, for all the calls that show it. `details` are kernel names or arguments, in the order found."""

    rule: str
    severity: Severity
    text: str
    hint: str
    dtypes: dict[str, None] = field(default_factory=dict)
    details: dict[str, None] = field(default_factory=dict)

    def message(self, operator: str) -> str:
        """`sign on float16, int8: asks for sign_dense_half_half, ... and 3 more, which is not registered`."""
        shown = list(self.details)[:_SHOWN]
        more = len(self.details) - len(shown)
        names = ", ".join(shown) + (f" and {more} more" if more else "")
        where = f"{operator} on {', '.join(self.dtypes)}" if self.dtypes else operator
        return f"{where}: {self.text.format(names)}"


@dataclass
class Judged:
    """The faults of one target, every name asked for, the dtypes served, and how many calls were tried.

    `unknown_outputs` are dtypes of `out=` for which the exec helper has no kernel to ask for.
    """

    target: Target
    faults: list[Fault]
    asked: set[str] = field(default_factory=set)
    served: dict[str, None] = field(default_factory=dict)
    calls: int = 0
    unknown_outputs: set[str] = field(default_factory=set)


class HostCode(Protocol):
    def run(self, recorder: Recorder, invocation: Invocation) -> None:
        """Do what the host code does. Raises CheckFailedError, HostRefusal, IterationError, NotUnderstoodError."""


class Judge:
    """Holds a target's host code against the kernels of `listing`. `claimed` are the dtypes OpInfo claims for MPS."""

    def __init__(self, listing: Listing, claimed: Sequence[str] | None) -> None:
        self.listing = listing
        self.names = listing.names
        self.claimed = claimed

    def judge(self, target: Target, host: HostCode) -> Judged:
        """Raises NotUnderstoodError for host code that cannot be followed."""
        self._faults: dict[tuple[str, str], Fault] = {}
        judged = Judged(target, [])
        for call in calls_of(target):
            if call.served is Served.REFUSED:
                continue
            recorder, refusal = self._run(target, host, call)
            judged.asked |= recorder.names
            if call.served is Served.UNKNOWN:
                continue
            judged.calls += 1
            missing = recorder.names - self.names
            if refusal:
                self._refused(call, refusal)
            elif missing:
                self._missing(call, recorder, missing, judged)
            elif call.kind is Kind.PLAIN and call.served is Served.YES:
                judged.served.update(dict.fromkeys(call.dtypes))
            for asked in recorder.asked:
                self._helper(target, asked)
            for dispatch in recorder.dispatches:
                self._dispatch(call, dispatch)
        judged.faults = list(self._faults.values())
        return judged

    def _run(self, target: Target, host: HostCode, call: Call) -> tuple[Recorder, str]:
        """What the host code asked for, and why it refused, if it did."""
        recorder = Recorder.of(self.names)
        device = "meta" if call.kind is Kind.LARGE else "cpu"
        outputs = tuple(torch.empty(each.shape, dtype=each.dtype, device=device) for each in call.results)
        try:
            host.run(recorder, Invocation(target, outputs, dict(call.arguments), call.natural))
        except (CheckFailedError, HostRefusal, IterationError, HelperLimit) as refusal:
            return recorder, refusal.message
        return recorder, ""

    # What one call shows

    def _refused(self, call: Call, refusal: str) -> None:
        """A clean error. It is wrong where the CPU serves a dtype that OpInfo claims for MPS."""
        if call.kind is Kind.PLAIN and call.served is Served.YES and self._is_claimed(call):
            self._add(
                "contract/narrower-dtypes",
                Severity.ERROR,
                "refused, though the CPU serves it and OpInfo claims it for MPS: {}",
                call,
                [f'"{refusal.strip()}"'],
                "register the dtype, or narrow dtypesIfMPS and say why",
            )

    def _missing(self, call: Call, recorder: Recorder, missing: frozenset[str], judged: Judged) -> None:
        if call.kind is Kind.OUT and not recorder.looked_up and not self._stores_other_dtypes(recorder):
            judged.unknown_outputs.update(call.dtypes[-1:])
            return
        limited = {
            name
            for asked in recorder.asked
            for name in missing & asked.names
            if registered_with_input(asked.request, name, self.names.__contains__)
        }
        if limited == missing:
            self._add(
                "contract/missing-kernel",
                Severity.WARNING,
                "exec_binary_kernel_with_params of torch 2.13 asks for {}, the macro registers the input's dtype too",
                call,
                sorted(missing),
                "register the short names as well",
            )
        elif call.served is Served.YES and self._is_claimed(call):
            self._add(
                "contract/missing-kernel",
                Severity.ERROR,
                "asks for {}, which no kernel is registered as",
                call,
                sorted(missing),
                "register it, or refuse the dtype in the stub",
            )
        else:
            self._add(
                "contract/unguarded-dtype",
                Severity.ERROR,
                "neither refused nor registered: asks for {}",
                call,
                sorted(missing),
                "refuse the dtype in the stub with TORCH_CHECK_NOT_IMPLEMENTED, or register it",
            )

    def _stores_other_dtypes(self, recorder: Recorder) -> bool:
        """Whether the helper has cast-out kernels to ask for: for a plain unary and a comparison in torch 2.13."""
        return all(
            (each.request.helper is Helper.UNARY and each.request.scalar is None) or each.request.natural is not None
            for each in recorder.asked
        )

    def _is_claimed(self, call: Call) -> bool:
        """OpInfo claims dtypes for MPS; of mixed operands the one they promote to counts."""
        if self.claimed is None:
            return True
        return call.promoted in self.claimed

    def _helper(self, target: Target, asked: Asked) -> None:
        request = asked.request
        if asked.inputs != request.helper.arity and not target.flips:
            reads = f"{request.helper.function} reads {request.helper.arity} tensors"
            self._add(
                "contract/arity",
                Severity.ERROR,
                f"{reads}, the iterator has {asked.inputs}: {{}}",
                None,
                [request.name],
                "use the helper of the stub's arity",
            )
        if asked.is_large:
            self._add(
                "contract/large-iterator",
                Severity.WARNING,
                "exec_ternary_kernel of torch 2.13 hands the parts of a large iterator to exec_binary_kernel: {}",
                None,
                [request.name],
                "loop over iter.with_32bit_indexing() in the stub",
            )
        for name in sorted(asked.names & self.names) if asked.scalar is not None else ():
            size = len(asked.scalar or b"")
            for argument in self.listing.arguments(name).values():
                if argument.is_reference and argument.type == request.scalar and argument.size not in (None, size):
                    self._size(name, argument, size)

    def _dispatch(self, call: Call, dispatch: Dispatch) -> None:
        """A kernel that the stub dispatches itself."""
        if 0 in dispatch.threads:
            self._add(
                "contract/empty-dispatch",
                Severity.ERROR,
                "dispatches {} over no threads where there are no elements",
                None,
                [dispatch.name],
                "return early when numel() is 0",
            )
            return
        if dispatch.iterator is not None and not dispatch.iterator.view.can_use_32bit_indexing:
            self._add(
                "contract/large-iterator",
                Severity.ERROR,
                "dispatches {} over more elements than 32 bits can index",
                None,
                [dispatch.name],
                "loop over iter.with_32bit_indexing() first",
            )
        if dispatch.name in self.names and call.kind is not Kind.LARGE:
            self._arguments(call, dispatch)

    def _arguments(self, call: Call, dispatch: Dispatch) -> None:
        wanted = self.listing.arguments(dispatch.name)
        for index, argument in wanted.items():
            bound = dispatch.arguments.get(index)
            if bound is None:
                text = f"argument {index} ({argument.type or 'of unknown type'}) of {{}} is not bound"
                self._argument("contract/argument-missing", text, dispatch.name, "bind it, in the kernel's order")
            elif isinstance(bound, bytes):
                if argument.is_reference and argument.size not in (None, len(bound)):
                    self._size(dispatch.name, argument, len(bound))
            else:
                self._element(call, dispatch.name, argument, bound)
        for index in sorted(dispatch.arguments.keys() - wanted.keys()):
            text = f"argument {index} is bound, of which {{}} knows nothing"
            self._argument("contract/argument-unknown", text, dispatch.name, "bind no more than the kernel takes")

    def _element(self, call: Call, name: str, argument: Argument, bound: torch.Tensor) -> None:
        expected = Dtype.of_metal(argument.type)
        found = dtype_of(bound)
        if expected is None or found is expected or not found.on_mps:
            return
        what = f"argument {argument.index} of {{}} is read as {argument.type}"
        self._add(
            "contract/element-type",
            Severity.ERROR,
            f"{what}, but bound is a tensor of {found.torch_name}",
            call,
            [name],
            "ask for the kernel of that dtype, or read by its scalar type",
        )

    def _size(self, name: str, argument: Argument, size: int) -> None:
        text = f"argument {argument.index} of {{}} is a {argument.type} of {argument.size} bytes, bound are {size}"
        hint = "give both sides the same type; a Metal vector of three takes the room of four"
        self._argument("contract/argument-size", text, name, hint)

    def _argument(self, rule: str, text: str, name: str, hint: str) -> None:
        severity = Severity.WARNING if rule == "contract/argument-unknown" else Severity.ERROR
        self._add(rule, severity, text, None, [name], hint)

    def _add(
        self, rule: str, severity: Severity, text: str, call: Call | None, details: Sequence[str], hint: str
    ) -> None:
        """Faults of the same rule and text are one; what a rule says of mixed operands stands apart."""
        group = text if call is None or call.kind in _OF_ONE_DTYPE else f"{text} {call.kind.value}"
        fault = self._faults.setdefault((rule, group), Fault(rule, severity, text, hint))
        fault.details.update(dict.fromkeys(details))
        if call is not None:
            together = " and " if call.kind is Kind.MIXED else ", "
            fault.dtypes[together.join(call.dtypes)] = None


def never_asked(listing: Listing, before: frozenset[str], asked: set[str]) -> Iterator[tuple[int, list[str]]]:
    """Registrations the change adds, by line, none of whose names anything asks for."""
    by_line: dict[int, list[str]] = defaultdict(list)
    for name in sorted(listing.names - before):
        by_line[listing.place(name)[1]].append(name)
    for line, names in sorted(by_line.items()):
        if asked.isdisjoint(names):
            yield line, names
