"""One sidebar on every page of somebody who is signed in; the plain frame for everybody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from pipelines.models import Membership, Role, User
from pipelines.web.shell import errors
from tests.factories import World, make_user, make_world
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

ANSWERS: dict[int, Callable[..., HttpResponse]] = {
    400: errors.bad_request,
    403: lambda request: errors.forbidden_page(request, PermissionDenied("Not yours.")),
    404: errors.not_found,
    429: lambda request: errors.too_many(request, 60),
    500: errors.server_error,
}


def has_sidebar(page: str, world: World) -> bool:
    names = ("home", "needs-me", "tasks-everywhere")
    places = [reverse(name) for name in names] + [
        at(world, name) for name in ("lines", "insights", "project-settings")
    ]
    return all(f'href="{place}' in page for place in places) and reverse("needs-count") in page


def answered(code: int, user: Any) -> str:
    request = RequestFactory().get("/somewhere/")
    request.user, request.session = user, {}
    response = ANSWERS[code](request)
    assert response.status_code == code
    return text(response)


@pytest.mark.parametrize("code", ANSWERS)
def test_an_error_keeps_the_sidebar_and_is_plain_for_who_is_signed_out(code: int, world: World) -> None:
    assert has_sidebar(answered(code, world.viewer), world)
    stranger = answered(code, Client().get("/sign-in/").wsgi_request.user)
    assert not has_sidebar(stranger, world) and 'class="plain"' in stranger


def test_a_failure_of_the_shell_itself_is_told_in_the_plain_frame() -> None:
    class Broken:
        @property
        def is_authenticated(self) -> bool:
            raise RuntimeError("The shell is what failed.")

    assert 'class="plain"' in answered(500, Broken())


@pytest.mark.parametrize(
    "name", ["account", "help", "projects", "mfa_index", "account_reauthenticate", "mail-dev"]
)
def test_pages_of_no_project_keep_the_sidebar(name: str, world: World, signed_in: As, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    User.objects.filter(pk=world.admin.pk).update(is_superuser=True, is_staff=True)
    client = signed_in(User.objects.get(pk=world.admin.pk))
    response = client.get(reverse(name), follow=True)
    assert response.status_code == 200
    assert has_sidebar(text(response), world), name


def test_the_sidebar_leads_to_the_project_that_was_opened_last(world: World, signed_in: As) -> None:
    other = make_world()
    person = make_user("both")
    for each in (world, other):
        Membership.objects.create(project=each.project, user=person, roles=[Role.ADMIN])
    client = signed_in(person)
    for each in (other, world, other):
        client.get(at(each, "lines"))
        assert has_sidebar(text(client.get(reverse("help"))), each)
    Membership.objects.filter(user=person, project=other.project).delete()
    page = text(client.get(reverse("help")))
    assert has_sidebar(page, world), "the cookie of a project that was left leads nowhere"
    assert other.project.name not in page
