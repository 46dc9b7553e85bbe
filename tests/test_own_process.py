"""What starts a check's process: its module's `main` runs, and imports are kept out of the garbage collector's way."""

from __future__ import annotations

import gc
import subprocess
from pathlib import Path

import pytest

from pipeline.own_process import command, import_for_good

ROOT = Path(__file__).parent.parent


def run(folder: Path, module: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": f"{ROOT}:{folder}"}
    return subprocess.run(command(module), env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def test_main_runs_with_a_collector_that_leaves_alone_what_was_imported(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import gc\nkept = [[]]\nseen = gc.isenabled()\n"
        "def main():\n    print(seen, gc.isenabled(), any(each is kept for each in gc.get_objects()))\n"
    )
    done = run(tmp_path, "mine")
    assert (done.stdout, done.stderr, done.returncode) == ("False True False\n", "", 0)


def test_an_error_is_the_last_line_and_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def main():\n    raise ValueError('no')\n")
    for module, words in (("broken", "ValueError: no"), ("absent", "ModuleNotFoundError: No module named 'absent'")):
        done = run(tmp_path, module)
        assert done.returncode == 1 and done.stderr.splitlines()[-1] == words


def test_the_collector_comes_back_after_an_import_that_fails() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_for_good("pipeline.no_such_module")
    assert gc.isenabled()
