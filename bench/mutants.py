"""How many mechanical mistakes in our own kernels the numerical check finds.

`python -m bench.mutants` changes kernels one place at a time (see bench/mutations.py), checks each mutant in a process
of its own, and prints the share caught and every survivor. `--sample N` takes N mutants chosen by `--seed`, `--kernels`
only some files, `--jobs` so many at once. A mutant is caught when the check fails or warns of what it does not warn of
in the kernel itself; one that does not compile counts neither way, and kernels whose own check fails are left out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path

import torch

from bench.mutations import Mutant, mutants
from pipeline.findings import Outcome, Severity
from pipeline.numerics.check import run
from pipeline.numerics.job import Job

ROOT = Path(__file__).parent.parent
FEW = ("float32", "bfloat16", "int32", "complex64", "bool")
"""Tried first; all dtypes only where these let a mutant pass."""

LIMIT = 300.0  # seconds, after which a mutant that does not end counts as caught
CAUGHT, SURVIVED, STILLBORN = "caught", "survived", "does not compile"


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


def all_trials(names: Sequence[str]) -> list[Trial]:
    found = []
    for path in sorted((ROOT / "kernels").glob("*.metal")):
        if not names or path.stem in names:
            text = path.read_text()
            found += [Trial(path.stem, text, each) for each in mutants(text)]
    return found


def try_all(tasks: Sequence[tuple[str, str]], jobs: int) -> Iterator[tuple[int, Fate]]:
    """The fate of each operator and kernel text, by its number, as they come; each in a fork of this process."""
    running: dict[Connection, tuple[int, ForkProcess, float]] = {}
    waiting = list(enumerate(tasks))[::-1]
    context = multiprocessing.get_context("fork")
    while waiting or running:
        while waiting and len(running) < jobs:
            index, (operator, kernel) = waiting.pop()
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_send, args=(sender, operator, kernel))
            process.start()
            sender.close()
            running[receiver] = (index, process, time.monotonic())
        ready = wait(list(running), timeout=5)
        for receiver, (index, process, started) in list(running.items()):
            late = time.monotonic() - started > LIMIT
            if receiver not in ready and not late:
                continue
            if late:
                process.kill()
            try:
                found = receiver.recv()
            except EOFError:
                found = Fate(f"{CAUGHT} {'no end' if late else 'process died'}")
            process.join()
            del running[receiver]
            yield index, found


def _send(sender: Connection, operator: str, kernel: str) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # torch warns at length of what it is tried with
    sender.send(fate(operator, kernel))
    sender.close()


def table(fates: Sequence[tuple[Trial, str]]) -> str:
    """Markdown: the share caught by kind of mistake, and the survivors."""
    lines = ["| mistake | tried | caught | share |", "|---|---|---|---|"]
    kinds = Counter(trial.mutant.kind for trial, said in fates if said != STILLBORN)
    caught = Counter(trial.mutant.kind for trial, said in fates if said.startswith(CAUGHT))
    for kind, count in (*sorted(kinds.items()), ("all", kinds.total())):
        found = caught.total() if kind == "all" else caught[kind]
        lines.append(f"| {kind} | {count} | {found} | {100 * found / max(count, 1):.1f} % |")
    survivors = [str(trial) for trial, said in fates if said == SURVIVED]
    return "\n".join([*lines, "", *(f"- {each}" for each in survivors)])


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
    own = dict(try_all(list(texts.items()), options.jobs))
    known = {operator: own[index].warnings for index, operator in enumerate(texts)}
    failing = [operator for index, operator in enumerate(texts) if own[index].said != SURVIVED]
    if failing:
        print(f"left out, since the check of the kernel itself fails: {', '.join(failing)}", flush=True)
    trials = [trial for trial in trials if trial.operator not in failing]
    fates = []
    for index, found in try_all([(each.operator, each.mutant.applied(each.text)) for each in trials], options.jobs):
        more = sorted(found.warnings - known[trials[index].operator])
        said = f"{CAUGHT} by a warning: {more[0]}" if more else found.said
        fates.append((trials[index], said))
        print(f"{len(fates)}/{len(trials)} {trials[index]}: {said}", flush=True)
    print(table(sorted(fates, key=lambda each: (each[0].operator, each[0].mutant.start))))


if __name__ == "__main__":
    main()
