"""The manifest on disk: read, checked against the files beside it, saved under a lock and all at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import filelock

from pipeline.errors import UsageError
from pipeline.manifest import NO_FRAGMENT, Dispatch, Manifest, Operator, State, Status, parse_manifest
from pipeline.manifest_edit import add_operators, set_status

_LOCK_SECONDS = 60


def load_manifest(path: Path) -> Manifest:
    """Raises UsageError, with file and line, when the manifest or a fragment it names is missing or not valid."""
    manifest = parse_manifest(_read(path), path.name)
    operators = tuple(_with_fragments(path.parent, manifest, operator) for operator in manifest.operators)
    return replace(manifest, operators=operators)


def save_status(path: Path, name: str, status: Status) -> None:
    """Record how far an operator has come. The file is read again under the lock, so two runs lose nothing."""
    _edit(path, lambda text: set_status(text, path.name, name, status))


def save_new_operators(path: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    _edit(path, lambda text: add_operators(text, path.name, entries))


def _edit(path: Path, edit: Callable[[str], str]) -> None:
    try:
        with filelock.FileLock(path.with_name(f".{path.name}.lock"), timeout=_LOCK_SECONDS):
            before = _read(path)
            after = edit(before)
            if after != before:
                _replace(path, after)
    except filelock.Timeout:
        raise UsageError(
            f"another run has held the lock for {_LOCK_SECONDS} s", path=path.name, hint="wait for it to end"
        ) from None


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=str(path)) from None
    except UnicodeDecodeError:
        raise UsageError("is not UTF-8 text", path=str(path)) from None


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.chmod(path.stat().st_mode)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _with_fragments(root: Path, manifest: Manifest, operator: Operator) -> Operator:
    """Fill in the fragments' paths by convention, and see that they exist once work on the operator has begun."""
    filled = replace(
        operator,
        kernel=operator.kernel or _if_there(root, f"kernels/{operator.name}.metal"),
        host=operator.host or _if_there(root, f"stubs/{operator.name}.mm"),
    )
    for fragment in (filled.kernel, filled.host):
        if fragment not in ("", NO_FRAGMENT) and not _is_inside(root, fragment):
            raise _error(manifest, operator, f"{fragment} does not exist")
    begun = operator.status.state not in (State.LISTED, State.HELD, State.REJECTED, State.SUPERSEDED)
    if begun and operator.dispatch is not Dispatch.DROP and not (filled.kernel and filled.host):
        raise _error(
            manifest,
            operator,
            f"{operator.name} is {operator.status.state.value} but has no kernels/{operator.name}.metal "
            f"or no stubs/{operator.name}.mm",
            hint="write them (`invoke draft` makes skeletons) or set its state to listed",
        )
    return filled


def _if_there(root: Path, path: str) -> str:
    return path if _is_inside(root, path) else ""


def _is_inside(root: Path, path: str) -> bool:
    """A regular file below the manifest's folder, links followed."""
    file = (root / path).resolve()
    return file.is_file() and file.is_relative_to(root.resolve())


def _error(manifest: Manifest, operator: Operator, message: str, hint: str = "") -> UsageError:
    return UsageError(message, path=manifest.path, line=operator.line, hint=hint)
