"""Whether somebody else works on an operator, told by the files and symbols of diffs and never by titles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from pipeline.forge.model import ChangedFile, Issue
from pipeline.manifest import Operator
from pipeline.native_functions import NativeFunctions
from pipeline.source import NATIVE_FUNCTIONS

_MPS = "aten/src/ATen/native/mps/"
_WORD = re.compile(r"[A-Za-z_]\w*")
_ROW = re.compile(r"^\s*([\w, ]+):\s*(\w+)")
_TASK = re.compile(r"^\s*[-*] \[(?P<tick>[ xX])\] (?P<text>.*)$", re.MULTILINE)
_PULL = re.compile(r"(?:#|/pull/)(\d+)\b")
_PERSON = re.compile(r"(?<![\w`/])@[A-Za-z0-9][\w-]*")


class ClaimState(Enum):
    FREE = "free"
    CLAIMED = "claimed"
    LANDED = "landed"


@dataclass(frozen=True)
class Claim:
    """`link` is the pull request, commit or issue that shows it; `evidence` says which file and symbol."""

    state: ClaimState
    link: str = ""
    evidence: str = ""
    number: int = 0


FREE = Claim(ClaimState.FREE)


@dataclass(frozen=True)
class Footprint:
    """What a migration touches: names that are the operator's own, and functions its rows share with CPU and CUDA."""

    operator: str
    own: frozenset[str]
    shared: frozenset[str]
    legacy: frozenset[str]


@dataclass(frozen=True)
class LandedCommit:
    """A commit of upstream's main, with its diff of the files that matter; `number` is its pull request, or 0."""

    commit: str
    url: str
    number: int
    files: tuple[ChangedFile, ...]


def footprint(operator: Operator, functions: NativeFunctions) -> Footprint:
    """From the manifest's entry and the rows of the tree it will be planned on."""
    rows = [functions.entries[func] for func in operator.rows if func in functions.entries]
    legacy = {*operator.legacy}
    shared = set()
    for entry in rows:
        mps = entry.row("MPS")
        if mps is not None and mps.kernel != entry.shared_kernel:
            legacy.add(mps.kernel)
        if entry.shared_kernel:
            shared.add(entry.shared_kernel)
    own = legacy | {f"{operator.name}_functor"} | ({operator.stub} if operator.stub else set())
    return Footprint(operator.name, frozenset(own), frozenset(shared), frozenset(legacy))


def hit(operator: Footprint, files: Iterable[ChangedFile]) -> str:
    """The first changed line that is the operator's, as "path: symbol"; empty when there is none.

    A file whose diff GitHub leaves out counts when it is one that every migration touches: better a look too many.
    """
    for file in files:
        if not _matters(file.path):
            continue
        if file.patch is None:
            if file.path == NATIVE_FUNCTIONS:
                return f"{file.path}: too large for GitHub to show"
            continue
        for line in _changed(file.patch):
            found = operator.own & set(_WORD.findall(line)) or _shared_row(operator, file.path, line)
            if found:
                return f"{file.path}: {min(found)}"
    return ""


def landed(operator: Footprint, commits: Sequence[LandedCommit], own: frozenset[int]) -> Claim:
    """Whether somebody's commit, of those given oldest first, took the legacy code away and none brought it back.

    `own` are the numbers of our pull requests, whose landing is no claim.
    """
    claim = FREE
    for commit in commits:
        if commit.number in own:
            continue
        gone, came = _moved(operator, commit.files)
        if gone and not came:
            claim = Claim(ClaimState.LANDED, commit.url, gone, commit.number)
        elif came and not gone:
            claim = FREE
    return claim


def listed(operator: str, issue: Issue, own: frozenset[int]) -> Claim:
    """What a tracking issue's task list says of an operator: ticked, or with a pull request or a person beside it."""
    for text in (issue.body, *issue.comments):
        for task in _TASK.finditer(text):
            if operator not in _WORD.findall(_PERSON.sub("", task["text"])):
                continue
            numbers = [int(number) for number in _PULL.findall(task["text"])]
            if own & set(numbers):
                continue
            if numbers:
                link = issue.url.rsplit("/", 2)[0] + f"/pull/{numbers[0]}"
                return Claim(ClaimState.CLAIMED, link, f"listed in {issue.url}", numbers[0])
            if task["tick"] != " " or _PERSON.search(task["text"]):
                return Claim(ClaimState.CLAIMED, issue.url, "ticked or taken in the tracking issue", issue.number)
    return FREE


def named_in_manifest(operator: Operator, ignored: Sequence[int]) -> Claim:
    """The claim that a person wrote down; theirs to take out again."""
    number = _PULL.search(operator.claim)
    if number and int(number[1]) in ignored:
        return FREE
    return Claim(ClaimState.CLAIMED, operator.claim, "named in the manifest", int(number[1]) if number else 0)


def _matters(path: str) -> bool:
    return path == NATIVE_FUNCTIONS or path.startswith(_MPS)


def _changed(patch: str, signs: str = "+-") -> Iterator[str]:
    for line in patch.splitlines():
        if line[:1] in signs and line[:1] and not line.startswith(("+++", "---")):
            yield line[1:]


def _shared_row(operator: Footprint, path: str, line: str) -> set[str]:
    """A changed dispatch row in which MPS runs the function that CPU and CUDA share."""
    row = _ROW.match(line) if path == NATIVE_FUNCTIONS else None
    if row and row[2] in operator.shared and "MPS" in {key.strip() for key in row[1].split(",")}:
        return {row[2]}
    return set()


def _moved(operator: Footprint, files: Iterable[ChangedFile]) -> tuple[str, str]:
    """(where the operator's legacy code went away, where it came back), as "path: symbol" or empty."""
    gone = came = ""
    names = operator.legacy or operator.own
    for file in files:
        if not _matters(file.path) or file.patch is None:
            continue
        minus = {word for line in _changed(file.patch, "-") for word in _WORD.findall(line)} & names
        plus = {word for line in _changed(file.patch, "+") for word in _WORD.findall(line)} & names
        if not operator.legacy:  # a new operator: landed is when its names appear
            minus, plus = plus, minus
        if minus - plus:
            gone = f"{file.path}: {min(minus - plus)}"
        if plus - minus:
            came = f"{file.path}: {min(plus - minus)}"
    return gone, came
