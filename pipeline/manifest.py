"""The manifest: which operators there are, where their code goes, and how far each has come."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import Enum
from pathlib import PurePosixPath

from pipeline.errors import UsageError
from pipeline.git import Identity
from pipeline.manifest_text import Block, parse_block
from pipeline.source import KERNELS, OPERATIONS

MANIFEST = "ops_manifest.yaml"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NO_FRAGMENT = "none"
"""What `kernel` and `host` say for an operator that needs no code of its own there."""
_SLUG = re.compile(r"[\w.-]+/[\w.-]+")


class Workflow(Enum):
    MIGRATE = "migrate"  # the operator runs on MPSGraph today
    NEW = "new"  # MPS does not have the operator at all


class Dispatch(Enum):
    """What happens to the operator's rows of native_functions.yaml."""

    COLLAPSE = "collapse"  # the MPS key joins the shared row
    KEEP = "keep"  # no shared row exists, or it is shared already: only the body changes
    DROP = "drop"  # the MPS key goes away, a composite serves
    ADD = "add"  # a key for an operator that has none


class Expectations(Enum):
    """Which test expectations a plan removes."""

    KEEP = "keep"
    PREDICTED = "predicted"  # those the evidence from the CPU makes void
    PROVEN = "proven"  # only those a macOS run reported as unexpected successes


class State(Enum):
    LISTED = "listed"
    READY = "ready"
    CHECKED = "checked"
    BRANCHED = "branched"
    BUILT = "built"
    TESTED = "tested"
    APPROVED = "approved"
    PROPOSED = "proposed"
    LANDED = "landed"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    REVERTED = "reverted"
    HELD = "held"


@dataclass(frozen=True)
class Status:
    """How far an operator has come, with the evidence: a commit, a time (ISO 8601, UTC), a runner image, a link."""

    state: State = State.LISTED
    commit: str = ""
    at: str = ""
    evidence: str = ""
    image: str = ""
    link: str = ""
    reason: str = ""

    def as_mapping(self) -> dict[str, str]:
        pairs = {item.name: getattr(self, item.name) for item in fields(self)}
        return {key: value for key, value in ({**pairs, "state": self.state.value}).items() if value}


@dataclass(frozen=True)
class Targets:
    """Files of PyTorch's tree that the fragments are merged into. Only with `may_be_new` are missing ones made."""

    kernel: str
    host: str
    may_be_new: bool = False


@dataclass(frozen=True)
class Suppression:
    rule: str
    reason: str


@dataclass(frozen=True)
class Operator:
    """One entry. Paths of `kernel` and `host` are relative to the manifest, those of `into` to PyTorch's tree.

    `kernel` and `host` are empty while there is none, and NO_FRAGMENT where none is needed. `rows` and `legacy` are
    found from the tree when empty.
    """

    name: str
    workflow: Workflow = Workflow.MIGRATE
    kind: str = ""
    dispatch: Dispatch = Dispatch.COLLAPSE
    rows: tuple[str, ...] = ()
    legacy: tuple[str, ...] = ()
    stub: str = ""
    kernel: str = ""
    host: str = ""
    into: Targets | None = None
    opinfo: tuple[str, ...] = ()
    expectations: Expectations = Expectations.PREDICTED
    depends_on: tuple[str, ...] = ()
    suppress: tuple[Suppression, ...] = ()
    claim: str = ""
    notes: str = ""
    status: Status = field(default_factory=Status)
    line: int = 0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"{self.name!r} is not an identifier", hint="write letters, digits and underscores")

    @property
    def branch(self) -> str:
        return f"migrate/{self.name}"


@dataclass(frozen=True)
class Limits:
    """How many pull requests may be open, be opened per day, and touch one file at a time."""

    open_pull_requests: int = 5
    new_per_day: int = 2
    per_file: int = 2


@dataclass(frozen=True)
class Manifest:
    path: str
    upstream: str
    base: str
    author: Identity
    operators: tuple[Operator, ...]
    fork: str = ""
    runner: str = ""
    limits: Limits = field(default_factory=Limits)
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    tracking_issues: tuple[int, ...] = ()
    close_superseded: bool = False

    def operator(self, name: str) -> Operator:
        """Raises UsageError when the manifest has no such operator."""
        for operator in self.operators:
            if operator.name == name:
                return operator
        raise UsageError(
            f"no operator is called {name!r}",
            path=self.path,
            hint="`invoke status` lists them; add an entry for a new one",
        )

    def has(self, name: str) -> bool:
        return any(operator.name == name for operator in self.operators)


def parse_manifest(text: str, path: str) -> Manifest:
    """Read and validate a manifest. Raises UsageError with path and line for the first thing that is wrong."""
    top = parse_block(text, path)
    upstream = top.block("upstream")
    author = top.block("author")
    limits = top.block("limits", default={})
    name, email = author.text("name"), author.text("email")
    try:
        identity = Identity(name, email)
    except ValueError as error:
        raise author.error(str(error)) from None
    manifest = Manifest(
        path=path,
        upstream=_slug(upstream, "repository"),
        base=upstream.text("base"),
        author=identity,
        fork=_slug(top, "fork") if top.has("fork") else "",
        runner=_slug(top, "runner") if top.has("runner") else "",
        limits=_parse_limits(limits),
        labels=top.texts("labels"),
        reviewers=top.texts("reviewers"),
        tracking_issues=top.integers("tracking_issues"),
        close_superseded=top.flag("close_superseded"),
        operators=tuple(_parse_operator(entry) for entry in top.blocks("operators")),
    )
    for block in (upstream, author, limits, top):
        block.finish()
    _check_together(manifest)
    return manifest


def _parse_limits(block: Block) -> Limits:
    usual = Limits()
    return Limits(
        open_pull_requests=block.integer("open_pull_requests", default=usual.open_pull_requests),
        new_per_day=block.integer("new_per_day", default=usual.new_per_day),
        per_file=block.integer("per_file", default=usual.per_file),
    )


def _parse_operator(entry: Block) -> Operator:
    name = entry.text("name")
    if not _NAME.fullmatch(name):
        raise entry.error(f"{name!r} is not an identifier", key="name", hint="write letters, digits and underscores")
    operator = Operator(
        name=name,
        workflow=entry.choice("workflow", Workflow, Workflow.MIGRATE),
        kind=entry.text("kind", default=""),
        dispatch=entry.choice("dispatch", Dispatch, Dispatch.COLLAPSE),
        rows=entry.texts("rows"),
        legacy=entry.texts("legacy"),
        stub=entry.text("stub", default=""),
        kernel=_inside(entry, "kernel"),
        host=_inside(entry, "host"),
        into=_parse_targets(entry),
        opinfo=entry.texts("opinfo"),
        expectations=entry.choice("expectations", Expectations, Expectations.PREDICTED),
        depends_on=entry.texts("depends_on"),
        suppress=tuple(_parse_suppression(block) for block in entry.blocks("suppress")),
        claim=entry.text("claim", default=""),
        notes=entry.text("notes", default=""),
        status=_parse_status(entry.block("status", default={})),
        line=entry.line,
    )
    entry.finish()
    if operator.workflow is Workflow.NEW and operator.dispatch is Dispatch.COLLAPSE:
        return replace(operator, dispatch=Dispatch.ADD)
    return operator


def _parse_targets(entry: Block) -> Targets | None:
    """`into: UnaryKernel` names the pair of files of that stem; `new_file: Flip` makes those that are missing."""
    if entry.has("into") and entry.has("new_file"):
        raise entry.error(
            "into and new_file exclude each other", key="new_file", hint="keep new_file where a file is new"
        )
    if entry.has("into") and entry.is_block("into"):
        block = entry.block("into")
        targets = Targets(kernel=_inside(block, "kernel"), host=_inside(block, "host"))
        block.finish()
        return targets
    for key in ("into", "new_file"):
        stem = entry.text(key, default="")
        if stem and not _NAME.fullmatch(stem):
            raise entry.error(f"{stem!r} is not a file's stem", key=key, hint="write e.g. UnaryKernel")
        if stem:
            return targets_of(stem, may_be_new=key == "new_file")
    return None


def targets_of(stem: str, *, may_be_new: bool = False) -> Targets:
    """The `.metal` and `.mm` of one stem, where PyTorch keeps them."""
    return Targets(f"{KERNELS}/{stem}.metal", f"{OPERATIONS}/{stem}.mm", may_be_new)


def _parse_suppression(block: Block) -> Suppression:
    suppression = Suppression(rule=block.text("rule"), reason=block.text("reason"))
    block.finish()
    if not suppression.reason.strip():
        raise block.error("a suppression needs a reason", key="reason")
    return suppression


def _parse_status(block: Block) -> Status:
    texts = {item.name: block.text(item.name, default="") for item in fields(Status) if item.name != "state"}
    status = Status(state=block.choice("state", State, State.LISTED), **texts)
    if status.at and not _is_time(status.at):
        raise block.error(f"{status.at!r} is not a time", key="at", hint="write e.g. 2026-11-30T02:00:00Z")
    block.finish()
    return status


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _inside(block: Block, key: str) -> str:
    """A relative path that stays inside its root."""
    path = block.text(key, default="")
    parts = PurePosixPath(path).parts
    if path.startswith(("/", "~")) or ".." in parts or "\\" in path or ".git" in parts:
        raise block.error(f"{path!r} leaves the repository", key=key, hint="write a path relative to its root")
    return path


def _slug(block: Block, key: str) -> str:
    slug = block.text(key)
    if not _SLUG.fullmatch(slug):
        raise block.error(f"{slug!r} is not a repository", key=key, hint="write owner/name")
    return slug


def _check_together(manifest: Manifest) -> None:
    seen: dict[str, Operator] = {}
    for operator in manifest.operators:
        if operator.name in seen:
            raise UsageError(
                f"operator {operator.name} is listed twice, first in line {seen[operator.name].line}",
                path=manifest.path,
                line=operator.line,
                hint="remove one of the entries",
            )
        seen[operator.name] = operator
    for operator in manifest.operators:
        for needed in operator.depends_on:
            if needed not in seen:
                raise UsageError(
                    f"{operator.name} depends on {needed}, which is not in the manifest",
                    path=manifest.path,
                    line=operator.line,
                )
    _check_cycles(manifest.path, seen)


def _check_cycles(path: str, operators: Mapping[str, Operator]) -> None:
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            circle = " -> ".join((*trail[trail.index(name) :], name))
            raise UsageError(f"dependencies go in a circle: {circle}", path=path, line=operators[name].line)
        if name not in done:
            for needed in operators[name].depends_on:
                visit(needed, (*trail, name))
            done.add(name)

    for name in operators:
        visit(name, ())
