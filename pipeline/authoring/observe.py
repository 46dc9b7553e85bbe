"""Asks the installed torch what the CPU operator answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pipeline.authoring.facts import Facts
from pipeline.authoring.reference import Reference


def observe(facts: Facts) -> Reference:
    """The reference of the operator; without results where it takes the process down that tries it."""
    asked = question(facts)
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.authoring.observing"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    return Reference.from_json(done.stdout) if done.returncode == 0 else Reference()


def question(facts: Facts) -> dict[str, str]:
    """What the process is given."""
    entry = facts.entry
    return {
        "func": entry.func,
        "schema": entry.schema,
        "stub": facts.stub.name if facts.stub else "",
        "function": facts.functions[0].name if facts.functions else "",
    }
