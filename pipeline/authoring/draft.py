"""draft: from an operator, the manifest and a source tree to the skeletons of its kernel and stub."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.authoring.facts import Facts
from pipeline.authoring.fitting import shape_of
from pipeline.authoring.reference import Reference
from pipeline.authoring.render import render_host, render_kernel
from pipeline.manifest import NO_FRAGMENT, Operator


@dataclass(frozen=True)
class Draft:
    """Texts of the fragments; None where the manifest says that none is needed."""

    operator: Operator
    kernel: str | None
    host: str | None

    @property
    def files(self) -> dict[str, str]:
        """Path relative to the manifest -> text."""
        name = self.operator.name
        wanted = {
            self.operator.kernel or f"kernels/{name}.metal": self.kernel,
            self.operator.host or f"stubs/{name}.mm": self.host,
        }
        return {path: text for path, text in wanted.items() if text is not None}


def draft(facts: Facts, reference: Reference) -> Draft:
    """Nothing is read or written. Raises Refusal where no skeleton fits."""
    shape = shape_of(facts, reference)
    operator = facts.operator
    return Draft(
        operator,
        None if operator.kernel == NO_FRAGMENT else render_kernel(facts, reference, shape),
        None if operator.host == NO_FRAGMENT else render_host(facts, shape),
    )
