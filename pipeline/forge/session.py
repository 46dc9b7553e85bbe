"""One authenticated connection to GitHub: the token, retries and pace, and errors in one line."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import requests
from github import Auth, Github, GithubException, GithubRetry
from github.Consts import API_VERSION_2026_03_10
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from pipeline.errors import UsageError
from pipeline.forge.clock import Clock, SystemClock
from pipeline.forge.errors import Forbidden, ForgeError, Invalid, RateLimited, Uncertain

SECONDS_BETWEEN_WRITES = 1.0  # docs.github.com "Best practices for using the REST API": pause between mutative requests
LONGEST_WAIT = 15 * 60.0
_SECONDARY_WAIT = 60.0  # the same page: at least a minute when no Retry-After is given
_RETRIES = 6

for _chatty in ("github", "urllib3.connectionpool"):
    logging.getLogger(_chatty).setLevel(logging.ERROR)  # both print every retry to stderr otherwise


@dataclass(frozen=True)
class Credentials:
    """A personal or app installation token, kept out of `repr`, and the servers it is for."""

    token: str = field(repr=False)
    api_url: str = "https://api.github.com"
    server_url: str = "https://github.com"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials | None:
        """From GITHUB_TOKEN, GITHUB_API_URL and GITHUB_SERVER_URL; None without a token."""
        token = environment.get("GITHUB_TOKEN", "").strip()
        if not token:
            return None
        if any(mark.isspace() for mark in token):
            raise UsageError("GITHUB_TOKEN holds white space", hint="set it to the token alone")
        found = cls(
            token,
            environment.get("GITHUB_API_URL") or cls.api_url,
            environment.get("GITHUB_SERVER_URL") or cls.server_url,
        )
        for url in (found.api_url, found.server_url):
            if not url.startswith(("https://", "http://localhost:", "http://127.0.0.1:")):
                raise UsageError(f"{url} would carry the token unencrypted", hint="use an https address")
        return found

    def clone_url(self, full_name: str) -> str:
        return f"{self.server_url}/{full_name}.git"


class Patience(GithubRetry):
    """PyGithub's retry, which also repeats PATCH, PUT, DELETE and 429, and never a POST whose answer was lost.

    A POST that GitHub refused for a rate limit (403, 429) did nothing and is repeated; after a 5xx or a dropped
    connection it may have worked, so the caller has to look first.
    """

    def __init__(self, clock: Clock | None = None, **options: Any) -> None:
        self.clock = clock or SystemClock()
        usual: dict[str, Any] = {
            "total": _RETRIES,
            "backoff_factor": 1.0,
            "allowed_methods": None,
            "status_forcelist": [429, *range(500, 600)],
            "secondary_rate_wait": _SECONDARY_WAIT,
            "max_rate_limit_wait": LONGEST_WAIT,
        }
        super().__init__(**(usual | options))

    def new(self, **options: Any) -> Self:
        return super().new(clock=self.clock, **options)

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        if method.upper() == "POST" and status_code >= 500:
            return False
        return super().is_retry(method, status_code, has_retry_after)

    def increment(self, method: str | None = None, url: str | None = None, *rest: Any, **named: Any) -> Any:
        error: Exception | None = named.get("error")
        never_sent = isinstance(error, NewConnectionError | ConnectTimeoutError)
        if error is not None and method == "POST" and not never_sent:
            raise error
        return super().increment(method, url, *rest, **named)

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        asked = self.get_retry_after(response) if response is not None and self.respect_retry_after_header else None
        unsaid = response is not None and response.status == 429
        wait = asked or max(self.get_backoff_time(), _SECONDARY_WAIT if unsaid else 0.0)
        if wait > LONGEST_WAIT:
            raise RateLimited(f"GitHub asks to wait {wait:.0f} s", hint="run again later; nothing is lost")
        if wait > 0:
            self.clock.sleep(wait)


def connect(credentials: Credentials, clock: Clock, pace: float = SECONDS_BETWEEN_WRITES) -> Github:
    """A PyGithub client; `pace` is the pause in seconds between two writes. No request is made yet."""
    return Github(
        auth=Auth.Token(credentials.token),
        base_url=credentials.api_url,
        retry=Patience(clock),
        seconds_between_requests=None,
        seconds_between_writes=pace or None,
        per_page=100,
        timeout=30,
        lazy=True,
        api_version=API_VERSION_2026_03_10,
    )


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Turn what PyGithub and requests raise into a ForgeError; `what` completes "GitHub: could not ..."."""
    try:
        yield
    except GithubException as error:
        raise _translate(what, error) from None
    except requests.exceptions.RetryError as error:
        reason = getattr(error.args[0], "reason", error) if error.args else error
        raise Uncertain(f"could not {what}: {reason}", hint="GitHub has a bad hour; run again later") from None
    except requests.RequestException as error:
        reason = type(error).__name__
        raise Uncertain(f"could not {what}: {reason}", hint="check the network, then run again") from None


def _translate(what: str, error: GithubException) -> ForgeError:
    said = _message(error)
    hints = {
        401: "the token is wrong or has expired; set GITHUB_TOKEN to a valid one",
        403: "give the token the right it lacks (docs/bot.md lists them)",
        404: "check the name, and that the token may see it",
    }
    text = f"could not {what}: GitHub answered {error.status} {said}".rstrip()
    hint = hints.get(error.status, "")
    if "rate limit" in said.lower():
        return RateLimited(text, hint="run again later; nothing is lost")
    if error.status >= 500:
        return Uncertain(text, hint="run again")
    kinds: dict[int, type[ForgeError]] = {403: Forbidden, 422: Invalid}
    return kinds.get(error.status, ForgeError)(text, hint=hint)


def _message(error: GithubException) -> str:
    data = error.data if isinstance(error.data, dict) else {}
    details = [str(item.get("message", "")) for item in data.get("errors", []) if isinstance(item, dict)]
    lines = [str(data.get("message", "")), *details]
    return "; ".join(" ".join(line.split())[:200] for line in lines if line)
