"""What a Mac proved of test expectations: kept beside the fragments, as one more input of a plan.

`proven/OPERATOR.json` names the tests of the last macOS run that passed although they were expected to fail, and those
that failed as expected; the plan takes out the expectations that the first refute (edits/forecast.py).
"""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.edits.forecast import MacRun
from pipeline.errors import UsageError
from pipeline.runner.junit import TestOutcome
from pipeline.runner.read import Reading

FOLDER = "proven"


def load_proof(root: Path, operator: str) -> MacRun | None:
    """None where no run proved anything. Raises UsageError when the file is not as `save_proof` writes it."""
    path = root / FOLDER / f"{operator}.json"
    if not path.is_file():
        return None
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        return MacRun(*(frozenset((str(suite), str(test)) for suite, test in about[key]) for key in _KEYS))
    except (ValueError, KeyError, TypeError):
        raise UsageError("is not the record of a macOS run", path=str(path), hint="delete it, or build again") from None


def save_proof(root: Path, operator: str, reading: Reading, link: str) -> Path | None:
    """Write the record of a run, if it holds a test that passed unexpectedly; returns the file."""
    successes, failures = (
        sorted([test.suite, test.name] for test in reading.of(outcome))
        for outcome in (TestOutcome.UNEXPECTED_SUCCESS, TestOutcome.EXPECTED_FAILURE)
    )
    if not successes:
        return None
    path = root / FOLDER / f"{operator}.json"
    path.parent.mkdir(exist_ok=True)
    about = {"run": link, _KEYS[0]: successes, _KEYS[1]: failures}
    path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return path


_KEYS = ("passed_unexpectedly", "failed_as_expected")
