"""A host of git on a loopback address: smart HTTP of bare repositories, and Git LFS beside it, over TLS."""

from __future__ import annotations

import base64
import io
import json
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from dulwich.errors import NotGitRepository
from dulwich.repo import Repo
from dulwich.server import DEFAULT_HANDLERS, Backend, UploadPackHandler
from dulwich.web import make_wsgi_chain

TYPE = "application/vnd.git-lfs+json"
Start = Callable[..., Any]


@dataclass
class Call:
    method: str
    path: str
    authorization: str
    headers: dict[str, str]


@dataclass
class GitHost:
    """`token`: what a call has to bring along, "" nothing. `objects`: {oid: content} of LFS. `mend` changes an answer
    of the batch API before it is sent."""

    root: Path
    token: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    mend: Callable[[dict[str, Any]], Any] = field(default=lambda answer: answer)
    contents: Callable[[str], Iterable[bytes]] | None = None
    port: int = 0

    def url(self, name: str) -> str:
        return f"https://localhost:{self.port}/{name}"

    def lfs_calls(self) -> list[Call]:
        return [call for call in self.calls if "/info/lfs" in call.path]

    # As WSGI

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        authorization = environ.get("HTTP_AUTHORIZATION", "")
        headers = {name[5:].lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
        self.calls.append(Call(method, path, authorization, headers))
        if self.token and not self._may(authorization):
            return answer(start, "401 Unauthorized", b"")
        if "/info/lfs/" in path:
            return self._lfs(method, path, environ, start)
        return make_wsgi_chain(Repositories(self.root), handlers=HANDLERS)(environ, start)

    def _may(self, authorization: str) -> bool:
        given = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")[2]
        return given == self.token

    def _lfs(self, method: str, path: str, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        oid = path.rpartition("/")[2]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if path.endswith("/objects/batch"):
            said = json.loads(body)
            return answer(start, "200 OK", json.dumps(self.mend(self._batch(said, path))).encode(), TYPE)
        if method == "PUT":
            if sha256(body).hexdigest() != oid:
                return answer(start, "422 Unprocessable", b"")
            self.objects[oid] = body
            return answer(start, "200 OK", b"")
        if path.endswith("/verify"):
            return answer(
                start, "200 OK" if json.loads(body)["oid"] in self.objects else "404 Not Found", b""
            )
        if self.contents is not None:
            start("200 OK", [])
            return self.contents(oid)
        if oid not in self.objects:
            return answer(start, "404 Not Found", b"")
        return answer(start, "200 OK", self.objects[oid])

    def _batch(self, said: dict[str, Any], path: str) -> dict[str, Any]:
        base = f"https://localhost:{self.port}{path.removesuffix('/batch')}"
        entries = []
        for one in said["objects"]:
            oid, entry = one["oid"], dict(one)
            there = oid in self.objects
            if said["operation"] == "upload" and not there:
                verify = {"href": f"{base}/verify"}
                entry["actions"] = {"upload": {"href": f"{base}/{oid}"}, "verify": verify}
            if said["operation"] == "download" and there:
                entry["actions"] = {"download": {"href": f"{base}/{oid}"}}
            if said["operation"] == "download" and not there:
                entry["error"] = {"code": 404, "message": "Object does not exist"}
            entries.append(entry)
        return {"transfer": "basic", "objects": entries}


class TakingAnyClient(UploadPackHandler):
    @classmethod
    def required_capabilities(cls) -> list[bytes]:
        """Thin packs, which dulwich wants of a client, are no must in git."""
        return []


HANDLERS = {**DEFAULT_HANDLERS, b"git-upload-pack": TakingAnyClient}


class Repositories(Backend):
    def __init__(self, root: Path) -> None:
        self._root = root

    def open_repository(self, path: Any) -> Any:
        name = (path if isinstance(path, str) else path.decode()).strip("/")
        place = self._root / name
        if not place.is_dir() or ".." in name:
            raise NotGitRepository(name)
        return Repo(str(place))


def answer(start: Start, status: str, body: bytes, kind: str = "application/octet-stream") -> Iterable[bytes]:
    start(status, [("content-type", kind), ("content-length", str(len(body)))])
    return io.BytesIO(body)


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002


class Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is no news."""


@contextmanager
def git_host(root: Path, by: ssl.SSLContext, token: str = "") -> Iterator[GitHost]:
    host = GitHost(root, token)
    server = make_server("127.0.0.1", 0, host, Threaded, Quiet)
    server.socket = by.wrap_socket(server.socket, server_side=True)
    host.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
