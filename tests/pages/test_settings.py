"""Personal settings, members, groups and tokens."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.models import ApiToken, Group, Membership, Role, User, Worker
from pipelines.people import accounts
from tests.factories import World
from tests.pages.conftest import PASSWORD, As, at, text

pytestmark = pytest.mark.django_db


def test_the_server_sets_theme_and_density_on_every_page(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    assert client.post(reverse("preferences"), {"theme": "dark"}).status_code == 302
    assert client.post(reverse("preferences"), {"density": "compact"}).status_code == 302
    shown = text(client.get(reverse("home")))
    assert 'data-theme="dark"' in shown
    assert 'data-density="compact"' in shown


@pytest.mark.parametrize("given", [{}, {"theme": "pink"}, {"theme": "dark\0"}, {"is_superuser": "1"}])
def test_a_preference_that_does_not_exist_is_refused(
    world: World, signed_in: As, given: dict[str, str]
) -> None:
    assert signed_in(world.viewer).post(reverse("preferences"), given).status_code == 400


def test_times_are_told_in_the_readers_zone(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    user = world.viewer
    user.time_zone = "Pacific/Kiritimati"
    user.save()
    world.start(world.line())
    page = text(client.get(at(world, "tasks")))
    assert "+14" in page


def test_an_account_keeps_what_was_typed_when_something_is_wrong(world: World, signed_in: As) -> None:
    answer = signed_in(world.viewer).post(
        reverse("account"), {"first_name": "Reviewer", "email": "not a mail", "time_zone": "Mars/Base"}
    )
    assert answer.status_code == 422
    assert "not a mail" in text(answer)


def test_personal_settings_lead_to_one_another(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    addresses = [
        reverse(name)
        for name in ("account", "mfa_index", "account-notifications", "account-chats", "account-away")
    ]
    for address in addresses:
        page = text(client.get(address))
        [here] = re.findall(
            r'<a[^>]*href="([^"]*)"[^>]*aria-current="page"', page.partition("settings-nav")[2]
        )[:1]
        assert here == address
        assert all(f'href="{other}"' in page for other in addresses)


def test_a_changed_password_ends_the_other_sessions(world: World, signed_in: As) -> None:
    client, other = signed_in(world.viewer), Client()
    other.force_login(world.viewer)
    new = {"old_password": PASSWORD, "new_password1": "another horse 2", "new_password2": "another horse 2"}
    assert client.post(reverse("password-change"), new).status_code == 302
    assert client.get(reverse("home")).status_code == 200
    assert other.get(reverse("home")).status_code == 302


def test_signing_out_everywhere_else_keeps_this_browser(world: World, signed_in: As) -> None:
    client, other = signed_in(world.viewer), Client()
    other.force_login(world.viewer)
    assert "Another browser" in text(client.get(reverse("account")))
    client.post(reverse("sessions-end"))
    assert client.get(reverse("home")).status_code == 200
    assert other.get(reverse("home")).status_code == 302


def test_signing_out_everywhere_finds_a_session_older_than_thousands(world: World, signed_in: As) -> None:
    client, other = signed_in(world.viewer), Client()
    other.force_login(world.viewer)
    later = timezone.now() + timedelta(days=99)
    Session.objects.bulk_create(
        Session(session_key=f"somebody{number:024}", session_data="", expire_date=later)
        for number in range(2_001)
    )
    client.post(reverse("sessions-end"))
    assert client.get(reverse("home")).status_code == 200
    assert other.get(reverse("home")).status_code == 302


def test_a_token_is_shown_once_and_stored_as_a_hash(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    made = client.post(reverse("token-new"), {"name": "laptop", "scopes": ["read"], "days": "30"})
    secret = re.search(r"gl_[\w-]{43}", text(made)).group()  # type: ignore[union-attr]
    assert made.headers["Cache-Control"] == "private, no-store"
    token = accounts.find_token_and_note_use(secret, timezone.now())
    assert token is not None
    assert secret not in token.digest
    assert secret not in text(client.get(reverse("account")))
    assert client.post(reverse("token-revoke", args=[token.pk])).status_code == 302
    assert accounts.find_token_and_note_use(secret, timezone.now()) is None


def test_nobody_revokes_the_token_of_another(world: World, signed_in: As) -> None:
    token, secret = world.token_of(world.operator)
    assert signed_in(world.admin).post(reverse("token-revoke", args=[token.pk])).status_code == 404
    assert accounts.find_token_and_note_use(secret, timezone.now()) is not None


def test_a_token_without_a_scope_is_not_made(world: World, signed_in: As) -> None:
    answer = signed_in(world.viewer).post(reverse("token-new"), {"name": "laptop", "days": "30"})
    assert answer.status_code == 422
    assert not ApiToken.objects.exists()


def test_a_machine_token_cannot_be_given_the_scope_of_deciding(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    given = {"name": "ci", "scopes": ["read", "decide"], "days": "30", "role": "operator"}
    assert client.post(at(world, "project-tokens"), given).status_code == 422
    given["scopes"] = ["read", "submit"]
    made = client.post(at(world, "project-tokens"), given)
    assert made.status_code == 200
    assert ApiToken.objects.get().project == world.project


def test_a_project_keeps_its_last_admin(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    membership = Membership.objects.get(user=world.admin)
    address = at(world, "member-change", membership.pk)
    for given in ({"roles": ["viewer"]}, {"remove": "yes"}):
        client.post(address, given)
        membership.refresh_from_db()
        assert membership.roles == [Role.ADMIN]


def test_a_member_who_is_removed_leaves_the_groups_and_sees_nothing_any_more(
    world: World, signed_in: As
) -> None:
    group = world.group("security", world.viewer)
    viewer, admin = signed_in(world.viewer), signed_in(world.admin)
    membership = Membership.objects.get(user=world.viewer)
    admin.post(at(world, "member-change", membership.pk), {"remove": "yes"})
    assert viewer.get(at(world, "lines")).status_code == 404
    assert not group.members.exists()


def test_somebody_unknown_cannot_become_a_member(world: World, signed_in: As) -> None:
    """Nobody, and somebody with whom the admin has nothing to do, are answered alike; an administrator of the
    installation knows everybody."""
    client, given = signed_in(world.admin), {"username": "nobody", "roles": ["viewer"]}
    for username in ("nobody", world.stranger.username):
        answer = client.post(at(world, "member-add"), given | {"username": username})
        assert answer.status_code == 422
        assert "Nobody in your projects has this user name" in text(answer)
    User.objects.filter(pk=world.admin.pk).update(is_staff=True)
    answer = client.post(at(world, "member-add"), given | {"username": world.stranger.username})
    assert answer.status_code == 302


def test_a_member_of_another_project_cannot_be_changed_from_here(world: World, signed_in: As) -> None:
    foreign = Membership.objects.get(user=world.stranger)
    answer = signed_in(world.admin).post(at(world, "member-change", foreign.pk), {"roles": ["viewer"]})
    assert answer.status_code == 404
    foreign.refresh_from_db()
    assert foreign.roles == [Role.ADMIN]


def test_only_members_can_be_put_into_a_group(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    client.post(at(world, "project-groups"), {"key": "security", "name": "Security"})
    group = Group.objects.get()
    address = at(world, "group-change", group.pk)
    assert client.post(address, {"members": [world.stranger.pk]}).status_code == 400
    client.post(address, {"members": [world.viewer.pk]})
    assert list(group.members.all()) == [world.viewer]


def test_the_table_of_roles_says_what_the_product_does(world: World, signed_in: As) -> None:
    page = text(signed_in(world.viewer).get(at(world, "project-settings")))
    assert "Permissions by role" in page
    assert "Only an admin of the project can change members." in page


def test_runners_say_plainly_what_is_not_enforced_and_members_do_not(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    for isolation, cuts, forge, network in (
        ("none", False, True, False),
        ("docker", False, False, True),
        ("bubblewrap", True, False, False),
    ):
        Worker.objects.update(seen_at=timezone.now(), isolation=isolation, cuts_network=cuts)
        page = text(client.get(at(world, "project-runners")))
        assert "could forge a decision" in page if forge else "could forge a decision" not in page, isolation
        assert ("Network: not enforced" in page.partition("<table")[0]) is network, isolation
        for other in (at(world, "project-settings"), reverse("home")):
            shown = text(client.get(other))
            assert "could forge a decision" not in shown and "Network: not enforced" not in shown
