"""docs/writing-kernels.md: every example compiles and is right, and every pitfall ends in the finding that it names."""

from __future__ import annotations

import functools
import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from pipeline.campaign import Campaign
from pipeline.checks.contract.declared import declared_findings
from pipeline.checks.contract.job import Job as ContractJob
from pipeline.checks.contract.worker import hold
from pipeline.checks.host import check_host
from pipeline.checks.style import check_style_of_fragments
from pipeline.edits.hostfile import HostFile
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.findings import CheckResult, Outcome, Severity
from pipeline.manifest import Operator, targets_of
from pipeline.migration import Fragments, plan
from pipeline.numerics.check import run
from pipeline.numerics.job import Job
from pipeline.rules import catalogue
from pipeline.watch.subject import kernels_of

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/writing-kernels.md").read_text()
INCLUDE = str(Path(torch.__file__).parent / "include")
FLOATING = ("float32", "float16", "bfloat16")
REAL = (*FLOATING, "int64", "int32", "int16", "int8", "uint8", "bool")
# What OpInfo claims for MPS, where that is not every dtype that is not complex.
CLAIMED = {"huber_loss": FLOATING, "softplus": FLOATING, "softmax_backward": FLOATING, "sgn": ("complex64",)}
# Enough to tell right from wrong; what differs by dtype needs more than float32.
DTYPES = {
    "sgn": ("complex64",),
    "heaviside": ("int32",),
    "signbit": ("float32", "uint8"),
    "special_entr": ("int8", "float16"),
    "softplus": ("bfloat16",),
}


@dataclass(frozen=True)
class Example:
    pattern: str
    operator: str
    kernel: str
    stub: str

    def edited(self, diff: str) -> Example:
        """With the lines that the diff takes out replaced by those that it puts in."""
        taken, put = ("".join(f"{line[1:]}\n" for line in diff.splitlines() if line[0] == mark) for mark in "-+")
        assert (self.kernel + self.stub).count(taken) == 1, f"{self.operator} has no such lines, or more than once"
        return replace(self, kernel=self.kernel.replace(taken, put), stub=self.stub.replace(taken, put))


@dataclass(frozen=True)
class Pitfall:
    rule: str
    operator: str
    diff: str


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.partition(f"\n## {title}\n")[2], flags=re.MULTILINE)[0]


EXAMPLES = {
    match[2]: Example(*match.groups())
    for match in re.finditer(
        r"^### ([^\n`]+): `(\w+)`\n.*?^```metal\n(.*?)^```\n\n```objc\n(.*?)^```",
        section("Patterns"),
        re.MULTILINE | re.DOTALL,
    )
}
PITFALLS = [
    Pitfall(*match.groups())
    for match in re.finditer(
        r"^\*\*`([\w/-]+)`\*\* in `(\w+)`: [^\n]+\n\n```diff\n(.*?)^```", section("Pitfalls"), re.MULTILINE | re.DOTALL
    )
]


def test_the_page_is_read_whole() -> None:
    patterns = {example.pattern.partition(" (")[0] for example in EXAMPLES.values()}
    wanted = "Unary,Binary,Integer to float,One number,Several numbers,Type-specialised,Complex,Reduction"
    assert patterns == set(wanted.split(","))
    assert len(PITFALLS) == PAGE.count("```diff")
    assert {pitfall.rule for pitfall in PITFALLS} <= set(catalogue())


def numerics(example: Example) -> CheckResult:
    dtypes = DTYPES.get(example.operator, ("float32",))
    only = "|".join(kernels_of(Dtype.of_torch(dtype)) for dtype in dtypes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(Job(example.operator, example.kernel, example.stub, dtypes=dtypes, only=only)).result


def contract(example: Example) -> CheckResult:
    name = example.operator
    stub, kernel = f"stubs/{name}.mm", f"kernels/{name}.metal"
    claimed = CLAIMED.get(name, REAL)
    job = ContractJob(name, example.stub, stub, (), example.kernel, kernel, "", (), INCLUDE, claimed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = hold(job).findings
    declared = tuple(declared_findings(HostFile(stub, example.stub), campaign().snapshot.stubs))
    return CheckResult.from_findings("contract", "held", (*declared, *held))


def style(example: Example) -> CheckResult:
    name = example.operator
    kernel, stub = (f"kernels/{name}.metal", example.kernel), (f"stubs/{name}.mm", example.stub)
    return check_style_of_fragments(kernel, stub, campaign().snapshot.tree)


CHECKS = {"numerics": numerics, "contract": contract, "style": style}


@functools.cache
def campaign() -> Campaign:
    return Campaign.open(ROOT, "pocket")


@pytest.mark.parametrize("operator", EXAMPLES)
@pytest.mark.parametrize("check", CHECKS)
def test_an_example_passes(operator: str, check: str) -> None:
    result = CHECKS[check](EXAMPLES[operator])
    assert result.outcome is Outcome.PASSED, "\n".join(map(str, result.findings)) or result.summary
    assert [str(finding) for finding in result.findings if finding.severity is Severity.ERROR] == []


def test_the_examples_type_check() -> None:
    """All in one new file, so that clang runs once."""
    target = targets_of("Written", may_be_new=True)
    kernel = "\n".join(each.kernel for each in EXAMPLES.values())
    stub = "\n".join(each.stub for each in EXAMPLES.values())
    operator = Operator("sign", rows=("sign.out",), stub="sign_stub", into=target, kernel="k.metal", host="s.mm")
    change = plan(operator, Fragments(kernel, stub), campaign().snapshot)
    assert change.complete, change.gaps
    result = check_host(change.after(), {target.host}, ROOT / ".cache" / "host")
    assert result.outcome is Outcome.PASSED, "\n".join(map(str, result.findings))


@pytest.mark.parametrize("pitfall", PITFALLS, ids=lambda pitfall: f"{pitfall.rule}-{pitfall.operator}")
def test_a_pitfall_is_found_by_its_rule(pitfall: Pitfall) -> None:
    example = EXAMPLES[pitfall.operator].edited(pitfall.diff)
    result = CHECKS[pitfall.rule.partition("/")[0]](example)
    assert pitfall.rule in {finding.rule for finding in result.findings}, "\n".join(map(str, result.findings))
