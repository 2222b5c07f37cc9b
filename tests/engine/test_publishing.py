"""The only door to a version: checked, frozen, hashed; drafts notice each other."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.lines import publishing
from pipelines.models import Line, LineVersion, Role, VersionGate, VersionRule, VersionStation
from pipelines.routing.document.line import DocumentError, canonical_digest, read_line
from tests.factories import World, document, make_member, station

pytestmark = pytest.mark.django_db

GATE = {"key": "review", "name": "Review", "mode": "manual"}


def made(world: World, given: Any = None, key: str = "line") -> Line:
    return publishing.create_line(world.project, key, "A line", given or document(key=key), world.designer)


def test_it_freezes_and_hashes_what_it_publishes(world: World) -> None:
    rule = {"id": "on", "label": "On", "to": "ship", "gates": ["review"]}
    line = made(world, document([station("build", rule), "ship"], gates=[GATE]))
    version = publishing.publish_draft(line, user=world.designer, name="first", based_on=1)
    assert (version.number, version.law, version.name) == (1, 1, "first")
    assert version.digest == canonical_digest(version.document)
    assert read_line(version.document).to_document() == version.document
    assert list(VersionStation.objects.values_list("key", "kind")) == [("build", "noop"), ("ship", "noop")]
    assert list(VersionRule.objects.values_list("station__key", "key", "label")) == [("build", "on", "On")]
    assert list(VersionGate.objects.values_list("key", "mode")) == [("review", "manual")]
    line.refresh_from_db()
    assert line.live == version


def test_versions_are_numbered_and_the_last_one_is_live(world: World) -> None:
    line = made(world)
    for number in (1, 2):
        assert publishing.publish_draft(line, user=world.designer, based_on=1).number == number


@pytest.mark.parametrize("table", ["lineversion", "versionstation", "versionrule", "versiongate"])
def test_the_database_refuses_to_change_what_was_published(world: World, table: str) -> None:
    rule = {"id": "on", "to": "ship", "gates": ["review"]}
    world.line(document([station("build", rule), "ship"], gates=[GATE]))
    for statement in (f"UPDATE pipelines_{table} SET id = id", f"DELETE FROM pipelines_{table}"):
        with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
            connection.cursor().execute(statement)


def test_a_draft_may_be_invalid_but_is_not_published(world: World) -> None:
    broken = document()
    broken["stations"][0]["rules"] = [{"id": "x", "to": "nowhere"}]
    broken["unheard"] = 1
    line = made(world, broken)
    with pytest.raises(publishing.PublishRefused) as refused:
        publishing.publish_draft(line, user=world.designer, based_on=1)
    assert {problem.path for problem in refused.value.problems} == {"unheard", "stations[0].rules[0].to"}
    assert not LineVersion.objects.exists()


def test_a_text_that_is_no_yaml_is_no_draft(world: World) -> None:
    line = made(world)
    with pytest.raises(DocumentError):
        publishing.save_draft(line, "stations: [", world.designer, 1)


def test_the_text_is_kept_as_it_was_typed(world: World) -> None:
    text = "# why\ngateline: 1\nkey: line\nname: Line\nstations:\n  - {key: build, work: {kind: noop}}\n"
    line = publishing.save_draft(made(world), text, world.designer, 1)
    assert line.draft_text == text
    assert (
        publishing.publish_draft(line, user=world.designer, based_on=2).document["stations"][0]["key"]
        == "build"
    )


def test_two_who_edit_notice_each_other(world: World) -> None:
    line = made(world)
    publishing.save_draft(line, document(name="Mine"), world.designer, 1)
    for act in (
        lambda: publishing.save_draft(line, document(name="Yours"), world.admin, 1),
        lambda: publishing.publish_draft(line, user=world.admin, based_on=1),
    ):
        with pytest.raises(publishing.DraftConflict) as refused:
            act()
        assert (refused.value.number, refused.value.by) == (2, str(world.designer))


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_who_is_no_designer_changes_nothing(world: World, role: str) -> None:
    line, person = made(world), world.person(role)
    for act in (
        lambda: publishing.create_line(world.project, "other", "Other", document(), person),
        lambda: publishing.save_draft(line, document(), person, 1),
        lambda: publishing.publish_draft(line, user=person, based_on=1),
    ):
        with pytest.raises(Forbidden):
            act()
    with pytest.raises(NotFound):
        publishing.publish_draft(line, user=world.stranger, based_on=1)


def test_stations_that_run_code_need_the_permission_to_execute(world: World) -> None:
    line = made(world, document([station("build", kind="command", work={"argv": ["true"]}), "ship"]))
    with pytest.raises(Forbidden, match="build"):
        publishing.publish_draft(line, user=world.designer, based_on=1)
    executor = make_member(world.project, Role.DESIGNER, execute=True)
    assert publishing.publish_draft(line, user=executor, based_on=1).number == 1


@pytest.mark.parametrize(
    ("kind", "work", "needs"),
    [
        ("hook", {"argv": ["true"]}, True),
        ("tools", {"tools": [{"name": "a", "argv": ["true"]}]}, True),
        ("http", {"url": "https://a.example", "headers": {"X-Key": {"secret": "KEY"}}}, True),
        ("http", {"url": "https://a.example", "headers": {"X-Key": "open"}}, False),
        ("chat", {"prompt": "Well?"}, False),
        ("wait", {"for": 5}, False),
    ],
)
def test_what_runs_code_or_uses_a_secret_needs_the_permission_to_execute(
    world: World, kind: str, work: dict[str, object], needs: bool
) -> None:
    line = made(world, document([station("first", kind=kind, work=work)]))
    if needs:
        with pytest.raises(Forbidden, match="first"):
            publishing.publish_draft(line, user=world.designer, based_on=1)
    else:
        assert publishing.publish_draft(line, user=world.designer, based_on=1).number == 1


def test_the_key_of_a_line_never_changes(world: World) -> None:
    line = made(world, document(key="renamed"))
    with pytest.raises(publishing.PublishRefused, match="key"):
        publishing.publish_draft(line, user=world.designer, based_on=1)


@pytest.mark.parametrize("key", ["", "Upper", "with space", "-x", "x" * 65, "x\n", "ü"])
def test_a_key_that_is_none_is_refused(world: World, key: str) -> None:
    with pytest.raises(Invalid) as refused:
        made(world, document(), key=key)
    assert refused.value.path == "key"


def test_a_key_is_taken_once(world: World) -> None:
    made(world)
    with pytest.raises(Conflict, match="already"):
        made(world)


def test_a_line_that_refuses_stations_without_rules_says_which(world: World) -> None:
    found = publishing.check_draft(made(world, document(policy={"no_rules": "refuse"})))
    assert [finding.path for finding in found.errors] == ["stations[0].rules", "stations[1].rules"]


def test_what_cannot_be_run_yet_is_not_published(world: World) -> None:
    talk = document([{"key": "talk", "work": {"kind": "telepathy"}}], key="talk")
    found = publishing.check_draft(made(world, talk, key="talk"))
    assert [finding.path for finding in found.errors] == ["stations[0].work.kind"]


def test_a_draft_with_a_number_that_cannot_be_stored_is_refused(world: World) -> None:
    with pytest.raises(Invalid, match="a number that is too long"):
        made(world, f"key: line\nname: {'1' * 5000}\n")


def test_a_name_of_a_version_that_cannot_be_stored_is_refused(world: World) -> None:
    line = made(world)
    with pytest.raises(Invalid) as refused:
        publishing.publish_draft(line, user=world.designer, name="half \ud800", based_on=1)
    assert refused.value.path == "name"
