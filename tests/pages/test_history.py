"""Versions: what each changed, in words and as data of the picture; restoring one as a draft; naming it later."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pipelines.lines import publishing
from pipelines.models import Line, LineEvent
from tests.factories import World, document, station
from tests.pages.conftest import As, at, door, text

pytestmark = pytest.mark.django_db
GOOD = {"id": "good", "label": "Good", "when": {"result": "success"}, "to": "ship"}


def versions(world: World) -> Line:
    """Two of them: the second has another target and one station more."""
    world.line(document([station("build", GOOD), "ship"], key="app-check"))
    more = document([station("build", {**GOOD, "to": "test"}), "test", "ship"], key="app-check")
    return world.line(more).line


def draft(line: Line, world: World, **more: Any) -> Line:
    stored = Line.objects.get(pk=line.pk)
    given = document(**{"stations": ["other"], "key": "app-check", **more})
    return publishing.save_draft(stored, given, world.designer, stored.draft_number)


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_a_version_is_compared_with_the_one_before_it(world: World, signed_in: As) -> None:
    line = versions(world)
    page = words(text(signed_in(world.viewer).get(at(world, "line-versions", line.key))))
    assert "Build, rule 1, “Good”: Target: ship → test" in page
    assert "Station test is new." in page
    assert "2 affect where tasks go" in page


def test_the_first_version_has_none_before_it(world: World, signed_in: As) -> None:
    line = versions(world)
    page = text(signed_in(world.viewer).get(at(world, "line-versions", line.key), {"to": "1"}))
    assert "The first version" in page


@pytest.mark.wide
def test_any_two_are_compared_in_both_directions(world: World, signed_in: As) -> None:
    line = versions(world)
    client = signed_in(world.viewer)
    page = words(text(client.get(at(world, "line-versions", line.key), {"from": "2", "to": "1"})))
    assert "Station test is gone." in page
    same = text(client.get(at(world, "line-versions", line.key), {"from": "1", "to": "1"}))
    assert "There are no changes." in same


def test_the_draft_stands_on_top_where_it_says_anything_else(world: World, signed_in: As) -> None:
    line = draft(versions(world), world)
    page = text(signed_in(world.designer).get(at(world, "line-versions", line.key)))
    assert "Not published" in page
    assert at(world, "line-publish", line.key) in page
    assert str(world.designer) in page


@pytest.mark.parametrize("side", ["9", "x", "aside-1", "aside-x", "-1", "9" * 40])
def test_a_version_that_is_none_is_not_found(world: World, signed_in: As, side: str) -> None:
    line = versions(world)
    client = signed_in(world.viewer)
    assert client.get(at(world, "line-versions", line.key), {"to": side}).status_code == 404
    assert client.get(door(world, "/picture", line.key), {"from": "1", "to": side}).status_code == 404


def test_the_picture_holds_what_is_gone_and_marks_what_is_not_the_same(world: World, signed_in: As) -> None:
    line = versions(world)
    client = signed_in(world.viewer)
    found = client.get(door(world, "/picture", line.key), {"from": "2", "to": "1"}).json()
    assert [each["key"] for each in found["document"]["stations"]] == ["build", "test", "ship"]
    assert found["marks"]["stations"] == {"test": "removed"}
    assert found["marks"]["rules"] == {"good": "changed", "good (before)": "removed"}
    assert found["conditions"]["good"] == "result is success"


def test_a_draft_that_is_no_line_is_compared_with_nothing(world: World, signed_in: As) -> None:
    line = versions(world)
    publishing.save_draft(line, {"key": "app-check", "stations": 3}, world.designer, line.draft_number)
    client = signed_in(world.designer)
    page = client.get(at(world, "line-versions", line.key))
    assert page.status_code == 200
    assert "cannot be drawn" in text(page)
    query = {"from": "live", "to": "draft"}
    assert client.get(door(world, "/picture", line.key), query).status_code == 400


def test_a_draft_with_a_faulty_rule_is_drawn_beside_what_is_live(world: World, signed_in: As) -> None:
    """A station that is gone, a bad path, a gate that there is not."""
    rule = {"id": "on", "to": "ship"}
    line = world.line(document([station("build", rule), "ship"], key="drawn")).line
    client = signed_in(world.designer)
    bad_path = {"output": {"path": "", "op": "equals", "value": 1}}
    for faulty in ({"to": "gone"}, {"when": bad_path}, {"gates": ["none"]}):
        draft(line, world, stations=[station("build", {**rule, **faulty}), "ship"], key="drawn")
        answer = client.get(door(world, "/picture", line.key))
        assert answer.status_code == 200, answer.content
        assert answer.json()["marks"]["rules"]["on"] == "changed"


def test_the_picture_says_of_what_stays_only_what_is_so_now(world: World, signed_in: As) -> None:
    """Limits of rules and ways by the policy: those of before only where the rule or the station is gone."""
    again = {"id": "again", "when": {"result": "failure"}, "to": "build"}
    lost = {**again, "id": "lost", "max_retries": 2, "when": {"result": "blocked"}}
    on = {"id": "on", "to": "ship"}
    old = [station("build", {**again, "max_retries": 3}, lost, on), "ship", "left", "end"]
    line = world.line(document(old, key="drawn", policy={"no_rules": "advance"})).line
    new = [station("build", again, on), "ship", "end"]
    draft(line, world, stations=new, key="drawn", policy={"no_rules": "refuse"})
    found = signed_in(world.designer).get(door(world, "/picture", line.key)).json()
    assert {key: told["most"] for key, told in found["limits"].items()} == {"lost": 2}
    assert found["onward"] == {"left": "end"}


def test_one_click_restores_and_a_draft_with_changes_is_put_aside_first(world: World, signed_in: As) -> None:
    line = versions(world)
    client = signed_in(world.designer)
    shown = {"source": "1", "based_on": line.draft_number}
    answer = client.post(at(world, "line-restore", line.key), shown)
    assert answer.headers["Location"] == at(world, "line-draw", line.key)
    line.refresh_from_db()
    assert line.draft == line.versions.get(number=1).document
    assert not line.record.filter(draft__isnull=False).exists(), "nothing was lost: v2 is what it was"

    before = draft(line, world).draft
    client.post(at(world, "line-restore", line.key), {"source": "2", "based_on": line.draft_number + 1})
    aside = line.record.get(draft__isnull=False)
    page = text(client.get(at(world, "line-versions", line.key)))
    assert "Put aside" in page
    line.refresh_from_db()
    said = {"source": f"aside-{aside.pk}", "based_on": line.draft_number}
    client.post(at(world, "line-restore", line.key), said)
    line.refresh_from_db()
    assert line.draft == before, "restoring is undone in the same way"


def test_a_draft_that_somebody_saved_meanwhile_is_not_replaced(world: World, signed_in: As) -> None:
    line = versions(world)
    seen = line.draft_number
    kept = draft(line, world).draft
    answer = signed_in(world.admin).post(
        at(world, "line-restore", line.key), {"source": "1", "based_on": seen}
    )
    assert answer.status_code == 409
    assert "Nothing was restored" in text(answer)
    line.refresh_from_db()
    assert line.draft == kept


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({}, 400),
        ({"source": "draft", "based_on": "1"}, 400),
        ({"source": "1", "based_on": "x"}, 400),
        ({"source": "99", "based_on": "2"}, 404),
        ({"source": "aside-99", "based_on": "2"}, 404),
    ],
)
def test_what_cannot_be_restored_is_refused(
    world: World, signed_in: As, said: dict[str, str], status: int
) -> None:
    line = versions(world)
    assert signed_in(world.designer).post(at(world, "line-restore", line.key), said).status_code == status


def test_a_version_is_named_later_and_the_record_says_by_whom(world: World, signed_in: As) -> None:
    line = versions(world)
    client = signed_in(world.designer)
    client.post(at(world, "line-version-name", line.key, 1), {"name": "Before the tests"})
    page = text(client.get(at(world, "line-versions", line.key)))
    assert "Before the tests" in page
    assert "Named v1 “Before the tests”" in page
    assert LineEvent.objects.get(kind="named").by == world.designer
    refused = client.post(at(world, "line-version-name", line.key, 1), {"name": "x" * 201})
    assert refused.status_code == 422


def test_a_viewer_sees_the_history_and_changes_nothing(world: World, signed_in: As) -> None:
    line = draft(versions(world), world)
    client = signed_in(world.viewer)
    page = text(client.get(at(world, "line-versions", line.key), {"to": "1"}))
    assert "Restore as a draft" not in page
    assert "name-version" not in page
    assert client.post(at(world, "line-restore", line.key), {"source": "1"}).status_code == 403
    assert client.post(at(world, "line-version-name", line.key, 1), {"name": "x"}).status_code == 403


def test_a_line_without_versions_says_how_to_get_one(world: World, signed_in: As) -> None:
    publishing.create_line(world.project, "new", "New", document(key="new"), world.designer)
    assert "Nothing has been published yet" in text(
        signed_in(world.designer).get(at(world, "line-versions", "new"))
    )
