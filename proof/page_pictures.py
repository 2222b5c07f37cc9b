"""The twenty main pages as pictures, at 1440 and 390 px, light and dark, and a sheet that shows them side by side.

    python -m proof.page_pictures FOLDER [--only inbox review]

The project has two months of work, something of each kind in the inbox and a change that waits for review. Beside the
pictures stands `index.html`, the sheet. The server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from html import escape
from itertools import product
from pathlib import Path
from typing import Any

from proof.bench.rig import browser, database

SIZES = {"1440": {"width": 1440, "height": 900}, "390": {"width": 390, "height": 844}}
THEMES = ("light", "dark")
QUIET = "() => document.readyState === 'complete' && !document.querySelector('.htmx-request')"
FILES = {
    "app/limit.py": b'"""Count attempts to sign in."""\n\nLIMIT = 5\n\n\ndef allow(address):\n    return True\n',
    "app/sign_in.py": b"def sign_in(request):\n    return check(request.user)\n",
    "docs/limits.md": b"# Limits\n\nThere are none.\n",
}
CHANGED = {
    "app/limit.py": b'"""Count attempts to sign in."""\n\nfrom app.store import count\n\nLIMIT = 5\n\n\n'
    b"def allow(address):\n    # An hour is long enough to stop guessing\n"
    b"    return count(address, hours=1) < LIMIT\n",
    "app/sign_in.py": b"from app.limit import allow\n\n\ndef sign_in(request):\n    if not allow(request.address):\n"
    b'        raise TooMany("Try again in an hour.")\n    return check(request.user)\n',
    "docs/limits.md": b"# Limits\n\nFive attempts an hour from one address.\n",
    "tests/test_limit.py": b"def test_the_sixth_attempt_waits(): ...\n",
}


def seeded(world: Any) -> Any:
    """Fill the project, and return the review of a change in its second round."""
    from tests.changes.leaving import leave  # noqa: PLC0415  # after `database`
    from tests.factories import document, station  # noqa: PLC0415  # after `database`
    from tests.pages import insights_data  # noqa: PLC0415  # after `database`
    from tests.reviews import inbox_items  # noqa: PLC0415  # after `database`

    insights_data.seed(world)
    for make in (
        inbox_items.evaluation, inbox_items.question, inbox_items.blocked, inbox_items.stuck,
        inbox_items.approval, inbox_items.escalation, inbox_items.manual, inbox_items.held,
    ):  # fmt: skip
        make(world)
    review = {"key": "review", "name": "Code review", "offers": ["approve", "send_back", "reject"]}
    review |= {"description": "Does it stop guessing without locking out users?"}
    code = {"id": "built", "label": "Built", "to": "ship", "gates": ["review"]}
    line = document(
        [station("code", code, name="Write the code"), station("ship", name="Merge")],
        gates=[review], key="request", name="Request to merged change",
        description="An agent writes the change, people read it, and exactly that is merged.",
    )  # fmt: skip
    task = world.start(world.line(line), title="Add rate limiting to sign-in")
    leave(world, task, FILES)
    world.vote(task, "send_back", reason="Count per address, and write a test.")
    leave(world, task, CHANGED, summary="Counts attempts per address and hour.")
    world.start(world.line(line), title="Rotate the signing keys")
    return world.visit(task)


def addresses(world: Any, visit: Any) -> Iterator[tuple[str, str]]:
    """Names and addresses of the pages, in the order of the sheet."""
    from django.urls import reverse  # noqa: PLC0415  # after `database`

    from tests.pages.conftest import at  # noqa: PLC0415  # after `database`

    yield "home", reverse("home")
    yield "lines", at(world, "lines")
    yield "overview", at(world, "line", "request")
    yield "editor", at(world, "line-draw", "request")
    yield "publish", at(world, "line-publish", "request")
    yield "versions", at(world, "line-versions", "request")
    yield "new-line", at(world, "lines-new")
    yield "new-task", at(world, "task-new", "request")
    yield "board", at(world, "line-live", "request")
    yield "graph", at(world, "line-live", "request") + "?view=graph"
    yield "task", at(world, "task", visit.task.name)
    yield "inbox", reverse("needs-me")
    yield "review", reverse("gate-visit", args=[visit.pk])
    yield "insights", at(world, "insights") + "?days=90"
    yield "members", at(world, "project-settings")
    yield "setup", at(world, "project-setup")
    yield "personal-settings", reverse("account")
    yield "tasks", reverse("tasks-everywhere")
    yield "notifications", reverse("notifications")
    yield "help", reverse("help")


def take(page: Any, address: str, folder: Path, name: str) -> None:
    """Keep the first screen and the full page, at both widths and in both themes."""
    for (width, size), theme in product(SIZES.items(), THEMES):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.goto(address)
        page.wait_for_function(QUIET)
        kept = folder / f"{name}-{width}-{theme}"
        page.screenshot(path=f"{kept}.png", animations="disabled", caret="initial")
        page.screenshot(path=f"{kept}-full.png", animations="disabled", caret="initial", full_page=True)


def write_sheet(folder: Path, names: list[str]) -> None:
    """Write the page that shows the first screens side by side; each leads to its full page."""
    rows = [
        f"<h2>{escape(name)}</h2>"
        + "".join(
            f'<a href="{name}-{width}-{theme}-full.png"><img src="{name}-{width}-{theme}.png" height="360"'
            f' alt="{escape(name)}, {width} px, {theme}"></a> '
            for width, theme in product(SIZES, THEMES)
        )
        for name in names
    ]
    head = "<!doctype html><meta charset=utf-8><title>Pages</title>"
    (folder / "index.html").write_text(head + "\n".join(rows) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with database() as home:
        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        world = make_world()
        visit = seeded(world)
        pages = [row for row in addresses(world, visit) if not options.only or row[0] in options.only]
        with browser("page_pictures", home, world.admin) as (page, address):
            for name, path in pages:
                take(page, address + path, options.folder, name)
    write_sheet(options.folder, [name for name, _ in pages])
    print(f"{len(pages)} pages in {options.folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
