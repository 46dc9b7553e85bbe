"""The calls of GitHub's REST and GraphQL interface that the pipeline makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from githubkit_schemas.latest import models

from tests.github_stand_in import runners
from tests.github_stand_in.bodies import Bodies, filled
from tests.github_stand_in.world import Actor, ApiError, Artifact, Issue, Pull, Repo, Run, World, forbidden, invalid

REPO = "/repos/{owner}/{name}"


@dataclass(frozen=True)
class Call:
    """One request: who asks, the parts of the path, the query and the body."""

    world: World
    bodies: Bodies
    actor: Actor
    parts: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    @property
    def repo(self) -> Repo:
        return self.world.repo(f"{self.parts['owner']}/{self.parts['name']}")

    @property
    def issue(self) -> Issue:
        issue = self.repo.issues.get(int(self.parts["number"]))
        if issue is None:
            raise ApiError(404, "Not Found")
        return issue

    @property
    def pull(self) -> Pull:
        issue = self.issue
        if not isinstance(issue, Pull):
            raise ApiError(404, "Not Found")
        return issue

    @property
    def run(self) -> Run:
        found = next((run for run in self.repo.runs if run.id == int(self.parts["run"])), None)
        if found is None:
            raise ApiError(404, "Not Found")
        return found

    def need_write(self) -> None:
        if not self.world.may_write(self.actor, self.repo):
            raise forbidden()


@dataclass(frozen=True)
class Reply:
    """`shape` is the published model of the body; a list under `list_key` (or the body itself) is paged."""

    status: int
    body: Any
    shape: Any = None
    list_key: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Route:
    method: str
    pattern: re.Pattern[str]
    handler: Callable[[Call], Reply]
    request: Any


ROUTES: list[Route] = []
Handler = Callable[[Call], Reply]


def route(method: str, path: str, request: Any = None) -> Callable[[Handler], Handler]:
    """`{ref}` matches slashes, every other part does not."""
    parts = re.sub(r"\{(\w+)\}", lambda found: f"(?P<{found[1]}>{'.+' if found[1] == 'ref' else '[^/]+'})", path)

    def register(handler: Handler) -> Handler:
        ROUTES.append(Route(method, re.compile(f"^{parts}$"), handler, request))
        return handler

    return register


def find(method: str, path: str) -> tuple[Route, dict[str, str]]:
    for known in ROUTES:
        found = known.pattern.match(path) if known.method == method else None
        if found:
            return known, {key: unquote(value) for key, value in found.groupdict().items()}
    raise ApiError(404, "Not Found")


# Who and where


@route("GET", "/user")
def user(call: Call) -> Reply:
    if call.actor.integration:
        raise ApiError(403, "Resource not accessible by integration")
    return Reply(200, filled(models.PrivateUser, login=call.actor.login, type="User"), models.PrivateUser)


@route("GET", "/users/{login}")
def any_user(call: Call) -> Reply:
    return Reply(200, filled(models.PublicUser, login=call.parts["login"], type="User"), models.PublicUser)


@route("GET", "/rate_limit")
def rate_limit(call: Call) -> Reply:
    return Reply(200, filled(models.RateLimitOverview), models.RateLimitOverview)


@route("GET", REPO)
def repository(call: Call) -> Reply:
    return Reply(200, call.bodies.repo(call.repo), models.FullRepository)


@route("GET", REPO + "/git/ref/{ref}")
def git_ref(call: Call) -> Reply:
    ref = f"refs/{call.parts['ref']}"
    sha = call.repo.git.ref(ref)
    if sha is None:
        raise ApiError(404, "Not Found")
    body = filled(models.GitRef, ref=ref, object=filled(models.GitRefPropObject, type="commit", sha=sha))
    return Reply(200, body, models.GitRef)


# Pull requests


@route("POST", REPO + "/pulls", models.ReposOwnerRepoPullsPostBody)
def create_pull(call: Call) -> Reply:
    pull = call.world.open_pull(call.repo, call.actor, call.body)
    return Reply(201, call.bodies.pull(call.repo, pull), models.PullRequest)


@route("GET", REPO + "/pulls")
def list_pulls(call: Call) -> Reply:
    """`head` filters by "owner:branch"; state is "open" unless asked (docs.github.com/rest/pulls/pulls)."""
    state, head = call.query.get("state", "open"), call.query.get("head")
    found = []
    for pull in sorted(call.repo.pulls, key=lambda pull: -pull.number):
        call.world.refresh(call.repo, pull)
        label = f"{call.world.repos[pull.head_repo].owner}:{pull.head}"
        if state in ("all", pull.state) and head in (None, label):
            found.append(call.bodies.pull(call.repo, pull, full=False))
    return Reply(200, found, list[models.PullRequestSimple])


@route("GET", REPO + "/pulls/{number}")
def get_pull(call: Call) -> Reply:
    return Reply(200, call.bodies.pull(call.repo, call.pull), models.PullRequest)


@route("PATCH", REPO + "/pulls/{number}", models.ReposOwnerRepoPullsPullNumberPatchBody)
def edit_pull(call: Call) -> Reply:
    _edit(call, call.pull)
    return Reply(200, call.bodies.pull(call.repo, call.pull), models.PullRequest)


@route("GET", REPO + "/pulls/{number}/files")
def pull_files(call: Call) -> Reply:
    return Reply(200, call.bodies.files(call.repo, call.pull), list[models.DiffEntry])


@route("GET", REPO + "/pulls/{number}/reviews")
def reviews(call: Call) -> Reply:
    found = [call.bodies.review(index, *review) for index, review in enumerate(call.pull.reviews, 1)]
    return Reply(200, found, list[models.PullRequestReview])


@route("POST", REPO + "/pulls/{number}/requested_reviewers")
def request_reviewers(call: Call) -> Reply:
    """docs.github.com/rest/pulls/review-requests; 422 for a person who is no collaborator."""
    call.need_write()
    wanted = call.body.get("reviewers", [])
    if not set(wanted) <= call.repo.collaborators:
        raise ApiError(
            422,
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not "
            f"a collaborator of the {call.repo.full_name} repository.",
        )
    call.pull.reviewers += [login for login in wanted if login not in call.pull.reviewers]
    return Reply(201, call.bodies.pull(call.repo, call.pull, full=False), models.PullRequestSimple)


@route("POST", "/graphql")
def graphql(call: Call) -> Reply:
    """docs.github.com/graphql/reference/mutations#markpullrequestreadyforreview; REST has no way to do it."""
    if "markPullRequestReadyForReview" not in call.body["query"]:
        return Reply(200, {"errors": [{"type": "UNKNOWN", "message": "this mutation is not served"}]})
    wanted = call.body["variables"]["input"]["pullRequestId"]
    for repo in call.world.repos.values():
        for pull in repo.pulls:
            if f"PR_{pull.id}" == wanted:
                if call.actor.login != pull.user and not call.world.may_write(call.actor, repo):
                    return Reply(200, {"errors": [{"type": "FORBIDDEN", "message": "Resource not accessible"}]})
                pull.draft = False
                data = {"clientMutationId": None, "pullRequest": {"isDraft": False}}
                return Reply(200, {"data": {"markPullRequestReadyForReview": data}})
    return Reply(200, {"errors": [{"type": "NOT_FOUND", "message": f"Could not resolve to a node '{wanted}'"}]})


# Issues


@route("GET", REPO + "/issues")
def list_issues(call: Call) -> Reply:
    """Pull requests are among them; several labels all have to be there (docs.github.com/rest/issues/issues)."""
    state, creator = call.query.get("state", "open"), call.query.get("creator")
    labels = {label for label in call.query.get("labels", "").split(",") if label}
    found = []
    for issue in sorted(call.repo.issues.values(), key=lambda issue: -issue.number):
        if isinstance(issue, Pull):
            call.world.refresh(call.repo, issue)
        if state in ("all", issue.state) and creator in (None, issue.user) and labels <= set(issue.labels):
            found.append(call.bodies.issue(call.repo, issue))
    return Reply(200, found, list[models.Issue])


@route("GET", REPO + "/issues/{number}")
def get_issue(call: Call) -> Reply:
    if isinstance(call.issue, Pull):
        call.world.refresh(call.repo, call.issue)
    return Reply(200, call.bodies.issue(call.repo, call.issue), models.Issue)


@route("PATCH", REPO + "/issues/{number}", models.ReposOwnerRepoIssuesIssueNumberPatchBody)
def edit_issue(call: Call) -> Reply:
    _edit(call, call.issue)
    return Reply(200, call.bodies.issue(call.repo, call.issue), models.Issue)


def _edit(call: Call, issue: Issue) -> None:
    if call.actor.login != issue.user:
        call.need_write()
    if call.actor.reads_only:
        raise forbidden()
    issue.title = call.body.get("title", issue.title)
    issue.body = call.body.get("body", issue.body)
    state = call.body.get("state", issue.state)
    if state == "open" and issue.state == "closed" and isinstance(issue, Pull):
        head = call.world.repos[issue.head_repo].branch(issue.head)
        if head is None:
            raise invalid("PullRequest", code="invalid", field="state", message="state cannot be changed.")
    call.world.set_state(issue, state, call.actor.login)
    issue.updated = call.world.now


@route("POST", REPO + "/issues/{number}/labels")
def add_labels(call: Call) -> Reply:
    """Only with triage rights; a label that the repository lacks is created."""
    call.need_write()
    issue = call.issue
    wanted = call.body["labels"] if isinstance(call.body, dict) else call.body
    issue.labels += [name for name in wanted if name not in issue.labels]
    return Reply(200, [call.bodies.label(name) for name in issue.labels], list[models.Label])


@route("GET", REPO + "/issues/{number}/comments")
def comments(call: Call) -> Reply:
    found = [call.bodies.comment(call.repo, item) for item in call.repo.comments if item.issue == call.issue.number]
    return Reply(200, found, list[models.IssueComment])


@route("POST", REPO + "/issues/{number}/comments", models.ReposOwnerRepoIssuesIssueNumberCommentsPostBody)
def add_comment(call: Call) -> Reply:
    if call.actor.reads_only:
        raise forbidden()
    comment = call.world.add_comment(call.repo, call.issue, call.actor.login, call.body["body"])
    return Reply(201, call.bodies.comment(call.repo, comment), models.IssueComment)


# Checks


@route("GET", REPO + "/commits/{sha}/check-runs")
def check_runs(call: Call) -> Reply:
    found = [
        call.bodies.check(index, *check)
        for index, check in enumerate(call.repo.checks, 1)
        if check[0] == call.parts["sha"]
    ]
    shape = models.ReposOwnerRepoCommitsRefCheckRunsGetResponse200
    return Reply(200, {"total_count": len(found), "check_runs": found}, shape, "check_runs")


@route("GET", REPO + "/commits/{sha}")
def commit(call: Call) -> Reply:
    sha = call.repo.git.resolve(call.parts["sha"])
    return Reply(200, filled(models.Commit, sha=sha, url=call.bodies.api(call.repo, f"commits/{sha}")), models.Commit)


# Actions


@route("GET", REPO + "/actions/workflows/{workflow}")
def get_workflow(call: Call) -> Reply:
    name = call.parts["workflow"]
    title = str(runners.workflow(call.repo, name, call.repo.default)["name"])
    return Reply(200, call.bodies.workflow(call.repo, name, title), models.Workflow)


@route("PUT", REPO + "/actions/workflows/{workflow}/enable")
def enable_workflow(call: Call) -> Reply:
    call.need_write()
    call.repo.enabled.append(_workflow_name(call))
    return Reply(204, None)


def _workflow_name(call: Call) -> str:
    """Calls name a workflow by file or by number."""
    wanted = call.parts["workflow"]
    names = [path.rsplit("/", 1)[1] for path in call.repo.git.files(call.repo.default, ".github/workflows")]
    for name in names:
        if wanted in (name, str(call.bodies.workflow(call.repo, name, "")["id"])):
            return name
    raise ApiError(404, "Not Found")


@route(
    "POST",
    REPO + "/actions/workflows/{workflow}/dispatches",
    models.ReposOwnerRepoActionsWorkflowsWorkflowIdDispatchesPostBody,
)
def dispatch(call: Call) -> Reply:
    call.need_write()
    run = runners.dispatch(call.world, call.repo, _workflow_name(call), call.body["ref"], call.body.get("inputs", {}))
    if not call.body.get("return_run_details"):
        return Reply(204, None)
    about = call.bodies.run(call.repo, run)
    details = {"workflow_run_id": run.id, "run_url": about["url"], "html_url": about["html_url"]}
    return Reply(200, details, models.WorkflowDispatchResponse)


@route("GET", REPO + "/actions/workflows/{workflow}/runs")
def workflow_runs(call: Call) -> Reply:
    name = _workflow_name(call)
    found = [call.bodies.run(call.repo, run) for run in call.repo.runs if run.workflow == name]
    body = {"total_count": len(found), "workflow_runs": found}
    return Reply(200, body, models.ReposOwnerRepoActionsWorkflowsWorkflowIdRunsGetResponse200, "workflow_runs")


@route("GET", REPO + "/actions/runs/{run}")
def get_run(call: Call) -> Reply:
    return Reply(200, call.bodies.run(call.repo, call.run), models.WorkflowRun)


@route("GET", REPO + "/actions/runs/{run}/jobs")
def run_jobs(call: Call) -> Reply:
    body = {"total_count": 1, "jobs": [call.bodies.job(call.repo, call.run)]}
    return Reply(200, body, models.ReposOwnerRepoActionsRunsRunIdJobsGetResponse200, "jobs")


@route("POST", REPO + "/actions/runs/{run}/rerun")
def rerun(call: Call) -> Reply:
    call.need_write()
    run = call.run
    run.status, run.conclusion, run.steps, run.attempt = "queued", None, [], run.attempt + 1
    return Reply(201, {}, models.EmptyObject)


@route("GET", REPO + "/actions/runs/{run}/artifacts")
def run_artifacts(call: Call) -> Reply:
    found = [call.bodies.artifact(call.repo, item) for item in call.repo.artifacts if item.run == call.run.id]
    body = {"total_count": len(found), "artifacts": found}
    return Reply(200, body, models.ReposOwnerRepoActionsRunsRunIdArtifactsGetResponse200, "artifacts")


@route("GET", REPO + "/actions/artifacts/{artifact}/zip")
def artifact_archive(call: Call) -> Reply:
    """302 to another host with a signed address (docs.github.com/rest/actions/artifacts#download-an-artifact)."""
    artifact = find_artifact(call.repo, int(call.parts["artifact"]))
    if artifact.expired:
        raise ApiError(410, "Artifact has expired")
    blobs = call.world.blob_host
    return Reply(302, None, headers=(("location", f"{blobs}/{call.repo.full_name}/{artifact.id}?sig=once"),))


def find_artifact(repo: Repo, number: int) -> Artifact:
    found = next((item for item in repo.artifacts if item.id == number), None)
    if found is None:
        raise ApiError(404, "Not Found")
    return found
