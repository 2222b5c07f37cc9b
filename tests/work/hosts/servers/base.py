"""What the servers of all hosts share. `lose`: how many of the next answers to what changes something get lost after it
was done."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from dulwich.graph import find_merge_base
from dulwich.objects import ObjectID
from dulwich.repo import Repo

from tests.outgoing.servers import Asked, Server, say
from tests.published.operations import Exchange
from tests.work.remotes import RemoteRepository

TOKEN = "planted-canary-host-token"
PATH = "acme/app"
Reply = tuple[int, Any]
Route = tuple[str, str, Callable[..., Reply]]


@dataclass
class FakeHost:
    """`requests`: as the host keeps them, whatever it calls them."""

    origin: RemoteRepository
    server: Server | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    # {(kind, number): texts}, and {commit: statuses}.
    comments: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    statuses: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    # {name: how it stands}, in the words of the host, and what it requires of the base branch.
    checks: dict[str, str] = field(default_factory=dict)
    requires: list[str] = field(default_factory=list)
    # Which of the checks are another service's, what was run again, and why it runs nothing again.
    foreign: list[str] = field(default_factory=list)
    reran: list[str] = field(default_factory=list)
    no_rerun: str = ""
    # Of the base branch: whether nobody pushes to it, whether its queue merges, and a rule that nothing meets yet.
    protected: bool = False
    queues: bool = False
    rule: str = ""
    waiting: list[int] = field(default_factory=list)
    # Called when a request came into the queue, before the host answers.
    on_queued: Callable[[], object] | None = None
    merged: int = 0
    # (branch, before, after, login) of pushes, in order.
    pushes: list[tuple[str, str, str, str]] = field(default_factory=list)
    no_activity: bool = False
    # What was asked and answered, to be held against what the host publishes
    exchanges: list[Exchange] = field(default_factory=list)
    # Of the token, as a header of GitHub says them; None: it says nothing.
    scopes: str | None = "repo"
    lose: int = 0
    busy: int = 0
    may_push: bool = True
    # Rows on one page at most, whatever is asked for; `whole`: the list that comes without pages.
    most = 100
    prefix = ""
    key = ""
    size = "per_page"
    whole = "\0"
    not_found: ClassVar[Any] = None
    unauthorized: ClassVar[Any] = None

    @property
    def page(self) -> str:
        assert self.server is not None
        return f"{self.server.url}/{PATH}"

    def asked(self, method: str) -> list[Asked]:
        assert self.server is not None
        return [each for each in self.server.asked if each.method == method]

    def routes(self) -> list[Route]:
        raise NotImplementedError

    def authorized(self, headers: Mapping[str, str], path: str) -> bool:
        return headers.get("authorization") == f"Bearer {TOKEN}"

    def merge(self, head: str, message: str, squash: bool, base: str = "main") -> str:
        """As git does where no two changed the same file. Only what is not merged yet is."""
        with closing(Repo(str(self.origin.path))) as repo:
            ends = [ObjectID(self.origin.head(base).encode()), ObjectID(head.encode())]
            fork = find_merge_base(repo, ends)[0].decode()
        before, ours = self.origin.files(fork), self.origin.files(head)
        mine = {path: data for path, data in ours.items() if before.get(path) != data}
        self.merged += 1
        files = {**self.origin.files(base), **mine}
        return self.origin.add(files, message, branch=base, merges="" if squash else head)

    def green(self, head: str, name: str, word: str = "success") -> bool:
        """Whether a check that is required passed: our own is a status of that commit."""
        if name == "gateline":
            return [each["state"] for each in self.statuses.get(head, [])][-1:] == [word]
        return self.checks.get(name) == word

    def queue(self, number: int) -> None:
        self.waiting.append(number)
        if self.on_queued is not None:
            self.on_queued()

    def land(self) -> None:
        """Its queue comes to what is in it."""
        for number in self.waiting:
            self.landed(number, self.merge(self.end(number), "Merge from the queue", False))
        self.waiting.clear()

    def end(self, number: int) -> str:
        raise NotImplementedError

    def landed(self, number: int, commit: str) -> None:
        raise NotImplementedError

    def answer(self, to: BaseHTTPRequestHandler, asked: Asked) -> None:
        url = urlsplit(asked.path)
        query = {key: values[-1] for key, values in parse_qs(url.query).items()}
        body = json.loads(asked.body) if asked.body else {}
        if self.busy:
            self.busy -= 1
            say(to, 503, b"<html>", retry_after="0")
            return
        if not self.authorized(asked.headers, url.path):
            _json(to, 401, self.unauthorized)
            return
        for method, pattern, route in self.routes():
            whole = pattern if pattern.startswith("/api/") else self.prefix + pattern
            found = re.fullmatch(whole, url.path)
            if found and method == asked.method:
                status, said = route(*(unquote(part) for part in found.groups()), query=query, body=body)
                # As it goes out: the rows change later
                said = json.loads(json.dumps(said))
                path, sent = url.path.removeprefix(self.prefix), body if asked.body else None
                self.exchanges.append(Exchange(asked.method, path, query, sent, status, said))
                if self.lose and method != "GET":
                    self.lose -= 1
                    to.close_connection = True
                    return
                _json(to, *self.paged(status, said, url.path, query))
                return
        _json(to, 404, self.not_found)

    def paged(
        self, status: int, said: Any, path: str, query: dict[str, str]
    ) -> tuple[int, Any, dict[str, str]]:
        """One page of a list, and by a link whether there is another. No page holds more than the host allows."""
        if not isinstance(said, list) or path.endswith(self.whole):
            return status, said, {} if self.scopes is None else {"x-oauth-scopes": self.scopes}
        size, page = min(int(query.get(self.size, 20)), self.most), int(query.get("page", 1))
        assert size <= 100
        more = len(said) > page * size
        next_one = f'<http://127.0.0.1/elsewhere?page={page + 1}>; rel="next", <http://x>; rel="last"'
        return status, said[(page - 1) * size : page * size], {"link": next_one} if more else {}


def _json(
    to: BaseHTTPRequestHandler, status: int, said: Any, headers: Mapping[str, str] | None = None
) -> None:
    say(
        to, status, json.dumps(said).encode(), content_type="application/json; charset=utf-8", **headers or {}
    )


def issue(number: int, label: str, **more: Any) -> dict[str, Any]:
    return {
        "number": number,
        "title": "Add a login",
        "body": "With two fields.",
        "html_url": f"https://host.example/{PATH}/issues/{number}",
        "labels": [{"name": "bug"}, {"name": label}],
        "assignees": [],
        "user": {"login": "rosa"},
        "updated_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **more,
    }
