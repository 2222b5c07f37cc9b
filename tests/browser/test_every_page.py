"""Every page of the product in a full project: axe finds nothing grave, nothing scrolls sideways, and the table of
`page_checks` holds; a picture is kept.

The pictures stand below the folder that pytest makes for the test (`--basetemp=…` names one), by width and theme, to be
looked at: `pytest -m wide --basetemp=/tmp/pictures tests/browser/test_every_page.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from allauth.account.internal.flows.login import record_authentication
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page

from pipelines.models import User
from pipelines.ports.vault import store
from tests.access.place import ROUTES, Place
from tests.access.test_matrix import PAGES
from tests.axe import grave
from tests.browser.looking import CARET
from tests.browser.page_checks import SCREENS, unmet_checks
from tests.factories import World, document, station
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
QUIET = """() => {
  if (document.readyState !== 'complete' || document.querySelector('.htmx-request')) return false
  document.addEventListener('htmx:beforeRequest', (event) => event.preventDefault())
  return true
}"""
"""From then on nothing is drawn anew: pictures and axe leave styles on what they look at, and the policy would refuse
to carry those over."""
SIDEWAYS = """() => {
  const wide = document.documentElement.scrollWidth
  // The width of a phone's window is that of what is in it.
  if (wide <= screen.width) return ''
  const isPast = (e) => e.getBoundingClientRect().right > screen.width + 1
  const past = [...document.querySelectorAll('body *')].filter(isPast)
  return wide + ' px: ' + past.slice(0, 3).map((e) => e.outerHTML.slice(0, 90)).join(' | ')
}"""
LONG = (
    "Bring the billing service and its invoices over to the new ledger without losing a single open dispute"
)


@pytest.fixture
def place(world: World) -> Place:
    """A project with something at every address, and as much beside it as a project of some weeks has."""
    found = Place(world)
    version = world.line(
        document(
            [
                station("build", {"id": "on", "to": "check", "when": {"result": "success"}}, name="Build it"),
                station("check", {"id": "ok", "to": "ship", "gates": ["review"]}, name="Check it"),
                {
                    "key": "ship",
                    "name": "Hand it over",
                    "work": {"kind": "manual", "instructions": "Send it."},
                },
            ],
            gates=[{"key": "review", "name": "Release review"}],
            key="release",
            inputs=[
                {"key": "repository", "type": "repository", "label": "Repository"},
                {"key": "why", "type": "long_text", "label": "Reason", "help": "Two sentences are enough."},
                {"key": "patch", "type": "file", "label": "Patch", "accept": [".patch"]},
                {"key": "key", "type": "secret", "label": "Deploy key"},
                {
                    "key": "how",
                    "type": "choice",
                    "choices": ["quick", "careful"],
                    "label": "How",
                    "required": True,
                },
                {"key": "strict", "type": "yes_no", "label": "Warnings are errors"},
            ],
        )
    )
    for title, outcomes in (
        (LONG, ["success"]),
        ("Rotate the signing keys", ["success", "success"]),
        ("Upgrade the parser", ["failure"]),
        ("Queued for tonight", []),
    ):
        task = world.start(version, title=title, inputs={"how": "quick"}, by=world.admin)
        for outcome in outcomes:
            world.report(task, {"result": outcome})
    done = world.start(world.line(document(key="nightly")), title="Nightly run", by=world.admin)
    world.report(done)
    world.report(done)
    blocked = world.start(version, title="Needs a decision", inputs={"how": "careful"}, by=world.admin)
    world.report(blocked, {"result": "blocked", "blockers": ["Which account pays?"]})
    project = store.ValuePlace(world.project)
    store.create_or_replace_value(
        project, "DEPLOY_TOKEN", "not on a page", kind="secret", by=world.admin, now=timezone.now()
    )
    return found


def _addresses(
    place: Place, known: BrowserContext, nobody: BrowserContext
) -> Iterator[tuple[str, str, bool]]:
    """Name, address, and whether one is signed in there: what answers GET with a page of its own."""
    for row in PAGES:
        method, name = row.split()
        cell = PAGES[row]["admin"]
        if method != "GET" or cell not in "ya" or name == "admin:index":
            continue
        answer = (nobody if cell == "a" else known).request.get(place.address(name), max_redirects=0)
        kind = answer.headers.get("content-type", "")
        if answer.status == 200 and kind.startswith("text/html") and "<html" in answer.text():
            yield name, place.address(name), cell == "y"
    for name in ("line", "line-draw", "line-live", "line-insights", "line-versions", "task-new"):
        yield f"{name}-release", at(place.world, name, "release"), True
    yield "page-not-there", "/p/nobody/nothing/", True
    yield "help-search", "/help/?q=invite", True


def _confirmed(context: BrowserContext, user: User) -> None:
    """Pages about how one signs in ask for the password once more: it was given a moment ago."""
    [cookie] = [each for each in context.cookies() if each["name"] == settings.SESSION_COOKIE_NAME]
    request = HttpRequest()
    request.session = SessionStore(cookie["value"])
    record_authentication(request, user, "password", reauthenticated=True)
    request.session.save()


def _judged(page: Page, kept: Path) -> list[str]:
    page.wait_for_function(QUIET)
    page.screenshot(path=kept, full_page=True, animations="disabled", caret=CARET)
    found = [*grave(page), *unmet_checks(page)]
    sideways = page.evaluate(SIDEWAYS)
    return [*found, *([sideways] if sideways else [])]


def _walk(
    new_context: Callable[..., BrowserContext],
    sign_in: SignIn,
    place: Place,
    folder: Path,
    width: str,
    theme: str,
    only: frozenset[str] = frozenset(),
) -> dict[str, list[str]]:
    options = {**SCREENS[width], "color_scheme": theme, "reduced_motion": "reduce"}
    known, nobody = new_context(**options), new_context(**options)
    sign_in(known, place.world.admin)
    _confirmed(known, place.world.admin)
    pages = {True: known.new_page(), False: nobody.new_page()}
    kept = folder / f"{width}-{theme}"
    kept.mkdir()
    wrong = {}
    for name, address, signed_in in _addresses(place, known, nobody):
        if only and name not in only:
            continue
        page = pages[signed_in]
        page.goto(address)
        found = _judged(page, kept / f"{name}.png")
        if found:
            wrong[name] = found
    return wrong


@pytest.mark.wide
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", SCREENS)
def test_every_page_is_accessible_and_fits(
    new_context: Callable[..., BrowserContext],
    sign_in: SignIn,
    place: Place,
    tmp_path: Path,
    width: str,
    theme: str,
) -> None:
    assert _walk(new_context, sign_in, place, tmp_path, width, theme) == {}
    kept = {path.stem for path in tmp_path.glob("*/*.png")}
    assert kept & set(ROUTES) >= {"home", "tasks", "line", "task", "project-settings", "account", "sign-in"}


@pytest.mark.wide
def test_the_pages_one_meets_first_are_accessible_and_fit(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, place: Place, tmp_path: Path
) -> None:
    first = frozenset(("home", "task", "project-settings", "task-new-release"))
    assert _walk(new_context, sign_in, place, tmp_path, "390", "dark", first) == {}
    assert {path.stem for path in tmp_path.glob("*/*.png")} == first
