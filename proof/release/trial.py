"""One installation from the wheels alone, on a machine that nobody prepared: an empty home, and environments that
have nothing but what the registry brings."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from config.setup import packages
from proof.bench.accept.product import ADDRESS, free_port, until

LINE = "demo/app/fix-lint-findings"
WAITS_FOR_PERSON = 10  # the exit code of `gateline watch --until-waiting`
FORM_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(?P<token>\w+)"')
PAGES = {
    "/": "Gateline",
    "/help/": "Getting started",
    "/help/security/": "isolation",
    "/help/proof/": "make bench",
}
"""Signed-in pages and a word of each: the help of an installation has its own copy of what it shows."""


class WheelTrial:
    """The environments `server` and `client` in a folder, and the server that runs from the first."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.log = folder / "server.log"
        home = folder / "home"
        home.mkdir()
        # What a shell of a fresh account has; PORT is what two servers on one machine have to differ in.
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "PORT": str(self.port),
        }
        self.process: subprocess.Popen[bytes] | None = None

    def install(self, name: str, *steps: Sequence[str]) -> None:
        """Make an empty environment, and install in it what the words of each step ask pip for."""
        target = self.folder / name
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(target)], check=True)
        command = [str(packages.UV), "pip", "install", "--quiet", "--python", str(target / "bin" / "python")]
        for words in steps:
            subprocess.run([*command, *words], cwd=self.folder, env=packages.uv_environment(), check=True)

    def run(self, name: str, *words: str, text: str = "", code: int = 0) -> str:
        """Return what a command of an environment prints. It has to end with this exit code."""
        program = self.folder / name / "bin" / words[0]
        completed = subprocess.run(
            [str(program), *words[1:]],
            cwd=self.folder,
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert completed.returncode == code, f"{' '.join(words)}\n{completed.stdout}{completed.stderr}"
        return completed.stdout

    def start(self) -> str:
        """Start the server with its defaults; answer the address that it prints."""
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(self.folder / "server" / "bin" / "gateline-server")],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        process = self.process
        until(lambda: "Gateline runs at" in self._printed() or process.poll() is not None, "the address")
        assert process.poll() is None, self._printed()
        return ADDRESS.findall(self._printed())[-1]

    def stop(self) -> None:
        """Stop the server as Ctrl-C does."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            self.process.wait(60)

    def try_server(self) -> None:
        """The sign-in page answers with the style sheet of the build, and every name that the product uses is there."""
        root = f"http://127.0.0.1:{self.port}"
        with urllib.request.urlopen(f"{root}/sign-in/", timeout=30) as answer:
            page = answer.read().decode()
        assert "Sign in" in page, page[:2000]
        sheet = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
        with urllib.request.urlopen(f"{root}{sheet}", timeout=30) as answer:
            assert answer.headers["Content-Type"].startswith("text/css"), sheet
        self.run("server", "gateline-server", "check")

    def try_signed_in_pages(self, link: str) -> None:
        """Home and the help open for the administrator, who signs in by the printed link and sets a password."""
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

        def page(path: str, **form: str) -> str:
            address = urllib.parse.urljoin(link, path)
            sent = urllib.parse.urlencode(form).encode() if form else None
            with browser.open(address, sent, timeout=60) as answer:
                text: str = answer.read().decode()
            return text

        def submit(path: str, **fields: str) -> str:
            shown = FORM_TOKEN.search(page(path))
            assert shown is not None, path
            return page(path, csrfmiddlewaretoken=shown["token"], **fields)

        submit(link)
        password = secrets.token_urlsafe(16)
        submit("/sign-in/password/", new_password1=password, new_password2=password)
        for path, words in PAGES.items():
            text = page(path)
            assert "Sign out" in text and words in text, f"{path}\n{text[:2000]}"

    def try_client(self) -> None:
        """A task of the demo goes through all of its line: a station changes the repository, the client approves."""
        create_token = ["create_token", "admin", "--project", "demo/app"]
        for scope in ("read", "submit", "decide"):
            create_token += ["--scope", scope]
        token = self.run("server", "gateline-server", *create_token).split()[-1]
        self.run(
            "client", "gateline", "login", f"http://127.0.0.1:{self.port}", "--token-stdin", text=f"{token}\n"
        )
        lines = json.loads(self.run("client", "gateline", "lines", "--json"))
        assert LINE.rpartition("/")[2] in {line["key"] for line in lines}, lines
        task = self.run("client", "gateline", "submit", LINE).strip()
        watched = self.run("client", "gateline", "watch", task, "--until-waiting", code=WAITS_FOR_PERSON)
        assert "Tests" in watched, watched
        review = json.loads(self.run("client", "gateline", "review", task, "--json"))
        decision = ["--approve", "--yes", "--evidence", review["evidence"]]
        self.run("client", "gateline", "review", task, *decision)
        assert "Completed" in self.run("client", "gateline", "watch", task)

    def _printed(self) -> str:
        return self.log.read_text(errors="replace")
