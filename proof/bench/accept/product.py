"""The product in a copy, started and stopped as the README says, and what stands around it: a mail server, and an
address that takes webhooks."""

from __future__ import annotations

import http.server
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, ClassVar

from aiosmtpd.controller import Controller

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S*")
PATIENCE = 420.0
TROUBLE = re.compile(r"A fault of this installation|process ended \(exit code")
"""What the start prints of an installation that something is missing of; it goes on."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class Product:
    """`folder` is a clone, `log` what `make run` printed in all its starts."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment, self.log = folder, environment, folder.parent / "run.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, command: str) -> str:
        """The address that it printed."""
        before = len(self.said())
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command.split(),
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        threading.Thread(target=self._watch, args=(self.process,), daemon=True).start()
        until(
            lambda: "Gateline runs at" in self.said()[before:] or self.process.poll() is not None,
            "the address",
        )
        line = next((line for line in self.said()[before:].splitlines() if "Gateline runs at" in line), None)
        assert line, f"{command} ended:\n{self.said()[-3000:]}"
        return ADDRESS.findall(line)[-1]

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Ends the tour once the start tells of a fault, which it looks for while people work already: no signal
        reaches a browser's wait."""
        while process.poll() is None:
            if TROUBLE.search(self.said()):
                print(self.said(), flush=True)
                self.stop()
                os._exit(1)
            time.sleep(0.5)

    def settle(self) -> None:
        """Waits until the start has looked at all of the installation, which it does while people work already."""
        looking = f"{self.folder.resolve() / 'manage.py'} announce"
        processes = ["ps", "ww", "-eo", "args"]
        until(lambda: looking not in subprocess.check_output(processes, text=True), "the end of the start")

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def stop(self) -> None:
        """As Ctrl-C does."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)

    def command(self, line: str) -> str:
        """What a command of the README prints; it has to succeed."""
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout


def until(check: Any, what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (value := check()):
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.1)
    return value


class Letters:
    """A mail server on this machine, and what it received."""

    def __init__(self) -> None:
        self.letters: list[EmailMessage] = []
        self.controller = Controller(self, hostname="127.0.0.1", port=free_port())

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.letters.append(message_from_bytes(envelope.content, policy=policy.default))  # type: ignore[arg-type]
        return "250 taken"

    def to(self, address: str, subject: str) -> EmailMessage:
        """The newest letter to this address whose subject has these words, as soon as it is there."""
        return until(
            lambda: next(
                (one for one in reversed(self.letters) if address in one["To"] and subject in one["Subject"]),
                None,
            ),
            f"a mail to {address} about {subject}, among {[(one['To'], one['Subject']) for one in self.letters]}",
        )

    @staticmethod
    def link(letter: EmailMessage) -> str:
        body = letter.get_body(("plain",))
        assert body is not None
        return ADDRESS.findall(body.get_content())[0].rstrip(".,)>")


class LocalRepository:
    """A bare git repository of this machine: a program of Python with two findings, and its test."""

    FILES: ClassVar = {
        "tills.py": "import os\nimport sys\n\n\ndef change(paid: int, price: int) -> int:\n    return paid - price\n",
        "tests/test_tills.py": "import tills\n\n\ndef test_change() -> None:\n    assert tills.change(10, 7) == 3\n",
    }

    def __init__(self, path: Path, more: Mapping[str, str] | None = None) -> None:
        self.path = path
        work = path.with_suffix("")
        for name, text in {**self.FILES, **(more or {})}.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text)
        author = ("-c", "user.name=Tills", "-c", "user.email=tills@example.com")
        for words in (
            ("init", "-q", "-b", "main"),
            ("add", "."),
            (*author, "commit", "-q", "-m", "Give change"),
        ):
            subprocess.run(["git", "-C", str(work), *words], check=True)
        subprocess.run(["git", "clone", "-q", "--bare", str(work), str(path)], check=True)

    def branch(self, name: str, file: str, text: str) -> None:
        """Pushes one commit of one file to a new branch."""
        work = self.path.with_suffix("")
        (work / file).write_text(text)
        author = ("-c", "user.name=Tills", "-c", "user.email=tills@example.com")
        for words in (
            ("checkout", "-q", "-b", name),
            ("add", "."),
            (*author, "commit", "-q", "-m", f"Add {file}"),
            ("push", "-q", str(self.path), name),
            ("checkout", "-q", "main"),
        ):
            subprocess.run(["git", "-C", str(work), *words], check=True)

    def file(self, name: str) -> str:
        """Its text on main."""
        words = ["git", "-C", str(self.path), "show", f"main:{name}"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Webhooks:
    """An address that takes webhooks, and what it received."""

    def __init__(self) -> None:
        bodies: list[tuple[dict[str, str], bytes]] = []
        self.bodies = bodies

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook"


@contextmanager
def surroundings() -> Iterator[tuple[Letters, Webhooks]]:
    letters, webhooks = Letters(), Webhooks()
    letters.controller.start()
    threading.Thread(target=webhooks.server.serve_forever, daemon=True).start()
    try:
        yield letters, webhooks
    finally:
        letters.controller.stop()
        webhooks.server.shutdown()
