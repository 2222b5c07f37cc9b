"""People move in, in real browsers, no address typed: from the printed link to a project that is put away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import BrowserContext, Page, expect

from config.first_start import prepare_database_and_find_newcomer_or_none
from pipelines.models import Membership, Project, Task, User
from tests.browser.looking import tick_unopened
from tests.factories import World, document, station
from tests.fixtures.site import Site, start_web, stop
from tests.people.provider import Provider, provider
from tests.people.test_second_factor import code_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "correct horse battery"
Browse = Callable[[], Page]


@pytest.fixture
def company() -> Iterator[Provider]:
    with provider() as made:
        yield made


@pytest.fixture
def fresh(transactional_db: None, tmp_path: Path, company: Provider) -> Iterator[Site]:
    """What `make run` starts on an empty database, with a provider to sign in with."""
    prepare_database_and_find_newcomer_or_none(lambda words: None, lambda words: None)
    demo = Project.objects.get()
    site = start_web(
        tmp_path,
        DJANGO_SETTINGS_MODULE="tests.settings",
        OIDC_ISSUER=company.address,
        OIDC_NAME="Acme",
        OIDC_CLIENT_ID="gateline",
        OIDC_CLIENT_SECRET="s3cret",
        OIDC_ROLES=f"reviewers={demo}:reviewer",
    )
    yield site
    stop(site.process)


@pytest.fixture
def browse(new_context: Callable[..., BrowserContext], fresh: Site) -> Browse:
    """A browser of somebody's own, with nothing open."""
    return lambda: new_context(base_url=fresh.url).new_page()


def printed_link(site: Site) -> str:
    said = StringIO()
    call_command("sign_in_link", port=int(site.url.rpartition(":")[2]), stdout=said)
    return said.getvalue().strip()


def menu(page: Page, *names: str) -> None:
    """Through the sidebar, which counts what waits, and the tabs of where one is."""
    for name in names:
        page.get_by_role("link", name=re.compile(rf"^{name}( \d+)?$")).first.click()


def personal(page: Page) -> None:
    page.locator("[popovertarget='user-menu']").click()
    page.get_by_role("menuitem", name="Personal settings").click()


def signed_in_by(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)
    page.get_by_role("button", name="Set the password").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def add_second_factor(page: Page) -> str:
    """Answers the key of the authenticator app."""
    personal(page)
    page.get_by_role("link", name="Second factor").click()
    page.get_by_role("link", name="Set up").click()
    confirm = page.get_by_role("heading", name="Confirm that it is you")
    key = page.locator("code").filter(has_text=re.compile("^[A-Z2-7]{16,}$"))
    expect(confirm.or_(key).first).to_be_visible()
    if confirm.is_visible():
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Confirm").click()
    secret = key.inner_text()
    page.get_by_label("Code").fill(code_of(secret))
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    return secret


def invited_link(page: Page, role: str) -> str:
    """Of an invitation without an address, as *Copy link* would copy it."""
    menu(page, "Settings")
    page.get_by_role("button", name="Invite people").click()
    dialog = page.get_by_role("dialog", name="Invite people")
    dialog.get_by_label(role).check()
    dialog.get_by_role("button", name="Invite", exact=True).click()
    return page.get_by_role("button", name="Copy link").first.get_attribute("data-copy") or ""


@pytest.mark.wide
def test_from_the_printed_link_to_a_project_that_is_put_away(
    browse: Browse, fresh: Site, tmp_path: Path
) -> None:
    page = browse()
    signed_in_by(page, printed_link(fresh))
    secret = add_second_factor(page)
    assert re.fullmatch("[A-Z2-7]{16,}", secret)

    # A reviewer, in a browser of their own.
    menu(page, "Home")
    link = invited_link(page, "Reviewer")
    theirs = browse()
    theirs.goto(link)
    theirs.get_by_label("User name").fill("rosa")
    theirs.get_by_label("Password", exact=True).fill(PASSWORD)
    theirs.get_by_label("Confirm password").fill(PASSWORD)
    theirs.get_by_role("button", name="Create account and join").click()
    expect(theirs.get_by_role("heading", name="Home", level=1)).to_be_visible()

    # A second project, with the same reviewer.
    page.locator("[popovertarget='projects']").click()
    page.get_by_role("menuitem", name="new project").click()
    page.get_by_label("Name", exact=True).fill("Press office")
    page.get_by_label("Key", exact=True).fill("press")
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    menu(page, "Settings")
    page.get_by_role("button", name="Add a member").click()
    dialog = page.get_by_role("dialog", name="Add a member")
    dialog.get_by_label("User name").fill("rosa")
    dialog.get_by_label("Reviewer").check()
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="rosa")).to_be_visible()

    # A secret, and a line from a template that asks for it and for a file.
    menu(page, "Secrets and variables")
    page.get_by_label("Name", exact=True).fill("PRESS_KEY")
    page.get_by_label("Value", exact=True).fill("a value that is on no page")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="PRESS_KEY")).to_be_visible()
    menu(page, "Lines")
    page.get_by_role("link", name="New line").first.click()
    card = page.locator(".starter").filter(has_text="Review before delivery")
    card.get_by_role("button", name="Use this template").click()
    page.locator('.react-flow__node[data-id="@start"]').click()
    form = page.locator(".ef-form")
    for label, kind in (("Press kit", "file"), ("Key of the press portal", "secret")):
        form.get_by_role("button", name="Add a field").click()
        row = form.locator(".ef-row").last
        expect(row.get_by_label("Label", exact=True)).to_be_focused()
        page.keyboard.type(label)
        row.get_by_label("Type", exact=True).select_option(kind)
        expect(page.locator(".ef-preview")).to_contain_text(label)
    expect(page.locator(".ed-save")).to_have_attribute("data-state", "saved")
    page.locator("#editor-bar").get_by_role("button", name="Publish").click()
    # Two people are few: should both have had their hands in it, nobody is left to decide.
    page.get_by_role("checkbox", name="Gate Review can never be decided").check()
    page.locator("#publish-go").get_by_role("button", name="Publish").click()

    # A task by its form, worked on by hand, approved by the other.
    page.get_by_role("link", name="Start a task").click()
    kit = tmp_path / "kit.txt"
    kit.write_text("Words and pictures.")
    page.get_by_label("What is to be delivered").fill("The autumn letter")
    page.get_by_label("Press kit").set_input_files(kit)
    expect(page.get_by_role("main").get_by_text("kit.txt is uploaded.")).to_be_visible()
    page.get_by_label("Key of the press portal").select_option("PRESS_KEY")
    page.get_by_role("button", name="Start the task").click()
    expect(page.get_by_role("link", name="kit.txt")).to_be_visible()
    menu(page, "Inbox")
    page.get_by_role("link", name=re.compile(r"^Complete\b")).first.click()
    page.get_by_role("button", name="Complete").click()
    pill = page.locator(".task-head [data-status]")
    expect(pill).to_have_attribute("data-status", "awaiting_review")

    theirs.get_by_role("button", name="Notifications").click()
    theirs.get_by_role("dialog", name="Notifications").get_by_role(
        "link", name="The autumn letter"
    ).first.click()
    theirs.get_by_role("button", name=re.compile("Approve")).click()
    tick_unopened(theirs)
    with theirs.expect_response(lambda answer: answer.request.method == "POST"):
        theirs.get_by_role("button", name="Confirm approval").click()
    expect(pill).to_have_attribute("data-status", "waiting_for_input")
    task = Task.objects.get()
    assert "PRESS_KEY" in task.inputs.values()
    menu(page, "Inbox")
    page.get_by_role("link", name=re.compile(r"^Complete\b")).first.click()
    page.get_by_label("Where it went").fill("To the printer")
    page.get_by_role("button", name="Complete").click()
    expect(page.locator(".task-head [data-status]")).to_have_attribute("data-status", "completed")
    assert "a value that is on no page" not in page.content()

    # And away with it; nothing is lost.
    menu(page, "Settings", "General")
    archive = page.locator("form").filter(has=page.get_by_role("button", name="Archive project"))
    archive.get_by_label("Type press to confirm").fill("press")
    archive.get_by_role("button", name="Archive project").click()
    expect(page.get_by_role("button", name="Restore project")).to_be_visible()
    assert Project.objects.get(key="press").archived_at is not None


def signed_in_with_acme(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="Sign in with Acme").click()
    expect(page.get_by_role("navigation", name="Main", exact=True)).to_be_visible()


@pytest.mark.wide
def test_a_group_of_the_provider_gives_a_role_and_takes_it_again(browse: Browse, company: Provider) -> None:
    company.claims["groups"] = ["reviewers"]
    page = browse()
    signed_in_with_acme(page)
    expect(page.locator(".switcher").first).to_contain_text("Demo")
    menu(page, "Lines")
    expect(page.get_by_role("heading", name="Lines", level=1)).to_be_visible()
    assert Membership.objects.get(user__username="pat").roles == ["reviewer"]

    # Taken at the next sign-in, wherever that is; and this browser sees it at its next step.
    company.claims["groups"] = []
    signed_in_with_acme(browse())
    page.reload()
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    page.get_by_role("link", name="Go to Home").click()
    expect(page.get_by_role("heading", name="You are not in a project yet")).to_be_visible()


@pytest.mark.wide
def test_who_leaves_is_looked_after(
    new_context: Callable[..., BrowserContext],
    world: World,
    sign_in: Callable[[Page, User], None],
) -> None:
    """A gate that asks for them by name is named before it is confirmed; then neither session nor token works."""
    leaver = world.operator
    gate = {"key": "legal", "name": "Legal", "approval": {"who": [{"user": leaver.username}]}}
    asked = world.line(
        document([station("draft", {"id": "on", "to": "completed", "gates": ["legal"]})], gates=[gate])
    )
    world.report(world.start(asked, by=world.admin))
    theirs, page = new_context().new_page(), new_context().new_page()
    sign_in(theirs, leaver)
    theirs.goto("/")
    personal(theirs)
    theirs.get_by_label("Token name").fill("nightly script")
    theirs.get_by_role("checkbox", name="Read").check()
    theirs.get_by_role("button", name="Create personal token").click()
    bearer = {"Authorization": f"Bearer {theirs.locator('code').first.inner_text()}"}
    assert theirs.request.get("/api/projects", headers=bearer).status == 200

    sign_in(page, world.admin)
    page.goto("/")
    menu(page, "Settings")
    page.get_by_role("row").filter(has_text=leaver.email).get_by_role("link", name="Manage").click()
    page.get_by_role("button", name="Deactivate account").click()
    dialog = page.get_by_role("dialog", name="Deactivate account")
    expect(dialog).to_contain_text("Gates that name this person")
    expect(dialog).to_contain_text("Legal · 1 open task")
    dialog.get_by_role("button", name="Deactivate", exact=True).click()
    expect(page.get_by_text("Deactivated", exact=True).first).to_be_visible()

    theirs.reload()
    expect(theirs.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    assert new_context().request.get("/api/projects", headers=bearer).status == 401
