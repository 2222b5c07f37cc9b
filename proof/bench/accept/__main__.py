"""The README's tour in a copy of this checkout, started by its own commands: `make accept`.

    make accept                                     a clone, an empty home, five minutes
    make accept ARGS="--pictures /tmp/film"         where the film goes: each step at 1440 and 390
    make accept ARGS=--wide                         every shipped template, worked to its end
    python -m proof.bench.accept --folder FOLDER          in a checkout that is set up already

The first step that fails ends it: a word that the README does not say, or one that is not on the page."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from proof.bench.accept import wide
from proof.bench.accept.guest import Guest
from proof.bench.accept.product import Letters, LocalRepository, Product, Webhooks, free_port, surroundings
from proof.bench.accept.readme import ROOT, Readme

PASSWORD, SECOND = "three plain words", "four more plain words"
MIA = "mia@example.com"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
KEPT = (
    "PATH",
    "LANG",
    "PIP_",
    "UV_",
    "SSL_",
    "NODE_EXTRA",
    "REQUESTS_",
    "npm_config_",
    "HTTP",
    "NO_PROXY",
    "CI",
)
SETTINGS = (".npmrc", ".config/pip", ".pip")


def environment(home: Path) -> dict[str, str]:
    """Of a shell on a fresh machine: the package registries are the machine's, everything else is new."""
    home.mkdir()
    for name in SETTINGS:
        path = Path.home() / name
        if path.is_dir():
            shutil.copytree(path, home / name)
        elif path.exists():
            shutil.copy(path, home / name)
    values = {
        name: value
        for name, value in os.environ.items()
        if name.upper().startswith(tuple(map(str.upper, KEPT)))
    }
    path = [part for part in values["PATH"].split(os.pathsep) if not part.startswith(str(ROOT))]
    return {**values, "PATH": os.pathsep.join(path), "HOME": str(home)}


class Tour:
    """One installation, two people at it, and what stands around."""

    def __init__(self, product: Product, letters: Letters, webhooks: Webhooks, readme: Readme) -> None:
        self.product, self.letters, self.webhooks, self.readme = product, letters, webhooks, readme
        self.port = free_port()
        self.settings = ""
        self.started = time.monotonic()
        self.admin: Guest
        self.mia: Guest
        self.noah: Guest

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        now = time.monotonic()
        print(f"{name}: {now - began:.1f} s, {now - self.started:.0f} s in all", flush=True)

    def start(self) -> str:
        """`make run`, with what belongs to this machine: the port, the mail server, and a webhook's private address."""
        mail = f"EMAIL_URL=smtp://127.0.0.1:{self.letters.controller.port}"
        command = self.readme.command("make run")
        return self.product.start(
            f"{command} PORT={self.port} {mail} GATELINE_PRIVATE_HOSTS=127.0.0.1 {self.settings}"
        )

    def sign_in(self, address: str) -> None:
        self.admin.go(address)
        self.admin.press("Sign in")
        self.admin.fill("New password", PASSWORD)
        self.admin.fill("Confirm password", PASSWORD)
        self.admin.press("Set the password")
        self.admin.see("Demo")
        # A gate of the line, which stands in its drawing alone.
        self.admin.see("Code review")
        self.admin.film("home")

    def first_merge(self) -> None:
        self.admin.press("Start")
        self.admin.see("Code review waits for you")
        self.admin.film("waits for you")
        self.admin.press("Review", within="main")
        self.admin.film("review")
        self.admin.approve()
        self.admin.choose("Home › Tasks › Fix lint findings: basket")
        self.admin.see("Exactly what was approved")
        self.admin.film("merged")

    def past_the_gate(self) -> None:
        self.admin.choose("Home › Lines › Fix lint findings › Overview › Try to get past the gate")
        self.admin.press("Lead")
        self.admin.see("Merge can be reached without Code review")
        self.admin.film("past the gate")

    def own_repository(self) -> None:
        """A folder of this machine, from its address to what is merged into it."""
        repository = LocalRepository(self.product.log.parent / "tills.git")
        self.admin.choose("Home › Set up")
        self.admin.fill("Address", str(repository.path))
        self.admin.press("Connect and test")
        self.admin.see("Allow this folder for owner Demo?")
        self.admin.film("allow this folder")
        self.admin.tick("Allow")
        self.admin.press("Connect and test")
        self.admin.see("Pushing allowed")
        self.admin.see("Choose an agent")
        self.admin.film("agent")
        self.admin.press("Codemod")
        self.admin.press("Continue")
        self.admin.see("Proposed for Python")
        assert "ruff" in self.admin.value("Lint") and "pytest" in self.admin.value("Tests")
        self.admin.see("Code review")
        self.admin.film("proposed")
        self.admin.press("Use this template")
        self.admin.film("first task")
        self.admin.press("Start the task")
        self.admin.press("Review", within="main")
        self.admin.film("review of your own")
        self.admin.approve(opened=True)
        self.admin.see("Exactly what was approved")
        self.admin.film("merged into your own")
        assert "import" not in repository.file("tills.py"), "what the linter found is merged"

    def invite(self, guest: Guest) -> None:
        address = f"{guest.name}@example.com"
        self.admin.choose("Home › Settings › Members › Invite people")
        self.admin.fill("E-mail addresses", address)
        self.admin.tick("Reviewer")
        self.admin.press("Invite", within="dialog")
        letter = self.letters.to(address, "invited")
        guest.go(self.letters.link(letter))
        guest.fill("User name", guest.name)
        guest.fill("Password", SECOND)
        guest.fill("Confirm password", SECOND)
        guest.press("Create account and join")
        guest.film("joined")

    def webhook(self) -> None:
        self.admin.choose("Home › Settings › Channels › Webhook")
        self.admin.fill("Name", "accept")
        self.admin.fill("Address", self.webhooks.address)
        self.admin.press("Connect")
        self.admin.film("channels")

    def second_review(self) -> None:
        """One starts, the other is mailed, decides, and the first one's page turns by itself."""
        self.admin.choose("Home › Lines › Repository check › Overview › Start a task")
        self.admin.press("Start the task")
        self.admin.see("Waiting for review")
        self.admin.film("waits")
        letter = self.letters.to(MIA, "Repository check")
        self.mia.go(self.letters.link(letter))
        self.mia.film("mailed review")
        self.mia.approve()
        self.admin.see("Exactly what was approved")
        self.admin.film("turned")
        types = {json.loads(body)["type"] for _, body in self.webhooks.bodies}
        assert "review.opened" in types, types

    def backup(self) -> None:
        command = self.readme.command(".venv/bin/python manage.py backup")
        assert "Backed up" in self.product.command(command)
        (self.product.folder / command.split()[-1]).unlink()

    def second_start(self) -> None:
        self.product.settle()
        self.product.stop()
        self.admin.go(self.start())
        self.admin.choose("Home › Tasks › Fix lint findings: basket")
        self.admin.see("Exactly what was approved")
        self.admin.film("again")

    def walk(self) -> None:
        with self.step("make run"):
            address = self.start()
        for name, part in (
            ("sign in", lambda: self.sign_in(address)),
            ("first merge", self.first_merge),
            ("past the gate", self.past_the_gate),
            ("your own repository", self.own_repository),
            ("invite", lambda: self.invite(self.mia)),
            ("webhook", self.webhook),
            ("second review", self.second_review),
            ("backup", self.backup),
            ("second start", self.second_start),
        ):
            with self.step(name):
                part()

    def walk_templates(self) -> None:
        """All of them, though one fails: then the last lines name those."""
        with self.step("make run"):
            address = self.start()
        with self.step("sign in"):
            self.sign_in(address)
        for guest in (self.mia, self.noah):
            with self.step(f"invite {guest.name}"):
                self.invite(guest)
        with self.step("connect"):
            wide.connect(self.admin, self.product.log.parent)
        failures = []
        for tour in wide.TOURS:
            try:
                with self.step(tour.name):
                    wide.work(tour, self.admin, (self.mia, self.noah))
            except (AssertionError, PlaywrightError) as error:
                failures.append(tour.name)
                self.admin.film(f"failed {tour.name}")
                print(f"{tour.name} failed at {self.admin.page.url}: {str(error)[:600]}", flush=True)
        assert not failures, f"not worked to their end: {', '.join(failures)}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make accept", description=__doc__)
    parser.add_argument("--folder", type=Path, help="a checkout that is set up, in place of a clone")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--wide", action="store_true", help="every shipped template in place of the tour")
    options = parser.parse_args()
    # A station has a /tmp of its own, and would not see a program there.
    folder = Path(tempfile.mkdtemp(prefix="gateline-accept-", dir="/var/tmp"))
    folder.chmod(0o755)
    env = environment(folder / "home")
    checkout = options.folder
    if checkout is None:
        checkout = folder / "gateline"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(checkout)], check=True)
    else:
        env["GATELINE_HOME"] = str(folder / "state")
    product = Product(checkout, env)
    product.log = folder / "run.log"
    pictures = options.pictures or folder / "pictures"
    with surroundings() as (letters, webhooks), sync_playwright() as playwright:
        program = next(filter(None, (os.environ.get("CHROMIUM"), *map(shutil.which, BROWSERS))), None)
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        readme = Readme(checkout / "README.md", *(wide.PAGES if options.wide else ()))
        tour = Tour(product, letters, webhooks, readme)
        guests = [Guest(browser, readme, name, pictures) for name in ("admin", "mia", "noah")]
        tour.admin, tour.mia, tour.noah = guests
        try:
            if options.wide:
                path = wide.programs(folder / "programs")
                product.environment["PATH"] = os.pathsep.join([str(path), product.environment["PATH"]])
                tour.settings = "AGENT_COMMAND=scripted-writer"
                tour.walk_templates()
            else:
                tour.walk()
        except BaseException:
            for guest in guests:
                guest.film("failed")
                print(f"{guest.name} at {guest.page.url}:\n{guest.page.locator('body').inner_text()[:3000]}")
            print(product.said()[-3000:])
            raise
        finally:
            browser.close()
            product.stop()
    print(f"Accepted. The film is in {pictures}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
