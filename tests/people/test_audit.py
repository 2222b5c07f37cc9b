"""Every administrative act leaves its entry, which nobody alters; the page narrows and exports them."""

from __future__ import annotations

import json

import pytest
from django.db import IntegrityError, transaction
from django.http import StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone

from pipelines.models import AdministrativeAct, Group, Membership, Role
from pipelines.ports import audit
from tests.factories import World
from tests.pages.conftest import As, at, text

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators"),
]


def kinds() -> list[str]:
    return list(AdministrativeAct.objects.order_by("pk").values_list("kind", flat=True))


def test_what_an_admin_does_is_recorded_with_before_and_after(world: World, signed_in: As) -> None:
    client, member = signed_in(world.admin), Membership.objects.get(user=world.viewer)
    there = world.stranger
    Membership.objects.create(project=there.memberships.get().project, user=world.admin, roles=[Role.VIEWER])
    client.post(at(world, "member-add"), {"username": there.username, "roles": ["viewer"]})
    client.post(at(world, "member-change", member.pk), {"roles": ["operator"], "execute": "on"})
    client.post(at(world, "member-change", member.pk), {"roles": ["operator"], "execute": "on"})
    client.post(at(world, "project-groups"), {"key": "security", "name": "Security"})
    group = Group.objects.get()
    client.post(at(world, "group-change", group.pk), {"members": [world.admin.pk]})
    client.post(at(world, "group-change", group.pk), {"delete": "yes"})
    client.post(at(world, "member-change", member.pk), {"remove": "yes"})
    given = {"name": "ci", "scopes": ["read"], "days": "30", "role": "operator"}
    client.post(at(world, "project-tokens"), given)
    assert kinds() == [
        "member.added",
        "member.changed",
        "group.created",
        "group.changed",
        "group.deleted",
        "member.removed",
        "token.created",
    ]
    acts = AdministrativeAct.objects.filter(kind="member.changed")
    assert acts.get().data == {
        "before": {"roles": ["viewer"], "execute": False},
        "after": {"roles": ["operator"], "execute": True},
    }
    assert {act.actor for act in AdministrativeAct.objects.all()} == {f"person:{world.admin.pk}"}
    page = text(client.get(at(world, "project-audit")))
    assert "Viewer → Operator, can publish programs" in page


def test_the_database_keeps_entries_as_they_are(world: World) -> None:
    audit.record_administrative_act(
        "group.created", by=world.admin, at=timezone.now(), project=world.project, name="g"
    )
    with pytest.raises(IntegrityError), transaction.atomic():
        AdministrativeAct.objects.update(name="other")
    with pytest.raises(IntegrityError), transaction.atomic():
        AdministrativeAct.objects.all().delete()
    assert AdministrativeAct.objects.get().name == "g"


def test_an_act_of_no_known_kind_is_refused(world: World) -> None:
    with pytest.raises(KeyError):
        audit.record_administrative_act("group.painted", by=None, at=timezone.now())


def test_the_log_is_narrowed_by_action_person_and_day(world: World, signed_in: As) -> None:
    now = timezone.now()
    for who, kind in ((world.admin, "group.created"), (world.viewer, "token.created")):
        audit.record_administrative_act(kind, by=who, at=now, project=world.project, name=f"of-{who.pk}")
    client, address = signed_in(world.admin), at(world, "project-audit")

    def names(**asked: str) -> set[str]:
        page = text(client.get(address, asked))
        return {act.name for act in AdministrativeAct.objects.all() if act.name in page}

    both = {f"of-{world.admin.pk}", f"of-{world.viewer.pk}"}
    assert names() == both
    assert names(kind="group.created") == {f"of-{world.admin.pk}"}
    assert names(who=world.viewer.username) == {f"of-{world.viewer.pk}"}
    assert names(since="2000-01-01") == both
    assert names(until="2000-01-01") == set()
    # Words that are none narrow nothing.
    assert names(kind="nonsense", since="yesterday", page="zero") == both


def test_the_log_of_another_project_is_not_in_it(world: World, signed_in: As) -> None:
    elsewhere = world.stranger.memberships.get().project
    audit.record_administrative_act(
        "group.created", by=world.stranger, at=timezone.now(), project=elsewhere, name="secret-group"
    )
    client = signed_in(world.admin)
    assert "secret-group" not in text(client.get(at(world, "project-audit")))
    address = reverse("project-audit-export", args=[elsewhere.owner.key, elsewhere.key])
    assert client.get(address).status_code == 404


def test_the_export_has_what_the_page_narrows_to(world: World, signed_in: As) -> None:
    for name in ("one", "two"):
        audit.record_administrative_act(
            "group.created", by=world.admin, at=timezone.now(), project=world.project, name=name
        )
    answer = signed_in(world.admin).get(at(world, "project-audit-export"), {"who": "two"})
    assert isinstance(answer, StreamingHttpResponse)
    (row,) = [json.loads(line) for line in b"".join(answer).decode().splitlines()]
    assert (row["name"], row["actor_name"], row["kind"]) == ("two", str(world.admin), "group.created")
