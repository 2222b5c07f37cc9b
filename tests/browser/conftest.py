"""A real browser before a real site: people of one project, and waiting for what a page shows."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line, Membership, Project, Role, User
from pipelines.people import accounts
from tests.factories import World, make_worker
from tests.fixtures.site import Site, environment, manage, start_web, stop
from tests.pages.conftest import at


@pytest.fixture
def folder(settings: Any) -> Iterator[Path]:
    """Below the roots of the site; not below /tmp, where an isolated station sees a folder of its own."""
    base = Path(settings.DATA_DIR) / "repositories"
    base.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=base))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def demo(transactional_db: None) -> World:
    """The demo project with its lines; `admin` may do everything there."""
    admin = User.objects.create_superuser("admin", "admin@example.com", "correct horse battery")
    call_command("load_demo", verbosity=0)
    project = Project.objects.select_related("owner").get()
    Membership.objects.get_or_create(
        project=project, user=admin, defaults={"roles": [Role.ADMIN], "execute": True}
    )
    return World(project, make_worker(), {Role.ADMIN: admin})


@pytest.fixture
def hands(demo: World, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process, with the settings of an installation."""
    log = tmp_path / "worker.log"
    process = manage("worker", log=log, env=environment())
    yield process
    stop(process)


@pytest.fixture
def own_site(transactional_db: None, tmp_path: Path) -> Iterator[Site]:
    """A web process that takes sign-in links: a site with a database of its own, as the tests' is, refuses them."""
    site = start_web(tmp_path, DJANGO_SETTINGS_MODULE="tests.settings")
    yield site
    stop(site.process)


@pytest.fixture
def link(demo: World) -> str:
    """The path of a one-time sign-in link of somebody who has no password yet."""
    newcomer = demo.admin
    newcomer.set_unusable_password()
    newcomer.save()
    return f"/sign-in/{accounts.create_sign_in_link_secret(newcomer, timezone.now())}/"


DRAWN = {
    "gateline": 1,
    "key": "drawn",
    "name": "Drawn",
    "stations": [
        {
            "key": "build",
            "name": "Build",
            "work": {"kind": "noop"},
            "rules": [
                {"id": "all", "to": "ship"},
                {"id": "broken", "label": "Broken", "when": {"result": "failure"}, "to": "failed"},
            ],
        },
        {"key": "ship", "name": "Ship", "work": {"kind": "manual", "instructions": "Send it."}},
    ],
}


@pytest.fixture
def drawn(world: World) -> Line:
    """A line of two stations with a draft, and nothing published."""
    return create_line(world.project, "drawn", "Drawn", DRAWN, world.admin)


Open = Callable[..., Page]


@pytest.fixture
def open_canvas(
    new_context: Callable[..., BrowserContext],
    world: World,
    drawn: Line,
    sign_in: Callable[[BrowserContext, User], None],
) -> Open:
    """The canvas of the line, opened by this person in a browser of their own (or one that is given)."""

    def opened(user: User, context: BrowserContext | None = None, **options: object) -> Page:
        if context is None:
            context = new_context(**options)
            sign_in(context, user)
        page = context.new_page()
        page.goto(at(world, "line-draw", "drawn"))
        expect(page.locator(".ed-station").first).to_be_visible()
        return page

    return opened


Enter = Callable[..., Page]


@pytest.fixture
def enter_canvas(page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None]) -> Enter:
    """The canvas of a line in the page of the test, opened by its admin or by this person."""

    def entered(line: Line, user: User | None = None) -> Page:
        sign_in(page, user or world.admin)
        page.goto(at(world, "line-draw", line.key))
        stations = line.draft["stations"]
        if stations:
            expect(page.locator(".ed-station")).to_have_count(len(stations))
        else:  # templates are drawn there
            expect(page.get_by_role("button", name="Add a first station")).to_be_visible()
        return page

    return entered
