"""Everything is in Django's admin, and the record is read-only there."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client, RequestFactory
from django.utils import timezone

from pipelines.models import (
    Decision,
    Event,
    GateVisit,
    Group,
    LineVersion,
    Membership,
    Migration,
    MigrationEntry,
    Owner,
    Project,
    Task,
    Vote,
)
from reviews.models import ChannelConnection, ChatCode, MailLink
from tests.factories import World, make_user, station
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db

RECORD = (LineVersion, Vote, Event, Decision, GateVisit, Task, Migration, MigrationEntry)
PEOPLE = (Owner, Project, Membership, Group)
OURS = [model for app in ("pipelines", "reviews") for model in apps.get_app_config(app).get_models()]


@pytest.fixture
def superuser_client() -> Client:
    return client_of(make_user("root", is_staff=True, is_superuser=True))


def test_every_model_is_registered() -> None:
    models = set(OURS)
    assert models - set(admin.site._registry) == set()


@pytest.mark.parametrize("model", [*RECORD, *PEOPLE], ids=lambda model: str(model.__name__))
def test_the_record_is_read_only(model: type, rf: RequestFactory) -> None:
    request = rf.get("/")
    request.user = make_user("root", is_staff=True, is_superuser=True)
    shown = admin.site._registry[model]
    assert not shown.has_add_permission(request)
    assert not shown.has_change_permission(request)
    assert not shown.has_delete_permission(request)
    assert shown.has_view_permission(request)


def test_nobody_is_removed_or_deactivated_past_the_record(world: World, superuser_client: Client) -> None:
    """It would leave their tokens, their invitations, and links that they know; nothing would say who did it."""
    member = Membership.objects.get(user=world.operator, project=world.project)
    page = f"/admin/pipelines/membership/{member.pk}/"
    for way, said in (("delete", {"post": "yes"}), ("change", {"roles": "viewer"})):
        assert superuser_client.post(f"{page}{way}/", said).status_code == 403
    inline = {"memberships-TOTAL_FORMS": "1", "memberships-INITIAL_FORMS": "1", "memberships-0-DELETE": "on"}
    project = f"/admin/pipelines/project/{world.project.pk}/change/"
    assert superuser_client.post(project, {**inline, "memberships-0-id": str(member.pk)}).status_code == 403
    assert Membership.objects.filter(pk=member.pk, roles=member.roles).exists()
    form = superuser_client.get(f"/admin/pipelines/user/{world.operator.pk}/change/").content.decode()
    assert 'name="username"' in form and 'name="is_active"' not in form


@pytest.mark.parametrize("one_in", [6, pytest.param(1, marks=pytest.mark.wide)])
def test_every_list_and_every_row_can_be_looked_at(
    world: World, superuser_client: Client, one_in: int
) -> None:
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    behind = {"id": "on", "to": "completed", "gates": ["review"]}
    task = world.start(world.line(stations=[station("build", behind)], gates=[gate]))
    world.report(task)
    world.vote(task)
    world.machine()
    for model in OURS[::one_in]:
        name = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        assert superuser_client.get(name).status_code == 200, name
        row = model._default_manager.first()
        if row is not None:
            assert superuser_client.get(f"{name}{row.pk}/change/").status_code == 200, name


def test_no_lease_or_digest_of_a_secret_is_shown(world: World, superuser_client: Client) -> None:
    token, _ = world.machine()
    job = world.started(world.start(world.line()))
    pages = [f"/admin/pipelines/apitoken/{token.pk}/change/", f"/admin/pipelines/job/{job.pk}/change/"]
    shown = "".join(superuser_client.get(page).content.decode() for page in pages)
    assert token.digest not in shown
    assert str(job.lease_key) not in shown


def test_no_secret_of_a_chat_or_a_mail_link_is_shown(world: World, superuser_client: Client) -> None:
    now, secret = timezone.now(), "canary" * 5
    chat = ChannelConnection.objects.create(
        project=world.project, name="c", address=secret, secret=secret, signing=secret, created_at=now
    )
    code = ChatCode.objects.create(connection=chat, user=world.reviewer, digest=secret, expires_at=now)
    task = world.start(world.line(**gated()))
    world.report(task)
    link = MailLink.objects.create(
        visit=world.visit(task), user=world.reviewer, digest=secret, token_version=1, created_at=now
    )
    for row in (chat, code, link):
        name = f"/admin/reviews/{row._meta.model_name}/"
        for page in (name, f"{name}{row.pk}/change/"):
            answer = superuser_client.get(page)
            assert answer.status_code == 200 and secret not in answer.content.decode(), page
