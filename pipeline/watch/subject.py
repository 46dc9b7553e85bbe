"""What is watched: the files of one operator and the dtype they are checked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.campaign import Campaign
from pipeline.checks.run import export_headers
from pipeline.checks.style import check_style_of_fragments
from pipeline.errors import PipelineError, UsageError
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.findings import CheckResult
from pipeline.manifest import NO_FRAGMENT, Operator
from pipeline.metal import ShaderError
from pipeline.metal.listing import list_kernels
from pipeline.numerics.job import Job
from pipeline.numerics.result import CHECK, NumericsResult
from pipeline.rules import EVERY_RULE, Selection, accept
from pipeline.source import SourceTree
from pipeline.watch.verdict import Verdict

Numerics = Callable[[Job], NumericsResult]
_DTYPES = (Dtype.FLOAT32, Dtype.COMPLEX64, Dtype.INT64, Dtype.FLOAT16, Dtype.UINT8, Dtype.BOOL)
_WORDS = "|".join(dtype.metal for dtype in Dtype if dtype.on_mps)


@dataclass(frozen=True)
class Subject:
    """`stub` is None where there is none: the kernel's names tell how it is called."""

    operator: Operator
    kernel: Path
    stub: Path | None
    dtype: Dtype
    tree: SourceTree
    headers: Path
    selection: Selection = EVERY_RULE

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.kernel,) if self.stub is None else (self.kernel, self.stub)

    def check(self, numerics: Numerics) -> Verdict:
        """Check the files as they are now."""
        try:
            kernel = self.kernel.read_text(encoding="utf-8")
            stub = self.stub.read_text(encoding="utf-8") if self.stub else None
        except (OSError, UnicodeDecodeError) as error:
            return Verdict((CheckResult.not_run(CHECK, f"a file cannot be read: {error}"),))
        checks = {CHECK: lambda: self._numerics(kernel, stub, numerics), "style": lambda: self._style(kernel, stub)}
        return Verdict(tuple(self._run(name, check) for name, check in checks.items() if self.selection.runs(name)))

    def _run(self, name: str, check: Callable[[], CheckResult]) -> CheckResult:
        try:
            return accept(self.selection.of_result(check()), self.operator)
        except PipelineError as error:
            return CheckResult.not_run(name, str(error))

    def _numerics(self, kernel: str, stub: str | None, numerics: Numerics) -> CheckResult:
        """Only what the dtype's kernels need is compiled; all of it where that was not enough."""
        job = Job(
            self.operator.name,
            kernel,
            stub,
            (str(self.headers),),
            dtypes=(self.dtype.torch_name,),
            kernel_path=self.operator.kernel,
            only=kernels_of(self.dtype),
        )
        result = numerics(job)
        if _ran_nothing(result) or any(each.rule == "numerics/missing-kernel" for each in result.result.findings):
            result = numerics(replace(job, only=""))
        if _ran_nothing(result):
            name = self.dtype.torch_name
            return CheckResult.not_run(CHECK, f"nothing runs on {name}; choose another with --dtype")
        return result.result

    def _style(self, kernel: str, stub: str | None) -> CheckResult:
        return check_style_of_fragments((self.operator.kernel, kernel), (self.operator.host, stub or ""), self.tree)


def _ran_nothing(result: NumericsResult) -> bool:
    """Not so where the kernel does not compile or crashed: then there is no data."""
    return "runs" in result.data and not result.data["runs"]


def kernels_of(dtype: Dtype) -> str:
    """A regular expression for the host names that speak of this dtype, or of none."""
    return rf"_{dtype.metal}(?![a-z0-9])|^(?!.*_(?:{_WORDS})(?![a-z0-9]))"


def subject_of(
    campaign: Campaign, name: str, kernel: str, stub: str, dtype: str, selection: Selection = EVERY_RULE
) -> Subject:
    """`kernel` and `stub` are files instead of the manifest's, where not empty; the operator need not be listed.

    Raises UsageError for an unknown dtype and where there is no kernel.
    """
    known = {each.torch_name: each for each in Dtype if each.on_mps}
    if dtype and dtype not in known:
        raise UsageError(f"MPS has no dtype {dtype!r}", hint=f"write one of {', '.join(sorted(known))}")
    listed = campaign.manifest.operator(name) if campaign.manifest.has(name) else Operator(name)
    operator = replace(
        listed,
        kernel=kernel or listed.kernel or f"kernels/{name}.metal",
        host=stub or listed.host or f"stubs/{name}.mm",
    )
    if operator.kernel == NO_FRAGMENT or not (campaign.root / operator.kernel).is_file():
        hint = "the operator needs none" if operator.kernel == NO_FRAGMENT else f"`invoke draft --op {name}` starts one"
        raise UsageError(f"there is no kernel of {name} to watch", hint=hint)
    host = None if operator.host == NO_FRAGMENT else campaign.root / operator.host
    if stub and not (host and host.is_file()):
        raise UsageError("cannot be read: no such file", path=stub)
    headers = export_headers(campaign.snapshot.tree, campaign.root / ".cache" / "headers")
    path = campaign.root / operator.kernel
    return Subject(
        operator,
        path,
        host if host is not None and host.is_file() else None,
        known[dtype] if dtype else _first_dtype(path, headers),
        campaign.snapshot.tree,
        headers,
        selection,
    )


def _first_dtype(kernel: Path, headers: Path) -> Dtype:
    """float32, or for a kernel that has none the first that its host names speak of."""
    try:
        names = list_kernels(kernel.read_text(encoding="utf-8"), include=[headers]).names
    except (ShaderError, UnicodeDecodeError):
        return Dtype.FLOAT32
    spoken = [dtype for dtype in _DTYPES if any(re.search(rf"_{dtype.metal}(?![a-z0-9])", name) for name in names)]
    return spoken[0] if spoken else Dtype.FLOAT32
