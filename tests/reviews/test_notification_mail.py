"""When a person gets a mail of what they are told: at once, in the digest, after the quiet hours, or not at all."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from allauth.account.adapter import get_adapter
from allauth.core.context import request_context
from django.db import connection
from django.db.models import F
from django.test import RequestFactory
from django.urls import reverse

from pipelines.engine import invariants
from pipelines.models import Escalation, Membership, Role, Token, User
from pipelines.people import invitations, members
from pipelines.templatetags.mail import TONES
from pipelines.web.account.adapter import CHANGES
from reviews.mail import folder
from reviews.models import Digest, Mail, Notice, Notification, NotificationSettings, Posted
from reviews.notifications.recipients import MailChoice, active_recipient_by_id
from reviews.notifications.table import KINDS
from reviews.tasks import (
    deliver_digest,
    deliver_invitation,
    deliver_mail,
    deliver_notice,
    deliver_notification,
)
from tests.design.colours import colour
from tests.factories import World, document, station
from tests.fixtures.mailbox import Mailbox
from tests.pages.conftest import As, signed_in
from tests.reviews.conftest import gated

__all__ = ["signed_in"]

pytestmark = pytest.mark.django_db(transaction=True)
NIGHT = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)


def choose(user: User, kind: str, mail: str, *, bell: bool = True, **more: Any) -> None:
    NotificationSettings.objects.update_or_create(
        user=user, defaults={"choices": {kind: {"bell": bell, "mail": mail}}, **more}
    )


def tickets(task: str) -> list[datetime | None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT scheduled_at FROM procrastinate_jobs WHERE task_name = %s ORDER BY id", [task])
        return [row[0] for row in cursor.fetchall()]


def of(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    assert body is not None
    return str(body.get_content())


def changed(world: World, at: datetime, *roles: str) -> None:
    """The viewer is told of a change of roles."""
    member = Membership.objects.get(user=world.viewer)
    members.change_member(world.project, member.pk, roles=roles, execute=False, by=world.admin, now=at)


# At once


def test_a_mail_at_once_says_it_and_leads_there(world: World, mailbox: Mailbox) -> None:
    choose(world.viewer, "roles", MailChoice.NOW)
    changed(world, NIGHT, Role.OPERATOR)
    assert tickets("reviews.send_notification") == [None]
    row = Notification.objects.get(user=world.viewer)
    for _ in range(2):
        deliver_notification(row.pk)
    ((to, message),) = mailbox.received
    text = f"Your roles in {world.project.name} are now: Operator."
    assert (to, str(message["Subject"])) == ([world.viewer.email], text)
    assert reverse("notification", args=[row.pk]) in of(message, "plain")
    assert reverse("account-notifications") in of(message, "plain")
    assert text in of(message, "html")
    assert str(row.token) in message["Message-ID"]


def test_the_mail_about_a_stuck_task_says_why_and_what_to_do(world: World, mailbox: Mailbox) -> None:
    never = {"id": "never", "to": "completed", "when": {"eval": {"op": "equals", "value": "never"}}}
    version = world.line(document([station("build", never, name="Build")], policy={"no_match": "stuck"}))
    world.report(world.start(version, title="Import of orders"))
    deliver_notification(Notification.objects.get(kind="waiting").pk)
    ((_to, message),) = mailbox.received
    assert str(message["Subject"]) == "“Import of orders” is stuck at Build."
    reason = "No rule of Build took this outcome. Retry the station, or add a rule that takes it."
    assert reason in of(message, "plain").replace("\n", " ") and reason in of(message, "html")


def test_in_quiet_hours_the_ticket_waits_and_the_bell_does_not(world: World) -> None:
    choose(world.viewer, "roles", MailChoice.NOW, quiet_from=22, quiet_until=7)
    changed(world, NIGHT, Role.OPERATOR)
    assert tickets("reviews.send_notification") == [datetime(2026, 3, 3, 7, tzinfo=UTC)]
    assert Notification.objects.get(user=world.viewer).bell


@pytest.mark.parametrize("gone", ["project", "account"])
def test_who_has_left_gets_no_mail_any_more(world: World, mailbox: Mailbox, gone: str) -> None:
    choose(world.viewer, "roles", MailChoice.NOW)
    changed(world, NIGHT, Role.OPERATOR)
    if gone == "project":
        Membership.objects.filter(user=world.viewer).delete()
    else:
        User.objects.filter(pk=world.viewer.pk).update(is_active=False)
    row = Notification.objects.get(user=world.viewer)
    deliver_notification(row.pk)
    row.refresh_from_db()
    assert (mailbox.received, row.state) == ([], Posted.State.SKIPPED)


def test_both_off_is_not_told(world: World) -> None:
    choose(world.viewer, "roles", MailChoice.NEVER, bell=False)
    changed(world, NIGHT, Role.OPERATOR)
    assert not Notification.objects.filter(user=world.viewer).exists()


def test_without_an_address_there_is_the_bell_alone(world: World) -> None:
    choose(world.viewer, "roles", MailChoice.NOW)
    User.objects.filter(pk=world.viewer.pk).update(email="")
    changed(world, NIGHT, Role.OPERATOR)
    assert Notification.objects.get(user=world.viewer).state == Posted.State.SKIPPED
    assert tickets("reviews.send_notification") == []


# Mails that a line asks for


@pytest.mark.parametrize(
    ("mail", "state"),
    [("now", "queued"), ("named", "queued"), ("digest", "skipped"), ("never", "skipped")],
)
@pytest.mark.usefixtures("admin_only_where_named")
def test_the_mail_of_a_gate_that_names_me_is_as_i_chose(world: World, mail: str, state: str) -> None:
    choose(world.reviewer, "review", mail)
    task = world.start(world.line(**gated(notify=[world.reviewer.email, "list@example.com"])))
    world.report(task)
    assert dict(Mail.objects.values_list("address", "state")) == {
        world.reviewer.email: state,
        "list@example.com": "queued",
    }
    assert Notification.objects.get(user=world.reviewer).state == (
        "digest" if mail == "digest" else "skipped"
    )
    assert not [found for found in invariants.find_violations() if found.invariant == "I12"]
    world.vote(task, by=world.admin)
    closing = set(Mail.objects.filter(kind=Mail.MailKind.CLOSED).values_list("address", flat=True))
    assert closing == {"list@example.com", *([world.reviewer.email] if state == "queued" else [])}


@pytest.mark.usefixtures("admin_only_where_named")
def test_who_wants_every_review_by_mail_gets_the_mail_of_the_gate(world: World, mailbox: Mailbox) -> None:
    choose(world.reviewer, "review", MailChoice.NOW, quiet_from=0, quiet_until=23)
    task = world.start(world.line(**gated(notify=[])), title="Add login")
    world.report(task)
    row = Mail.objects.get()
    assert (row.address, row.chosen) == (world.reviewer.email, True)
    assert not [found for found in invariants.find_violations() if found.invariant == "I12"]
    deliver_mail(row.pk)
    assert "Add login" in mailbox.received[0][1]["Subject"]


@pytest.mark.wide
@pytest.mark.usefixtures("admin_only_where_named")
def test_what_was_answered_in_quiet_hours_is_not_asked_in_the_morning(world: World, mailbox: Mailbox) -> None:
    choose(world.reviewer, "review", MailChoice.NOW, quiet_from=0, quiet_until=23)
    version = world.line(**gated(notify=[]))
    answered, open_still, told = (world.start(version, title=title) for title in ("Alpha", "Beta", "Gamma"))
    for task in (answered, open_still, told):
        world.report(task)
    deliver_mail(Mail.objects.get(visit__task=told).pk)
    for task in (answered, told):
        world.vote(task, by=world.admin)
    for row in Mail.objects.order_by("-pk"):
        deliver_mail(row.pk)
    titles = [re.findall("Alpha|Beta|Gamma", message["Subject"]) for _to, message in mailbox.received]
    assert titles == [["Gamma"], ["Gamma"], ["Beta"]], "who was asked hears that it is over"
    assert Mail.objects.filter(visit__task=answered).exclude(state=Posted.State.SKIPPED).count() == 0


@pytest.mark.broken
def test_a_resolved_escalation_and_a_task_that_goes_on_are_no_news(world: World, mailbox: Mailbox) -> None:
    rule = {"id": "on", "when": {"eval": {"op": "equals", "value": "never"}}, "to": "ship"}
    stations = [station("weigh", rule), "ship"]
    escalates = {"key": "heavy", "policy": {"no_match": "escalate"}}
    task = world.start(world.line(stations=stations, **escalates), by=world.operator)
    choose(world.operator, "waiting", MailChoice.NOW, quiet_from=0, quiet_until=23)
    world.report(task)
    notices = list(Notice.objects.all())
    Escalation.objects.update(state=Escalation.State.RESOLVED, resolved_at=NIGHT, how="decided")
    stuck = world.start(
        world.line(stations=stations, key="sticks", policy={"no_match": "stuck"}), by=world.operator
    )
    world.report(stuck)
    row = Notification.objects.get(kind="waiting", task=stuck)
    Token.objects.filter(task=stuck).update(version=F("version") + 1)
    for each in notices:
        deliver_notice(each.pk)
    deliver_notification(row.pk)
    row.refresh_from_db()
    assert (mailbox.received, row.state) == ([], Posted.State.SKIPPED)
    assert notices and set(Notice.objects.values_list("state", flat=True)) == {Posted.State.SKIPPED}


@pytest.mark.usefixtures("admin_only_where_named")
def test_a_mail_that_a_member_chose_ends_with_the_membership(world: World, mailbox: Mailbox) -> None:
    choose(world.reviewer, "review", MailChoice.NOW, quiet_from=0, quiet_until=23)
    task = world.start(world.line(**gated(notify=[])), title="Add login")
    world.report(task)
    Membership.objects.filter(user=world.reviewer).delete()
    world.vote(task, by=world.admin)
    asked, closed = Mail.objects.order_by("pk")
    for row in (asked, closed):
        deliver_mail(row.pk)
        row.refresh_from_db()
    assert (mailbox.received, asked.state, closed.state) == ([], Posted.State.SKIPPED, Posted.State.SKIPPED)


def test_the_link_of_a_mail_leads_there_without_the_bell(
    world: World, mailbox: Mailbox, signed_in: As
) -> None:
    choose(world.viewer, "roles", MailChoice.NOW, bell=False)
    changed(world, NIGHT, Role.OPERATOR)
    row = Notification.objects.get(user=world.viewer)
    answer = signed_in(world.viewer).get(reverse("notification", args=[row.pk]))
    row.refresh_from_db()
    assert (answer.status_code, row.read_at is None) == (302, False)


def test_what_is_no_number_of_a_notification_is_not_found(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    for which in ("x", "9" * 5000):
        assert client.post(reverse("notifications-read"), {"notification": which}).status_code == 404


# The digest


@pytest.mark.wide
def test_one_digest_with_what_is_unread_however_often_its_ticket_runs(world: World, mailbox: Mailbox) -> None:
    choose(world.viewer, "roles", MailChoice.DIGEST)
    for minute, role in enumerate((Role.OPERATOR, Role.REVIEWER, Role.DESIGNER)):
        changed(world, NIGHT + timedelta(minutes=minute), role)
    assert tickets("reviews.send_digest") == [datetime(2026, 3, 3, 8, tzinfo=UTC)]
    Notification.objects.filter(user=world.viewer, data__after=["operator"]).update(read_at=NIGHT)
    digest = Digest.objects.get()
    mailbox.refuse = "451 try again later"
    with pytest.raises(OSError):
        deliver_digest(digest.pk)
    # Told after it was settled: it waits for the next.
    changed(world, NIGHT + timedelta(hours=9), Role.VIEWER)
    mailbox.refuse = None
    for _ in range(2):
        deliver_digest(digest.pk)
    ((to, message),) = mailbox.received
    assert to == [world.viewer.email] and message["Subject"] == "Gateline digest: 2 notifications"
    for body in (of(message, "plain"), of(message, "html")):
        assert "now: Reviewer" in body and "now: Designer" in body
        assert "now: Operator" not in body and "now: Viewer" not in body
    following = Digest.objects.exclude(pk=digest.pk).get()
    User.objects.filter(pk=world.viewer.pk).update(email="moved@example.com")
    deliver_digest(following.pk)
    assert mailbox.received[1][0] == ["moved@example.com"]
    assert "now: Viewer" in of(mailbox.received[1][1], "plain")


def test_a_digest_of_nothing_unread_is_not_sent(world: World, mailbox: Mailbox) -> None:
    choose(world.viewer, "roles", MailChoice.DIGEST)
    changed(world, NIGHT, Role.OPERATOR)
    Membership.objects.filter(user=world.viewer).delete()
    digest = Digest.objects.get()
    deliver_digest(digest.pk)
    digest.refresh_from_db()
    assert (mailbox.received, digest.state) == ([], Posted.State.SKIPPED)


@pytest.mark.broken
def test_a_digest_tells_of_no_task_that_went_on(world: World, mailbox: Mailbox) -> None:
    rule = {"id": "on", "when": {"eval": {"op": "equals", "value": "never"}}, "to": "ship"}
    version = world.line(stations=[station("weigh", rule), "ship"], policy={"no_match": "stuck"})
    choose(world.operator, "waiting", MailChoice.DIGEST)
    goes_on, stays = (world.start(version, by=world.operator, title=title) for title in ("On", "Stays"))
    for task in (goes_on, stays):
        world.report(task)
    Token.objects.filter(task=goes_on).update(version=F("version") + 1)
    deliver_digest(Digest.objects.get(user=world.operator).pk)
    [(_to, message)] = mailbox.received
    assert message["Subject"] == "Gateline digest: 1 notification"
    assert "Stays" in of(message, "plain") and "“On”" not in of(message, "plain")


# The settings page


def test_the_settings_of_a_person_are_kept(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    address = reverse("account-notifications")
    form = {f"{kind.key}-mail": "digest" for kind in KINDS}
    form |= {"roles-bell": "on", "digest_hour": "17", "quiet": "on", "quiet_from": "22", "quiet_until": "6"}
    assert client.post(address, form).status_code == 302
    found = active_recipient_by_id([world.viewer.pk])[world.viewer.pk]
    assert (found.digest_hour, found.quiet) == (17, (22, 6))
    assert (
        found.wants_bell("roles"),
        found.wants_bell("review"),
        found.mail_choice_or_default("review", "now"),
    ) == (
        True,
        False,
        "digest",
    )
    page = client.get(address).content.decode()
    assert re.search(r'value="17"\s+selected', page)
    for wrong in (
        {"digest_hour": "24"},
        {"roles-mail": "named"},
        {"quiet_until": "22"},
        {"review-mail": "x"},
    ):
        assert client.post(address, form | wrong).status_code == 422, wrong
    assert active_recipient_by_id([world.viewer.pk])[world.viewer.pk] == found


# HTML


def test_the_tones_of_mails_are_those_of_the_pages() -> None:
    assert {role: (colour(role, "light"), colour(role, "dark")) for role in TONES} == TONES


def test_every_mail_has_text_and_html_with_nothing_of_others_as_markup(
    world: World, mailbox: Mailbox
) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    User.objects.filter(pk=world.admin.pk).update(first_name=hostile)
    world.admin.refresh_from_db()
    (made,) = invitations.create_invitations(
        world.project,
        ["new@example.com"],
        roles=[Role.VIEWER],
        execute=False,
        groups=(),
        by=world.admin,
        now=datetime.now(UTC),
    )
    deliver_invitation(made.pk)
    choose(world.operator, "completed", MailChoice.NOW)
    ending = station("build", {"id": "on", "to": "completed"})
    world.report(world.start(world.line(stations=[ending]), title=hostile))
    deliver_notification(Notification.objects.get(user=world.operator).pk)
    with request_context(RequestFactory().get("/")):
        get_adapter().send_mail("account/email/unknown_account", "a@example.com", {})
        for prefix in CHANGES:
            get_adapter().send_notification_mail(prefix, world.viewer, {"user_agent": hostile})
    assert len(mailbox.received) == 3 + len(CHANGES)
    changes = [(str(message["Subject"]), of(message, "plain")) for _to, message in mailbox.received[3:]]
    assert changes[0][0] == "Your password was changed" and world.viewer.username in changes[0][1]
    assert [subject for subject, _text in changes] == [str(said) for _kind, said in CHANGES.values()]
    for _to, message in mailbox.received:
        html = of(message, "html")
        assert message.get_content_type() == "multipart/alternative" and of(message, "plain").strip()
        assert "prefers-color-scheme: dark" in html and "<img" not in html
        assert "<link" not in html and "<script" not in html and "url(" not in html


# The development mail


@pytest.mark.wide
def test_pages_that_speak_of_mail_lead_to_it_for_whom_it_opens(
    world: World, signed_in: As, settings: Any, tmp_path: Path
) -> None:
    settings.EMAIL_FILE_PATH = tmp_path
    keys = [world.project.owner.key, world.project.key]
    pages = [reverse("account-notifications"), reverse("project-settings", args=keys)]
    here = f'href="{reverse("mail-dev")}"'
    client = signed_in(world.admin)
    assert not any(here in client.get(page).content.decode() for page in pages)
    User.objects.filter(pk=world.admin.pk).update(is_superuser=True)
    assert all(here in client.get(page).content.decode() for page in pages)
    assert not any(here in client.get(page, REMOTE_ADDR="10.0.0.7").content.decode() for page in pages)
    options = client.get(reverse("palette"), {"q": "development mail"}).content.decode().split("</a>")
    assert here in options[0], "Ctrl K leads there first"
    assert here in client.get(reverse("palette"), {"q": "mail"}).content.decode()
    assert here not in client.get(reverse("palette"), {"q": "home"}).content.decode()
    settings.EMAIL_FILE_PATH, settings.EMAIL_BACKEND = None, "django.core.mail.backends.smtp.EmailBackend"
    assert not any(here in client.get(page).content.decode() for page in pages)
    assert not folder.may_open_folder(RequestFactory().get("/"))
