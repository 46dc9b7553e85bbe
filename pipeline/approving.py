"""Who approves, as the command line and git's configuration say, and whether they mean it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.forge.approval import Approver
from pipeline.forge.place import Place
from pipeline.git import Identity


def approver_from(name: str, email: str, key: str, place: Place) -> Approver:
    """Address and key come from git's configuration where not given. Raises UsageError when they are missing."""
    address = email or _configured(place, "user.email")
    if not address:
        raise UsageError("no address is known", hint="write --email ADDRESS, or set git's user.email")
    try:
        who = Identity(name, address)
    except ValueError as error:
        raise UsageError(str(error)) from None
    path = key or (_configured(place, "user.signingkey") if place.needs_signature else "")
    return Approver(who, Path(path).expanduser() if path else None)


def confirmed(commit: str, environment: Mapping[str, str]) -> bool:
    """Ask on a terminal. Raises UsageError inside an action: there is no person there."""
    if environment.get("GITHUB_ACTIONS") == "true":
        raise UsageError("an action cannot approve", hint="run this on your own machine")
    if not sys.stdin.isatty():
        return True
    return input(f"Approve exactly this diff, commit {commit[:12]}? [y/N] ").strip().lower() in ("y", "yes")


def _configured(place: Place, key: str) -> str:
    command = ["git", "-C", str(place.repository.path), "config", "--default", "", key]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
