"""What a macOS runner is, as JSON: image, chip, system. Needs nothing but Python.

python -m pipeline.runner.machine results/machine.json
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

_IMAGE = ("ImageOS", "ImageVersion")  # set by GitHub's runner images


def describe() -> dict[str, str]:
    image = " ".join(os.environ[name] for name in _IMAGE if os.environ.get(name))
    return {
        "image": image,
        "chip": _say("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine(),
        "system": _say("sw_vers", "-productVersion") or platform.platform(),
        "metal": _say("xcrun", "-sdk", "macosx", "--show-sdk-version"),
        "python": platform.python_version(),
    }


def _say(*command: str) -> str:
    """The command's output; empty where there is no such command or it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(describe(), indent=1) + "\n", encoding="utf-8")
