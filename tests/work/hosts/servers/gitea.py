"""Gitea and Forgejo, as far as Gateline asks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.work.hosts.answers import is_from_fork
from tests.work.hosts.servers.base import PATH, TOKEN, Reply, Route
from tests.work.hosts.servers.github import GitHubServer


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

    def repository(self) -> dict[str, Any]:
        return {key: said for key, said in super().repository().items() if not key.startswith("allow_")}

    def branch(self) -> dict[str, Any]:
        return {"name": "main", "commit": {"id": self.origin.head()}, "protected": self.protected}

    def status(self, commit: str, query: Any, body: dict[str, str]) -> Reply:
        code, said = super().status(commit, query, body)
        return code, {"status" if key == "state" else key: value for key, value in said.items()}

    def combined(self, commit: str, query: dict[str, str], body: Any) -> Reply:
        found = [{"context": name, "status": said} for name, said in self.checks.items()]
        return 200, {"state": "pending", "statuses": found}

    def hook(self, secret: str, said: Any, event: str = "issues") -> tuple[bytes, dict[str, str]]:
        body, headers = super().hook(secret, said, event)
        made = headers["x-hub-signature-256"].removeprefix("sha256=")
        return body, {"x-gitea-event": event, "x-gitea-signature": made}

    def push(self, branch: str, commit: str) -> Any:
        """Whoever pushes is an account, and no name of git."""
        return {**super().push(branch, commit), "pusher": {"login": "rosa", "email": "rosa@example.com"}}

    def labelled(self, label: str, number: int = 7, **more: Any) -> Any:
        """It sends all labels of the issue."""
        return {**super().labelled(label, number, **more), "action": "label_updated", "label": None}

    def listed(self, query: dict[str, str], body: Any) -> Reply:
        assert query["state"] == "all" and query["sort"] == "recentupdate"
        return 200, [each for each in reversed(self.requests) if each["base"]["ref"] == query["base_branch"]]

    def of_branches(self, base: str, head: str, query: Any, body: Any) -> Reply:
        """Any one of them, of this repository: here the oldest."""
        found = [each for each in self.requests if _of(each) == (head, base) and not is_from_fork(each)]
        return (200, found[0]) if found else (404, self.not_found)

    def fork(self, head: str, base: str, body: str) -> None:
        super().fork(head, base, body)
        self.requests[-1]["merged"] = False

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
