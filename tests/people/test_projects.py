"""Projects as a whole: created, renamed, archived, restored, transferred; who may, and what stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines import line_operations
from pipelines.models import AdministrativeAct, Membership, Owner, Project, RepositoryProtection, Role
from pipelines.people import projects
from pipelines.ports.vault import store, value_lookup
from pipelines.queries.audit import ActFilter, administrative_acts
from pipelines.queries.protections import canonical_address
from pipelines.web.project.audit import change_text
from tests.factories import World, document, make_member, make_project, make_user
from tests.pages.conftest import at, client_of, text

pytestmark = pytest.mark.django_db


def test_an_admin_creates_a_project_beside_theirs(world: World) -> None:
    made = projects.create_project(world.project.owner, "second", " Second ", by=world.admin)
    membership = Membership.objects.get(project=made)
    assert (made.name, membership.user, membership.roles) == ("Second", world.admin, [Role.ADMIN])
    assert membership.execute, "as in the first one"


def test_creating_a_project_gives_no_permission_to_run_code(world: World) -> None:
    plain = make_member(world.project, "admin")
    made = projects.create_project(world.project.owner, "second", "Second", by=plain)
    assert not Membership.objects.get(project=made).execute


def test_what_was_done_to_a_project_and_its_lines_is_recorded(world: World) -> None:
    staff = make_user("staff", is_staff=True)
    made = projects.create_project(
        projects.create_owner("globex", "Globex", by=staff), "app", "App", by=staff
    )
    projects.rename_project(made, "Web", by=staff)
    projects.rename_project(made, "Web", by=staff)
    projects.set_archived(made, True, by=staff)
    projects.set_archived(made, True, by=staff)
    projects.set_archived(made, False, by=staff)
    line = world.line(document(["a"], name="Build")).line
    Membership.objects.create(project=world.project, user=staff, roles=[Role.ADMIN])
    copy = line_operations.duplicate_line(line, made, by=staff)
    line_operations.rename_line(copy, "Ship", by=staff)
    line_operations.set_archived(copy, True, by=staff)
    line_operations.set_archived(copy, False, by=staff)
    projects.transfer_to_owner(made, world.project.owner.key, by=staff)
    rows = [(a.kind, a.name, change_text(a.data)) for a in administrative_acts(made, ActFilter())]
    assert rows[::-1] == [
        ("project.created", "App", ""),
        ("project.renamed", "App", "App → Web"),
        ("project.archived", "Web", ""),
        ("project.restored", "Web", ""),
        ("line.duplicated", "Build", f"from {world.project}/line"),
        ("line.renamed", "Build", "Build → Ship"),
        ("line.archived", "Ship", ""),
        ("line.restored", "Ship", ""),
        ("project.transferred", "Web", "globex → acme"),
    ]
    of_owner = AdministrativeAct.objects.get(kind="owner.created")
    assert (of_owner.project, of_owner.name, of_owner.actor) == (None, "Globex", f"person:{staff.pk}")


@pytest.mark.parametrize("role", ["viewer", "operator", "designer", "reviewer", "stranger"])
def test_nobody_else_creates_one_there(world: World, role: str) -> None:
    with pytest.raises(Forbidden):
        projects.create_project(world.project.owner, "second", "Second", by=getattr(world, role))


@pytest.mark.parametrize(("key", "name", "path"), [("", "n", "key"), ("A b", "n", "key"), ("a", " ", "name")])
def test_a_project_has_a_key_and_a_name(world: World, key: str, name: str, path: str) -> None:
    with pytest.raises(Invalid) as fault:
        projects.create_project(world.project.owner, key, name, by=world.admin)
    assert fault.value.path == path


def test_a_key_is_taken_once_by_an_owner(world: World) -> None:
    with pytest.raises(Conflict):
        projects.create_project(world.project.owner, world.project.key, "Again", by=world.admin)


def test_only_who_administers_the_installation_adds_an_owner(world: World) -> None:
    with pytest.raises(Forbidden):
        projects.create_owner("globex", "Globex", by=world.admin)
    staff = make_user("staff", is_staff=True)
    made = projects.create_project(
        projects.create_owner("globex", "Globex", by=staff), "app", "App", by=staff
    )
    assert str(made) == "globex/app"
    with pytest.raises(Conflict):
        projects.create_owner("globex", "Globex", by=staff)


def test_an_archived_project_takes_no_task_and_loses_nothing(world: World) -> None:
    version = world.line(document(["a"]))
    running = world.start(version)
    projects.set_archived(world.project, True, by=world.admin)
    first = Project.objects.get(pk=world.project.pk).archived_at
    projects.set_archived(world.project, True, by=world.admin)
    assert Project.objects.get(pk=world.project.pk).archived_at == first
    with pytest.raises(Conflict, match="archived"):
        world.start(version)
    world.report(running)
    assert world.status(running) == "completed"
    client = client_of(world.admin)
    assert client.get(at(world, "task", running.name)).status_code == 200
    assert "This project is archived" in text(client.get(at(world, "lines")))
    projects.set_archived(world.project, False, by=world.admin)
    assert world.status(world.start(version)) == "queued"


def test_a_transfer_moves_it_with_all_that_is_its_own(world: World) -> None:
    world.line(document(["a"]))
    globex = Owner.objects.create(key="globex", name="Globex")
    for owner, value in ((world.project.owner, "secret of acme"), (globex, "secret of globex")):
        store.create_or_replace_value(
            store.ValuePlace(owner), "API", value, kind="secret", by=world.admin, now=timezone.now()
        )
    with pytest.raises(Invalid):
        projects.transfer_to_owner(world.project, "globex", by=world.admin)
    there = make_project("other", owner="globex")
    Membership.objects.create(project=there, user=world.admin, roles=["admin"])
    projects.transfer_to_owner(world.project, "globex", by=world.admin)
    moved = access.visible_project_by_keys(world.admin, "globex", world.project.key)
    assert moved.lines.count() == 1
    assert access.roles_with_included_in(world.viewer, moved) == {"viewer"}
    found = value_lookup.ValueScope(moved.owner_id, moved.pk).nearest_value_by_name("secret", ["API"])
    assert value_lookup.readable_secret_by_name(found) == {"API": "secret of globex"}


def test_a_transfer_never_takes_the_place_of_another(world: World) -> None:
    taken = make_project(world.project.key, owner="globex")
    Membership.objects.create(project=taken, user=world.admin, roles=["admin"])
    with pytest.raises(Conflict):
        projects.transfer_to_owner(world.project, "globex", by=world.admin)
    assert Project.objects.get(pk=world.project.pk).owner.key == "acme"


# Pages and API


def test_the_pages_create_rename_archive_restore_and_transfer(world: World) -> None:
    client = client_of(world.admin)
    made = client.post("/projects/", {"name": "Second", "key": "second", "owner": "acme"})
    assert made.headers["Location"] == "/p/acme/second/setup/"
    again = client.post("/projects/", {"name": "Second", "key": "second", "owner": "acme"})
    assert (again.status_code, "already" in text(again)) == (422, True)
    assert client.post("/projects/", {"name": "n", "key": "n", "owner": "globex"}).status_code == 422
    general = "/p/acme/second/settings/general/"
    assert client.post(general, {"name": "Renamed"}).status_code == 302
    assert "Renamed" in text(client.get("/projects/"))
    assert client.post(f"{general}archive/", {"confirm": "wrong"}).status_code == 422
    assert client.post(f"{general}archive/", {"confirm": "second"}).status_code == 302
    assert "Archived" in text(client.get("/projects/"))
    assert "second</span>" not in text(client.get("/")), "the switcher leaves it out"
    assert client.post(f"{general}restore/").status_code == 302
    there = make_project("other", owner="globex")
    Membership.objects.create(project=there, user=world.admin, roles=["admin"])
    assert client.post(f"{general}transfer/", {"owner": "globex"}).status_code == 422
    moved = client.post(f"{general}transfer/", {"owner": "globex", "confirm": "second"})
    assert moved.headers["Location"] == "/p/globex/second/settings/general/"


def test_the_page_says_why_a_protected_owner_keeps_its_project(world: World) -> None:
    make_project("beside", owner=world.project.owner.key)
    place = canonical_address("https://github.com/acme/app.git")
    RepositoryProtection.objects.create(owner=world.project.owner, place=place, rules={"approvals": 1})
    there = make_project("other", owner="globex")
    Membership.objects.create(project=there, user=world.admin, roles=["admin"])
    form = {"owner": "globex", "confirm": world.project.key}
    answer = client_of(world.admin).post(at(world, "project-transfer"), form)
    assert (answer.status_code, "protects its repositories" in text(answer)) == (422, True)
    world.project.refresh_from_db()
    assert world.project.owner.key == "acme"


def test_an_owner_is_added_with_its_first_project(world: World) -> None:
    client = client_of(make_user("staff", is_staff=True))
    given = {"name": "App", "key": "app", "owner": "+", "new_owner": ""}
    assert client.post("/projects/", given).status_code == 422
    assert client.post("/projects/", given | {"new_owner": "globex"}).status_code == 302
    assert Project.objects.get(owner__key="globex").name == "App"


@pytest.mark.wide
def test_the_api_does_the_same(world: World) -> None:
    client = Client(headers={"Authorization": f"Bearer {world.token_of(world.admin, 'settings', 'read')[1]}"})

    def send(method: str, path: str, **body: Any) -> Any:
        return client.generic(method, f"/api{path}", json.dumps(body), "application/json")

    assert send("POST", "/owners/acme/projects", key="second", name="Second").status_code == 201
    assert send("POST", "/owners/nobody/projects", key="second", name="Second").status_code == 404
    second = "/owners/acme/projects/second"
    assert send("PATCH", second, name="Renamed").json()["name"] == "Renamed"
    assert send("PATCH", second, archived=True).json()["archived"] is True
    listed = client.get("/api/projects").json()
    assert [(each["key"], each["archived"]) for each in listed] == [
        (world.project.key, False),
        ("second", True),
    ]
    assert send("PATCH", second, archived=False).json() == send("PATCH", second).json()
    assert send("POST", f"{second}/transfer", owner="globex").status_code == 400


def test_a_token_of_one_project_creates_none(world: World) -> None:
    token, secret = world.token_of(world.admin, "settings", "read")
    token.project = world.project
    token.save()
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    body = json.dumps({"key": "second", "name": "Second"})
    assert client.post("/api/owners/acme/projects", body, "application/json").status_code == 403
