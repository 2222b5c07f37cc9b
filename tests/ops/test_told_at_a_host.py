"""What a host learns from the worker that `manage.py up` started, as `make run` does: a comment, a commit status, the
withdrawal from its merge queue. Host, product and test are processes of their own; nothing of Gateline is imported."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ops.processes import ROOT, Commands, clean_environment, end_helper_of, nothing_left, on_linux
from tests.waiting import LONG, until

TOKEN = "glpat-of-the-outside-host"
PROJECT = "/owners/demo/projects/app"
GATE = {"offers": ["approve", "reject"], "on_reject": "fail"}
LINE: dict[str, Any] = {
    "gateline": 1,
    "key": "told",
    "name": "Told",
    "workspace": {"git": {"repository": "outside"}},
    "stations": [
        {
            "key": "fix",
            "name": "Fix",
            "work": {"kind": "command", "argv": ["sh", "-c", "echo 'y = 2' >> app.py"]},
            "rules": [{"id": "to-open", "to": "open", "when": {"result": "success"}, "gates": ["review"]}],
        },
        {
            "key": "open",
            "name": "Open",
            "work": {"kind": "deliver", "to": "request", "gate": "review"},
            "rules": [{"id": "to-look", "to": "look", "when": {"result": "success"}}],
        },
        {
            "key": "look",
            "name": "Look",
            "work": {"kind": "command", "argv": ["true"]},
            "rules": [{"id": "to-merge", "to": "merge", "when": {"result": "success"}, "gates": ["late"]}],
        },
        {
            "key": "merge",
            "name": "Merge",
            "work": {"kind": "deliver", "to": "merge", "gate": "late"},
            "rules": [{"id": "to-completed", "to": "completed", "when": {"result": "success"}}],
        },
    ],
    "gates": [
        {"key": "review", "name": "Review", "notify": ["rosa@example.com"], **GATE},
        {"key": "late", "name": "Last look", **GATE},
    ],
}
pytestmark = on_linux


class Product:
    """`manage.py up` beside a host, spoken to over HTTP and its commands."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.host = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/ops/outside_host.py"), str(folder), TOKEN],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.host.stdout is not None
        self.page = f"http://127.0.0.1:{int(self.host.stdout.readline())}/acme/app"
        self.environment = clean_environment(
            GATELINE_HOME=str(folder / "state"),
            PORT=str(self.port),
            GATELINE_PRIVATE_HOSTS="127.0.0.1",
            GATELINE_REPOSITORY_ROOTS=str(folder),
        )
        self.log = folder / "up.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--port", str(self.port)],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(lambda: "Gateline runs at" in self.output() or self.process.poll() is not None, self.output)
        end_helper_of(self.process.pid)
        with Commands(self.environment) as manage:
            self.admin = token(manage, "admin", "read", "submit", "report", "design", "settings")
            made = manage.run("create_member", "mia", "--project", "demo/app", "--role", "reviewer")
            assert made.returncode == 0, made.stderr
            self.reviewer = token(manage, "mia", "read", "decide")

    def output(self) -> str:
        return self.log.read_text(errors="replace")[-5000:]

    def call(self, method: str, path: str, body: Any = None, *, token: str = "") -> Any:
        """The answer; an error of the product fails the test with its words."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api{PROJECT}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token or self.admin}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=LONG) as answer:
                data = answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error
        return json.loads(data) if data else None

    def calls(self, part: str) -> list[dict[str, Any]]:
        """The calls that the host received so far whose path holds this part."""
        log = self.folder / "calls.jsonl"
        rows = [json.loads(row) for row in log.read_text().splitlines()] if log.exists() else []
        return [row for row in rows if part in row["path"]]

    def status(self, task: str) -> str:
        return str(self.call("GET", f"/stages/told/tasks/{task}")["status"])

    def vote(self, task: str, gate: str) -> None:
        until(lambda: self.status(task) == "awaiting_review", lambda: f"{self.status(task)}\n{self.output()}")
        self.call(
            "POST", f"/stages/told/tasks/{task}/gates/{gate}", {"action": "approve"}, token=self.reviewer
        )

    def mails(self, address: str) -> list[str]:
        """Those that the worker wrote into the state folder, as it does where no mail server is named."""
        texts = [path.read_text() for path in sorted((self.folder / "state/mail").glob("*.eml"))]
        return [text for text in texts if f"To: {address}" in text]

    def notices(self, state: str = "") -> list[dict[str, Any]]:
        rows = self.call("GET", "/repositories/outside/notices")
        return [row for row in rows if state in ("", row["state"])]

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(LONG)
        self.host.kill()
        self.host.wait()


def token(manage: Commands, name: str, *scopes: str) -> str:
    words = [word for scope in scopes for word in ("--scope", scope)]
    return manage.run("create_token", name, "--project", "demo/app", *words).stdout.splitlines()[-1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def product() -> Iterator[Product]:
    folder = Path(tempfile.mkdtemp(prefix="gl-"))
    folder.chmod(0o755)
    with nothing_left(folder):
        running = Product(folder)
        address = str(folder / "app.git")
        running.call("PUT", "/secrets/OUTSIDE", {"value": TOKEN})
        more = {"host": "gitlab", "page": running.page, "host_credential": "OUTSIDE"}
        running.call("PUT", "/repositories/outside", {"address": address, "allow": True, **more})
        draft = running.call("PUT", "/lines/told/draft?based_on=0", LINE)
        running.call("POST", "/lines/told/publish", {"draft": draft["draft"], "name": "First"})
        yield running
        running.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.wide
def test_comment_status_and_withdrawal_arrive(product: Product) -> None:
    task = product.call("POST", "/stages/told/tasks", {"title": "Fix it"})["id"]
    product.vote(task, "review")
    until(lambda: product.mails("rosa@example.com"), product.output)
    until(lambda: product.calls("/statuses/"), product.output)
    product.vote(task, "late")
    [comment] = until(lambda: product.calls("/notes"), product.output)
    assert "Last look" in comment["body"]["body"] and "approved" in comment["body"]["body"]
    until(lambda: product.calls("/merge_trains/"), product.output)
    statuses = product.calls("/statuses/")
    assert {row["body"]["name"] for row in statuses} == {"gateline"}
    product.call("POST", f"/stages/told/tasks/{task}/cancel", {"reason": "No longer wanted"})
    until(lambda: product.calls("/cancel_merge_when_pipeline_succeeds"), product.output)
    until(lambda: product.calls("/statuses/")[-1]["body"]["state"] in ("failed", "canceled"), product.output)
    until(lambda: not product.notices(), lambda: f"{product.notices()}\n{product.output()}")


@pytest.mark.wide
def test_a_refused_notice_is_seen_and_sent_again_and_a_late_one_dropped(product: Product) -> None:
    task = product.call("POST", "/stages/told/tasks", {"title": "Fix more"})["id"]
    product.vote(task, "review")
    until(lambda: product.status(task) == "awaiting_review" and not product.notices(), product.output)
    product.call("PUT", "/secrets/OUTSIDE", {"value": "glpat-that-the-host-refuses"})
    product.call("POST", f"/stages/told/tasks/{task}/cancel", {"reason": "No longer wanted"})
    [refused] = until(lambda: product.notices("failed"), product.output)
    assert (refused["about"], refused["task"]) == ("status", task)
    assert "GitLab refuses the credential" in refused["error"]
    before = len(product.calls("/statuses/"))
    product.call("PUT", "/secrets/OUTSIDE", {"value": TOKEN})
    product.call("POST", f"/repositories/outside/notices/{refused['id']}/send")
    until(lambda: len(product.calls("/statuses/")) > before and not product.notices(), product.output)
    other = product.call("POST", "/stages/told/tasks", {"title": "Fix yet more"})["id"]
    product.vote(other, "review")
    until(lambda: product.status(other) == "awaiting_review" and not product.notices(), product.output)
    (product.folder / "down").touch()
    product.call("POST", f"/stages/told/tasks/{other}/cancel", {"reason": "No longer wanted"})
    [tried] = until(lambda: [row for row in product.notices("queued") if row["error"]], product.output)
    assert "at the moment" in tried["error"]
    product.call("POST", f"/repositories/outside/notices/{tried['id']}/drop")
    assert not product.notices()
    (product.folder / "down").unlink()
