"""How fast planned operators become branches on a remote, beside other ways of doing it. Run: python -m bench.branches

Every method runs in a process of its own on clones of one repository, and what arrives on the bare remote is read
back. BENCH_TREE names a real repository to use instead of the generated one. Prints a table as Markdown, and with
--write puts it with a plot into docs/performance.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.pytorch_shape import make_repository
from bench.report import Series, machine, plot, replace_section

ROOT = Path(__file__).parents[1]
COUNTS = (20, 100, 400)
# What takes seconds a branch is measured on few of them; its time per branch does not depend on how many there are.
METHODS = {
    "pipeline, planned": COUNTS,
    "pipeline": COUNTS,
    "fast-import": COUNTS,
    "sparse worktree, reused": COUNTS,
    "sparse worktree per branch": (20, 100),
    "full worktree per branch": (3,),
    "all-repos": (3,),
}


@dataclass(frozen=True)
class Measured:
    method: str
    branches: int
    wall: float
    cpu: float
    peak_mib: float
    on_remote: int
    verified: bool


def main() -> None:
    folder = Path(tempfile.gettempdir()) / "mps-to-metal-bench"
    folder.mkdir(exist_ok=True)
    tree = Path(os.environ["BENCH_TREE"]) if "BENCH_TREE" in os.environ else make_repository(folder / "tree.git")
    results = []
    for method, counts in METHODS.items():
        for count in counts:
            results.append(measure(method, count, tree, folder))
            print(_row(results[-1], results), file=sys.stderr)
    text = table(results)
    print(text)
    if "--write" in sys.argv:
        figure = ROOT / "docs" / "branches.svg"
        figure.write_text(_plot(results))
        replace_section(ROOT / "docs" / "performance.md", "branches", f"{machine()}\n\n{text}\n\n![]({figure.name})")


def measure(method: str, count: int, tree: Path, folder: Path) -> Measured:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        words = [sys.executable, "-m", "bench.branch_methods", method, str(count), str(tree), scratch]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{method}, {count} branches: {done.stderr.strip().splitlines()[-1]}")
    measured = Measured(**json.loads(done.stdout.splitlines()[-1]))
    if measured.on_remote != count or not measured.verified:
        raise SystemExit(f"{method}: {measured.on_remote} of {count} branches arrived as planned")
    return measured


def table(results: list[Measured]) -> str:
    head = ["method", "branches", "s", "ms a branch", "CPU ms a branch", "peak MiB", "against fast-import"]
    lines = [" | ".join(head), " | ".join(["---", *["---:"] * (len(head) - 1)])]
    lines += [_row(result, results) for result in results]
    return "\n".join(f"| {line} |" for line in lines)


def _row(result: Measured, results: list[Measured]) -> str:
    floors = {other.branches: other.wall for other in results if other.method == "fast-import"}
    floor = floors.get(result.branches)
    return " | ".join(
        [
            result.method,
            str(result.branches),
            f"{result.wall:.2f}",
            f"{1000 * result.wall / result.branches:.1f}",
            f"{1000 * result.cpu / result.branches:.1f}",
            f"{result.peak_mib:.0f}",
            f"{result.wall / floor:.2f}" if floor else "",
        ]
    )


def _plot(results: list[Measured]) -> str:
    methods = dict.fromkeys(result.method for result in results)
    series = [
        Series(method, [(r.branches, 1000 * r.wall / r.branches) for r in results if r.method == method])
        for method in methods
    ]
    return plot(series, "branches", "ms a branch")


if __name__ == "__main__":
    main()
