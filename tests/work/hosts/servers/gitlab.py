"""GitLab, as far as Gateline asks it."""

from __future__ import annotations

import base64
import hmac
import json
import zlib
from datetime import datetime
from typing import Any

from django.utils import timezone

from tests.work.hosts.servers.base import PATH, FakeHost, Reply, Route, issue


class GitLabServer(FakeHost):
    prefix, key = "/api/v4", "gitlab"
    not_found = {"message": "404 Project Not Found"}
    unauthorized = {"message": "401 Unauthorized"}

    def routes(self) -> list[Route]:
        project = "/projects/acme%2Fapp"
        level = {"project_access": {"access_level": 30 if self.may_push else 20}, "group_access": None}
        trains: dict[str, Any] = {"only_allow_merge_if_pipeline_succeeds": bool(self.requires)}
        trains |= {"default_branch": "main", "merge_trains_enabled": self.queues}
        return [
            ("GET", project, lambda query, body: (200, {"id": 5, "permissions": level, **trains})),
            ("GET", f"{project}/repository/branches/main", self.branch),
            ("GET", "/personal_access_tokens/self", lambda query, body: (200, {"scopes": ["api"]})),
            ("GET", rf"{project}/merge_requests/(\d+)", self.one),
            ("PUT", rf"{project}/merge_requests/(\d+)/merge", self.merge_call),
            ("GET", rf"{project}/merge_trains/merge_requests/(\d+)", self.train),
            ("POST", rf"{project}/merge_trains/merge_requests/(\d+)", self.board),
            ("POST", rf"{project}/merge_requests/(\d+)/cancel_merge_when_pipeline_succeeds", self.leave),
            ("GET", f"{project}/events", self.events),
            ("GET", f"{project}/merge_requests", self.listed),
            ("POST", f"{project}/merge_requests", self.opened),
            ("PUT", rf"{project}/merge_requests/(\d+)", self.put),
            ("GET", rf"{project}/(issues|merge_requests)/(\d+)/notes", self.notes),
            ("POST", rf"{project}/(issues|merge_requests)/(\d+)/notes", self.note),
            ("POST", rf"{project}/statuses/([0-9a-f]{{40}})", self.status),
            ("GET", rf"{project}/repository/commits/([0-9a-f]{{40}})/statuses", self.jobs),
            ("GET", f"{project}/pipelines", self.pipelines),
            ("POST", rf"{project}/pipelines/(\d+)/retry", self.retry),
        ]

    def events(self, query: dict[str, str], body: Any) -> Reply:
        """Of all branches, the newest first."""
        assert (query["action"], query["sort"]) == ("pushed", "desc")
        found = [
            {
                "action_name": "pushed to",
                "author_username": login,
                "push_data": {
                    "commit_count": 1,
                    "action": "pushed",
                    "ref_type": "branch",
                    "commit_from": before,
                    "commit_to": after,
                    "ref": branch,
                },
            }
            for branch, before, after, login in self.pushes
        ]
        return 200, found[::-1]

    def branch(self, query: Any, body: Any) -> Reply:
        on = self.protected or self.queues
        return 200, {
            "name": "main",
            "commit": {"id": self.origin.head()},
            "protected": on,
            "can_push": not on,
            "developers_can_push": not on,
        }

    def end(self, number: int) -> str:
        return str(self.requests[number - 1]["sha"])

    def one(self, number: str, query: Any, body: Any) -> Reply:
        found = self.requests[int(number) - 1]
        if found["state"] == "opened":
            found["sha"] = self.origin.head(found["source_branch"]) or found["sha"]
        return 200, {**found, "detailed_merge_status": self.hindered()}

    def hindered(self) -> str:
        """GitLab has the pipeline required, and names the first rule that is not met."""
        if self.requires and self.checks.get("pipeline") != "success":
            failed = self.checks.get("pipeline") == "failed"
            return "ci_must_pass" if failed else "ci_still_running"
        return self.rule or "mergeable"

    def merge_call(self, number: str, query: Any, body: dict[str, Any]) -> Reply:
        found = self.one(number, None, None)[1]
        if found["state"] != "opened" or found["detailed_merge_status"] != "mergeable" or self.queues:
            return 405, {"message": "405 Method Not Allowed"}
        if body["sha"] != found["sha"]:
            return 409, {"message": "SHA does not match HEAD of source branch: " + found["sha"]}
        said = body["squash_commit_message" if body["squash"] else "merge_commit_message"]
        self.landed(int(number), self.merge(found["sha"], said, body["squash"]))
        return self.one(number, None, None)

    def landed(self, number: int, commit: str) -> None:
        self.close(number, merged=True)
        self.requests[number - 1]["merge_commit_sha"] = commit

    def train(self, number: str, query: Any, body: Any) -> Reply:
        if int(number) not in self.waiting:
            return 404, {"message": "404 Merge Train Merge Request Not Found"}
        return 200, {"id": 1, "status": "fresh", "merge_request": {"iid": int(number)}}

    def board(self, number: str, query: Any, body: dict[str, Any]) -> Reply:
        if body["sha"] != self.one(number, None, None)[1]["sha"]:
            return 409, {"message": "SHA does not match HEAD of source branch"}
        if self.hindered() != "mergeable":
            return 400, {"message": "400 Bad request - The merge request is not mergeable"}
        self.queue(int(number))
        return 201, [{"id": 1, "status": "fresh"}]

    def leave(self, number: str, query: Any, body: Any) -> Reply:
        self.waiting.remove(int(number))
        return 201, self.one(number, None, None)[1]

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

    def retry(self, pipeline: str, query: Any, body: Any) -> Reply:
        """Its failed and cancelled jobs; where there are none it does nothing."""
        assert pipeline == "2"
        if self.no_rerun:
            return 403, {"message": self.no_rerun}
        self.reran.append(f"pipeline {pipeline}")
        for name, said in self.checks.items():
            if said in ("failed", "canceled"):
                self.checks[name] = "running" if name == "pipeline" else "pending"
        return 201, {"id": 2, "status": "running"}

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
        # It is asked for a state, and tells a status
        told = {name: value for name, value in body.items() if name in ("name", "target_url", "description")}
        return 201, {**told, "sha": commit, "status": body["state"]}

    def hook(
        self, secret: str, said: Any, event: str = "Issue Hook", moment: datetime | None = None
    ) -> tuple[bytes, dict[str, str]]:
        """By a signing token, as Standard Webhooks say."""
        at = str(int((moment or timezone.now()).timestamp()))
        body, named = json.dumps(said).encode(), "d-1"
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

    sender = "rosa"

    def labelled(self, label: str, number: int = 7, **more: Any) -> Any:
        found = issue(number, label, **more)
        return {
            "object_kind": "issue",
            "user": {"id": _number(self.sender), "username": self.sender, "email": "[REDACTED]"},
            "project": {"path_with_namespace": PATH},
            "assignees": [
                {"id": _number(person["login"]), "username": person["login"]} for person in found["assignees"]
            ],
            "object_attributes": {
                "author_id": _number(found["user"]["login"]),
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


def _number(login: str) -> int:
    """The id of an account, which is all that it tells of an author."""
    return zlib.crc32(login.encode())
