"""Lines as a whole: renamed, archived, restored, duplicated to another project."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.formats import native
from pipelines.lines import line_operations, publishing
from pipelines.models import Line, Membership, Role, Scenario
from pipelines.ports.vault import store
from tests.factories import World, document, make_project, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db
TYPED = """\
# Who keeps comments keeps them.
gateline: 1
key: typed
name: Typed  # as we call it
stations:
  - key: a
    name: "A name: of a station"
"""


def test_a_name_goes_into_the_draft_and_outlives_publishing(world: World) -> None:
    line = world.line(document(["a"])).line
    line_operations.rename_line(line, " Build & ship ", by=world.designer)
    stored = Line.objects.get(pk=line.pk)
    assert (stored.name, stored.draft["name"], stored.key) == ("Build & ship", "Build & ship", "line")
    publishing.publish_draft(stored, user=world.admin, based_on=stored.draft_number)
    assert Line.objects.get(pk=line.pk).name == "Build & ship"


def test_a_typed_draft_keeps_its_comments(world: World) -> None:
    line = publishing.create_line(world.project, "typed", "Typed", TYPED, world.designer)
    line_operations.rename_line(line, 'The "new": one', by=world.designer)
    stored = Line.objects.get(pk=line.pk)
    assert "# Who keeps comments keeps them." in stored.draft_text
    assert native.loads(stored.draft_text) == stored.draft
    assert stored.draft["name"] == 'The "new": one'
    assert stored.draft["stations"][0]["name"] == "A name: of a station"


TEXTS = {
    "one line": '{"gateline": 1, "key": "typed", "name": "\\ud83d\\ude42 {", "stations": []}',
    "indented": '{\n  "extra": {"name": 1, "key": [2]},\n  "name": "Typed",\n  "stations": []\n}\n',
    "no name": '{"gateline": 1, "stations": []}',
    "quoted key": '# kept\n"name": Typed\nstations: []\n',
    "a name within": "extra:\n  name: 1\nname: Typed # new\nstations: []\n",
    "no name in YAML": "%YAML 1.2\n---\n# kept\ngateline: 1\nstations: []\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_name_is_changed_in_any_text_that_says_it_simply(world: World, text: str) -> None:
    line = publishing.create_line(world.project, "typed", "Typed", text, world.designer)
    line_operations.rename_line(line, "Another: “name” %s # 🙂", by=world.designer)
    stored = Line.objects.get(pk=line.pk)
    assert stored.draft == {**line.draft, "name": "Another: “name” %s # 🙂"}
    assert native.loads(stored.draft_text) == stored.draft
    assert ("# kept" in stored.draft_text) is ("# kept" in text)


@pytest.mark.parametrize("text", ["{name: Json, stations: []}", "name: &a Json\nkey: *a\n"])
def test_a_name_in_a_place_of_its_own_is_a_persons_to_change(world: World, text: str) -> None:
    line = publishing.create_line(world.project, "json", "Json", text, world.designer)
    with pytest.raises(Conflict, match="text of the draft"):
        line_operations.rename_line(line, "Other", by=world.designer)
    assert Line.objects.get(pk=line.pk).name == "Json"


def test_a_copy_keeps_the_comments_of_its_draft(world: World) -> None:
    line = publishing.create_line(world.project, "typed", "Typed", TYPED, world.designer)
    made = line_operations.duplicate_line(line, world.project, by=world.designer, name="A copy")
    assert made.key != line.key
    assert "# Who keeps comments keeps them." in made.draft_text
    assert native.loads(made.draft_text) == made.draft == {**line.draft, "key": made.key, "name": "A copy"}


def test_a_copy_under_the_same_key_is_the_draft_as_it_is(world: World) -> None:
    """A draft under way may say another key than its line has, which lint tells."""
    text = "key: {}\nname: Typed  # kept\n"
    line = publishing.create_line(world.project, "typed", "Typed", text, world.admin)
    there = make_project("elsewhere")
    Membership.objects.create(project=there, user=world.admin, roles=[Role.ADMIN])
    made = line_operations.duplicate_line(line, there, by=world.admin)
    assert (made.key, made.draft, made.draft_text) == ("typed", line.draft, text)


@pytest.mark.parametrize("name", ["", " ", "x" * 201, "two\nlines"])
def test_a_line_has_a_name(world: World, name: str) -> None:
    line = world.line(document(["a"])).line
    with pytest.raises(Invalid):
        line_operations.rename_line(line, name, by=world.designer)


def test_an_archived_line_takes_no_task_and_loses_nothing(world: World) -> None:
    version = world.line(document(["a"]))
    line = version.line
    running, ended = world.start(version), world.start(version)
    world.report(ended)
    line_operations.set_archived(line, True, by=world.designer)
    with pytest.raises(Conflict, match="archived"):
        world.start(version)
    with pytest.raises(Conflict, match="archived"):
        engine.start_retry_task(ended.pk, station="", actor=engine.Actor.person(world.operator))
    with pytest.raises(publishing.LineArchived):
        publishing.publish_draft(line, user=world.admin, based_on=line.draft_number)
    world.report(running)
    assert world.status(running) == "completed"
    line_operations.set_archived(line, False, by=world.designer)
    assert world.status(world.start(version)) == "queued"


def test_a_refused_task_leaves_no_gap_behind(world: World) -> None:
    version = world.line(document(["a"]))
    line_operations.set_archived(version.line, True, by=world.designer)
    with pytest.raises(Conflict):
        world.start(version)
    line_operations.set_archived(version.line, False, by=world.designer)
    assert world.start(version).number == 1


@pytest.mark.parametrize("role", ["viewer", "operator", "reviewer"])
def test_only_designers_change_a_line(world: World, role: str) -> None:
    line, who = world.line(document(["a"])).line, getattr(world, role)
    for archived in (True, False):
        with pytest.raises(Forbidden):
            line_operations.set_archived(line, archived, by=who)
    with pytest.raises(Forbidden):
        line_operations.rename_line(line, "x", by=who)


def test_a_copy_has_the_draft_and_the_scenarios_and_nothing_else(world: World) -> None:
    line = world.line(document([station("a")])).line
    Scenario.objects.create(
        line=line, key="smoke", name="Smoke", document={"key": "smoke"}, at=timezone.now()
    )
    store.create_or_replace_value(
        store.ValuePlace(line), "API", "stays-where-it-is", kind="secret", by=world.admin, now=timezone.now()
    )
    there = make_project("there")
    there.memberships.create(user=world.designer, roles=["designer"])
    made = line_operations.duplicate_line(line, there, by=world.designer)
    assert (made.key, made.name, made.live, made.draft) == (line.key, line.name, None, line.draft)
    assert [each.key for each in made.scenarios.all()] == ["smoke"]
    assert not made.stored_values.exists()
    again = line_operations.duplicate_line(line, there, by=world.designer)
    assert (again.key, again.draft["key"]) == (f"{line.key}-2", f"{line.key}-2")


def test_a_copy_needs_a_designer_there(world: World) -> None:
    line = world.line(document(["a"])).line
    there = make_project("there")
    with pytest.raises(Exception, match="Not found"):
        line_operations.duplicate_line(line, there, by=world.designer)
    there.memberships.create(user=world.designer, roles=["viewer"])
    with pytest.raises(Forbidden):
        line_operations.duplicate_line(line, there, by=world.designer)


# Pages and API


@pytest.mark.wide
def test_the_pages_rename_archive_restore_and_duplicate(world: World, signed_in: As) -> None:
    line = world.line(document(["a"])).line
    client = signed_in(world.designer)
    assert client.post(at(world, "line-settings", line.key), {"name": "Renamed"}).status_code == 302
    assert client.post(at(world, "line-archive", line.key)).status_code == 422
    assert client.post(at(world, "line-archive", line.key), {"sure": "yes"}).status_code == 302
    listed = text(client.get(at(world, "lines")))
    assert "Archived" in listed
    assert at(world, "task-new", line.key) not in listed
    refused = client.post(at(world, "task-new", line.key), {"title": "t"})
    assert (refused.status_code, "archived" in text(refused)) == (422, True)
    assert client.post(at(world, "line-unarchive", line.key)).status_code == 302
    there = make_project("there")
    assert client.post(at(world, "line-duplicate", line.key), {"to": str(there)}).status_code == 422
    there.memberships.create(user=world.designer, roles=["designer"])
    made = client.post(at(world, "line-duplicate", line.key), {"to": str(there)})
    assert made.headers["Location"] == "/p/acme/there/lines/line/draw/"


@pytest.mark.wide
def test_the_api_does_the_same(world: World) -> None:
    line = world.line(document(["a"])).line
    headers = {"Authorization": f"Bearer {world.token_of(world.designer, 'design', 'read', 'submit')[1]}"}
    client = Client(headers=headers)
    address = f"/api/owners/acme/projects/{world.project.key}/lines/{line.key}"

    def send(method: str, path: str = "", **body: Any) -> Any:
        return client.generic(method, f"{address}{path}", json.dumps(body), "application/json")

    assert send("PATCH", name="Renamed").json()["name"] == "Renamed"
    assert send("PATCH", archived=True).json()["archived"] is True
    tasks = f"/api/owners/acme/projects/{world.project.key}/stages/{line.key}/tasks"
    assert client.post(tasks, {"title": "t"}, "application/json").status_code == 409
    assert send("PATCH", archived=False).json()["archived"] is False
    made = send("POST", "/duplicate", owner="acme", project=world.project.key)
    assert (made.status_code, made.json()["key"]) == (201, "line-2")
    assert send("POST", "/duplicate", owner="acme", project="none").status_code == 400


def test_owner_and_tags_are_set_shown_and_searched(world: World, signed_in: As) -> None:
    line = world.line(document(["a"])).line
    other = world.line(document(["a"], key="other"), key="other").line
    client, address = signed_in(world.designer), at(world, "line-describe", line.key)
    assert (
        client.post(address, {"maintainer": world.reviewer.pk, "tags": "docs, urgent ,docs,"}).status_code
        == 302
    )
    stored = Line.objects.get(pk=line.pk)
    assert (stored.maintainer, stored.tags) == (world.reviewer, ["docs", "urgent"])
    page = text(client.get(at(world, "line-settings", line.key)))
    assert (
        f'value="{world.reviewer.pk}" selected' in " ".join(page.split()) and 'value="docs, urgent"' in page
    )
    for words in ("urgent", world.reviewer.username, "DOCS urgent"):
        found = text(client.get(at(world, "lines"), {"q": words}))
        assert at(world, "line-live", line.key) in found and at(world, "line-live", other.key) not in found, (
            words
        )
    assert 'href="?q=urgent"' in text(client.get(at(world, "lines")))
    for wrong in (
        {"maintainer": world.stranger.pk},
        {"maintainer": "x"},
        {"tags": ",".join("abcdefghijk")},
        {"tags": "a" * 41},
        {"tags": "a\0b"},
    ):
        assert client.post(address, {"maintainer": "", "tags": ""} | wrong).status_code == 422, wrong
    assert signed_in(world.operator).post(address, {"tags": "x"}).status_code == 403
    assert Line.objects.get(pk=line.pk).tags == ["docs", "urgent"]
    with pytest.raises(Invalid):
        line_operations.set_maintainer_and_tags(line, maintainer=world.stranger, tags=[], by=world.designer)
