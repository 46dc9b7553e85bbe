"""Pull requests as files, for work without a token: the same commands, and nothing leaves this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import yaml

from pipeline.errors import PipelineError, UsageError
from pipeline.forge.clock import Clock
from pipeline.forge.model import ChangedFile, Foreign, Issue, NewPullRequest, PullRequest, Standing
from pipeline.git import Repository

FOLDER = ".drafts/pull-requests"


class LocalForge:
    """One Markdown file a pull request, `N.md`: its state as a YAML header, then its body."""

    def __init__(self, root: Path, repository: Repository, clock: Clock) -> None:
        self.root = root
        self.folder = root / FOLDER
        self._repository = repository
        self._clock = clock

    def own_pull_requests(self, branches: Sequence[str]) -> list[PullRequest]:
        numbers = sorted(int(path.stem) for path in self.folder.glob("*.md") if path.stem.isdecimal())
        return [self._follow(self._read(number)) for number in numbers]

    def pull_requests_of(self, branch: str) -> list[PullRequest]:
        return [pull for pull in self.own_pull_requests([branch]) if pull.branch == branch]

    def open_pull_request(self, new: NewPullRequest) -> PullRequest:
        known = self.own_pull_requests([])
        for pull in known:
            if pull.open and pull.branch == new.branch:
                return pull
        number = max((pull.number for pull in known), default=0) + 1
        made = PullRequest(
            number=number,
            url=self._url(number),
            open=True,
            draft=True,
            title=new.title,
            body=new.body,
            branch=new.branch,
            commit=self._repository.resolve(new.branch),
            author="local",
            created=self._clock.now(),
        )
        self._write(made)
        return made

    def edit_body(self, number: int, body: str) -> None:
        self._change(number, lambda pull: replace(pull, body=body))

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        self._change(number, lambda pull: replace(pull, labels=tuple(dict.fromkeys((*pull.labels, *labels)))))

    def request_reviews(self, number: int, logins: Sequence[str]) -> None:
        """Nobody reads files: reviewers are asked on GitHub."""

    def mark_ready(self, number: int) -> None:
        self._change(number, lambda pull: replace(pull, draft=False))

    def close(self, number: int, reason: str) -> None:
        def shut(pull: PullRequest) -> PullRequest:
            return replace(pull, open=False, closed_by="local", body=_with_note(pull.body, reason))

        self._change(number, shut)

    def standing(self, pull: PullRequest) -> Standing:
        return Standing()

    def foreign_pull_requests(self, labels: Sequence[str]) -> list[Foreign]:
        return []

    def changed_files(self, number: int) -> list[ChangedFile]:
        return []

    def issue(self, number: int) -> Issue:
        raise PipelineError(f"issue {number} cannot be read without a token", hint="set GITHUB_TOKEN")

    def edit_issue(self, number: int, body: str) -> None:
        raise PipelineError(f"issue {number} cannot be edited without a token", hint="set GITHUB_TOKEN")

    def _url(self, number: int) -> str:
        """Relative to the manifest, into which it goes."""
        return str(self._path(number).relative_to(self.root))

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.md"

    def _follow(self, pull: PullRequest) -> PullRequest:
        """An open pull request follows its branch."""
        head = self._repository.ref(f"refs/heads/{pull.branch}")
        return replace(pull, commit=head) if pull.open and head else pull

    def _change(self, number: int, change: Callable[[PullRequest], PullRequest]) -> None:
        self._write(change(self._read(number)))

    def _read(self, number: int) -> PullRequest:
        path = self._path(number)
        try:
            _, header, body = path.read_text(encoding="utf-8").split("---\n", 2)
            about = yaml.safe_load(header)
            return PullRequest(
                number=number,
                url=self._url(number),
                open=about["state"] == "open",
                draft=bool(about["draft"]),
                title=str(about["title"]),
                body=body,
                branch=str(about["branch"]),
                commit=str(about["commit"]),
                author="local",
                created=datetime.fromisoformat(about["created"]),
                labels=tuple(about["labels"]),
                closed_by=str(about["closed_by"]),
            )
        except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
            raise UsageError("is not a pull request as `propose` writes it", path=str(path), hint="delete it") from None

    def _write(self, pull: PullRequest) -> None:
        about = {
            "title": pull.title,
            "branch": pull.branch,
            "commit": pull.commit,
            "state": "open" if pull.open else "closed",
            "draft": pull.draft,
            "labels": list(pull.labels),
            "created": pull.created.isoformat(),
            "closed_by": pull.closed_by,
        }
        header = yaml.safe_dump(about, sort_keys=False, allow_unicode=True, width=1000)
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._path(pull.number).with_suffix(".tmp")
        unfinished.write_text(f"---\n{header}---\n{pull.body}", encoding="utf-8")
        unfinished.replace(self._path(pull.number))


def _with_note(body: str, reason: str) -> str:
    return body if reason in body else f"{body.rstrip()}\n\n{reason}\n"
