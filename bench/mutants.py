"""How many mechanical mistakes in our own kernels the numerical check finds.

`python -m bench.mutants` changes kernels one place at a time (see bench/mutations.py), checks each mutant in a process
of its own, and prints the share caught and every survivor. `--sample N` takes N mutants chosen by `--seed`, `--kernels`
only some files, `--jobs` so many at once. A mutant is caught when the numerical check fails or warns of what it does
not warn of in the kernel itself, or the contract check says that the stub asks for what is not there. Neither one that
does not compile counts nor one that the compiler makes the same machine code of. Of survivors it says how much their
results differ from the kernel's. Kernels whose own check fails are left out.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from bench.forks import in_forks
from bench.mutations import Mutant, mutants
from bench.survivors import change, same_code
from pipeline.campaign import Campaign
from pipeline.checks.contract import check_contract_of_fragments
from pipeline.findings import Outcome, Severity
from pipeline.metal import ShaderError
from pipeline.numerics.check import run
from pipeline.numerics.job import Job

ROOT = Path(__file__).parent.parent
HEADERS = Path(torch.__file__).parent / "include"
FEW = ("float32", "bfloat16", "int32", "complex64", "bool")
"""Tried first; all dtypes only where these let a mutant pass."""

LIMIT = 600.0  # seconds, after which a mutant that does not end counts as caught
CAUGHT, SURVIVED, STILLBORN, SAME = "caught", "survived", "does not compile", "same code"


@dataclass(frozen=True)
class Trial:
    """One mutant of one operator's kernel."""

    operator: str
    text: str
    mutant: Mutant

    def __str__(self) -> str:
        old, new = (" ".join(each.split()) for each in (self.mutant.old, self.mutant.new))
        return f"kernels/{self.operator}.metal:{self.mutant.line(self.text)} {self.mutant.kind}: `{old}` -> `{new}`"


def job(operator: str, kernel: str, dtypes: Sequence[str] = ()) -> Job:
    stub = ROOT / "stubs" / f"{operator}.mm"
    host = stub.read_text() if stub.exists() else None
    return Job(operator, kernel, host, dtypes=tuple(dtypes), kernel_path=f"kernels/{operator}.metal")


@dataclass(frozen=True)
class Fate:
    """What the check says of a kernel, and the warnings it gives by rule and dtypes."""

    said: str
    warnings: frozenset[str] = frozenset()


def fate(operator: str, kernel: str) -> Fate:
    for dtypes in (FEW, ()):
        result = run(job(operator, kernel, dtypes))
        errors = sorted({each.rule for each in result.result.findings if each.severity is Severity.ERROR})
        if "numerics/does-not-compile" in errors:
            return Fate(STILLBORN)
        if result.result.outcome is Outcome.FAILED:
            return Fate(f"{CAUGHT} {', '.join(errors)}")
    reports = result.data.get("reports", ())
    return Fate(SURVIVED, frozenset(f"{each['rule']} on {', '.join(each['dtypes'])}" for each in reports))


def trial_fate(trial: Trial, own: Fate, contract: Callable[[str, str], frozenset[str]]) -> Fate:
    """What becomes of a mutant; of one that survives, how its results differ."""
    mutant = trial.mutant.applied(trial.text)
    try:
        if same_code(trial.text, mutant):
            return Fate(SAME)
    except ShaderError:
        return Fate(STILLBORN)
    found = fate(trial.operator, mutant)
    if found.said != SURVIVED:
        return found
    warned = sorted(found.warnings - own.warnings)
    if warned:
        return Fate(f"{CAUGHT} by a warning: {warned[0]}")
    broken = contract(trial.operator, mutant) - contract(trial.operator, trial.text)
    if broken:
        return Fate(f"{CAUGHT} {', '.join(sorted(broken))}")
    return Fate(f"{SURVIVED}, {change(job(trial.operator, trial.text), job(trial.operator, mutant))}")


def contract_of(campaign: Campaign, operator: str, kernel: str) -> frozenset[str]:
    """The rules that kernel and stub break together."""
    entry, stub = campaign.manifest.operator(operator), job(operator, kernel).stub
    if stub is None:
        return frozenset()
    result = check_contract_of_fragments(entry, kernel, stub, campaign.snapshot.tree, HEADERS)
    return frozenset(each.rule for each in result.findings if each.severity is Severity.ERROR)


def all_trials(names: Sequence[str]) -> list[Trial]:
    found = []
    for path in sorted((ROOT / "kernels").glob("*.metal")):
        if not names or path.stem in names:
            text = path.read_text()
            found += [Trial(path.stem, text, each) for each in mutants(text)]
    return found


def table(fates: Sequence[tuple[Trial, str]]) -> str:
    """Markdown: the share caught by kind of mistake, and the survivors."""
    lines = ["| mistake | tried | caught | share |", "|---|---|---|---|"]
    kinds = Counter(trial.mutant.kind for trial, said in fates if said not in (STILLBORN, SAME))
    caught = Counter(trial.mutant.kind for trial, said in fates if said.startswith(CAUGHT))
    for kind, count in (*sorted(kinds.items()), ("all", kinds.total())):
        found = caught.total() if kind == "all" else caught[kind]
        lines.append(f"| {kind} | {count} | {found} | {100 * found / max(count, 1):.1f} % |")
    survivors = [f"{trial}: {said.partition(', ')[2]}" for trial, said in fates if said.startswith(SURVIVED)]
    apart = Counter(said for _, said in fates if said in (STILLBORN, SAME))
    counts = [f"{count} {said}" for said, count in apart.items()]
    return "\n".join([*lines, "", f"Not counted: {', '.join(counts)}.", "", *(f"- {each}" for each in survivors)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="so many mutants; all when 0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kernels", nargs="*", default=[], help="operators; all when none are given")
    options = parser.parse_args()
    torch.set_num_threads(1)
    trials = all_trials(options.kernels)
    if options.sample:
        trials = random.Random(options.seed).sample(trials, min(options.sample, len(trials)))
    texts = {trial.operator: trial.text for trial in trials}
    own = dict.fromkeys(texts, Fate("lost"))
    asked = [partial(fate, *each) for each in texts.items()]
    for index, found in in_forks(asked, options.jobs, LIMIT, Fate):
        own[list(texts)[index]] = found
    failing = [operator for operator, found in own.items() if found.said != SURVIVED]
    if failing:
        print(f"left out, since the check of the kernel itself fails: {', '.join(failing)}", flush=True)
    trials = [trial for trial in trials if trial.operator not in failing]
    contract = partial(contract_of, Campaign.open(ROOT, "pocket"))
    asked = [partial(trial_fate, each, own[each.operator], contract) for each in trials]
    fates = []
    for index, found in in_forks(asked, options.jobs, LIMIT, lambda why: Fate(f"{CAUGHT} {why}")):
        fates.append((trials[index], found.said))
        print(f"{len(fates)}/{len(trials)} {trials[index]}: {found.said}", flush=True)
    print(table(sorted(fates, key=lambda each: (each[0].operator, each[0].mutant.start))))


if __name__ == "__main__":
    main()
