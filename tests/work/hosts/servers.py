"""Servers that behave as the hosts' documentation says, as far as Gateline asks them: a real server each, over the bare
repository of the test. `lose`: how many of the next answers to what changes something get lost after it was done."""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from django.utils import timezone

from pipelines.work.hosts.host import of_fork
from tests.outgoing.servers import Asked, Server, say, serving
from tests.work.remotes import RemoteRepository

ENDS = ("success", "failure", "neutral", "skipped", "cancelled", "timed_out", "action_required", "stale")
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
            found = re.fullmatch(self.prefix + pattern, url.path)
            if found and method == asked.method:
                status, said = route(*(unquote(part) for part in found.groups()), query=query, body=body)
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
            return status, said, {}
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


class GitHubServer(FakeHost):
    prefix, key = "/api/v3", "github"
    not_found = {
        "message": "Not Found",
        "documentation_url": "https://docs.github.com/rest",
        "status": "404",
    }
    unauthorized = {**not_found, "message": "Bad credentials", "status": "401"}

    def routes(self) -> list[Route]:
        repo = f"/repos/{PATH}"
        return [
            ("GET", repo, lambda query, body: (200, {"permissions": {"push": self.may_push}})),
            ("GET", rf"{repo}/issues/(\d+)/comments", self.commented),
            ("POST", rf"{repo}/issues/(\d+)/comments", self.comment),
            ("POST", rf"{repo}/statuses/([0-9a-f]{{40}})", self.status),
            ("GET", rf"{repo}/commits/([0-9a-f]{{40}})/check-runs", self.runs),
            ("GET", rf"{repo}/commits/([0-9a-f]{{40}})/status", self.combined),
            ("GET", rf"{repo}/rules/branches/main", lambda query, body: (200, self.rules())),
            ("GET", rf"{repo}/branches/main", lambda query, body: (200, {"name": "main", "protection": {}})),
            ("GET", f"{repo}/pulls", self.listed),
            ("POST", f"{repo}/pulls", self.opened),
            ("PATCH", rf"{repo}/pulls/(\d+)", self.patched),
        ]

    def runs(self, commit: str, query: dict[str, str], body: Any) -> Reply:
        """Of apps: names without a slash. What has no conclusion is still in progress."""
        assert query["filter"] == "latest"
        ours = {name: said for name, said in self.checks.items() if "/" not in name}
        found = [
            {
                "name": name,
                "status": "completed" if said in ENDS else "in_progress",
                "html_url": "https://x/1",
            }
            | {"conclusion": said if said in ENDS else None}
            for name, said in ours.items()
        ]
        return 200, {"total_count": len(found), "check_runs": found}

    def combined(self, commit: str, query: dict[str, str], body: Any) -> Reply:
        found = [{"context": name, "state": said} for name, said in self.checks.items() if "/" in name]
        found += [{"context": "gateline", "state": "pending"}]
        return 200, {"state": "pending", "statuses": found, "total_count": len(found)}

    def rules(self) -> list[Any]:
        named = [{"context": each} for each in self.requires]
        rule = {"type": "required_status_checks", "parameters": {"required_status_checks": named}}
        return [{"type": "deletion"}, rule] if named else []

    def listed(self, query: dict[str, str], body: Any) -> Reply:
        """The latest first; forks of the same owner count, too."""
        owner, _, head = query["head"].partition(":")
        assert owner == "acme" and query["state"] == "all"
        return 200, [
            each
            for each in reversed(self.requests)
            if (each["head"]["ref"], each["base"]["ref"]) == (head, query["base"])
        ]

    def opened(self, query: Any, body: dict[str, str]) -> Reply:
        head, base = body["head"], body["base"]
        fault = {"resource": "PullRequest", "field": "head", "code": "invalid"}
        if not self.origin.head(head):
            return self.invalid(fault)
        if self.origin.head(head) == self.origin.head(base):
            fault = {
                "resource": "PullRequest",
                "code": "custom",
                "message": f"No commits between {base} and {head}",
            }
            return self.invalid(fault)
        if any(
            each["state"] == "open" and (each["head"]["ref"], each["base"]["ref"]) == (head, base)
            for each in self.requests
            if not of_fork(each)
        ):
            said = f"A pull request already exists for acme:{head}."
            return self.invalid({"resource": "PullRequest", "code": "custom", "message": said})
        number = len(self.requests) + 1
        made = {
            "number": number,
            "state": "open",
            "title": body["title"],
            "body": body["body"],
            "html_url": f"{self.page}/pull/{number}",
            "merged_at": None,
            "head": {
                "label": self.label(head),
                "ref": head,
                "sha": self.origin.head(head),
                "repo": {"id": 5},
            },
            "base": {"label": self.label(base), "ref": base, "repo": {"id": 5}},
        }
        self.requests.append(made)
        return 201, made

    def invalid(self, fault: dict[str, str]) -> Reply:
        return 422, {**self.not_found, "message": "Validation Failed", "errors": [fault], "status": "422"}

    @staticmethod
    def label(branch: str) -> str:
        return f"acme:{branch}"

    def fork(self, head: str, base: str, body: str) -> None:
        """Somebody proposes a branch of the same name from a repository of theirs."""
        made = {
            "number": len(self.requests) + 1,
            "state": "open",
            "title": "Mine",
            "body": body,
            "merged_at": None,
        }
        made |= {"html_url": f"{self.page}/pull/{made['number']}", "merged": False}
        made |= {"head": {"label": self.label(head), "ref": head, "repo": {"id": 6}}}
        self.requests.append(made | {"base": {"label": self.label(base), "ref": base, "repo": {"id": 5}}})

    def commented(self, number: str, query: dict[str, str], body: Any) -> Reply:
        assert re.fullmatch(r"[\d-]+T[\d:]+Z", query["since"])
        return 200, [{"body": each} for each in self.comments.get(("issue", int(number)), [])]

    def comment(self, number: str, query: Any, body: dict[str, str]) -> Reply:
        self.comments.setdefault(("issue", int(number)), []).append(body["body"])
        return 201, body

    def status(self, commit: str, query: Any, body: dict[str, str]) -> Reply:
        assert body["state"] in ("error", "failure", "pending", "success") and body["context"] == "gateline"
        self.statuses.setdefault(commit, []).append(body)
        return 201, body

    def patched(self, number: str, query: Any, body: dict[str, str]) -> Reply:
        found = self.requests[int(number) - 1]
        found.update(body)
        return 200, found

    def hook(self, secret: str, said: Any, event: str = "issues") -> tuple[bytes, dict[str, str]]:
        body = json.dumps(said).encode()
        made = hmac.new(secret.encode(), body, "sha256").hexdigest()
        return body, {"x-github-event": event, "x-hub-signature-256": f"sha256={made}"}

    def labelled(self, label: str, number: int = 7, **more: Any) -> Any:
        """What it sends when an issue gets a label."""
        return {
            "action": "labeled",
            "label": {"name": label},
            "issue": issue(number, label, **more),
            "repository": {"full_name": PATH},
            "sender": {"login": "rosa"},
        }

    push_event = "push"

    def push(self, branch: str, commit: str) -> Any:
        """What it sends when a branch is pushed."""
        who = {"name": "Rosa", "email": "rosa@example.com", "username": "rosa"}
        return {
            "ref": f"refs/heads/{branch}",
            "before": "0" * 40,
            "after": commit,
            "commits": [{"id": commit, "message": "By hand", "author": who, "committer": who}],
            "repository": {"full_name": PATH},
            "pusher": {"name": "rosa", "login": "rosa", "email": "rosa@example.com"},
            "sender": {"login": "rosa"},
        }

    def close(self, number: int, *, merged: bool = False) -> None:
        self.requests[number - 1] |= {
            "state": "closed",
            "merged_at": "2026-01-01T00:00:00Z" if merged else None,
        }

    def text(self, number: int) -> str:
        return str(self.requests[number - 1]["body"])

    def write(self, number: int, text: str) -> None:
        self.requests[number - 1]["body"] = text


class GitLabServer(FakeHost):
    prefix, key = "/api/v4", "gitlab"
    not_found = {"message": "404 Project Not Found"}
    unauthorized = {"message": "401 Unauthorized"}

    def routes(self) -> list[Route]:
        project = "/projects/acme%2Fapp"
        level = {"project_access": {"access_level": 30 if self.may_push else 20}, "group_access": None}
        return [
            ("GET", project, lambda query, body: (200, {"permissions": level})),
            ("GET", f"{project}/merge_requests", self.listed),
            ("POST", f"{project}/merge_requests", self.opened),
            ("PUT", rf"{project}/merge_requests/(\d+)", self.put),
            ("GET", rf"{project}/(issues|merge_requests)/(\d+)/notes", self.notes),
            ("POST", rf"{project}/(issues|merge_requests)/(\d+)/notes", self.note),
            ("POST", rf"{project}/statuses/([0-9a-f]{{40}})", self.status),
            ("GET", rf"{project}/repository/commits/([0-9a-f]{{40}})/statuses", self.jobs),
            ("GET", f"{project}/pipelines", self.pipelines),
        ]

    def jobs(self, commit: str, query: dict[str, str], body: Any) -> Reply:
        ours = {name: said for name, said in self.checks.items() if name != "pipeline"}
        return 200, [{"name": name, "status": said, "allow_failure": False} for name, said in ours.items()]

    def pipelines(self, query: dict[str, str], body: Any) -> Reply:
        assert len(query["sha"]) == 40 and (query["order_by"], query["sort"]) == ("id", "desc")
        older = [{"id": 1, "status": "failed"}]
        return 200, [
            {"id": 2, "status": self.checks["pipeline"]},
            *older,
        ] if "pipeline" in self.checks else []

    def listed(self, query: dict[str, str], body: Any) -> Reply:
        assert query["state"] == "all"
        wanted = query["source_branch"], query["target_branch"]
        return 200, [
            each
            for each in reversed(self.requests)
            if (each["source_branch"], each["target_branch"]) == wanted
        ]

    def fork(self, head: str, base: str, body: str) -> None:
        made = {"iid": len(self.requests) + 1, "state": "opened", "title": "Mine", "description": body}
        made |= {"source_branch": head, "target_branch": base, "source_project_id": 6, "target_project_id": 5}
        self.requests.append(made | {"web_url": f"{self.page}/-/merge_requests/{made['iid']}"})

    def opened(self, query: Any, body: dict[str, str]) -> Reply:
        source, target = body["source_branch"], body["target_branch"]
        for each in self.requests:
            pair = each["source_branch"], each["target_branch"]
            if each["state"] == "opened" and pair == (source, target) and each["source_project_id"] == 5:
                said = f"Another open merge request already exists for this source branch: !{each['iid']}"
                return 409, {"message": [said]}
        if not self.origin.head(source):
            return 400, {"message": {"base": ["Source branch does not exist"]}}
        number = len(self.requests) + 1
        made = {
            "iid": number,
            "state": "opened",
            "title": body["title"],
            "description": body["description"],
            "web_url": f"{self.page}/-/merge_requests/{number}",
            "source_branch": source,
            "target_branch": target,
            "source_project_id": 5,
            "target_project_id": 5,
            "sha": self.origin.head(source),
        }
        self.requests.append(made)
        return 201, made

    def notes(self, kind: str, number: str, query: dict[str, str], body: Any) -> Reply:
        assert query["sort"] == "desc"
        named = "issue" if kind == "issues" else "request"
        return 200, [{"body": each} for each in reversed(self.comments.get((named, int(number)), []))]

    def note(self, kind: str, number: str, query: Any, body: dict[str, str]) -> Reply:
        named = "issue" if kind == "issues" else "request"
        self.comments.setdefault((named, int(number)), []).append(body["body"])
        return 201, body

    def status(self, commit: str, query: Any, body: dict[str, str]) -> Reply:
        assert body["state"] in ("pending", "running", "success", "failed", "canceled")
        """What has ended is followed by a new one; what is pending cannot become pending again."""
        assert len(body.get("target_url", "")) <= 255
        before = self.statuses.setdefault(commit, [])
        if before and before[-1]["state"] == body["state"] == "pending":
            why = 'Reason(s): Status cannot transition via "enqueue"'
            return 400, {"message": f"Cannot transition status via :enqueue from :pending ({why})"}
        before.append(body)
        return 201, body

    def hook(self, secret: str, said: Any, event: str = "Issue Hook") -> tuple[bytes, dict[str, str]]:
        """By a signing token, as Standard Webhooks say."""
        body, at, named = json.dumps(said).encode(), str(int(timezone.now().timestamp())), "d-1"
        key = base64.b64decode(secret.removeprefix("whsec_"))
        made = hmac.new(key, f"{named}.{at}.".encode() + body, "sha256").digest()
        signed = {"webhook-id": named, "webhook-timestamp": at, "x-gitlab-event": event}
        return body, {**signed, "webhook-signature": f"v1,{base64.b64encode(made).decode()}"}

    push_event = "Push Hook"

    def push(self, branch: str, commit: str) -> Any:
        author = {"name": "Rosa", "email": "rosa@example.com"}
        return {
            "object_kind": "push",
            "ref": f"refs/heads/{branch}",
            "after": commit,
            "user_username": "rosa",
            "user_email": "",
            "project": {"path_with_namespace": PATH},
            "commits": [{"id": commit, "message": "By hand", "author": author}],
        }

    def labelled(self, label: str, number: int = 7, **more: Any) -> Any:
        found = issue(number, label, **more)
        return {
            "object_kind": "issue",
            "user": {"username": "rosa"},
            "project": {"path_with_namespace": PATH},
            "object_attributes": {
                "iid": number,
                "title": found["title"],
                "description": found["body"],
                "url": found["html_url"],
                "action": "update",
                "updated_at": found["updated_at"].replace("T", " ").replace("Z", " UTC"),
            },
            "changes": {
                "labels": {"previous": [{"title": "bug"}], "current": [{"title": "bug"}, {"title": label}]}
            },
        }

    def put(self, number: str, query: Any, body: dict[str, str]) -> Reply:
        found = self.requests[int(number) - 1]
        found.update(body)
        return 200, found

    def close(self, number: int, *, merged: bool = False) -> None:
        self.requests[number - 1]["state"] = "merged" if merged else "closed"

    def text(self, number: int) -> str:
        return str(self.requests[number - 1]["description"])

    def write(self, number: int, text: str) -> None:
        self.requests[number - 1]["description"] = text


class GiteaServer(GitHubServer):
    """Like GitHub's, but for what it lists, what it says to a second one, and its addresses."""

    prefix, key, size, whole = "/api/v1", "gitea", "limit", "/comments"
    most = 50
    not_found = {
        "errors": [],
        "message": "The target couldn't be found.",
        "url": "http://127.0.0.1/api/swagger",
    }
    unauthorized = {"message": "token is required", "url": "http://127.0.0.1/api/swagger"}

    @staticmethod
    def label(branch: str) -> str:
        return branch

    def authorized(self, headers: Mapping[str, str], path: str) -> bool:
        return headers.get("authorization") == f"token {TOKEN}"

    def routes(self) -> list[Route]:
        repo = f"/repos/{PATH}"
        return [*super().routes(), ("GET", rf"{repo}/pulls/([^/]+)/([^/]+)", self.of_branches)]

    def combined(self, commit: str, query: dict[str, str], body: Any) -> Reply:
        found = [{"context": name, "status": said} for name, said in self.checks.items()]
        return 200, {"state": "pending", "statuses": found}

    def hook(self, secret: str, said: Any, event: str = "issues") -> tuple[bytes, dict[str, str]]:
        body, headers = super().hook(secret, said, event)
        made = headers["x-hub-signature-256"].removeprefix("sha256=")
        return body, {"x-gitea-event": event, "x-gitea-signature": made}

    def labelled(self, label: str, number: int = 7, **more: Any) -> Any:
        """It sends all labels of the issue."""
        return {**super().labelled(label, number, **more), "action": "label_updated", "label": None}

    def listed(self, query: dict[str, str], body: Any) -> Reply:
        assert query["state"] == "all" and query["sort"] == "recentupdate"
        return 200, [each for each in reversed(self.requests) if each["base"]["ref"] == query["base_branch"]]

    def of_branches(self, base: str, head: str, query: Any, body: Any) -> Reply:
        """Any one of them, of this repository: here the oldest."""
        found = [each for each in self.requests if _of(each) == (head, base) and not of_fork(each)]
        return (200, found[0]) if found else (404, self.not_found)

    def opened(self, query: Any, body: dict[str, str]) -> Reply:
        status, said = super().opened(query, body)
        if status == 422 and "already exists" in str(said):
            message = f"pull request already exists for these targets [id: 1, head_branch: {body['head']}]"
            return 409, {"message": message, "url": f"{self.page}/api/swagger"}
        return status, said | {"merged": False} if status == 201 else said

    def patched(self, number: str, query: Any, body: dict[str, str]) -> Reply:
        return 201, super().patched(number, query, body)[1]

    def close(self, number: int, *, merged: bool = False) -> None:
        """Its branch is deleted with it, as many have it set: then `ref` names it no more."""
        one = self.requests[number - 1]
        one |= {"state": "closed", "merged": merged}
        one["head"] = {**one["head"], "ref": f"refs/pull/{number}/head"}


def _of(said: Mapping[str, Any]) -> tuple[str, str]:
    return said["head"]["label"], said["base"]["ref"]


def issue(number: int, label: str, **more: Any) -> dict[str, Any]:
    return {
        "number": number,
        "title": "Add a login",
        "body": "With two fields.",
        "html_url": f"https://host.example/{PATH}/issues/{number}",
        "labels": [{"name": "bug"}, {"name": label}],
        "assignees": [],
        "updated_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **more,
    }


SERVERS = (GitHubServer, GitLabServer, GiteaServer)
BY_KEY = {each.key: each for each in SERVERS}


@contextmanager
def host(key: str, origin: RemoteRepository) -> Iterator[Any]:
    made = BY_KEY[key](origin)
    with serving(made.answer) as server:
        made.server = server
        yield made


class GitHubAppServer(GitHubServer):
    """Knows an app by its key, and takes nothing but tokens of its installation."""

    app, minted = "Iv23planted", 0
    installed = True
    permissions = {"contents": "write", "pull_requests": "write", "metadata": "read"}

    def __init__(self, origin: RemoteRepository) -> None:
        super().__init__(origin)
        self.key_pair = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def pem(self) -> str:
        plain = serialization.NoEncryption()
        form = serialization.PrivateFormat.TraditionalOpenSSL
        return self.key_pair.private_bytes(serialization.Encoding.PEM, form, plain).decode()

    def authorized(self, headers: Mapping[str, str], path: str) -> bool:
        said = headers.get("authorization", "").removeprefix("Bearer ")
        if path.startswith("/api/v3/app/") or path.endswith("/installation"):
            return self.signed(said)
        return bool(self.minted) and said == f"ghs_{self.minted}"

    def signed(self, said: str) -> bool:
        """As GitHub: RS256, issued in the past, and for ten minutes at most."""
        head, claims, signature = said.split(".")
        self.key_pair.public_key().verify(
            _decoded(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
        )
        found = json.loads(_decoded(claims))
        return found["iss"] == self.app and 0 < found["exp"] - found["iat"] <= 600

    def routes(self) -> list[Route]:
        there = (200, {"id": 7}) if self.installed else (404, {"message": "Not Found"})
        return [
            *super().routes(),
            ("GET", f"/repos/{PATH}/installation", lambda query, body: there),
            ("POST", "/app/installations/7/access_tokens", self.mint),
        ]

    def mint(self, query: Any, body: dict[str, Any]) -> Reply:
        assert body == {"repositories": ["app"]}
        self.minted += 1
        until = "2099-01-01T00:00:00Z" if self.minted > 1 else "2000-01-01T00:00:00Z"
        return 201, {"token": f"ghs_{self.minted}", "expires_at": until, "permissions": self.permissions}


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
