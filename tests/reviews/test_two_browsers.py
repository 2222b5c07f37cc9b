"""A gate opens, mails arrive at a real mail server, their link leads through sign-in to the review; people in browsers
of their own send back and approve, and each page shows what the other did: by mouse, by keyboard alone, on a phone."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from playwright.sync_api import BrowserContext, Locator, Page, Response, expect

from pipelines.models import User
from tests.browser.test_merged_change import Hands
from tests.factories import World, make_member
from tests.fixtures.browser import DESKTOP, PHONE
from tests.fixtures.mailbox import Mailbox
from tests.fixtures.site import Site, environment, manage, stop
from tests.pages.conftest import PASSWORD
from tests.reviews.conftest import gated
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
REMARK = "Count by account, too."
BUILD = ["sh", "-c", 'echo "Built. ${GATELINE_FEEDBACK}"']
WATCH = """([part, words]) => {
  window.seen = 0
  const look = () => {
    if (!document.querySelector(part)?.innerText.includes(words)) return false
    window.seen = performance.timeOrigin + performance.now()
    return true
  }
  if (!look()) new MutationObserver((_, watching) => look() && watching.disconnect()).observe(document.body,
    { childList: true, subtree: true, characterData: true })
}"""
"""When these words are in this part of the page, by the clock that all pages of a machine share."""


class Fingers(Hands):
    """What somebody does with a phone."""

    def press(self, target: Locator) -> None:
        target.tap()


HANDS = {
    "mouse": (Hands, False, {"viewport": DESKTOP}),
    "keyboard": (Hands, True, {"viewport": DESKTOP}),
    "phone": (Fingers, False, {"viewport": PHONE, "has_touch": True, "is_mobile": True}),
}


@pytest.fixture
def sender(site: Site, mailbox: Mailbox, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker that does the stations and sends the mails."""
    env = environment(EMAIL_URL=mailbox.url, BASE_URL=site.url)
    process = manage("worker", log=tmp_path / "worker.log", env=env)
    yield process
    stop(process)


def people(world: World) -> list[User]:
    made = []
    for name in ("Anna", "Ben", "Cleo"):
        user = make_member(world.project, "reviewer", name.lower())
        user.first_name = name
        # The site knows no hasher of the tests.
        user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", 1_000)
        user.save()
        made.append(user)
    return made


def mail_to(mailbox: Mailbox, user: User, count: int) -> EmailMessage:
    """The latest of so many."""

    def found() -> list[EmailMessage]:
        return [message for to, message in list(mailbox.received) if to == [user.email]]

    until(lambda: len(found()) >= count, lambda: f"mail {count} to {user.email}, of {len(found())}")
    return found()[-1]


def link_in(message: EmailMessage) -> str:
    """Of its button. Text and HTML name the same one."""
    bodies = [str(body.get_content()) for kind in ("html", "plain") if (body := message.get_body((kind,)))]
    text, html = (re.search(r"http://\S+?/inbox/[0-9a-f-]+/", body) for body in bodies)
    assert text and html and text.group() == html.group()
    return html.group()


def arrive(hands: Hands, address: str, user: User) -> None:
    """From the mail through sign-in to the review."""
    hands.page.goto(address)
    expect(hands.page).to_have_title(re.compile("Sign in"))
    hands.write(hands.page.get_by_label("User name"), user.username)
    hands.write(hands.page.get_by_label("Password"), PASSWORD)
    hands.button("Sign in", exact=True)
    expect(hands.page).to_have_url(address)
    expect(hands.page.get_by_role("button", name=re.compile("^Approve →"))).to_be_visible()


def decide(hands: Hands, word: str, reason: str = "") -> Response:
    hands.button(re.compile(f"^{word}"))
    if reason:
        hands.write(hands.page.get_by_label("Reason"), reason)
    with hands.page.expect_response(
        lambda answer: answer.request.method == "POST" and "/decide/" in answer.url
    ) as told:
        hands.button(re.compile("^Confirm"))
    return told.value


def seen_by(page: Page, part: str, words: str, act: Callable[[], Response]) -> str:
    """How long after the answer to whoever acts another's page shows these words by itself."""
    page.evaluate(WATCH, [part, words])
    timing = act().request.timing
    seen = until(lambda: float(page.evaluate("window.seen")), f"{words} in {part}", page)
    return f"{seen - timing['startTime'] - timing['responseStart']:.0f} ms"


@pytest.mark.wide
@pytest.mark.parametrize(
    "how",
    [
        pytest.param("mouse", marks=pytest.mark.wide),
        pytest.param("keyboard", marks=pytest.mark.wide),
        "phone",
    ],
)
@pytest.mark.usefixtures("sender")
def test_two_of_three_decide_in_the_second_round(
    new_context: Callable[..., BrowserContext], world: World, mailbox: Mailbox, how: str
) -> None:
    kind, keyboard, options = HANDS[how]
    anna, ben, cleo = trio = people(world)
    given = gated(approval={"who": [{"role": "reviewer", "count": 2}]}, notify=[user.email for user in trio])
    given["stations"][0]["work"] = {"kind": "command", "argv": BUILD, "network": "none"}
    task = world.start(world.line(**given), title="Limit sign-in")
    hands = {user: kind(new_context(**options).new_page(), keyboard) for user in trio}

    # Round 1: Anna sends it back, and Ben sees that she did
    opening = {user: mail_to(mailbox, user, 1) for user in trio}
    for user in (anna, ben):
        arrive(hands[user], link_in(opening[user]), user)
    took = [
        seen_by(
            hands[ben].page, "#decision-words", str(anna), lambda: decide(hands[anna], "Send back", REMARK)
        )
    ]

    # Round 2, with the remark, in the thread of the first mail
    until(lambda: world.status(task) == "awaiting_review", "round 2")
    again = task.jobs.filter(station="build").latest("pk")
    assert (world.visit(task).round, again.feedback) == (2, REMARK)
    for user in trio:
        message = mail_to(mailbox, user, 2 if user == anna else 3)
        assert message["In-Reply-To"] == opening[user]["Message-ID"]
        if user == cleo:
            arrive(hands[user], link_in(message), user)
        else:
            hands[user].page.goto(link_in(message))
        expect(hands[user].page.get_by_text("Round 2", exact=True).first).to_be_visible()

    # Two of three approve; who has the page open sees each of it
    first = lambda: decide(hands[anna], "Approve →")  # noqa: E731
    took.append(seen_by(hands[ben].page, "#dossier-state", "1 of 2 approvals", first))
    assert world.status(task) == "awaiting_review"
    second = lambda: decide(hands[ben], "Approve →")  # noqa: E731
    took.append(seen_by(hands[cleo].page, "#decision-words", str(ben), second))
    expect(hands[cleo].page.get_by_role("button", name=re.compile("^Approve →"))).to_have_count(0)
    until(lambda: world.status(task) == "completed", "the end")
    votes = task.gate_visits.get(round=2).votes.order_by("pk")
    assert [(vote.user, vote.word) for vote in votes] == [(anna, "approve"), (ben, "approve")]
    print(f"{how}: another's page shows it after {', '.join(took)}")


@pytest.mark.parametrize("how", ["mouse", pytest.param("phone", marks=pytest.mark.wide)])
@pytest.mark.usefixtures("sender")
def test_from_mail_to_recorded_vote_are_three_clicks(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[BrowserContext, User], None],
    world: World,
    mailbox: Mailbox,
    how: str,
) -> None:
    """The mail lies in the browser as it arrived; every click of the hand counts, wherever it is made."""
    anna = people(world)[0]
    given = gated(notify=[anna.email])
    given["stations"][0]["work"] = {"kind": "command", "argv": BUILD, "network": "none"}
    task = world.start(world.line(**given), title="Limit sign-in")
    kind, _keyboard, options = HANDS[how]
    context, clicks = new_context(**options), list[str]()
    context.expose_binding("clicked", lambda _source, words: clicks.append(words.strip()))
    context.add_init_script(
        "addEventListener('click', (e) => e.isTrusted && window.clicked(e.target.innerText), true)"
    )
    sign_in(context, anna)
    hands = kind(context.new_page(), False)
    mail = mail_to(mailbox, anna, 1)
    html = mail.get_body(("html",))
    assert html is not None
    context.route(
        "http://mail.example/", lambda route: route.fulfill(body=html.get_content(), content_type="text/html")
    )
    hands.page.goto("http://mail.example/")
    hands.press(hands.page.locator(f"a[href='{link_in(mail)}']").first)
    hands.button(re.compile("^Approve →"))
    hands.button(re.compile("^Confirm"))
    until(lambda: task.gate_visits.get().votes.exists(), "the vote")
    vote = task.gate_visits.get().votes.get()
    assert (vote.user, vote.word, len(clicks)) == (anna, "approve", 3), clicks
