"""Look around upstream for other people's work: open pull requests, landed commits, tracking issues."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.forge.claims import FREE, Claim, ClaimState, Footprint, LandedCommit, hit, landed, listed
from pipeline.forge.model import ChangedFile, Foreign, Forge, Issue
from pipeline.git import Repository
from pipeline.source import NATIVE_FUNCTIONS

LABELS = ("ciflow/mps", "release notes: mps", "module: mps")  # set by path by pytorch's labeler, the last by people
_PATHS = (NATIVE_FUNCTIONS, "aten/src/ATen/native/mps")
_NUMBER = re.compile(r"\(#(\d+)\)$")


@dataclass(frozen=True)
class Surroundings:
    """What was seen upstream at one moment. `own`: numbers of our pull requests."""

    pulls: tuple[tuple[Foreign, tuple[ChangedFile, ...]], ...] = ()
    commits: tuple[LandedCommit, ...] = ()
    issues: tuple[Issue, ...] = ()
    own: frozenset[int] = frozenset()

    def claim_on(self, operator: Footprint, ignored: Sequence[int] = ()) -> Claim:
        """Landed beats claimed; a claim whose pull request is `ignored` (a person said so) is none."""
        done = landed(operator, self.commits, self.own)
        if done.state is ClaimState.LANDED and done.number not in ignored:
            return done
        for pull, files in self.pulls:
            where = hit(operator, files) if pull.number not in self.own and pull.number not in ignored else ""
            if where:
                return Claim(ClaimState.CLAIMED, pull.url, where, pull.number)
        claims = (listed(operator.operator, issue, self.own) for issue in self.issues)
        return next((claim for claim in claims if claim != FREE and claim.number not in ignored), FREE)


@dataclass(frozen=True)
class Radar:
    """`cache` keeps the files of pull requests that have not changed since the last look."""

    forge: Forge
    repository: Repository
    upstream: str
    cache: Path
    tracking_issues: tuple[int, ...] = ()
    labels: Sequence[str] = field(default=LABELS)

    def look(self, since: str, until: str, own: frozenset[int]) -> Surroundings:
        """Everything upstream has open, and what landed between the commits `since` and `until`."""
        foreign = [pull for pull in self.forge.foreign_pull_requests(self.labels) if pull.number not in own]
        return Surroundings(
            pulls=tuple(zip(foreign, self._files(foreign), strict=True)),
            commits=tuple(self._landed(since, until)),
            issues=tuple(self.forge.issue(number) for number in self.tracking_issues),
            own=own,
        )

    def _files(self, pulls: Sequence[Foreign]) -> list[tuple[ChangedFile, ...]]:
        known = _read_cache(self.cache)
        fresh: dict[str, list[list[str | None]]] = {}
        found = []
        for pull in pulls:
            key = f"{pull.number}@{pull.version}"
            if key not in known:
                files = [file for file in self.forge.changed_files(pull.number) if file.path.startswith(_PATHS)]
                known = {**known, key: [[file.path, file.patch] for file in files]}
            fresh[key] = known[key]
            found.append(tuple(ChangedFile(str(path), patch) for path, patch in known[key]))
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        self.cache.write_text(json.dumps(fresh), encoding="utf-8")
        return found

    def _landed(self, since: str, until: str) -> list[LandedCommit]:
        """Commits that touch the files of migrations, oldest first."""
        form = "--format=%x02%H%x00%s"
        log = self.repository.run(
            "log", "--reverse", "--no-merges", "--no-renames", "-p", "-U0", form, f"{since}..{until}", "--", *_PATHS
        )
        commits = []
        for record in log.decode(errors="replace").split("\2")[1:]:
            head, _, diff = record.partition("\n")
            commit, _, subject = head.partition("\0")
            number = _NUMBER.search(subject)
            url = f"https://github.com/{self.upstream}/commit/{commit}"
            commits.append(LandedCommit(commit, url, int(number[1]) if number else 0, tuple(_split(diff))))
        return commits


def _split(diff: str) -> list[ChangedFile]:
    """A `git log -p` diff, file by file."""
    files = []
    for part in diff.split("\ndiff --git ")[1:]:
        head, _, hunks = part.partition("\n@@ ")
        path = head.partition("\n")[0].rpartition(" b/")[2]
        files.append(ChangedFile(path, f"@@ {hunks}"))
    return files


def _read_cache(path: Path) -> Mapping[str, list[list[str | None]]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
