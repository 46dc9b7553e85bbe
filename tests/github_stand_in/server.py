"""The HTTP side: tokens, rate limits, ETags, paging, faults on demand, and git's own protocol for pushes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from pipeline.git import GitError
from tests.github_stand_in.bodies import Bodies, page, violations
from tests.github_stand_in.routes import Call, Reply, find, find_artifact
from tests.github_stand_in.world import Actor, ApiError, World

DOCUMENTATION = "https://docs.github.com/rest"
LIMIT = 5000


@dataclass
class Fault:
    """Answer the next `times` calls of this method and path with `status`; `after` does the work first."""

    method: str
    path: str
    status: int
    message: str = "fault"
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    after: bool = False

    def takes(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method == method and re.search(self.path, path) is not None


@dataclass
class StandIn:
    """A running server. `broken` collects every departure from GitHub's description and every leaked token."""

    world: World
    base: str = ""
    faults: list[Fault] = field(default_factory=list)
    calls: list[tuple[str, str, int]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    remaining: int = LIMIT
    reset_in: int = 3600
    writes: int = 0
    unplug_at: int | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def unplugged(self) -> bool:
        return self.unplug_at is not None and self.writes >= self.unplug_at

    def plug_in(self) -> None:
        self.unplug_at = None

    def count_write(self) -> None:
        self.writes += 1

    def written(self) -> list[str]:
        """Every successful write so far, as "METHOD path"."""
        return [f"{method} {path}" for method, path, status in self.calls if method != "GET" and status < 400]


@contextmanager
def serve(root: Path) -> Iterator[StandIn]:
    """Serve an empty world whose repositories live under `root`; a second server plays the artifact store."""
    stand_in = StandIn(World(root))
    api, blobs = _listen(stand_in, _ApiHandler), _listen(stand_in, _BlobHandler)
    stand_in.base = f"http://localhost:{api.server_address[1]}"
    stand_in.world.blob_host = f"http://127.0.0.1:{blobs.server_address[1]}"
    try:
        yield stand_in
    finally:
        for server in (api, blobs):
            server.shutdown()
            server.server_close()


def _listen(stand_in: StandIn, handler: type[_Handler]) -> ThreadingHTTPServer:
    bound = type(handler.__name__, (handler,), {"stand_in": stand_in})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # 45 ms a call otherwise
    wbufsize = -1
    stand_in: StandIn

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def answer(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("content-length", str(len(content)))
        self.end_headers()
        if status not in (204, 304):
            self.wfile.write(content)

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def content(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        chunks = []
        while size := int(self.rfile.readline().strip(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def actor(self) -> Actor | None:
        """The token's owner: `Authorization: token|Bearer T`, or Basic with the token as password, as git sends it."""
        kind, _, secret = (self.headers.get("authorization") or "").partition(" ")
        if kind.lower() == "basic":
            secret = base64.b64decode(secret).decode().partition(":")[2]
        return self.stand_in.world.tokens.get(secret)

    def handle_call(self) -> None:
        raise NotImplementedError

    def handle_method(self) -> None:
        if self.stand_in.unplugged:
            return self.hang_up()
        return self.handle_call()


for _verb in ("GET", "POST", "PATCH", "PUT", "DELETE"):
    setattr(_Handler, f"do_{_verb}", _Handler.handle_method)  # the names that http.server looks up


class _BlobHandler(_Handler):
    """The store behind artifact redirects; it must never see a token."""

    def handle_call(self) -> None:
        if self.headers.get("authorization"):
            self.stand_in.broken.append(f"a token was sent to the artifact store: {self.path}")
        owner, name, number = urlsplit(self.path).path.strip("/").split("/")
        artifact = find_artifact(self.stand_in.world.repo(f"{owner}/{name}"), int(number))
        self.answer(200, artifact.archive, {"content-type": "application/zip"})


class _ApiHandler(_Handler):
    def handle_call(self) -> None:
        url = urlsplit(self.path)
        if ".git/" in url.path:
            return self._git(url)
        body = self.content()
        with self.stand_in.lock:
            return self._call(url, json.loads(body) if body else None)

    def _call(self, url: SplitResult, body: Any) -> None:
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        lost = next((fault for fault in self.stand_in.faults if fault.takes(self.command, url.path)), None)
        try:
            if lost:
                lost.times -= 1
            if lost and not lost.after:
                raise ApiError(lost.status, lost.message, headers=lost.headers)
            reply = self._perform(url.path, query, body)
            if self.command != "GET":
                self.stand_in.count_write()
                if self.stand_in.unplugged:
                    self.stand_in.calls.append((self.command, url.path, reply.status))
                    return self.hang_up()
            if lost:
                self.stand_in.calls.append((self.command, url.path, reply.status))
                raise ApiError(lost.status, lost.message, headers=lost.headers)
        except (ApiError, GitError) as error:
            reply = self._refusal(error)
        return self._send(url, query, reply)

    def _perform(self, path: str, query: Mapping[str, str], body: Any) -> Reply:
        if self.stand_in.remaining <= 0:
            raise ApiError(403, "API rate limit exceeded for user ID 1.")
        self.stand_in.remaining -= 1
        actor = self.actor()
        if actor is None:
            raise ApiError(401, "Bad credentials")
        route, parts = find(self.command, path)
        if route.request is not None:
            self._hold_against(route.request, body, f"{self.command} {path} request")
        world = self.stand_in.world
        return route.handler(Call(world, Bodies(world, self.stand_in.base), actor, parts, query, body))

    def _refusal(self, error: ApiError | GitError) -> Reply:
        if isinstance(error, GitError):
            error = ApiError(422, str(error))
        body: dict[str, Any] = {
            "message": error.message,
            "documentation_url": DOCUMENTATION,
            "status": str(error.status),
        }
        if error.errors:
            body["errors"] = error.errors
        return Reply(error.status, body, headers=tuple(error.headers.items()))

    def _send(self, url: SplitResult, query: Mapping[str, str], reply: Reply) -> None:
        headers = {"content-type": "application/json; charset=utf-8", **self._rate_headers(), **dict(reply.headers)}
        body = reply.body
        if reply.shape is not None:
            self._hold_against(reply.shape, body, f"{self.command} {url.path} response")
        items = body if isinstance(body, list) else body.get(reply.list_key) if reply.list_key else None
        if items is not None and self.command == "GET":
            shown, number, last = page(items, query)
            body = shown if isinstance(body, list) else {**body, str(reply.list_key): shown}
            if links := self._links(url, query, number, last):
                headers["link"] = links
        content = b"" if body is None else json.dumps(body).encode()
        status = reply.status
        if self.command == "GET" and status == 200:
            headers["etag"] = f'W/"{hashlib.sha256(content).hexdigest()}"'
            if self.headers.get("if-none-match") == headers["etag"]:
                status, content = 304, b""
                self.stand_in.remaining += 1  # a 304 does not count against the limit
        self.stand_in.calls.append((self.command, self.path, status))
        self.answer(status, content, headers)

    def _hold_against(self, shape: Any, body: object, where: str) -> None:
        self.stand_in.broken += [f"{where}: {violation}" for violation in violations(shape, body)]

    def _rate_headers(self) -> dict[str, str]:
        reset = int(time.time()) + self.stand_in.reset_in  # clients compare it with the real time
        return {
            "x-ratelimit-limit": str(LIMIT),
            "x-ratelimit-remaining": str(max(self.stand_in.remaining, 0)),
            "x-ratelimit-used": str(LIMIT - self.stand_in.remaining),
            "x-ratelimit-reset": str(reset),
            "x-ratelimit-resource": "core",
        }

    def _links(self, url: SplitResult, query: Mapping[str, str], number: int, last: int) -> str:
        def link(target: int, rel: str) -> str:
            pairs = "&".join(f"{key}={value}" for key, value in {**query, "page": str(target)}.items())
            return f'<{self.stand_in.base}{url.path}?{pairs}>; rel="{rel}"'

        back = [link(number - 1, "prev"), link(1, "first")] if number > 1 else []
        onward = [link(number + 1, "next"), link(last, "last")] if number < last else []
        return ", ".join(back + onward)

    def _git(self, url: SplitResult) -> None:
        """git http-backend; reading is free, pushing needs a token that may write there."""
        content = self.content()
        pushes = "git-receive-pack" in url.path or "git-receive-pack" in url.query
        if pushes and (refusal := self._refuse_push(url)):
            status, message = refusal
            headers = {"www-authenticate": 'Basic realm="GitHub"'} if status == 401 else {}
            return self.answer(status, message.encode(), headers)
        status, headers, answer = self._backend(url, content)
        if pushes and self.command == "POST":
            self.stand_in.count_write()
            self.stand_in.calls.append(("PUSH", url.path, status))
            if self.stand_in.unplugged:
                return self.hang_up()
        return self.answer(status, answer, headers)

    def _refuse_push(self, url: SplitResult) -> tuple[int, str] | None:
        actor = self.actor()
        name = url.path.strip("/").split(".git/")[0]
        if actor is None:
            return 401, "Authentication failed"
        repo = self.stand_in.world.repos.get(name)
        if repo is None:
            return 404, "Repository not found."
        if not self.stand_in.world.may_write(actor, repo):
            return 403, f"Permission to {name}.git denied to {actor.login}."
        return None

    def _backend(self, url: SplitResult, content: bytes) -> tuple[int, dict[str, str], bytes]:
        if self.headers.get("content-encoding") == "gzip":
            content = gzip.decompress(content)
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.stand_in.world.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(content)),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "REMOTE_USER": "somebody",
        }
        done = subprocess.run(["git", "http-backend"], input=content, env=environment, capture_output=True, check=False)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200").split()[0])
        return status, headers, answer
