"""What a mail scanner does with the links of reviews decides nothing: it asks each with GET, HEAD and OPTIONS, and
opens each in a browser that runs its scripts and waits."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from playwright.sync_api import BrowserContext

from pipelines.models import GateVisit, Vote
from reviews.models import Mail, MailLink
from reviews.tasks import deliver_mail
from tests.factories import World, make_member
from tests.fixtures.mailbox import Mailbox
from tests.reviews.conftest import gated

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGES, WAITS_MS = 25, 10_000
METHODS = ("get", "head", "options")


def links(world: World, mailbox: Mailbox, count: int) -> list[str]:
    """The paths of all links of so many mails that arrived."""
    lead = make_member(world.project, "reviewer", "lead")
    version = world.line(**gated(channels={"mail_link": True}, notify=[lead.email]))
    for number in range(count):
        world.report(world.start(version, title=f"Change {number}"))
    for pk in Mail.objects.values_list("pk", flat=True):
        deliver_mail(pk)
    assert len(mailbox.received) == count
    found: dict[str, None] = {}
    for _to, message in mailbox.received:
        bodies = [body for kind in ("html", "plain") if (body := message.get_body((kind,)))]
        for body in bodies:
            for path in re.findall(r"https?://[^/\s\"]+(/[^\s\"<]+)", body.get_content()):
                found[path] = None
    assert sum(path.startswith("/decide/") for path in found) == count
    return list(found)


def nothing_happened(count: int) -> None:
    assert not Vote.objects.exists() and not MailLink.objects.exclude(used_at=None).exists()
    assert GateVisit.objects.filter(state=GateVisit.State.OPEN).count() == count


@pytest.mark.parametrize(
    ("count", "waits"),
    [pytest.param(4, 500, marks=pytest.mark.wide), pytest.param(500, WAITS_MS, marks=pytest.mark.soak)],
)
def test_no_scanner_decides(
    new_context: Callable[..., BrowserContext], world: World, mailbox: Mailbox, count: int, waits: int
) -> None:
    paths = links(world, mailbox, count)
    asked = 0
    for path in paths:
        client = Client()
        for method in METHODS * 3:
            assert getattr(client, method)(path, follow=True).status_code < 500
            asked += 1
    nothing_happened(count)
    deciding = [path for path in paths if path.startswith("/decide/")]
    for first in range(0, len(deciding), PAGES):
        # Each page has cookies of its own, as each mail is looked at by itself.
        contexts = [new_context() for _ in deciding[first : first + PAGES]]
        pages = [context.new_page() for context in contexts]
        for page, path in zip(pages, deciding[first:], strict=False):
            page.goto(path, wait_until="commit")
        for page in pages:
            page.get_by_role("button", name=re.compile("^Approve as")).wait_for()
        pages[0].wait_for_timeout(waits)
        for context in contexts:
            context.close()
    nothing_happened(count)
    # The button that nobody pressed does decide.
    page = new_context().new_page()
    page.goto(deciding[-1])
    page.get_by_role("button", name=re.compile("^Approve as")).click()
    page.get_by_role("heading", name="Approved").wait_for()
    assert Vote.objects.get().via == "mail"
    print(
        f"{count} mails, {len(paths)} links, {asked} requests without a browser;"
        f" {len(deciding)} pages open for {waits / 1000:g} s, {PAGES} at once: no decision"
    )
