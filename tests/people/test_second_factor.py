"""Second factors: the code of an app, recovery codes, and what they keep out."""

from __future__ import annotations

import re

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from pipelines import access
from pipelines.models import AdministrativeAct, Membership
from pipelines.web.live.subscriptions import requested_subscription_or_none
from tests.factories import World
from tests.pages.conftest import PASSWORD, at, client_of, text

pytestmark = pytest.mark.django_db


def code_of(secret: str, steps: int = 0) -> str:
    """The code of so many steps from now."""
    _before, counter, _after = totp.yield_hotp_counters_from_time()
    return totp.format_hotp_value(totp.hotp_value(secret, counter + steps))


def signed_in_by_form(world: World) -> Client:
    client_of(world.viewer)
    client = Client()
    client.post(reverse("sign-in"), {"username": world.viewer.username, "password": PASSWORD})
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    return client


def turned_on(client: Client) -> str:
    page = text(client.get(reverse("mfa_activate_totp")))
    secret = re.search(r"<code>([A-Z2-7]{16,})</code>", page).group(1)  # type: ignore[union-attr]
    answer = client.post(reverse("mfa_activate_totp"), {"code": code_of(secret)})
    assert answer.headers["Location"] == reverse("mfa_view_recovery_codes")
    return secret


def recovery_codes(client: Client) -> list[str]:
    page = client.get(reverse("mfa_view_recovery_codes")).content.decode()
    return re.findall(r"\b\d{8}\b", page)


def half_way(world: World) -> Client:
    """Past the password, before the code."""
    client = Client()
    answer = client.post(reverse("sign-in"), {"username": world.viewer.username, "password": PASSWORD})
    assert answer.headers["Location"].startswith(reverse("mfa_authenticate"))
    return client


def test_the_password_alone_signs_nobody_in_any_more(world: World) -> None:
    secret = turned_on(signed_in_by_form(world))
    client = half_way(world)
    assert client.get(reverse("home")).status_code == 302
    wrong = client.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert "_auth_user_id" not in client.session
    assert wrong.status_code == 200
    # The code that turned it on is used up.
    answer = client.post(reverse("mfa_authenticate"), {"code": code_of(secret, 1)})
    assert answer.headers["Location"] == reverse("home")
    assert client.get(reverse("home")).status_code == 200


def test_its_pages_lead_back_to_the_personal_settings(world: World) -> None:
    client = signed_in_by_form(world)
    for name in ("mfa_index", "mfa_activate_totp", "mfa_add_webauthn"):
        trail = re.search(r'<ol class="breadcrumb".*?</ol>', text(client.get(reverse(name))))
        assert trail and f'href="{reverse("account")}"' in trail.group(), name


def test_a_recovery_code_signs_in_once(world: World) -> None:
    client = signed_in_by_form(world)
    turned_on(client)
    codes = recovery_codes(client)
    assert len(codes) == 10
    answer = half_way(world).post(reverse("mfa_authenticate"), {"code": codes[0]})
    assert answer.headers["Location"] == reverse("home")
    assert half_way(world).post(reverse("mfa_authenticate"), {"code": codes[0]}).status_code == 200
    assert recovery_codes(client) == codes[1:]


def test_turning_it_on_asks_for_the_password_again_where_it_was_not_just_given(world: World) -> None:
    client = client_of(world.viewer)
    answer = client.get(reverse("mfa_activate_totp"))
    assert answer.headers["Location"].startswith(reverse("account_reauthenticate"))
    wrong = client.post(answer.headers["Location"], {"password": "wrong"})
    assert wrong.status_code == 200
    right = client.post(answer.headers["Location"], {"password": PASSWORD})
    assert right.headers["Location"] == reverse("mfa_activate_totp")


@pytest.mark.django_db(transaction=True)
def test_turning_it_off_takes_the_recovery_codes_along(world: World) -> None:
    client = signed_in_by_form(world)
    turned_on(client)
    answer = client.post(reverse("mfa_deactivate_totp"))
    assert answer.headers["Location"] == reverse("mfa_index")
    assert not Authenticator.objects.exists()
    assert signed_in_by_form(world).get(reverse("home")).status_code == 200
    kinds = AdministrativeAct.objects.order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["factor.added", "factor.removed"]


def test_keys_are_encrypted_where_they_are_stored(world: World) -> None:
    client = signed_in_by_form(world)
    secret = turned_on(client)
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored
    assert not any(code in stored for code in recovery_codes(client))


def test_codes_are_not_guessed(world: World, settings: Settings) -> None:
    secret = turned_on(signed_in_by_form(world))
    settings.ACCOUNT_RATE_LIMITS = {"login_failed": "1000/m/ip,5/5m/key"}
    cache.clear()
    client = half_way(world)
    pages = [text(client.post(reverse("mfa_authenticate"), {"code": f"{n:06}"})) for n in range(7)]
    assert ["Too many" in page for page in pages] == [False] * 5 + [True] * 2
    client.post(reverse("mfa_authenticate"), {"code": code_of(secret, 1)})
    assert "_auth_user_id" not in client.session


def test_a_reset_password_does_not_open_the_second_factor(world: World) -> None:
    turned_on(signed_in_by_form(world))
    world.viewer.set_password(PASSWORD)
    world.viewer.save()
    assert half_way(world).get(reverse("home")).status_code == 302


def test_the_django_admin_signs_nobody_in_by_a_page_of_its_own(world: World) -> None:
    """It would ask for the password alone, as often as somebody likes, and open everything."""
    turned_on(signed_in_by_form(world))
    world.viewer.is_staff = world.viewer.is_superuser = True
    world.viewer.save()
    said = {"username": world.viewer.username, "password": PASSWORD, "next": reverse("home")}
    client, page = Client(), reverse("admin:login")
    for answer in (
        client.post(page, said),
        client.get(page),
        client.get(reverse("admin:index"), follow=True),
    ):
        assert answer.status_code == 200 or answer.headers["Location"].startswith(reverse("sign-in"))
        assert "_auth_user_id" not in client.session
    known = client_of(world.operator)
    assert known.get(page).status_code == known.post(page, said).status_code == 403
    assert known.session["_auth_user_id"] == str(world.operator.pk)
    assert client_of(world.viewer).get(page).headers["Location"] == reverse("admin:index")


# A project that requires one


def test_a_member_without_one_sets_it_up_before_anything_else(world: World) -> None:
    client, admin = signed_in_by_form(world), client_of(world.admin)
    lines = at(world, "lines")
    members = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/members"
    bearer = {"Authorization": f"Bearer {world.token_of(world.viewer)[1]}"}
    assert client.get(lines).status_code == client.get(members).status_code == 200
    switch = at(world, "project-second-factor")
    assert "2 members have no second factor yet." in text(admin.get(at(world, "project-general")))
    admin.post(switch, {"second_factor": "on"})

    for address in (lines, reverse("home"), reverse("account"), reverse("inbox")):
        assert client.get(address).headers["Location"].partition("?")[0] == reverse("mfa_index")
    assert client.get(members).status_code == 401, "the session of a page opens nothing of the API either"
    assert client.get(members, headers=bearer).status_code == 200, "a token is no sign-in"
    part = {"HX-Request": "true"}
    assert client.get(reverse("needs-count"), headers=part).headers["HX-Redirect"] == reverse("mfa_index")
    on = part | {"HX-Current-URL": "http://testserver" + reverse("mfa_activate_totp")}
    assert client.get(reverse("needs-count"), headers=on).status_code == 204, "it leads nobody away"
    assert "Set up a second factor to continue" in text(client.get(reverse("mfa_index")))

    world.viewer.is_staff = world.viewer.is_superuser = True
    world.viewer.save()
    index, session = reverse("admin:index"), client.session
    assert client.get(index).headers["Location"] == reverse("mfa_index"), "the Django admin is closed too"
    assert client.get(reverse("admin:pipelines_task_changelist")).headers["Location"] == reverse("mfa_index")
    query = f"project={world.project}".encode()
    assert requested_subscription_or_none(world.viewer, session, query) is requested_subscription_or_none(
        world.viewer, session, b"project=*"
    )

    turned_on(client)
    assert client.get(index).status_code == 200
    open_one = requested_subscription_or_none(world.viewer, session, query)
    assert open_one and requested_subscription_or_none(world.viewer, session, b"project=*")
    assert access.user_and_project_ids_of_members([world.viewer.pk, world.admin.pk], None) == {
        (world.viewer.pk, world.project.pk)
    }
    assert client.get(lines).status_code == client.get(members).status_code == 200
    assert "to continue" not in text(client.get(reverse("mfa_index")))
    assert admin.get(lines).status_code == 302, "who required it needs one, too"


def test_it_is_a_setting_of_the_project_that_its_record_keeps(world: World) -> None:
    admin, viewer = client_of(world.admin), client_of(world.viewer)
    project = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}"
    bearer = {"Authorization": f"Bearer {world.token_of(world.admin, 'settings')[1]}"}
    assert viewer.post(at(world, "project-second-factor"), {"second_factor": "on"}).status_code == 403
    admin.post(at(world, "project-second-factor"), {"second_factor": "on"})
    for required in (True, False, False):
        answer = admin.patch(
            project, {"second_factor": required}, headers=bearer, content_type="application/json"
        )
        assert answer.json()["second_factor"] is required
    kinds = (
        AdministrativeAct.objects.filter(project=world.project).order_by("pk").values_list("kind", flat=True)
    )
    assert [kind for kind in kinds if "factor" in kind] == [
        "project.factor_required",
        "project.factor_optional",
    ]
    assert viewer.get(at(world, "lines")).status_code == 200


def test_who_is_in_no_such_project_is_asked_for_nothing(world: World) -> None:
    world.project.second_factor = True
    world.project.save()
    client = client_of(world.stranger)
    assert client.get(reverse("home")).status_code == 200
    client.get(at(world, "lines"))
    Membership.objects.create(project=world.project, user=world.stranger, roles=["viewer"])
    assert client.get(reverse("home")).status_code == 302
