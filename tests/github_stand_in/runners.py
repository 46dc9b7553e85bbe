"""GitHub Actions: dispatching a workflow by the inputs its own file declares, and what a runner would have done."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import yaml

from tests.github_stand_in.world import ApiError, Artifact, Repo, Run, World

_INPUT = re.compile(r"\$\{\{\s*inputs\.(\w+)\s*\}\}")


def workflow(repo: Repo, name: str, ref: str) -> dict[str, Any]:
    """The workflow file as it stands at `ref`."""
    sha = repo.branch(ref.removeprefix("refs/heads/"))
    text = repo.git.read(sha, f".github/workflows/{name}") if sha else None
    if text is None:
        raise ApiError(404, "Not Found")
    parsed: dict[str, Any] = yaml.safe_load(text)
    return parsed


def dispatch(world: World, repo: Repo, name: str, ref: str, inputs: Mapping[str, str]) -> Run:
    """docs.github.com/rest/actions/workflows#create-a-workflow-dispatch-event; the title is its `run-name`."""
    branch = ref.removeprefix("refs/heads/")
    sha = repo.branch(branch)
    if sha is None:
        raise ApiError(422, f"No ref found for: {ref}")
    text = workflow(repo, name, ref)
    given = _check_inputs(text, inputs)
    title = _INPUT.sub(lambda found: given.get(found[1], ""), str(text.get("run-name", text["name"])))
    run = Run(world.new_id(), len(repo.runs) + 1, name, title, branch, sha, given, world.now)
    repo.runs.insert(0, run)
    return run


def _check_inputs(text: Mapping[Any, Any], inputs: Mapping[str, str]) -> dict[str, str]:
    events = text[True]  # YAML 1.1 reads the key `on` as true
    if not isinstance(events, dict) or "workflow_dispatch" not in events:
        raise ApiError(422, "Workflow does not have 'workflow_dispatch' trigger")
    declared = (events["workflow_dispatch"] or {}).get("inputs", {})
    if unknown := sorted(set(inputs) - set(declared)):
        raise ApiError(422, f"Unexpected inputs provided: {unknown}")
    for key, about in declared.items():
        if about.get("required") and "default" not in about and not inputs.get(key):
            raise ApiError(422, f"Required input '{key}' not provided")
        if about.get("type") == "choice" and key in inputs and inputs[key] not in about["options"]:
            raise ApiError(422, f"Provided value '{inputs[key]}' for input '{key}' not in the list of allowed values")
    return {key: str(about.get("default", "")) for key, about in declared.items()} | dict(inputs)


def finish(
    world: World,
    repo: Repo,
    run: Run,
    conclusion: str,
    *,
    artifacts: Mapping[str, Mapping[str, bytes]] | None = None,
    steps: Mapping[str, str] | None = None,
) -> None:
    run.status, run.conclusion = "completed", conclusion
    run.ended = world.now
    run.steps = list((steps or {}).items())
    for name, files in (artifacts or {}).items():
        add_artifact(world, repo, run, name, zipped(files))


def add_artifact(world: World, repo: Repo, run: Run, name: str, archive: bytes) -> Artifact:
    artifact = Artifact(world.new_id(), run.id, name, archive)
    repo.artifacts.append(artifact)
    return artifact


def zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()
