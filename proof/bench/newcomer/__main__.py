"""Minutes of each step from a fresh clone to the first merged change of a TypeScript repository.

    python -m proof.bench.newcomer [--agent codemod|claude] [--port 8941] [--setting NAME=VALUE]... [--prepare COMMAND]

`make run` is really run in a clean clone with an empty home, and real Chromium is led by what the pages say, as the
README tells. The repository is made here (`repository.py`); *claude* is a program that answers like Claude Code.
`--setting`: what the person sets for `make run` on this machine, such as GATELINE_PRIVATE_HOSTS where its registry is
a private one; `--prepare`: what they type in place of the proposed command. It needs git, npm, Chromium and a package
registry."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from proof.bench.newcomer import repository
from proof.bench.newcomer.person import LONGEST, Person
from proof.bench.newcomer.server import ROOT, environment, running
from proof.bench.rig import keep

PASSWORD = "a first password of mine"
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
MEET = {"codemod": "Codemod", "claude": "Claude Code"}
TEMPLATES = {"codemod": "Fix lint findings", "claude": "Request to merged change"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proof.bench.newcomer")
    parser.add_argument("--agent", choices=sorted(MEET), default="codemod")
    parser.add_argument("--port", type=int, default=8941)
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--prepare", default="")
    parser.add_argument("--pictures", type=Path)
    chosen = parser.parse_args()
    # A station has a /tmp of its own, and would not see a program there.
    folder = Path(tempfile.mkdtemp(prefix="gateline-newcomer-", dir="/var/tmp"))
    folder.chmod(0o755)
    print(f"in {folder}", flush=True)
    more = dict(each.split("=", 1) for each in chosen.setting)
    env = environment(folder / "home", more)
    origin = repository.made(folder, env, clean=chosen.agent != "codemod")
    if chosen.agent == "claude":
        programs = repository.agent(folder / "programs")
        env["GATELINE_STATION_PATH"] = f"{programs}{os.pathsep}{env['PATH']}"
    person = Person()
    Newcomer(person, origin, chosen, folder, env).goes()
    _tell(person, chosen.agent)
    return 0


class Newcomer:
    def __init__(
        self,
        person: Person,
        origin: repository.Origin,
        chosen: argparse.Namespace,
        folder: Path,
        env: dict[str, str],
    ) -> None:
        self.person, self.origin, self.chosen, self.folder, self.env = person, origin, chosen, folder, env
        self.page: Page

    def goes(self) -> None:
        before = self.origin.head()
        with ExitStack() as open_until_the_end:
            with self.person.step("make run", beside=True):
                self.person.reads(_of_readme("## Two commands"))
                self.person.steps[-1].typed += len("git clone … && make run")
                address = open_until_the_end.enter_context(running(self.folder, self.chosen.port, self.env))
            playwright = open_until_the_end.enter_context(sync_playwright())
            found = (os.environ.get("CHROMIUM"), *map(shutil.which, BROWSERS))
            chromium = playwright.chromium.launch(
                executable_path=next(filter(None, found), None),
                args=["--no-sandbox", "--disable-dev-shm-usage"],
            )
            open_until_the_end.callback(chromium.close)
            self.page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
            self.page.set_default_timeout(LONGEST)
            expect.set_options(timeout=LONGEST)
            self.signs_in(address)
            self.connects()
            self.chooses_the_agent()
            self.takes_the_template()
            self.starts()
            if self.chosen.agent == "claude":
                self.waits_for("the plan")
                self.approves("the plan")
                self.waits_for("the change")
            self.approves("the change")
            self.sees_it_merged()
        assert self.origin.head() != before, "nothing landed"
        print(f"landed: {self.origin.head()}")

    def signs_in(self, address: str) -> None:
        with self.person.step("Sign in, set a password"):
            self.person.reads(_of_readme("## A tour", 2))
            self.page.goto(address)
            self.look("sign-in")
            self.button("Sign in")
            self.person.types(self.page.get_by_label("New password"), PASSWORD)
            self.person.types(self.page.get_by_label("Confirm password"), PASSWORD)
            self.button("Set the password")
            expect(self.page.get_by_role("heading", level=1)).to_be_visible()
            self.look("home")

    def connects(self) -> None:
        with self.person.step("Connect the repository"):
            self.person.presses(self.page.locator("li", has_text="Work in your own").get_by_role("link"))
            self.look("setup-repository")
            self.person.pastes(self.page.get_by_label("Address"), str(self.origin.path))
            self.button("Connect and test")
            self.person.presses(self.page.get_by_role("checkbox", name="Allow"))
            self.button("Connect and test")
            expect(self.page.get_by_role("heading", name="Choose an agent")).to_be_visible()

    def chooses_the_agent(self) -> None:
        with self.person.step("Choose the agent"):
            self.look("setup-agent")
            self.link(re.compile(f"^{MEET[self.chosen.agent]}"))
            if self.chosen.agent == "claude":
                self.person.pastes(self.page.get_by_label("Key", exact=True), "sk-a-key-of-the-newcomer")
                self.button("Store the key and check again")
                expect(self.page.get_by_text("2.1.330, tried with it")).to_be_visible()
            self.look("setup-agent-chosen")
            self.link("Continue", exact=True)
            expect(self.page.get_by_role("heading", name="Start from a template")).to_be_visible()

    def takes_the_template(self) -> None:
        with self.person.step("Take the template"):
            self.look("setup-template")
            if self.chosen.prepare:
                self.person.pastes(self.page.get_by_label("Prepare"), self.chosen.prepare)
            self.button(f"Use this template {TEMPLATES[self.chosen.agent]}")
            expect(self.page.get_by_role("heading", name="First task")).to_be_visible()

    def starts(self) -> None:
        with self.person.step("Start the task"):
            self.look("setup-task")
            if self.chosen.agent == "claude":
                self.person.types(self.page.get_by_label("Request"), repository.REQUEST)
            self.button("Start the task")
            expect(self.page.locator(".task-head")).to_be_visible()
            self.look("task")
        if self.chosen.agent == "codemod":
            self.waits_for("the change")

    def waits_for(self, what: str) -> None:
        with self.person.step(f"Wait for {what}", beside=True):
            pill = self.page.locator(".task-head [data-status]")
            expect(pill).not_to_have_attribute("data-status", re.compile("queued|running|evaluating"))
            self.look(f"task-{what}")
            said = pill.get_attribute("data-status")
            assert said == "awaiting_review", f"{said}: {self.page.locator('main').inner_text()[:3000]}"

    def approves(self, what: str) -> None:
        with self.person.step(f"Review {what}, approve"):
            task = self.page.url
            self.link("Review", exact=True)
            expect(self.page.get_by_role("button", name=re.compile("^Approve"))).to_be_visible()
            self.look(f"review-{what}")
            self.button(re.compile("^Approve"))
            self.button(re.compile("^Confirm"))
            expect(self.page.locator(".toast").first).to_be_visible()
            self.person.reads(self.page.locator(".toasts").inner_text())
            self.look(f"decided-{what}")
            self.page.goto(task)  # a person goes back: two presses
            self.person.steps[-1].presses += 2

    def sees_it_merged(self) -> None:
        with self.person.step("Merged"):
            expect(self.page.locator(".task-head [data-status]")).to_have_attribute(
                "data-status", "completed"
            )
            expect(self.page.get_by_text("Exactly what was approved")).to_be_visible()
            self.look("merged")

    # Hands and eyes

    def look(self, name: str) -> None:
        self.person.looks(self.page, whole=name.startswith(("setup", "review")))
        if self.chosen.pictures:
            began = time.monotonic()
            self.pictures(self.chosen.pictures, f"{self.chosen.agent}-{name.replace(' ', '-')}")
            self.person.steps[-1].apart += time.monotonic() - began

    def pictures(self, folder: Path, name: str) -> None:
        """At both widths and in both themes."""
        folder.mkdir(parents=True, exist_ok=True)
        for width in (390, 1440):
            self.page.set_viewport_size({"width": width, "height": 900})
            for theme in ("dark", "light"):
                self.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                self.page.wait_for_timeout(300)
                self.page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)

    def button(self, name: str | re.Pattern[str]) -> None:
        self.person.presses(self.page.get_by_role("button", name=name).first)

    def link(self, name: str | re.Pattern[str], *, exact: bool = False) -> None:
        self.person.presses(self.page.get_by_role("link", name=name, exact=exact).first)


def _of_readme(heading: str, items: int = 0) -> str:
    """A section; with `items` the first of its list."""
    text = (ROOT / "README.md").read_text().partition(f"{heading}\n")[2].partition("\n## ")[0]
    return text.partition(f"\n{items + 1}. ")[0] if items else text


def _tell(person: Person, agent: str) -> None:
    load = os.getloadavg()[1]
    print(f"\n| step, {agent}, load {load:.0f} | machine | a person | together |\n|---|---|---|---|")
    kinds = ("machine", "person", "together")
    for each in person.steps:
        print(f"| {each.name} | " + " | ".join(_minutes(getattr(each, kind)) for kind in kinds) + " |")
    sums = {kind: sum(getattr(each, kind) for each in person.steps) for kind in kinds}
    print("| all | " + " | ".join(map(_minutes, sums.values())) + " |")
    rows = [{**vars(each), "person": each.person} for each in person.steps]
    keep(f"newcomer-{agent}", {"agent": agent, "load": load, "steps": rows, **sums})


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


if __name__ == "__main__":
    sys.exit(main())
