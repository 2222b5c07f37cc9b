"""A host of repositories, in a process of its own: as much of GitLab's API as a task with a merge train needs, over a
bare repository in a folder. Each call that changes something is a line of JSON in `calls.jsonl`. It imports nothing of
Gateline.

Usage: outside_host.py FOLDER TOKEN. It prints its port. While `down` lies in the folder every call is answered by 503.
"""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

FOLDER, TOKEN = Path(sys.argv[1]), sys.argv[2]
PROJECT = "/api/v4/projects/acme%2Fapp"
requests: list[dict[str, Any]] = []
notes: dict[str, list[str]] = {}
train: list[int] = []


def create_repository() -> None:
    repository = Repo.init_bare(str(FOLDER / "app.git"), mkdir=True)
    blob, tree, commit = Blob.from_string(b"x = 1\n"), Tree(), Commit()
    tree.add(b"app.py", 0o100644, blob.id)
    commit.tree = tree.id
    commit.author = commit.committer = b"Somebody <somebody@example.com>"
    commit.author_time = commit.commit_time = 1_700_000_000
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"Begin"
    for item in (blob, tree, commit):
        repository.object_store.add_object(item)
    repository.refs[b"refs/heads/main"] = commit.id  # type: ignore[index]
    repository.refs.set_symbolic_ref(b"HEAD", b"refs/heads/main")  # type: ignore[arg-type]
    repository.close()


def head(branch: str) -> str:
    repository = Repo(str(FOLDER / "app.git"))
    try:
        return repository.refs.as_dict().get(f"refs/heads/{branch}".encode(), b"").decode()  # type: ignore[call-overload, no-any-return]
    finally:
        repository.close()


def request_at(number: str) -> dict[str, Any]:
    row = requests[int(number) - 1]
    return {**row, "sha": head(row["source_branch"]), "detailed_merge_status": "mergeable"}


def opened(body: dict[str, Any], origin: str) -> dict[str, Any]:
    number = len(requests) + 1
    row = {
        "iid": number,
        "state": "opened",
        "title": body["title"],
        "description": body["description"],
        "web_url": f"{origin}/acme/app/-/merge_requests/{number}",
        "source_branch": body["source_branch"],
        "target_branch": body["target_branch"],
        "source_project_id": 5,
        "target_project_id": 5,
    }
    requests.append(row)
    return request_at(str(number))


def answer(method: str, path: str, body: dict[str, Any], origin: str) -> tuple[int, Any]:
    place = path.removeprefix(PROJECT)
    number = next(iter(re.findall(r"merge_requests/(\d+)", place)), "0")
    project = {
        "permissions": {"project_access": {"access_level": 40}, "group_access": None},
        "default_branch": "main",
        "merge_trains_enabled": True,
    }
    if place == "":
        return 200, project
    if place == "/repository/branches/main":
        return 200, {"name": "main", "commit": {"id": head("main")}, "protected": True, "can_push": False}
    if place == "/merge_requests":
        return (
            (201, opened(body, origin))
            if method == "POST"
            else (200, [request_at(str(row["iid"])) for row in requests])
        )
    if re.fullmatch(r"/merge_trains/merge_requests/\d+", place):
        if method == "POST":
            train.append(int(number))
            return 201, []
        return (200, {"status": "fresh"}) if int(number) in train else (404, {"message": "404 Not Found"})
    if place.endswith("/cancel_merge_when_pipeline_succeeds"):
        train.remove(int(number))
        return 201, request_at(number)
    return answer_request(method, place, number, body)


def answer_request(method: str, place: str, number: str, body: dict[str, Any]) -> tuple[int, Any]:
    if place.endswith("/notes"):
        written = notes.setdefault(place, [])
        if method == "POST":
            written.append(body["body"])
            return 201, body
        return 200, [{"body": text} for text in reversed(written)]
    if re.fullmatch(r"/merge_requests/\d+", place):
        if method == "PUT":
            requests[int(number) - 1].update(body)
        return 200, request_at(number)
    if place.startswith("/statuses/"):
        return 201, body
    if place.startswith(("/repository/commits/", "/events", "/pipelines")):
        return 200, []
    return 404, {"message": "404 Not Found"}


class Handler(BaseHTTPRequestHandler):
    def serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        path = urlsplit(self.path).path
        if (FOLDER / "down").exists():
            status, said = 503, {}
        elif self.headers.get("authorization") != f"Bearer {TOKEN}":
            status, said = 401, {"message": "401 Unauthorized"}
        else:
            status, said = answer(self.command, path, body, f"http://{self.headers['host']}")
        if self.command != "GET" and status < 300:
            with (FOLDER / "calls.jsonl").open("a") as calls:
                calls.write(json.dumps({"method": self.command, "path": path, "body": body}) + "\n")
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = serve  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    create_repository()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
