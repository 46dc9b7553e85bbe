"""macos.yml on GitHub Actions: ask for a run, find it again, wait for it, bring its files here."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import github
import requests
from github.Artifact import Artifact
from github.Repository import Repository as GithubRepository
from github.WorkflowRun import WorkflowRun

from pipeline.errors import PipelineError
from pipeline.forge.clock import Clock
from pipeline.forge.errors import ForgeError, Uncertain
from pipeline.forge.session import Credentials, asking, connect
from pipeline.manifest import Manifest
from pipeline.runner.archive import BadArchive, Bounds, unpack
from pipeline.runner.build import Build, Level, Request, Verdict, parse_title
from pipeline.runner.read import Finished, Reading, read_run

WORKFLOW = "macos.yml"
RETRIES = 2  # of a run that infrastructure broke
_LOOK_BACK = 300  # newest runs in which a request is looked up
_PAUSES = (2.0, 8.0, 30.0)
_LONGEST = {Level.SHADER: 2 * 3600.0, Level.FULL: 8 * 3600.0}


@dataclass(frozen=True)
class Run:
    """A run on GitHub; `attempt` counts from 1, `minutes` is how long the last attempt has taken."""

    id: int
    title: str
    url: str
    done: bool
    conclusion: str
    attempt: int
    minutes: float


@dataclass(frozen=True)
class MacRunner:
    """Runs of `repository`'s macos.yml on its branch `ref`. `bounds` limits what is downloaded of a run."""

    client: github.Github
    credentials: Credentials = field(repr=False)
    repository: str
    clock: Clock
    ref: str = "main"
    bounds: Bounds = field(default_factory=Bounds)

    def build(self, request: Request, tell: Callable[[str], None] = lambda text: None) -> tuple[Build, Reading]:
        """The result for a request, from a run that is there or a new one; infrastructure failures are repeated.

        Killed and started again, it finds its run by the title. Raises PipelineError when the run does not end in time.
        """
        run = self.find(request) or self.dispatch(request)
        while True:
            tell(f"{request.title}: {run.url}")
            run = self.wait(run, request.level)
            reading = self.read(run)
            if reading.verdict is not Verdict.INFRASTRUCTURE or run.attempt > RETRIES:
                return as_build(request, run, reading), reading
            tell(f"{reading.summary}; trying again ({run.attempt} of {RETRIES})")
            run = self._again(run)

    def find(self, request: Request) -> Run | None:
        """The newest run of this request."""
        return next((run for run in self.runs() if run.title == request.title), None)

    def runs(self) -> list[Run]:
        """The newest runs, whatever they were for, newest first."""
        with asking(f"list the runs of {WORKFLOW} in {self.repository}"):
            found = self._repository.get_workflow(WORKFLOW).get_runs(event="workflow_dispatch")
            return [_as_run(run) for run in itertools.islice(found, _LOOK_BACK)]

    def newest_builds(self, commits: Collection[str]) -> dict[str, Build]:
        """Commit -> its newest full build, or else its newest shader build. Running ones are left out."""
        found: dict[str, Build] = {}
        for run in self.runs():
            asked = parse_title(run.title)
            known = found.get(asked.commit) if asked else None
            if asked is None or asked.commit not in commits or not run.done:
                continue
            if known is None or (known.level is Level.SHADER and asked.level is Level.FULL):
                found[asked.commit] = self._brief(asked, run)
        return found

    def _brief(self, request: Request, run: Run) -> Build:
        """A passed run is believed by its conclusion; any other has to be read to know whose fault it was."""
        if run.conclusion == "success":
            return Build(request.commit, request.level, Verdict.PASSED, run.url)
        return as_build(request, run, self.read(run))

    def dispatch(self, request: Request) -> Run:
        """A new run. The API returns its id; if the answer is lost, the run is found by its title instead."""
        inputs = {
            "commit": request.commit,
            "operators": "+".join(request.operators),
            "opinfo": " ".join(request.opinfo),
            "level": request.level.value,
        }
        for pause in (*_PAUSES, None):
            try:
                with asking(f"start {WORKFLOW} in {self.repository}"):
                    workflow = self._repository.get_workflow(WORKFLOW)
                    made = workflow.create_dispatch(self.ref, inputs, throw=True, return_run_details=True)
                    return self._run(made.id)
            except Uncertain:
                found = self.find(request)
                if found is not None:
                    return found
                if pause is None:
                    raise
                self.clock.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def wait(self, run: Run, level: Level) -> Run:
        """Until the run is complete: every 20 s at first, then less and less often up to every 5 minutes."""
        waited, pause = 0.0, 20.0
        while not run.done:
            if waited > _LONGEST[level]:
                text = f"{run.url} has not ended after {waited / 3600:.0f} h"
                raise PipelineError(text, hint="run again to go on waiting")
            self.clock.sleep(pause)
            waited, pause = waited + pause, min(pause * 1.3, 300.0)
            run = self._run(run.id)
        return run

    def read(self, run: Run) -> Reading:
        """Steps and files of a completed run, read."""
        with asking(f"read {run.url}"):
            found = self._repository.get_workflow_run(run.id)
            steps = {step.name: step.conclusion for job in found.jobs() for step in job.steps}
            artifacts = list(found.get_artifacts())
        files: dict[str, bytes] = {}
        try:
            for artifact in artifacts:
                files |= self._download(artifact)
        except (BadArchive, ForgeError) as error:
            return Reading(Verdict.INFRASTRUCTURE, f"its files cannot be read: {error}")
        return read_run(Finished(run.conclusion, steps, files))

    def _again(self, run: Run) -> Run:
        """Rerun, unless somebody did already: the attempt tells."""
        for pause in (*_PAUSES, None):
            now = self._run(run.id)
            if now.attempt > run.attempt:
                return now
            try:
                with asking(f"run {run.url} again"):
                    self._repository.get_workflow_run(run.id).rerun()
            except Uncertain:
                if pause is None:
                    raise
                self.clock.sleep(pause)
        return self._run(run.id)

    def _download(self, artifact: Artifact) -> dict[str, bytes]:
        if artifact.expired:
            raise BadArchive(f"artifact {artifact.name} has expired")
        if artifact.size_in_bytes > self.bounds.packed:
            raise BadArchive(f"artifact {artifact.name} has {artifact.size_in_bytes} bytes, too many")
        content = fetch_artifact(artifact.archive_download_url, self.credentials, self.bounds.packed)
        digest = artifact.digest
        if digest and digest != f"sha256:{hashlib.sha256(content).hexdigest()}":
            raise BadArchive(f"artifact {artifact.name} is not what was uploaded")
        return unpack(content, self.bounds)

    @property
    def _repository(self) -> GithubRepository:
        return self.client.get_repo(self.repository)

    def _run(self, number: int) -> Run:
        with asking(f"look at run {number} of {self.repository}"):
            return _as_run(self._repository.get_workflow_run(number))


def open_runner(manifest: Manifest, environment: Mapping[str, str], clock: Clock) -> MacRunner | None:
    """The runners of the manifest's `runner` repository, or of the one an action runs in; None without a token."""
    credentials = Credentials.from_environment(environment)
    repository = manifest.runner or environment.get("GITHUB_REPOSITORY", "")
    if credentials is None or not repository:
        return None
    return MacRunner(connect(credentials, clock), credentials, repository, clock)


def as_build(request: Request, run: Run, reading: Reading) -> Build:
    return Build(
        commit=request.commit,
        level=request.level,
        verdict=reading.verdict,
        link=run.url,
        summary=reading.summary,
        image=reading.machine.image,
        chip=reading.machine.chip,
        minutes=run.minutes,
    )


def fetch_artifact(url: str, credentials: Credentials, limit: int) -> bytes:
    """An artifact's bytes. GitHub answers with the address of a store elsewhere; the token is not sent there.

    Raises Uncertain when it cannot be had, BadArchive when more than `limit` bytes come.
    """
    if not url.startswith(credentials.api_url + "/"):
        raise BadArchive(f"{urlsplit(url).netloc} is not where artifacts are kept")
    with requests.Session() as session:
        session.trust_env = False  # no credentials from ~/.netrc either
        with asking("download an artifact"):
            head = {"Authorization": f"Bearer {credentials.token}"}
            answer = session.get(url, headers=head, allow_redirects=False, timeout=60)
        target = answer.headers.get("location", "")
        if answer.status_code != 302 or not target.startswith(_secure(credentials)):
            raise Uncertain(f"could not download an artifact: GitHub answered {answer.status_code}", hint="run again")
        with (
            asking("download an artifact"),
            session.get(target, stream=True, allow_redirects=False, timeout=60) as body,
        ):
            if body.status_code != 200:
                raise Uncertain(f"could not download an artifact: its store answered {body.status_code}")
            return b"".join(_bounded(body.iter_content(1 << 20), limit))


def _secure(credentials: Credentials) -> tuple[str, ...]:
    """https, or a server on this machine when GitHub's is one."""
    return ("https://",) if credentials.api_url.startswith("https://") else ("https://", "http://127.0.0.1:")


def _bounded(chunks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    for chunk in chunks:
        limit -= len(chunk)
        if limit < 0:
            raise BadArchive("an artifact is larger than its size says")
        yield chunk


def _as_run(run: WorkflowRun) -> Run:
    return Run(
        id=run.id,
        title=run.display_title,
        url=run.html_url,
        done=run.status == "completed",
        conclusion=run.conclusion or "",
        attempt=run.run_attempt or 1,
        minutes=(run.updated_at - (run.run_started_at or run.created_at)).total_seconds() / 60,
    )
