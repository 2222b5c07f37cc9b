"""The Publish page: what would become live, what has to be ticked, and a confirm that is held to what was shown."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from pipelines.lines import publishing
from pipelines.models import Line, LineEvent, Migration, User
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text
from tests.pages.publish_form import as_shown, fields, parts
from tests.waiting import LONG

pytestmark = pytest.mark.django_db
GOOD = {"id": "good", "label": "Good", "when": {"result": "success"}, "to": "ship"}
WARNED = {
    "policy": {"no_match": "stuck"},
    "stations": [
        station("build", {"id": "on", "when": {"eval": {"op": "equals", "value": "ok"}}, "to": "completed"})
    ],
}


def published(world: World, *stations: Any) -> Line:
    return world.line(document(stations or ("build", "ship"), key="app-check")).line


def saved(line: Line, user: User, *stations: Any, **more: Any) -> Line:
    stored = Line.objects.get(pk=line.pk)
    given = document(**{"stations": stations or ("build", "test", "ship"), "key": "app-check", **more})
    return publishing.save_draft(stored, given, user, stored.draft_number)


def post(client: Client, world: World, said: dict[str, Any]) -> Any:
    return client.post(at(world, "line-publish", "app-check"), said)


def live(line: Line) -> int:
    line.refresh_from_db()
    return line.live.number if line.live else 0


# What it shows


def test_the_page_stands_before_its_parts_come(world: World, signed_in: As) -> None:
    line = saved(published(world), world.designer)
    page = text(signed_in(world.designer).get(at(world, "line-publish", line.key)))
    for name in ("changes", "findings", "difference", "impact"):
        assert f'hx-get="?part={name}"' in page
    assert "Checking the draft" in page, "nothing can be published before it was checked"
    assert re.search(rf"compared with v1, published <time.*?</time> by {world.admin} ", page)


def test_what_changes_is_said_in_words_with_its_hand_and_what_decides_first(
    world: World, signed_in: As
) -> None:
    line = published(world, station("build", GOOD), "ship")
    saved(line, world.designer, station("build", {**GOOD, "to": "failed"}, name="Make"), "ship")
    shown = parts(signed_in(world.designer), world, line.key)["changes"]
    assert "1 change affects where tasks go" in shown
    assert "Make, rule 1, “Good”: Target: <s" in shown
    assert ">ship</s> → <strong" in shown
    assert ">Failed</strong>" in shown
    assert shown.index("Where tasks go") < shown.index("Names and notes")
    assert str(world.designer) in shown
    assert "somebody else" not in shown


def test_a_place_has_one_letter_in_the_list_and_on_the_drawing(world: World, signed_in: As) -> None:
    line = published(world, station("build", {**GOOD, "max_retries": 5}), "ship")
    later = {**GOOD, "max_retries": 3, "to": ["build", "ship"]}
    saved(line, world.designer, station("build", later, name="Make"), "ship")
    client = signed_in(world.designer)
    shown = parts(client, world, line.key)["changes"]
    assert re.findall(r'class="diff-letter"\s+data-mark="(\w+)"\s*>\s*(\w)', shown) == [
        ("changed", "A"),
        ("changed", "A"),
        ("edited", "B"),
    ]
    door = reverse("api-1:line-picture", args=[world.project.owner.key, world.project.key, line.key])
    picture = client.get(door, {"from": "live", "to": "draft"}).json()
    assert picture["letters"] == [
        {"node": "build", "rule": "good", "letter": "A"},
        {"node": "build", "rule": "", "letter": "B"},
    ]
    assert (picture["limits"]["good"]["most"], picture["limits"]["good"]["before"]) == (3, 5)


def test_of_a_station_that_is_gone_no_place_on_the_canvas_is_told(world: World, signed_in: As) -> None:
    def placed(**positions: list[int]) -> dict[str, Any]:
        return {"extra": {"editor": {"positions": positions}}}

    line = world.line(document(("build", "ship"), key="app-check", **placed(old=[1, 2], ship=[3, 4]))).line
    saved(line, world.designer, "build", "ship", **placed(gone=[5, 6], ship=[7, 8]))
    shown = parts(signed_in(world.designer), world, line.key)["changes"]
    assert "Only the picture" in shown and "Ship stands elsewhere on the canvas." in shown.replace(
        "ship", "Ship"
    )
    assert "old stands" not in shown and "gone stands" not in shown


@pytest.mark.wide
def test_a_draft_that_says_what_is_live_cannot_be_published_and_says_so(world: World, signed_in: As) -> None:
    line, client = published(world), signed_in(world.designer)
    shown = parts(client, world, line.key)
    assert "There is nothing to publish" in shown["changes"]
    assert "The draft has no changes compared with v1" in shown["findings"]
    assert "disabled" in shown["findings"]
    answer = post(client, world, as_shown(client, world))
    assert answer.status_code == 409
    assert live(line) == 1


def test_a_first_version_has_nothing_to_be_compared_with(world: World, signed_in: As) -> None:
    publishing.create_line(world.project, "new", "New", document(key="new"), world.admin)
    client = signed_in(world.designer)
    page = text(client.get(at(world, "line-publish", "new")))
    assert "Running tasks" not in page
    shown = parts(client, world, "new")["changes"]
    assert "This is the first version: 2 stations." in shown
    assert f"I have reviewed what {world.admin} changed" in shown
    said = as_shown(client, world, "new", name="One")
    assert client.post(at(world, "line-publish", "new"), said).status_code == 302


def test_an_error_blocks_and_leads_to_its_place_on_the_canvas(world: World, signed_in: As) -> None:
    line = published(world)
    rules = ({"id": "all", "to": "ship"}, {"id": "late", "when": {"result": "failure"}, "to": "failed"})
    saved(line, world.designer, station("build", *rules), "ship")
    client = signed_in(world.designer)
    shown = parts(client, world, line.key)["findings"]
    assert "1 error blocks it" in shown
    assert f'href="{at(world, "line-draw", line.key)}#station=build&amp;rule=late"' in shown
    assert post(client, world, as_shown(client, world)).status_code == 422
    assert live(line) == 1


def test_a_draft_that_is_no_line_says_so_in_each_part_and_breaks_none(world: World, signed_in: As) -> None:
    line = published(world)
    publishing.save_draft(line, {"key": "app-check", "stations": "none"}, world.designer, line.draft_number)
    client = signed_in(world.designer)
    shown = parts(client, world, line.key)
    assert "cannot be read yet" in shown["changes"]
    assert "blocks it" in shown["findings"] or "block it" in shown["findings"]
    assert "Not known" in shown["difference"]
    assert "Not known" in shown["impact"]
    assert client.get(at(world, "line-publish", line.key)).status_code == 200


def test_a_part_that_is_none_is_not_found(world: World, signed_in: As) -> None:
    line = published(world)
    client = signed_in(world.designer)
    assert client.get(at(world, "line-publish", line.key), {"part": "else"}).status_code == 404


# What has to be ticked


@pytest.mark.wide
def test_a_warning_is_ticked_by_its_sentence_and_the_tick_is_kept(world: World, signed_in: As) -> None:
    line = saved(published(world), world.designer, **WARNED)
    client = signed_in(world.designer)
    said = as_shown(client, world)
    assert len(said["warnings"]) == 1
    refused = post(client, world, {**said, "warnings": [], "name": "My name for it"})
    assert refused.status_code == 422
    assert "takes some outcomes that passed: the task gets stuck." in text(refused)
    assert 'value="My name for it"' in text(refused), "what was typed is kept"
    again = post(client, world, {**said, "warnings": ["0" * 16]})
    assert again.status_code == 422, "a tick is for its own sentence"
    kept = parts(client, world, line.key, warnings=said["warnings"][0])["findings"]
    assert "checked" in kept
    assert post(client, world, said).status_code == 302
    assert live(line) == 2
    assert LineEvent.objects.get(version=line.live).data["warnings"]


def test_changes_of_somebody_else_are_listed_and_have_to_be_seen(world: World, signed_in: As) -> None:
    line = saved(published(world), world.designer)
    client = signed_in(world.admin)
    assert f"I have reviewed 1 change by {world.designer}" in parts(client, world, line.key)["changes"]
    said = as_shown(client, world)
    refused = post(client, world, {**said, "seen": []})
    assert refused.status_code == 422
    assert "Acknowledge the changes made by others" in text(refused)
    assert post(client, world, said).status_code == 302


# A stale page


def test_a_save_after_the_page_was_made_is_told_with_who_and_where(world: World, signed_in: As) -> None:
    line = saved(published(world), world.admin)
    client = signed_in(world.admin)
    said = as_shown(client, world, name="Typed")
    saved(line, world.designer, name="Else")
    refused = post(client, world, said)
    assert refused.status_code == 409
    page = text(refused)
    assert "changed after this page was loaded" in page
    assert f"{world.designer} changed name." in page
    assert 'value="Typed"' in page
    assert f'name="based_on" value="{line.draft_number + 1}"' in page, (
        "publishing again is of what is shown now"
    )
    assert live(line) == 1


def test_another_version_that_is_live_by_now_is_told(world: World, signed_in: As) -> None:
    line = saved(published(world), world.admin)
    client = signed_in(world.admin)
    said = as_shown(client, world)
    publishing.publish_draft(line, user=world.designer, based_on=line.draft_number)
    refused = post(client, world, said)
    assert refused.status_code == 409
    assert "Version 2 was published in the meantime" in text(refused)
    assert live(line) == 2


@pytest.mark.wide
@pytest.mark.django_db(transaction=True)
def test_two_requests_at_once_publish_once(world: World, signed_in: As) -> None:
    line = saved(published(world), world.admin)
    clients = [signed_in(world.admin), signed_in(world.designer)]
    said = [as_shown(each, world) for each in clients]
    ready, found = threading.Barrier(2), [0, 0]

    def send(index: int) -> None:
        ready.wait(timeout=LONG)
        found[index] = post(clients[index], world, said[index]).status_code
        connection.close()

    threads = [threading.Thread(target=send, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=LONG)
    assert sorted(found) == [302, 409]
    assert line.versions.count() == 2


# Running tasks


@pytest.mark.wide
def test_migrating_says_what_became_of_the_tasks(world: World, signed_in: As) -> None:
    line = published(world)
    task = world.start(line.live)  # type: ignore[arg-type]
    saved(line, world.designer, "make", "ship")
    client = signed_in(world.designer)
    assert 'name="map:build"' in parts(client, world, line.key)["impact"]
    said = as_shown(client, world, running="migrate", reason="Renamed.", **{"map:build": "make"})
    done = client.post(at(world, "line-publish", line.key), said, follow=True)
    page = text(done)
    assert "Version 2 is live" in page
    assert "1 · Migrated" in page
    assert world.at(task) == ["make"]


@pytest.mark.wide
def test_a_station_that_is_gone_has_to_be_mapped_and_a_reason_given(world: World, signed_in: As) -> None:
    line = published(world)
    world.start(line.live)  # type: ignore[arg-type]
    saved(line, world.designer, "make", "ship")
    client = signed_in(world.designer)
    unmapped = post(client, world, as_shown(client, world, running="migrate", reason="Renamed."))
    assert unmapped.status_code == 422
    assert "“build” does not exist any more, and tasks are there" in text(unmapped)
    assert "mapping.build" not in text(unmapped)
    assert "checked" in text(unmapped), "the choice is kept"
    silent = post(client, world, as_shown(client, world, running="migrate", **{"map:build": "make"}))
    assert silent.status_code == 422
    assert "Enter a reason for the migration" in text(silent)
    assert live(line) == 1


def test_a_mapping_that_does_not_fit_is_said_in_its_part(world: World, signed_in: As) -> None:
    line = published(world)
    world.start(line.live)  # type: ignore[arg-type]
    saved(line, world.designer, "make", "ship")
    shown = parts(signed_in(world.designer), world, line.key, **{"map:build": "completed"})["impact"]
    assert "This mapping does not fit" in shown
    assert "“build” “completed” is an end, not a station" in shown


@pytest.mark.wide
def test_a_migration_that_failed_after_publishing_is_told_plainly(
    world: World, signed_in: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = published(world)
    task = world.start(line.live)  # type: ignore[arg-type]
    saved(line, world.designer, "make", "ship")
    client = signed_in(world.designer)
    said = as_shown(client, world, running="migrate", reason="Renamed.", **{"map:build": "make"})
    publish = publishing.publish_draft

    def slowly(*args: Any, **more: Any) -> Any:
        version = publish(*args, **more)
        world.report(task)
        return version

    monkeypatch.setattr(publishing, "publish_draft", slowly)
    page = text(client.post(at(world, "line-publish", line.key), said, follow=True))
    assert "Version 2 is live" in page
    assert "No running task was migrated" in page
    assert "map%3Abuild=make" in page, "the way on keeps the mapping"
    assert not Migration.objects.exists()


def test_pinning_does_not_mind_that_tasks_move(world: World, signed_in: As) -> None:
    line = published(world)
    task = world.start(line.live)  # type: ignore[arg-type]
    saved(line, world.designer)
    client = signed_in(world.designer)
    said = as_shown(client, world, running="pin")
    world.report(task)
    assert post(client, world, said).status_code == 302


# Hostile


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"based_on": "x", "live": "1"},
        {"based_on": "1", "live": "-1"},
        {"based_on": "1", "live": "1", "running": "else"},
        {"based_on": "9" * 40, "live": "1"},
    ],
)
def test_what_is_no_form_of_this_page_is_refused(world: World, signed_in: As, said: dict[str, str]) -> None:
    published(world)
    assert post(signed_in(world.designer), world, said).status_code == 400


def test_a_name_that_is_too_long_is_told_and_kept(world: World, signed_in: As) -> None:
    line = saved(published(world), world.designer)
    client = signed_in(world.designer)
    refused = post(client, world, as_shown(client, world, name="x" * 201))
    assert refused.status_code == 422
    assert "is longer than 200 characters" in text(refused)
    assert "x" * 201 in text(refused)
    assert live(line) == 1


def test_names_from_a_document_are_text_and_never_markup(world: World, signed_in: As) -> None:
    line = published(world)
    saved(line, world.designer, station("build", GOOD, name="<script>alert(1)</script>"), "ship")
    for shown in parts(signed_in(world.designer), world, line.key).values():
        assert "<script>alert" not in shown


def test_the_form_holds_every_field_that_a_confirm_needs(world: World, signed_in: As) -> None:
    line = saved(published(world), world.designer)
    client = signed_in(world.designer)
    page = text(client.get(at(world, "line-publish", line.key)))
    assert set(fields(page)) == {"based_on", "live"}
    assert "findings" in fields(parts(client, world, line.key)["findings"])
    assert "plan" in fields(parts(client, world, line.key)["impact"])


# What the line promises


def promises(client: Client, world: World) -> str:
    return text(client.get(at(world, "line-publish", "app-check"), {"part": "guarantees"}))


def test_a_line_that_promises_nothing_and_costs_nothing_has_no_such_card(world: World, signed_in: As) -> None:
    saved(published(world), world.designer)
    assert "<table" not in promises(signed_in(world.designer), world)


def test_a_long_list_of_changes_shows_the_first_and_says_how_many(world: World, signed_in: As) -> None:
    line = published(world)
    saved(line, world.designer, "build", *(f"more{n}" for n in range(8)), "ship")
    shown = parts(signed_in(world.designer), world, line.key)["changes"]
    first, _, rest = shown.partition("Show all 8")
    assert first.count("Station more") == 5
    assert rest.count("Station more") == 3
