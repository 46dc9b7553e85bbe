"""The compiled kernels of a job, in the ways that they are run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import torch

from pipeline.exec_kernel.execute import Kernels
from pipeline.metal import Compilation, Launch, compile_shader_each
from pipeline.numerics.job import Job

LONGEST = 20.0
"""Seconds for one launch; the largest takes milliseconds."""


@dataclass(frozen=True)
class Builds:
    """The kernels as they are; with subnormal floats read and written as zero, as a GPU does; and watched.

    Watched kernels are compiled so that every access to memory is observed, and their threads run in another order.
    `fusing` makes kernels that add products before these are rounded.
    """

    plain: Kernels
    flushing: Kernels | None = None
    watched: Kernels | None = None
    fusing: Callable[[], Kernels] | None = None

    def isolated(self) -> Builds:
        """The same, run on copies that an access out of bounds cannot leave."""
        return replace(self, plain=_isolated(self.plain), flushing=self.flushing and _isolated(self.flushing))


def compiled(job: Job) -> Builds:
    """Compile, or find in the compiler's cache. Raises ShaderError."""
    if job.device == "mps":
        return Builds(Kernels.of(torch.mps.compile_shader(job.kernel), "mps"))
    include = [Path(each) for each in job.include]
    compile_as = partial(compile_shader_each, job.kernel, include=include, only=job.only or None, name=job.path)
    plain, checked = compile_as([Compilation(), Compilation(checked=True)])

    @cache
    def fusing() -> Kernels:
        (library,) = compile_as([Compilation(contract=True)])
        return Kernels.of(library, launch=replace(keeping, isolate=True))

    keeping = Launch(flush_subnormals=False, timeout=LONGEST)
    builds = Builds(
        Kernels.of(plain, launch=keeping),
        Kernels.of(plain, launch=replace(keeping, flush_subnormals=True)),
        Kernels.of(checked, launch=replace(keeping, order="shuffled", seed=1)),
        fusing,
    )
    return builds.isolated() if job.isolated else builds


def _isolated(kernels: Kernels) -> Kernels:
    launch = kernels.options.get("launch")
    if not isinstance(launch, Launch):
        return kernels
    return replace(kernels, options={**kernels.options, "launch": replace(launch, isolate=True)})
