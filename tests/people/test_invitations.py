"""Inviting: links that work once, mail, and joining with an account of before or a new one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from pipelines.models import Invitation, Membership, User
from pipelines.people import departures, invitations
from reviews import tasks
from tests.factories import World
from tests.fixtures.mailbox import Mailbox
from tests.pages.conftest import PASSWORD, at, client_of, text
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
ACCOUNT = {"username": "newcomer", "password1": PASSWORD, "password2": PASSWORD}


def invited(world: World, *emails: str, **more: object) -> Invitation:
    given = {"roles": ["reviewer"], "execute": False, "groups": (), "by": world.admin, "now": timezone.now()}
    return invitations.create_invitations(world.project, emails, **given | more)[-1]  # type: ignore[arg-type]


def link(invitation: Invitation) -> str:
    return reverse("join", args=[invitations.invitation_secret(invitation)])


def test_looking_at_the_link_joins_nobody(world: World) -> None:
    address = link(invited(world))
    for method in ("get", "head", "get"):
        assert getattr(Client(), method)(address).status_code == 200
    assert Client().post(address, ACCOUNT).status_code == 302


def test_a_newcomer_gets_an_account_with_the_roles_and_groups_of_the_invitation(world: World) -> None:
    group = world.group("security")
    client = Client()
    address = link(invited(world, "new@example.com", groups=[group]))
    assert 'value="new"' in text(client.get(address)), "a user name to begin with"
    answer = client.post(address, ACCOUNT)
    assert answer.headers["Location"] == reverse("home")
    user = User.objects.get(username="newcomer")
    assert client.session["_auth_user_id"] == str(user.pk)
    assert (user.email, user.is_staff, user.is_superuser) == ("new@example.com", False, False)
    assert Membership.objects.get(user=user).roles == ["reviewer"]
    assert list(group.members.all()) == [user]
    assert Client().login(username="newcomer", password=PASSWORD)


def test_who_joins_lands_where_work_waits(world: World) -> None:
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task)
    client = Client()
    answer = client.post(link(invited(world, "new@example.com")), ACCOUNT)
    assert answer.headers["Location"] == reverse("needs-me")
    assert "Approve" in text(client.get(answer.headers["Location"]))


def test_a_fault_in_the_form_uses_the_invitation_not_up(world: World) -> None:
    address = link(invited(world))
    for wrong in ({"username": world.admin.username}, {"password2": "other"}, {"password1": "a"}):
        assert Client().post(address, ACCOUNT | wrong).status_code == 422
    assert not User.objects.filter(username="newcomer").exists()
    assert Client().post(address, ACCOUNT).status_code == 302


def test_who_has_an_account_joins_as_themselves_and_keeps_their_roles(world: World) -> None:
    stranger, first = client_of(world.stranger), invited(world)
    assert f"Join as {world.stranger}" in text(stranger.get(link(first)))
    stranger.post(link(first))
    assert Membership.objects.get(user=world.stranger, project=world.project).roles == ["reviewer"]
    client_of(world.designer).post(link(invited(world)))
    assert Membership.objects.get(user=world.designer).roles == ["designer", "reviewer"]


def test_who_opens_a_link_for_somebody_else_is_told_where_to_open_it(world: World) -> None:
    """Somebody who tries it alone opens the mail in their own browser, and one press would use the link up."""
    page = text(client_of(world.admin).get(link(invited(world, "new@example.com"))))
    assert f"You are signed in as <strong>{world.admin}</strong> and are a member already." in page
    assert "sent to another address than yours" in page and "in a private window" in page
    assert "button-primary" not in page.partition("<main")[2]
    visitor = User.objects.create_user("elsewhere", "new@example.com", PASSWORD)
    page = text(client_of(visitor).get(link(invited(world, "New@example.com"))))
    assert "member already" not in page and "another address" not in page and "Join as elsewhere" in page


def test_a_link_works_once(world: World) -> None:
    address = link(invited(world))
    assert Client().post(address, ACCOUNT).status_code == 302
    again = Client().post(address, ACCOUNT | {"username": "second"})
    assert again.status_code == 410
    assert not User.objects.filter(username="second").exists()


def test_of_two_who_accept_at_once_the_second_gets_no_account(world: World) -> None:
    found = invited(world)
    seen = Invitation.objects.get(pk=found.pk)
    invitations.accept_invitation(found, world.stranger, timezone.now())
    with pytest.raises(invitations.InvitationRefused):
        invitations.accept_invitation(seen, world.viewer, timezone.now())
    assert Membership.objects.get(user=world.viewer).roles == ["viewer"]


@pytest.mark.parametrize("ended", ["expired", "revoked", "renewed"])
def test_a_link_that_has_ended_opens_nothing(world: World, ended: str) -> None:
    found = invited(world)
    address = link(found)
    if ended == "expired":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif ended == "revoked":
        invitations.revoke_invitation(found, by=world.admin, now=timezone.now())
    else:
        renewed = invitations.renew_invitation(found, by=world.admin, now=timezone.now())
        assert Client().get(link(renewed)).status_code == 200
    for answer in (
        Client().get(address),
        Client().post(address, ACCOUNT),
        client_of(world.stranger).post(address),
    ):
        assert answer.status_code == 410
        assert world.project.name not in text(answer)


@pytest.mark.parametrize("secret", ["x", "x:y", "x" * 3000, "%F0%9F%98%80:a"])
def test_a_link_that_nobody_made_is_answered_as_one_that_was_used(secret: str) -> None:
    assert Client().get(f"/join/{secret}/").status_code == 410


def test_the_rows_alone_open_nothing(world: World) -> None:
    found = invited(world)
    secret = invitations.invitation_secret(found)
    kept = [str(value) for value in Invitation.objects.filter(pk=found.pk).values_list().get()]
    assert secret not in kept
    assert Client().get(f"/join/{found.key}/").status_code == 410
    assert Client().get(f"/join/{secret[:-1]}/").status_code == 410


def test_an_admin_invites_several_by_mail_and_sees_their_links(world: World) -> None:
    client = client_of(world.admin)
    given = {"emails": "One@example.com, two@example.com\nONE@example.com", "roles": ["operator"]}
    assert client.post(at(world, "member-invite"), given).status_code == 302
    assert [each.email for each in Invitation.objects.order_by("pk")] == [
        "one@example.com",
        "two@example.com",
    ]
    page = text(client.get(at(world, "project-settings")))
    for each in Invitation.objects.all():
        assert link(each) in page
    assert "two@example.com" not in text(client_of(world.viewer).get(at(world, "project-settings")))


def test_what_cannot_be_invited_says_why(world: World) -> None:
    client = client_of(world.admin)
    invited(world, "there@example.com")
    for emails, why in (
        ("no address", "is not an e-mail address"),
        (world.viewer.email, "is already a member"),
        ("There@example.com", "is already invited"),
        (" ".join(f"p{n}@example.com" for n in range(51)), "at most 50"),
    ):
        answer = client.post(at(world, "member-invite"), {"emails": emails, "roles": ["viewer"]})
        assert answer.status_code == 422
        assert why in text(answer)
    assert Invitation.objects.count() == 1


def test_an_invitation_of_another_project_is_not_there(world: World) -> None:
    found = invited(world)
    there = world.stranger.memberships.get().project
    address = reverse("invitation-change", args=[there.owner.key, there.key, found.pk])
    assert client_of(world.stranger).post(address, {"revoke": "yes"}).status_code == 404
    assert Invitation.objects.get().revoked_at is None


@pytest.mark.parametrize(
    ("base", "warned"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost", True),
        ("http://[::1]:1", True),
        ("https://g.example", False),
    ],
)
def test_a_link_that_opens_only_here_says_so(
    world: World, settings: Settings, base: str, warned: bool
) -> None:
    settings.BASE_URL = base
    invited(world)
    page = text(client_of(world.admin).get(at(world, "project-settings")))
    assert ("open only on this machine" in page) == warned
    assert f"{base}/join/" in page


@pytest.mark.django_db(transaction=True)
def test_the_mail_has_the_link_and_is_sent_once(world: World, mailbox: Mailbox) -> None:
    found = invited(world, "new@example.com")
    for _ in range(2):
        tasks.deliver_invitation(found.pk)
    ((recipients, message),) = mailbox.received
    assert recipients == ["new@example.com"]
    for part in ("plain", "html"):
        assert link(found) in message.get_body((part,)).get_content()
    assert Invitation.objects.get().mailed_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_revoked_invitation_is_not_mailed(world: World, mailbox: Mailbox) -> None:
    found = invited(world, "new@example.com")
    invitations.revoke_invitation(found, by=world.admin, now=timezone.now())
    tasks.deliver_invitation(found.pk)
    assert not mailbox.received


def change_member(world: World, of: User, by: User, **form: object) -> None:
    member = Membership.objects.get(project=world.project, user=of)
    address = reverse("member-change", args=[world.project.owner.key, world.project.key, member.pk])
    assert client_of(by).post(address, form).status_code == 302


@pytest.fixture
def second_admin(world: World) -> User:
    Membership.objects.filter(user=world.designer).update(roles=["admin"], execute=True)
    return world.designer


GOING: list[dict[str, object]] = [{"roles": ["viewer"]}, {"remove": "yes"}]


@pytest.mark.parametrize("form", GOING, ids=["demoted", "removed"])
def test_an_admin_who_goes_does_not_come_back_by_their_own_invitation(
    world: World, second_admin: User, form: dict[str, object]
) -> None:
    own = [
        invited(world, second_admin.email, roles=["admin"], execute=True, by=second_admin),
        invited(world, roles=["reviewer"], by=second_admin),
    ]
    links = [link(invitation) for invitation in own]
    change_member(world, second_admin, world.admin, **form)
    for address in links:
        assert client_of(second_admin).post(address).status_code == 410
    members = Membership.objects.filter(project=world.project, user=second_admin)
    assert [(member.roles, member.execute) for member in members] in ([], [(["viewer"], False)])


@pytest.mark.parametrize("form", GOING, ids=["demoted", "removed"])
def test_an_admin_who_goes_does_not_come_back_by_a_link_in_the_list(
    world: World, second_admin: User, form: dict[str, object]
) -> None:
    colleague = invited(world, roles=["reviewer"])
    before = link(colleague)
    change_member(world, second_admin, world.admin, **form)
    assert client_of(second_admin).post(before).status_code == 410
    colleague.refresh_from_db()
    assert Client().post(link(colleague), ACCOUNT).status_code == 302


def test_a_deactivated_admin_leaves_no_way_back(world: World, second_admin: User) -> None:
    own, colleague = invited(world, by=second_admin), invited(world)
    links = [link(own), link(colleague)]
    departures.deactivate_user(second_admin, heir=world.admin, by=world.admin, now=timezone.now())
    assert {Client().post(address, ACCOUNT).status_code for address in links} == {410}


def test_an_invitation_is_worth_what_its_inviter_may_give_now(world: World, second_admin: User) -> None:
    """The role can go by other ways than the pages, which revoke: the row itself, a restored backup."""
    left = invited(world, by=second_admin)
    Membership.objects.filter(user=second_admin).update(roles=["viewer"])
    assert Client().post(link(left), ACCOUNT).status_code == 410
    assert not User.objects.filter(username="newcomer").exists()


@pytest.mark.parametrize("power", [{"roles": ["admin"]}, {"execute": True}], ids=["admin", "execute"])
def test_power_is_given_to_one_address(world: World, power: dict[str, object]) -> None:
    bound = invited(world, "chief@example.com", **power)
    refused = client_of(world.stranger).post(link(bound))
    assert refused.status_code == 409
    assert "for one e-mail address" in text(refused)
    assert not Membership.objects.filter(user=world.stranger, project=world.project).exists()
    assert Client().post(link(bound), ACCOUNT).status_code == 302

    form = {
        "emails": "",
        "roles": power.get("roles", ["viewer"]),
        "execute": "on" if "execute" in power else "",
    }
    answer = client_of(world.admin).post(at(world, "member-invite"), form)
    assert answer.status_code == 422
    assert "Name the e-mail address" in text(answer)
    for_anybody = invited(world, **power)
    assert Client().post(link(for_anybody), ACCOUNT | {"username": "second"}).status_code == 409
    assert not User.objects.filter(username="second").exists()
