"""What is stored, what counts where, and who may change it by page and API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from pipelines.errors import Conflict, Invalid
from pipelines.models import AdministrativeAct, StoredValue
from pipelines.ports.vault import store, value_lookup
from pipelines.queries.audit import ActFilter, administrative_acts
from tests.factories import World, document, make_member, make_project, station
from tests.pages.conftest import at, client_of, text
from tests.vault.conftest import Put

pytestmark = pytest.mark.django_db
CANARY = "planted-canary-of-a-store"
CALL: dict[str, Any] = {
    "kind": "http",
    "work": {"url": "https://example.com", "headers": {"A": {"secret": "API"}, "R": {"variable": "REGION"}}},
}


def test_the_nearest_counts(world: World, put: Put) -> None:
    line = world.line(document(["a"])).line
    other = world.line(document(["a"], key="other")).line
    for of, value in (
        (world.project.owner, "of the owner"),
        (world.project, "of the project"),
        (line, "of the line"),
    ):
        put(of, "API", value, by=world.admin)
    owner = world.project.owner
    elsewhere = make_project("elsewhere")

    def value(project: int, line: int | None) -> str:
        found = value_lookup.ValueScope(owner.pk, project, line).nearest_value_by_name("secret", ["API"])
        return value_lookup.readable_secret_by_name(found)["API"]

    assert value(world.project.pk, line.pk) == "of the line"
    assert value(world.project.pk, other.pk) == "of the project"
    assert value(elsewhere.pk, None) == "of the owner"


def test_a_nearer_variable_hides_a_secret(world: World, put: Put) -> None:
    put(world.project.owner, "API", CANARY, by=world.admin)
    put(world.project, "API", "plain", kind="variable", by=world.admin)
    reach = value_lookup.ValueScope(world.project.owner_id, world.project.pk)
    assert reach.nearest_value_by_name("secret", ["API"]) == {}
    assert reach.sorted_names_of_kind("variable") == ["API"]


@pytest.mark.parametrize(
    ("name", "value", "kind", "path"),
    [
        ("api", CANARY, "secret", "name"),
        ("1API", CANARY, "secret", "name"),
        ("A" * 65, CANARY, "secret", "name"),
        ("API", "seven77", "secret", "value"),
        ("API", "", "variable", "value"),
        ("API", "nul\0in it", "secret", "value"),
        ("API", "x" * 32_769, "variable", "value"),
        ("API", CANARY, "other", "kind"),
    ],
)
def test_it_refuses(world: World, put: Put, name: str, value: str, kind: str, path: str) -> None:
    with pytest.raises(Invalid) as fault:
        put(world.project, name, value, kind=kind, by=world.admin)
    assert fault.value.path == path
    assert not value or value not in str(fault.value)


def test_a_variable_never_becomes_a_secret_under_its_name(world: World, put: Put) -> None:
    put(world.project, "API", "was shown", kind="variable", by=world.admin)
    with pytest.raises(Conflict):
        put(world.project, "API", CANARY, by=world.admin)
    assert store.remove_value_if_there(
        store.ValuePlace(world.project), "API", by=world.admin, now=timezone.now()
    )
    assert not store.remove_value_if_there(
        store.ValuePlace(world.project), "API", by=world.admin, now=timezone.now()
    )
    assert put(world.project, "API", CANARY, by=world.admin).kind == "secret"


def test_who_changed_what_is_recorded_without_the_value(world: World, put: Put) -> None:
    line, other = world.line().line, make_project("second", world.project.owner.key)
    put(line, "API", CANARY, by=world.admin)
    put(line, "API", f"{CANARY} again", by=world.admin)
    put(world.project.owner, "REGION", CANARY, kind="variable", by=world.admin)
    store.remove_value_if_there(store.ValuePlace(line), "API", by=world.admin, now=timezone.now())
    store.reencrypt_and_name_unreadable_secrets(timezone.now())
    by = f"person:{world.admin.pk}"
    shared = (by, "variable.created", "REGION", {"owner": world.project.owner.name})
    expected = [
        (by, "secret.deleted", "API", {"line": line.name}),
        shared,
        (by, "secret.changed", "API", {"line": line.name}),
        (by, "secret.created", "API", {"line": line.name}),
    ]
    rows = [
        [(a.actor, a.kind, a.name, a.data) for a in administrative_acts(project, ActFilter())]
        for project in (world.project, other)
    ]
    assert rows == [expected, [shared]]
    rotated = AdministrativeAct.objects.get(kind="secrets.rotated")
    assert (rotated.actor, rotated.project, rotated.data) == ("command", None, {"secrets": 0})
    assert CANARY not in str(list(AdministrativeAct.objects.values()))


def test_a_value_has_one_place(world: World) -> None:
    fields: dict[str, Any] = {"name": "A", "kind": "variable", "content": "x", "changed_at": timezone.now()}
    for places in ({}, {"owner": world.project.owner, "project": world.project}):
        with pytest.raises(IntegrityError), transaction.atomic():
            StoredValue.objects.create(**fields, **places)


def test_its_last_use_is_noted_once_a_minute(world: World, put: Put) -> None:
    stored = put(world.project, "API", CANARY, by=world.admin)
    now = timezone.now()
    value_lookup.record_use_if_not_lately_recorded([stored], now)
    value_lookup.record_use_if_not_lately_recorded(
        [StoredValue.objects.get()], now + value_lookup.USE_NOTED / 2
    )
    assert StoredValue.objects.get().last_used_at == now
    value_lookup.record_use_if_not_lately_recorded(
        [StoredValue.objects.get()], now + value_lookup.USE_NOTED * 2
    )
    assert StoredValue.objects.get().last_used_at == now + value_lookup.USE_NOTED * 2


# Pages and API


def test_the_page_stores_and_never_shows_a_secret(world: World, put: Put) -> None:
    line = world.line(document([station("call", **CALL)])).line
    client = client_of(world.admin)
    given = {"name": "API", "kind": "secret", "place": "project", "value": CANARY}
    assert client.post(at(world, "project-secrets"), given).status_code == 302
    client.post(
        at(world, "project-secrets"),
        {"name": "REGION", "kind": "variable", "place": "line:line", "value": "eu-north"},
    )
    page = text(client.get(at(world, "project-secrets")))
    assert CANARY not in page
    assert "eu-north" in page
    assert page.count(f">{line.name}</a>") == 2, "each names the line that uses it"
    refused = client.post(at(world, "project-secrets"), given | {"name": "api"})
    assert refused.status_code == 422
    assert CANARY not in text(refused)
    stored = StoredValue.objects.get(name="API")
    client.post(at(world, "project-secret-delete", stored.pk))
    assert not StoredValue.objects.filter(name="API").exists()


def test_lines_of_a_key_file_keep_their_ends(world: World, put: Put) -> None:
    sent = {
        "name": "KEY",
        "kind": "secret",
        "place": "project",
        "value": "-----BEGIN\r\nabcdefgh\r\n-----END\r\n",
    }
    client_of(world.admin).post(at(world, "project-secrets"), sent)
    found = value_lookup.readable_secret_by_name({"KEY": StoredValue.objects.get()})
    assert found == {"KEY": "-----BEGIN\nabcdefgh\n-----END\n"}


def test_what_reaches_all_projects_of_an_owner_needs_an_admin_of_each(world: World, put: Put) -> None:
    make_project("second")
    client = client_of(world.admin)
    given = {"name": "API", "kind": "secret", "place": "owner", "value": CANARY}
    assert client.post(at(world, "project-secrets"), given).status_code == 422
    both = make_member(world.project, "admin")
    StoredValue.objects.all().delete()
    for project in world.project.owner.projects.exclude(pk=world.project.pk):
        project.memberships.create(user=both, roles=["admin"])
    assert client_of(both).post(at(world, "project-secrets"), given).status_code == 302
    stored = StoredValue.objects.get()
    assert stored.owner == world.project.owner
    assert client.post(at(world, "project-secret-delete", stored.pk)).status_code == 404


def test_the_api_stores_lists_and_deletes(world: World, put: Put) -> None:
    world.line(document([station("call", **CALL)]))
    _, token = world.token_of(world.admin, "design", "settings")
    client = Client(headers={"Authorization": f"Bearer {token}"})
    address = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/secrets"

    def send(name: str, **body: Any) -> Any:
        return client.put(f"{address}/{name}", json.dumps(body), "application/json")

    made = send("API", value=CANARY)
    assert (made.status_code, made.json()["value"]) == (200, None)
    assert (
        send("REGION", value="eu-north", kind="variable", place="line", line="line").json()["line"] == "line"
    )
    assert send("REGION", value="x", place="line", line="none").status_code == 404
    wrong = send("API", value=[CANARY])
    assert wrong.status_code == 400
    assert CANARY not in wrong.content.decode()
    listed = client.get(address)
    assert CANARY not in listed.content.decode()
    assert [(row["name"], row["value"], row["used_in"]) for row in listed.json()] == [
        ("API", None, ["line"]),
        ("REGION", "eu-north", ["line"]),
    ]
    assert client.delete(f"{address}/API").status_code == 204
    assert client.delete(f"{address}/API").status_code == 404


def test_another_project_never_gets_it(world: World, put: Put) -> None:
    put(world.project, "API", CANARY, by=world.admin)
    foreign = make_project("app", owner="globex")
    reach = value_lookup.ValueScope(foreign.owner_id, foreign.pk)
    assert reach.sorted_names_of_kind("secret") == []
    stored = StoredValue.objects.get()
    admin = make_member(foreign, "admin")
    address = f"/p/globex/app/settings/secrets/{stored.pk}/delete/"
    assert client_of(admin).post(address).status_code == 404
    assert StoredValue.objects.exists()
