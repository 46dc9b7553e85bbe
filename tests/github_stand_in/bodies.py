"""GitHub's shapes: a body is its published model filled with neutral values, then with what the world knows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import quote

from githubkit_schemas.latest import models
from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.github_stand_in.world import Artifact, Comment, Issue, Pull, Repo, Run, World

_NEUTRAL: dict[object, object] = {str: "", int: 0, float: 0.0, bool: False, datetime: "2026-01-01T00:00:00Z"}


def filled(model: type[BaseModel], **known: object) -> dict[str, Any]:
    """A body of `model`: required fields neutral unless `known`; a name that the model lacks is a mistake."""
    names = {info.alias or name for name, info in model.model_fields.items()}
    if strangers := set(known) - names:
        raise ValueError(f"{model.__name__} has no {sorted(strangers)}")
    body = {
        info.alias or name: _neutral(info.annotation) for name, info in model.model_fields.items() if info.is_required()
    }
    return body | known


def violations(shape: Any, body: object) -> list[str]:
    """Where a body differs from its published model."""
    try:
        _adapter(shape).validate_python(body)
    except ValidationError as error:
        return [f"{'/'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
    return []


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _neutral(annotation: Any) -> object:
    origin = get_origin(annotation)
    if annotation in _NEUTRAL:
        return _NEUTRAL[annotation]
    if origin is Annotated:
        return _neutral(get_args(annotation)[0])
    if origin is Literal:
        return get_args(annotation)[0]
    if origin in (Union, UnionType):
        arms = get_args(annotation)
        return None if NoneType in arms else _neutral(arms[0])
    if origin is list:
        return []
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return filled(annotation)
    return None if annotation in (Any, NoneType) else {}


class Bodies:
    """Bodies with links to one server."""

    def __init__(self, world: World, base: str) -> None:
        self.world, self.base = world, base

    def api(self, repo: Repo, path: str) -> str:
        return f"{self.base}/repos/{repo.full_name}/{path}"

    def user(self, login: str) -> dict[str, Any]:
        kind = "Bot" if login.endswith("[bot]") else "User"
        number = int(hashlib.sha256(login.encode()).hexdigest()[:6], 16)
        url = f"{self.base}/users/{quote(login)}"
        return filled(models.SimpleUser, login=login, id=number, type=kind, url=url)

    def repo(self, repo: Repo) -> dict[str, Any]:
        known: dict[str, object] = {
            "id": repo.id,
            "name": repo.full_name.split("/")[1],
            "full_name": repo.full_name,
            "owner": self.user(repo.owner),
            "default_branch": repo.default,
            "fork": repo.parent is not None,
            "url": f"{self.base}/repos/{repo.full_name}",
            "clone_url": f"{self.base}/{repo.full_name}.git",
        }
        if repo.parent:
            parent = self.world.repos[repo.parent]
            known["parent"] = filled(models.Repository, id=parent.id, full_name=parent.full_name)
        return filled(models.FullRepository, **known)

    def _repo_of_end(self, repo: Repo) -> dict[str, Any]:
        return filled(models.Repository, id=repo.id, full_name=repo.full_name, owner=self.user(repo.owner))

    def pull(self, repo: Repo, pull: Pull, full: bool = True) -> dict[str, Any]:
        self.world.refresh(repo, pull)
        known: dict[str, object] = {
            "id": pull.id,
            "node_id": f"PR_{pull.id}",
            "number": pull.number,
            "url": self.api(repo, f"pulls/{pull.number}"),
            "issue_url": self.api(repo, f"issues/{pull.number}"),
            "html_url": f"{self.base}/{repo.full_name}/pull/{pull.number}",
            "state": pull.state,
            "title": pull.title,
            "body": pull.body,
            "user": self.user(pull.user),
            "draft": pull.draft,
            "labels": [filled(models.PullRequestPropLabelsItems, name=name) for name in pull.labels],
            "requested_reviewers": [self.user(login) for login in pull.reviewers],
            "head": self._end(self.world.repos[pull.head_repo], pull.head, pull.sha),
            "base": self._end(repo, pull.base, repo.branch(pull.base) or ""),
            "_links": filled(models.PullRequestPropLinks),
            **self._times(pull),
        }
        if not full:
            known["labels"] = [filled(models.PullRequestSimplePropLabelsItems, name=name) for name in pull.labels]
            known["_links"] = filled(models.PullRequestSimplePropLinks)
            return filled(models.PullRequestSimple, **known)
        mergeable = self.world.mergeable(repo, pull) if pull.state == "open" else None
        states = {None: "unknown", False: "dirty", True: "draft" if pull.draft else "clean"}
        return filled(models.PullRequest, **known, merged=False, mergeable=mergeable, mergeable_state=states[mergeable])

    def _end(self, repo: Repo, branch: str, sha: str) -> dict[str, Any]:
        return {
            "label": f"{repo.owner}:{branch}",
            "ref": branch,
            "sha": sha,
            "user": self.user(repo.owner),
            "repo": self._repo_of_end(repo),
        }

    def _times(self, issue: Issue) -> dict[str, object]:
        return {
            "created_at": stamp(issue.at),
            "updated_at": stamp(issue.updated or issue.at),
            "closed_at": stamp(issue.closed_at) if issue.closed_at else None,
        }

    def issue(self, repo: Repo, issue: Issue) -> dict[str, Any]:
        url = self.api(repo, f"issues/{issue.number}")
        known: dict[str, object] = {
            "id": issue.number,
            "number": issue.number,
            "url": url,
            "html_url": f"{self.base}/{repo.full_name}/issues/{issue.number}",
            "state": issue.state,
            "title": issue.title,
            "body": issue.body,
            "user": self.user(issue.user) if issue.user not in self.world.ghosts else None,
            "closed_by": self.user(issue.closed_by) if issue.closed_by else None,
            "labels": [filled(models.IssuePropLabelsItemsOneof1, name=name) for name in issue.labels],
            **self._times(issue),
        }
        if isinstance(issue, Pull):
            pull_url = self.api(repo, f"pulls/{issue.number}")
            known["pull_request"] = filled(
                models.IssuePropPullRequest,
                url=pull_url,
                html_url=f"{self.base}/{repo.full_name}/pull/{issue.number}",
            )
        return filled(models.Issue, **known)

    def label(self, name: str) -> dict[str, Any]:
        return filled(models.Label, name=name)

    def comment(self, repo: Repo, comment: Comment) -> dict[str, Any]:
        return filled(
            models.IssueComment,
            id=comment.id,
            url=self.api(repo, f"issues/comments/{comment.id}"),
            body=comment.body,
            user=self.user(comment.user),
            created_at=stamp(comment.at),
            updated_at=stamp(comment.at),
        )

    def review(self, index: int, login: str, state: str, body: str) -> dict[str, Any]:
        user = self.user(login) if login not in self.world.ghosts else None
        return filled(models.PullRequestReview, id=index, user=user, state=state, body=body)

    def check(self, index: int, sha: str, name: str, status: str, conclusion: str | None) -> dict[str, Any]:
        suite = filled(models.CheckRunPropCheckSuite, id=1)
        return filled(
            models.CheckRun,
            id=index,
            head_sha=sha,
            name=name,
            status=status,
            conclusion=conclusion,
            check_suite=suite,
        )

    def files(self, repo: Repo, pull: Pull) -> list[dict[str, Any]]:
        """docs.github.com/rest/pulls/pulls#list-pull-requests-files: `patch` holds the hunks alone."""
        self.world.refresh(repo, pull)
        scope = f"refs/heads/{pull.base}...{pull.sha}"
        kinds = {"A": "added", "D": "removed", "M": "modified"}
        listing = repo.git.run("diff", "--name-status", "--no-renames", scope).decode().splitlines()
        found = []
        for line in listing:
            kind, path = line.split("\t")
            text = repo.git.run("diff", "--no-renames", scope, "--", path).decode(errors="replace")
            patch = text[text.index("@@ ") :] if "@@ " in text else None
            lines = (patch or "").splitlines()
            added, removed = (sum(item.startswith(sign) for item in lines) for sign in "+-")
            entry = filled(
                models.DiffEntry,
                filename=path,
                status=kinds[kind],
                additions=added,
                deletions=removed,
                changes=added + removed,
            )
            found.append(entry | ({"patch": patch} if patch else {}))
        return found

    def workflow(self, repo: Repo, name: str, title: str) -> dict[str, Any]:
        number = int(hashlib.sha256(name.encode()).hexdigest()[:6], 16)
        url = self.api(repo, f"actions/workflows/{number}")
        return filled(models.Workflow, id=number, name=title, path=f".github/workflows/{name}", url=url, state="active")

    def run(self, repo: Repo, run: Run) -> dict[str, Any]:
        url = self.api(repo, f"actions/runs/{run.id}")
        links = {key: f"{url}/{key.removesuffix('_url')}" for key in ("jobs_url", "artifacts_url", "rerun_url")}
        return filled(
            models.WorkflowRun,
            id=run.id,
            run_number=run.number,
            run_attempt=run.attempt,
            name=run.workflow,
            display_title=run.title,
            path=f".github/workflows/{run.workflow}",
            head_branch=run.ref,
            head_sha=run.sha,
            event="workflow_dispatch",
            status=run.status,
            conclusion=run.conclusion,
            url=url,
            html_url=f"{self.base}/{repo.full_name}/actions/runs/{run.id}",
            created_at=stamp(run.at),
            updated_at=stamp(run.ended or run.at),
            run_started_at=stamp(run.at),
            **links,
        )

    def job(self, repo: Repo, run: Run) -> dict[str, Any]:
        steps = [
            filled(models.JobPropStepsItems, name=name, number=index, status="completed", conclusion=conclusion)
            for index, (name, conclusion) in enumerate(run.steps, 1)
        ]
        return filled(
            models.Job,
            id=run.id + 1,
            run_id=run.id,
            name="macos",
            head_sha=run.sha,
            status=run.status,
            conclusion=run.conclusion,
            steps=steps,
            labels=["macos-15"],
        )

    def artifact(self, repo: Repo, artifact: Artifact) -> dict[str, Any]:
        url = self.api(repo, f"actions/artifacts/{artifact.id}")
        return filled(
            models.Artifact,
            id=artifact.id,
            name=artifact.name,
            size_in_bytes=len(artifact.archive),
            url=url,
            archive_download_url=f"{url}/zip",
            expired=artifact.expired,
            digest=f"sha256:{hashlib.sha256(artifact.archive).hexdigest()}",
        )


def page(items: Sequence[object], query: Mapping[str, str]) -> tuple[list[object], int, int]:
    """(the items of the page asked for, its number, the last page); docs.github.com: 30 a page, 100 at most."""
    size = min(int(query.get("per_page", 30)), 100)
    number = int(query.get("page", 1))
    last = max(1, -(-len(items) // size))
    return list(items[(number - 1) * size : number * size]), number, last


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
