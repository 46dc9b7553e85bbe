"""The numerical check: an operator's kernels run on the CPU, or on a Mac, against torch's CPU operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import PipelineError
from pipeline.findings import CheckResult, Finding, Severity

CHECK = "numerics"

NOT_A_MAC = (
    "This ran on a CPU, which is not a Mac: faults of Apple's compiler, fast-math values, memory order between "
    "threadgroups and speed do not show here."
)


@dataclass(frozen=True)
class NumericsResult:
    """The line of the evidence table, and the data behind it for `--json`."""

    result: CheckResult
    data: dict[str, Any]


def check_numerics(
    operator: str,
    kernel: str,
    stub: str | None = None,
    *,
    include: Sequence[Path] = (),
    kernel_path: str = "",
) -> NumericsResult:
    """Compare the kernels in the text `kernel` with the CPU for every dtype and flavour they are registered for.

    `stub` is the text of the host stub that launches them; without it the stub is implied by the registered names.
    `include` are folders that hold `c10/metal` (the installed torch's when there are none).
    """
    import torch  # noqa: PLC0415

    from pipeline.exec_kernel.execute import Kernels
    from pipeline.metal import Launch, ShaderError, compile_shader
    from pipeline.numerics.examine import examine

    path = kernel_path or f"kernels/{operator}.metal"
    torch.set_num_threads(1)
    try:
        library = compile_shader(kernel, include=list(include), name=path)
    except ShaderError as error:
        finding = Finding("numerics/does-not-compile", Severity.ERROR, str(error).splitlines()[0], path=path)
        return NumericsResult(CheckResult.from_findings(CHECK, "the kernel does not compile", [finding]), {})
    kernels = Kernels.of(library, launch=Launch(flush_subnormals=False))
    flushing = Kernels.of(library, launch=Launch(flush_subnormals=True))
    try:
        found = examine(operator, kernels, flushing, kernel, path)
    except PipelineError as error:
        return NumericsResult(CheckResult.not_run(CHECK, str(error)), {})
    summary = (
        f"{len(found.launched)} kernels on {len(found.dtypes)} dtypes, {found.runs} runs, {found.elements} elements "
        f"compared with torch CPU, {found.masked} not comparable"
    )
    not_covered = [NOT_A_MAC]
    if found.idle:
        not_covered.append(f"{len(found.idle)} registered kernels that no case asks for: {', '.join(found.idle[:8])}")
    findings = [each.finding for each in found.reports]
    data = {**asdict(found), "reports": [each.data for each in found.reports]}
    return NumericsResult(CheckResult.from_findings(CHECK, summary, findings, not_covered), data)
