"""The contract check: what lands is held together, in a process of its own, since that needs torch."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from pipeline import own_process
from pipeline.changeset import Changeset
from pipeline.checks.contract.declared import declared_findings
from pipeline.checks.contract.host_text import host_text
from pipeline.checks.contract.job import CHECK, Job
from pipeline.checks.remembered import result_from_json
from pipeline.edits.definitions import Definition, definitions, registrations
from pipeline.edits.hostfile import HostFile
from pipeline.edits.opinfos import OpInfo
from pipeline.errors import PipelineError, Refusal
from pipeline.findings import CheckResult
from pipeline.manifest import Dispatch, Operator
from pipeline.snapshot import Snapshot
from pipeline.source import KERNELS, SourceTree

_ROOT = Path(__file__).parents[3]


def check_contract(changeset: Changeset, headers: Path) -> CheckResult:
    """The stub as it stands in its host file after the change, and the shader of the same stem.

    `headers` is the folder with the tree's Metal headers.
    """
    operator, after = changeset.operator, Snapshot(changeset.after())
    if operator.dispatch is Dispatch.DROP:
        return CheckResult.not_run(CHECK, "no host code of its own: a composite serves the operator")
    if not operator.stub and not changeset.legacy:
        return CheckResult.not_run(CHECK, "the operator has neither a stub nor a function of its own")
    places = _places(changeset, after)
    if not places:
        return CheckResult.not_run(CHECK, "no host file registers or defines anything for the operator")
    path = places[0].path
    kernel_path = f"{KERNELS}/{PurePosixPath(path).stem}.metal"
    if not after.tree.has(kernel_path):
        return CheckResult.not_run(CHECK, f"{path} has no shader of its stem: there is no {kernel_path}")
    file = after.host[path]
    stub = host_text(file, [place.place.index for place in places if place.path == path])
    job = Job(
        operator=operator.name,
        stub=stub,
        stub_path=path,
        functions=() if operator.stub else changeset.legacy,
        kernel=after.text(kernel_path),
        kernel_path=kernel_path,
        kernel_before=changeset.base.read(kernel_path).decode() if changeset.base.has(kernel_path) else "",
        headers=_params_headers(after.tree),
        include=str(headers),
        claimed=claimed_dtypes(after.expectations.opinfos, operator),
    )
    return _with_declared(_in_own_process(job), HostFile(path, stub), after)


def check_contract_of_fragments(
    operator: Operator, kernel: str, stub: str, tree: SourceTree, headers: Path
) -> CheckResult:
    """A kernel and a stub on their own. Without a stub, the one that the registered names imply is taken."""
    snapshot = Snapshot(tree)
    job = Job(
        operator=operator.name,
        stub=stub,
        stub_path=operator.host,
        functions=(),
        kernel=kernel,
        kernel_path=operator.kernel,
        kernel_before="",
        headers=_params_headers(tree),
        include=str(headers),
        claimed=claimed_dtypes(snapshot.expectations.opinfos, operator),
    )
    return _with_declared(_in_own_process(job), HostFile(operator.host, stub), snapshot)


def claimed_dtypes(opinfos: Iterable[OpInfo], operator: Operator) -> tuple[str, ...] | None:
    """The dtypes that the operator's OpInfos claim for MPS; None where there is none, or one that cannot be read.

    A backward operator is claimed for what its forward one is.
    """
    names = (operator.name, *operator.opinfo)
    own = [each for each in opinfos if not each.ref_of and any(each.concerns(name) for name in names)]
    exact = [each for each in own if operator.name in (each.name.rpartition(".")[2], each.aten_name)] or own
    claims = [each.mps_dtypes if each.mps_dtypes is not None else each.dtypes for each in exact]
    known = [claim for claim in claims if claim is not None]
    if not known or len(known) < len(claims):
        return None
    return tuple(dict.fromkeys(name for claim in known for name in claim))


def _places(changeset: Changeset, after: Snapshot) -> tuple[Definition, ...]:
    """Where the operator's stub is registered, else where the functions that keep their rows are defined."""
    if changeset.operator.stub:
        return registrations(after.host, changeset.operator.stub)
    return tuple(place for name in changeset.legacy for place in definitions(after.host, name))


def _params_headers(tree: SourceTree) -> tuple[str, ...]:
    """Headers that a kernel and its host file share."""
    return tuple(tree.read(path).decode() for path in tree.files(KERNELS) if path.endswith(".h"))


def _with_declared(result: CheckResult, file: HostFile, snapshot: Snapshot) -> CheckResult:
    try:
        declared = tuple(declared_findings(file, snapshot.stubs))
    except Refusal:  # the type check says it better
        declared = ()
    if not declared:
        return result
    return CheckResult.from_findings(CHECK, result.summary, (*declared, *result.findings), result.not_covered)


def _in_own_process(job: Job) -> CheckResult:
    command = own_process.command("pipeline.checks.contract.worker")
    done = subprocess.run(command, input=job.to_json(), capture_output=True, text=True, cwd=_ROOT, check=False)
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return result_from_json(lines[-1])
    error = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    raise PipelineError(f"the contract check of {job.operator} broke: {error[0]}")
