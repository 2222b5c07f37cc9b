"""GitHub, as far as Gateline asks it, and an app of it."""

from __future__ import annotations

import base64
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from pipelines.work.hosts.answers import is_from_fork
from tests.work.hosts.servers.base import PATH, FakeHost, Reply, Route, issue
from tests.work.remotes import RemoteRepository

ENDS = ("success", "failure", "neutral", "skipped", "cancelled", "timed_out", "action_required", "stale")


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
            ("GET", repo, lambda query, body: (200, self.repository())),
            ("GET", f"{repo}/activity", self.activity),
            ("GET", rf"{repo}/pulls/(\d+)", self.one),
            ("PUT", rf"{repo}/pulls/(\d+)/merge", self.merge_call),
            ("POST", "/api/graphql", self.graphql),
            ("GET", rf"{repo}/issues/(\d+)/comments", self.commented),
            ("POST", rf"{repo}/issues/(\d+)/comments", self.comment),
            ("POST", rf"{repo}/statuses/([0-9a-f]{{40}})", self.status),
            ("GET", rf"{repo}/commits/([0-9a-f]{{40}})/check-runs", self.runs),
            ("GET", rf"{repo}/commits/([0-9a-f]{{40}})/status", self.combined),
            ("GET", rf"{repo}/commits/([0-9a-f]{{40}})/check-suites", self.suites),
            ("GET", f"{repo}/actions/runs", self.workflow_runs),
            ("POST", rf"{repo}/actions/runs/(\d+)/rerun-failed-jobs", self.rerun_failed_jobs),
            ("POST", rf"{repo}/check-suites/(\d+)/rerequest", self.rerequest),
            ("GET", rf"{repo}/rules/branches/main", lambda query, body: (200, self.rules())),
            ("GET", rf"{repo}/branches/main", lambda query, body: (200, self.branch())),
            ("GET", f"{repo}/pulls", self.listed),
            ("POST", f"{repo}/pulls", self.opened),
            ("PATCH", rf"{repo}/pulls/(\d+)", self.patched),
        ]

    def activity(self, query: dict[str, str], body: Any) -> Reply:
        """Of one branch, the newest first."""
        assert int(query["per_page"]) <= 100
        if self.no_activity:
            return 403, {"message": "Resource not accessible by this token"}
        found = [
            {
                "id": number,
                "before": before,
                "after": after,
                "ref": f"refs/heads/{branch}",
                "activity_type": "push",
                "actor": {"login": login},
            }
            for number, (branch, before, after, login) in enumerate(self.pushes)
            if query["ref"] == f"refs/heads/{branch}"
        ]
        return 200, found[::-1]

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

    def suite(self, others: bool) -> dict[str, Any]:
        """One for all jobs of its own workflows, one for another app: what is worst in it is its conclusion."""
        its = [
            said for name, said in self.checks.items() if "/" not in name and (name in self.foreign) == others
        ]
        ended = all(said in ENDS for said in its)
        worst = next((said for said in its if said not in ("success", "neutral", "skipped")), "success")
        found = {"id": 12 if others else 11, "status": "completed" if ended else "in_progress"}
        return {**found, "conclusion": worst if ended else None}

    def suites(self, commit: str, query: dict[str, str], body: Any) -> Reply:
        present = {name in self.foreign for name in self.checks if "/" not in name}
        found = [
            {**self.suite(others), "app": {"slug": "other-ci" if others else "github-actions"}}
            for others in sorted(present)
        ]
        return 200, {"total_count": len(found), "check_suites": found}

    def workflow_runs(self, query: dict[str, str], body: Any) -> Reply:
        assert len(query["head_sha"]) == 40
        return 200, {
            "total_count": 1,
            "workflow_runs": [{**self.suite(False), "id": 21, "check_suite_id": 11}],
        }

    def rerun_failed_jobs(self, run: str, query: Any, body: Any) -> Reply:
        return self.again(run == "21", f"run {run}", False)

    def rerequest(self, suite: str, query: Any, body: Any) -> Reply:
        return self.again(suite == "12", f"suite {suite}", True)

    def again(self, known: bool, what: str, others: bool) -> Reply:
        if not known:
            return 404, self.not_found
        if self.no_rerun or self.suite(others)["status"] != "completed":
            why = self.no_rerun or "This workflow is already running"
            return 403, {**self.not_found, "message": why, "status": "403"}
        self.reran.append(what)
        for name, said in self.checks.items():
            if "/" not in name and (name in self.foreign) == others and said != "success":
                self.checks[name] = "queued"
        return 201, {}

    methods = ("merge", "squash", "rebase")

    def repository(self) -> dict[str, Any]:
        keys = {"merge": "allow_merge_commit", "squash": "allow_squash_merge", "rebase": "allow_rebase_merge"}
        allowed = {keys[each]: each in self.methods for each in keys}
        return {
            "permissions": {"push": self.may_push},
            "full_name": PATH,
            "default_branch": "main",
            **allowed,
        }

    def branch(self) -> dict[str, Any]:
        return {
            "name": "main",
            "commit": {"sha": self.origin.head()},
            "protected": self.protected,
            "protection": {"enabled": self.protected},
        }

    def rules(self) -> list[Any]:
        named = [{"context": each} for each in self.requires]
        rule = {"type": "required_status_checks", "parameters": {"required_status_checks": named}}
        found: list[Any] = [{"type": "deletion"}, rule] if named else []
        return [*found, {"type": "merge_queue", "parameters": {}}] if self.queues else found

    def end(self, number: int) -> str:
        return str(self.requests[number - 1]["head"]["sha"])

    def one(self, number: str, query: Any, body: Any) -> Reply:
        """It follows its branch as long as it is open."""
        found = self.requests[int(number) - 1]
        if found["state"] == "open":
            found["head"]["sha"] = self.origin.head(found["head"]["ref"]) or found["head"]["sha"]
        merged = found["merged_at"] is not None
        return 200, {"merge_commit_sha": None, **found, "merged": merged, "draft": False, "mergeable": True}

    def merge_call(self, number: str, query: Any, body: dict[str, str]) -> Reply:
        found = self.one(number, None, None)[1]
        head, left = found["head"]["sha"], self.hindered(found["head"]["sha"])
        if found["merged"] or found["state"] != "open":
            return 405, {**self.not_found, "message": "Pull Request is not mergeable", "status": "405"}
        if body["sha"] != head:
            why = "Head branch was modified. Review and try the merge again."
            return 409, {**self.not_found, "message": why, "status": "409"}
        if self.queues:
            left = "Changes must be made through the merge queue"
        if body["merge_method"] not in self.methods:
            left = f"{body['merge_method'].title()} commits are not allowed on this repository."
        if left:
            return 405, {**self.not_found, "message": left, "status": "405"}
        said = f"{body['commit_title']}\n\n{body['commit_message']}"
        commit = self.merge(head, said, body["merge_method"] == "squash")
        self.landed(int(number), commit)
        return 200, {"sha": commit, "merged": True, "message": "Pull Request successfully merged"}

    def hindered(self, head: str) -> str:
        missing = [each for each in self.requires if not self.green(head, each)]
        return self.rule or (f'Required status check "{missing[0]}" is expected.' if missing else "")

    def landed(self, number: int, commit: str) -> None:
        self.close(number, merged=True)
        self.requests[number - 1]["merge_commit_sha"] = commit

    def graphql(self, query: Any, body: dict[str, Any]) -> Reply:
        """What is wrong is said with 200."""
        asked, given = body["query"], body["variables"]
        if "enqueuePullRequest" in asked:
            number = int(given["id"].removeprefix("PR_"))
            head = self.one(str(number), None, None)[1]["head"]["sha"]
            why = "Head sha did not match expected" if given["head"] != head else self.hindered(head)
            if why or number in self.waiting:
                fault = {"type": "UNPROCESSABLE", "message": why or "Already in the queue"}
                return 200, {"data": {"enqueuePullRequest": None}, "errors": [fault]}
            self.queue(number)
            return 200, {"data": {"enqueuePullRequest": {"mergeQueueEntry": {"state": "QUEUED"}}}}
        if "dequeuePullRequest" in asked:
            self.waiting.remove(int(given["id"].removeprefix("PR_")))
            return 200, {"data": {"dequeuePullRequest": {"mergeQueueEntry": None}}}
        assert (given["owner"], given["name"]) == ("acme", "app")
        found = {"id": f"PR_{given['number']}", "isInMergeQueue": given["number"] in self.waiting}
        return 200, {"data": {"repository": {"pullRequest": found}}}

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
            if not is_from_fork(each)
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
        made |= {"html_url": f"{self.page}/pull/{made['number']}"}
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

    sender = "rosa"

    def labelled(self, label: str, number: int = 7, **more: Any) -> Any:
        """What it sends when an issue gets a label."""
        return {
            "action": "labeled",
            "label": {"name": label},
            "issue": issue(number, label, **more),
            "repository": {"full_name": PATH},
            "sender": {"login": self.sender},
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
            "pusher": {"name": "rosa", "email": "rosa@example.com"},
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
