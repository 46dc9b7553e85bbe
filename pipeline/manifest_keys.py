"""What every key of the manifest means: the reference is written from this, and tests hold it against the parser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from pipeline.manifest import Dispatch, Expectations, Limits, State, Workflow

_USUAL = Limits()
_NONE = "`none` where the operator needs no code of its own"


@dataclass(frozen=True)
class Key:
    """`value` is what may be written behind it, `default` what holds where it is left out, empty where nothing does."""

    name: str
    value: str
    meaning: str
    default: str = ""
    required: bool = False


def _one_of(choices: Iterable[Enum]) -> str:
    return " or ".join(f"`{choice.value}`" for choice in choices)


TOP = (
    Key("upstream", "a block: `repository: owner/name`, `base: branch`", "where pull requests go", required=True),
    Key("author", "a block: `name`, `email`", "who commits; how the pipeline knows its own commits", required=True),
    Key("fork", "`owner/name`", "the repository that branches and approvals are pushed to"),
    Key("runner", "`owner/name`", "the repository whose macos.yml builds them", "the one an action runs in"),
    Key("limits", "a block: see below", "how much may be open at a time"),
    Key("labels", "a list of texts", "set on pull requests"),
    Key("reviewers", "a list of logins", "asked for a review; nobody else is mentioned"),
    Key("tracking_issues", "a list of numbers", "upstream's issues to look for claims in"),
    Key(
        "close_superseded",
        "`true` or `false`",
        "whether our own pull request may be closed when someone else's landed",
        "false",
    ),
    Key("operators", "a list of blocks: see below", "what is migrated"),
)

LIMITS = (
    Key("open_pull_requests", "a number", "how many pull requests may be open", str(_USUAL.open_pull_requests)),
    Key("new_per_day", "a number", "how many may be opened in 24 hours", str(_USUAL.new_per_day)),
    Key("per_file", "a number", "how many open ones may change the same `.mm` or `.metal` file", str(_USUAL.per_file)),
)

OPERATOR = (
    Key("name", "an identifier", "the operator; its branch is `migrate/NAME`", required=True),
    Key(
        "workflow",
        _one_of(Workflow),
        "it runs on MPSGraph today, or MPS does not have it",
        Workflow.MIGRATE.value,
    ),
    Key("kind", "a text", "unary, binary, ternary, ... in words"),
    Key(
        "dispatch",
        _one_of(Dispatch),
        "what happens to its rows: MPS joins CPU and CUDA; only the body changes; the key goes and a composite serves; "
        "a key is added",
        f"{Dispatch.COLLAPSE.value}, with `workflow: {Workflow.NEW.value}` {Dispatch.ADD.value}",
    ),
    Key("rows", "a list of texts", "entries of native_functions.yaml, overload included", "those of its name"),
    Key("legacy", "a list of texts", "functions of the old code", "found from the rows"),
    Key("stub", "a text", "the dispatch stub that the new function is registered for"),
    Key(
        "kernel",
        "a path, or `none`",
        "the kernel fragment; none where it needs no code of its own",
        "kernels/NAME.metal",
    ),
    Key("host", "a path, or `none`", "the host fragment; none where it needs no code of its own", "stubs/NAME.mm"),
    Key(
        "into",
        "a stem, or a block: `kernel`, `host`",
        "the files it is merged into, such as `UnaryKernel`, or two paths in PyTorch's tree; they must exist",
    ),
    Key("new_file", "a stem", "instead of `into`: files that are made where the tree lacks them"),
    Key("opinfo", "a list of texts", "names of OpInfos that test it"),
    Key(
        "expectations",
        _one_of(Expectations),
        "which test expectations a plan removes: none; those the CPU's evidence makes void; those a macOS run refuted",
        Expectations.PREDICTED.value,
    ),
    Key("depends_on", "a list of operators", "what has to land first"),
    Key("suppress", "a list of blocks: `rule`, `reason`", "findings that are accepted; shown in the pull request"),
    Key("claim", "a link", "someone else's work on it"),
    Key("notes", "a text", "what a reviewer should know; stands in the commit and the pull request"),
    Key("status", "a block: see below", "how far it is; written by `invoke sync`"),
)

STATUS = (
    Key("state", _one_of(State), "how far it is", State.LISTED.value),
    Key("commit", "an object name", "the commit that the state is about"),
    Key("at", "a time in ISO 8601", "since when"),
    Key("evidence", "a text", "what the checks on a CPU said"),
    Key("image", "a text", "the runner image of the macOS build"),
    Key("link", "a link", "the pull request, the build, or someone else's work"),
    Key("reason", "a text", "why, where the state alone does not say it"),
)
