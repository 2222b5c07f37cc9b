"""What a person was shown is what is published: by the draft, its findings, its hands, and the running tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from pipelines.errors import Invalid
from pipelines.lines import line_migration, publish_review, publishing, version_history
from pipelines.lines.publish_review import Confirmation, publish_or_request_as_confirmed
from pipelines.models import Line, LineEvent, Membership, Migration, Role, User
from tests.factories import World, document, make_member, station
from tests.waiting import LONG

pytestmark = pytest.mark.django_db


def drawn(world: World, *stations: str) -> Line:
    version = world.line(stations=stations or ("build", "ship"))
    return Line.objects.get(pk=version.line_id)


def saved(line: Line, user: User, **more: Any) -> Line:
    given = document(**{"stations": ["build", "test", "ship"], **more})
    stored = Line.objects.get(pk=line.pk)
    return publishing.save_draft(stored, given, user, stored.draft_number)


def shown(line: Line, user: User, mapping: dict[str, str] | None = None, **said: Any) -> Confirmation:
    """As an honest page shows it, with everything ticked."""
    line = Line.objects.select_related("live").get(pk=line.pk)
    found = publishing.check_draft(line)
    impact = line_migration.migration_impact_of(line, None, mapping) if said.get("migrate") else None
    values = {
        "draft": line.draft_number,
        "live": line.live.number if line.live else 0,
        "findings": publish_review.findings_digest(found),
        "warnings": frozenset(map(publish_review.warning_key, publish_review.warning_findings(found))),
        "seen": frozenset(
            each.key
            for each in publish_review.other_authors_of_changes(
                line, user, publish_review.draft_changes_or_none(line)
            )
        ),
        "plan": impact.plan if impact else "",
        "mapping": mapping or {},
        "reason": "Because." if impact else "",
    }
    return Confirmation(**{**values, **said})


def test_what_was_shown_is_published_and_the_record_says_who_and_what(world: World) -> None:
    line = saved(drawn(world), world.admin)
    found = publish_or_request_as_confirmed(line, shown(line, world.admin, name="With tests"), world.admin)
    assert (found.version.number, found.version.name, found.migration) == (2, "With tests", None)
    event = LineEvent.objects.get(version=found.version)
    assert (event.kind, event.by, event.data["running"]) == ("published", world.admin, "pin")


@pytest.mark.parametrize("field", ["name", "stations"])
def test_a_save_in_between_is_never_published_unseen(world: World, field: str) -> None:
    line = saved(drawn(world), world.admin)
    said = shown(line, world.admin)
    saved(line, world.designer, **{field: "Else" if field == "name" else ["build"]})
    with pytest.raises(publishing.DraftConflict) as refused:
        publish_or_request_as_confirmed(line, said, world.admin)
    assert refused.value.by == str(world.designer)


def test_the_same_draft_is_published_once(world: World) -> None:
    line = saved(drawn(world), world.admin)
    said = shown(line, world.admin)
    publish_or_request_as_confirmed(line, said, world.admin)
    with pytest.raises(publishing.LiveConflict) as refused:
        publish_or_request_as_confirmed(line, said, world.admin)
    assert refused.value.number == 2
    with pytest.raises(publishing.NothingToPublish):
        publish_or_request_as_confirmed(line, shown(line, world.admin), world.admin)


def test_a_draft_that_somebody_put_back_is_nothing_to_publish(world: World) -> None:
    line = saved(drawn(world), world.admin)
    line = saved(line, world.designer, stations=["build", "ship"])
    with pytest.raises(publishing.NothingToPublish):
        publish_or_request_as_confirmed(line, shown(line, world.admin), world.admin)


def test_changes_of_somebody_else_have_to_be_ticked(world: World) -> None:
    line = saved(drawn(world), world.designer)
    (other,) = publish_review.other_authors_of_changes(
        line, world.admin, publish_review.draft_changes_or_none(line)
    )
    assert (other.person, other.changes) == (str(world.designer.pk), 1)
    with pytest.raises(Invalid) as refused:
        publish_or_request_as_confirmed(line, shown(line, world.admin, seen=frozenset()), world.admin)
    assert refused.value.path == "seen"
    assert publish_or_request_as_confirmed(line, shown(line, world.admin), world.admin).version.number == 2


def test_a_tick_is_for_what_was_there_and_not_for_what_came_after(world: World) -> None:
    line = saved(drawn(world), world.designer)
    ticked = shown(line, world.admin).seen
    line = saved(line, world.designer, name="More")
    with pytest.raises(Invalid) as refused:
        publish_or_request_as_confirmed(line, shown(line, world.admin, seen=ticked), world.admin)
    assert refused.value.path == "seen"


def test_whoever_drew_a_line_is_named_at_its_first_publish(world: World) -> None:
    line = publishing.create_line(world.project, "new", "New", document(key="new"), world.designer)
    assert [each.person for each in publish_review.other_authors_of_changes(line, world.admin, None)] == [
        str(world.designer.pk)
    ]
    assert publish_review.other_authors_of_changes(line, world.designer, None) == []
    assert publish_or_request_as_confirmed(line, shown(line, world.admin), world.admin).version.number == 1


WARNED = {"policy": {"no_match": "stuck"}, "stations": [
    station("build", {"id": "on", "when": {"eval": {"op": "equals", "value": "ok"}}, "to": "completed"})
]}  # fmt: skip


def test_each_warning_is_ticked_by_its_own_sentence(world: World) -> None:
    line = saved(drawn(world), world.admin, **WARNED)
    warnings = publish_review.warning_findings(publishing.check_draft(line))
    assert warnings
    with pytest.raises(Invalid) as refused:
        publish_or_request_as_confirmed(line, shown(line, world.admin, warnings=frozenset()), world.admin)
    assert [each.message for each in refused.value.problems] == [each.message for each in warnings]
    done = publish_or_request_as_confirmed(line, shown(line, world.admin), world.admin)
    assert LineEvent.objects.get(version=done.version).data["warnings"] == [each.message for each in warnings]


def test_findings_that_came_after_the_page_was_made_are_not_published_unseen(world: World) -> None:
    lead = make_member(world.project, Role.REVIEWER, "lead")
    gate = {"key": "look", "name": "Look", "approval": {"who": [{"user": lead.username}]}}
    rule = {"id": "on", "to": "ship", "gates": ["look"]}
    line = saved(drawn(world), world.admin, stations=[station("build", rule), "ship"], gates=[gate])
    said = shown(line, world.admin)
    Membership.objects.filter(user=lead).delete()
    with pytest.raises((publish_review.StaleFindings, publishing.PublishRefused)):
        publish_or_request_as_confirmed(line, said, world.admin)


# Running tasks


def test_by_default_running_tasks_stay(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    line = saved(Line.objects.get(), world.admin)
    publish_or_request_as_confirmed(line, shown(line, world.admin), world.admin)
    task.refresh_from_db()
    assert task.pinned.number == 1


def test_migrating_publishes_and_then_moves_as_the_impact_of_the_draft_said(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    line = saved(Line.objects.get(), world.admin, stations=["make", "ship"])
    said = shown(line, world.admin, {"build": "make"}, migrate=True)
    done = publish_or_request_as_confirmed(line, said, world.admin)
    assert done.migration and done.not_migrated == ""
    assert line_migration.task_count_by_result(done.migration) == {"migrated": 1}
    assert world.at(task) == ["make"]
    undone = line_migration.undo_migration(done.migration, user=world.admin, reason="Back.")
    assert line_migration.task_count_by_result(undone) == {"restored": 1}


def test_a_station_that_is_gone_needs_a_mapping_before_anything_is_published(world: World) -> None:
    world.start(world.line(stations=["build", "ship"]))
    line = saved(Line.objects.get(), world.admin, stations=["make", "ship"])
    with pytest.raises(Invalid) as refused:
        publish_or_request_as_confirmed(line, shown(line, world.admin, migrate=True), world.admin)
    assert refused.value.path == "mapping.build"
    with pytest.raises(Invalid) as refused:
        publish_or_request_as_confirmed(
            line, shown(line, world.admin, {"build": "make"}, migrate=True, reason=" "), world.admin
        )
    assert refused.value.path == "reason"
    assert Line.objects.get().live.number == 1  # type: ignore[union-attr]


def test_a_task_that_moved_since_stops_all_of_it(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    line = saved(Line.objects.get(), world.admin)
    said = shown(line, world.admin, migrate=True)
    world.report(task)
    with pytest.raises(line_migration.StaleImpact):
        publish_or_request_as_confirmed(line, said, world.admin)
    assert Line.objects.get().live.number == 1  # type: ignore[union-attr]


def test_a_task_that_moves_after_publishing_is_told_plainly_and_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    line = saved(Line.objects.get(), world.admin)
    said = shown(line, world.admin, migrate=True)
    publish = publishing.publish_draft

    def slowly(*args: Any, **more: Any) -> Any:
        version = publish(*args, **more)
        world.report(task)
        return version

    monkeypatch.setattr(publishing, "publish_draft", slowly)
    done = publish_or_request_as_confirmed(line, said, world.admin)
    assert done.version.number == 2
    assert done.migration is None
    assert "running tasks changed" in done.not_migrated
    assert not Migration.objects.exists()
    assert LineEvent.objects.get(kind="not_migrated").data["why"] == done.not_migrated


def test_nothing_is_migrated_where_no_task_would_change(world: World) -> None:
    line = saved(drawn(world), world.admin)
    done = publish_or_request_as_confirmed(line, shown(line, world.admin, migrate=True), world.admin)
    assert (done.version.number, done.migration, done.not_migrated) == (2, None, "")


# At once, on real connections


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Each in a thread of its own, let go at the same moment: what it gave, or what it raised."""
    ready, found = threading.Barrier(len(acts)), [None] * len(acts)

    def run(index: int) -> None:
        try:
            ready.wait(timeout=LONG)
            found[index] = acts[index]()
        except (publishing.Conflict, Invalid) as refused:
            found[index] = refused  # type: ignore[call-overload]
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=LONG)
    return found


@pytest.mark.django_db(transaction=True)
def test_of_two_who_publish_at_once_one_does(world: World) -> None:
    line = saved(drawn(world), world.admin)
    one, two = shown(line, world.admin), shown(line, world.designer)
    found = together(
        lambda: publish_or_request_as_confirmed(line, one, world.admin),
        lambda: publish_or_request_as_confirmed(line, two, world.designer),
    )
    done = [each for each in found if isinstance(each, publish_review.PublishResult)]
    refused = [each for each in found if isinstance(each, publishing.LiveConflict)]
    assert (len(done), len(refused)) == (1, 1)
    assert line.versions.count() == 2


@pytest.mark.django_db(transaction=True)
def test_of_a_save_and_a_publish_at_once_the_version_is_what_was_shown(world: World) -> None:
    line = saved(drawn(world), world.admin)
    said, admin, designer = shown(line, world.admin), world.admin, world.designer
    theirs = document(stations=["other"])
    found = together(
        lambda: publish_or_request_as_confirmed(line, said, admin),
        lambda: publishing.save_draft(line, theirs, designer, said.draft),
    )
    assert isinstance(found[1], Line), "a save needs no leave of a publish"
    stations = [each["key"] for each in line.versions.order_by("-number")[0].document["stations"]]
    if isinstance(found[0], publish_review.PublishResult):
        assert stations == ["build", "test", "ship"]
    else:
        assert isinstance(found[0], publishing.DraftConflict)
        assert stations == ["build", "ship"]


# Afterwards


def test_a_version_is_restored_as_a_draft_and_the_present_one_is_put_aside(world: World) -> None:
    line = saved(drawn(world), world.designer, name="Unpublished")
    before = line.draft
    line = version_history.restore_as_draft(line, "1", world.admin, line.draft_number)
    assert line.draft == line.versions.get(number=1).document
    event = line.record.get(kind="restored")
    assert (event.draft, event.by, event.data["by"]) == (before, world.admin, str(world.designer))
    line = version_history.restore_as_draft(line, f"aside-{event.pk}", world.admin, line.draft_number)
    assert line.draft == before, "restoring is undone by restoring what was put aside"


def test_restoring_is_refused_when_somebody_saved_meanwhile(world: World) -> None:
    line = saved(drawn(world), world.admin)
    seen = line.draft_number
    saved(line, world.designer, name="Later")
    with pytest.raises(publishing.DraftConflict):
        version_history.restore_as_draft(line, "1", world.admin, seen)


def test_restoring_what_is_there_already_says_so(world: World) -> None:
    line = drawn(world)
    line = version_history.restore_as_draft(line, "1", world.admin, line.draft_number)
    with pytest.raises(version_history.NothingToRestore):
        version_history.restore_as_draft(line, "1", world.admin, line.draft_number)


def test_a_version_gets_a_name_later_and_the_record_keeps_the_old_one(world: World) -> None:
    version = world.line(stations=["build"])
    named = version_history.name_version(version, " Before the move ", world.designer)
    assert named.name == "Before the move"
    assert version_history.name_version(named, "Before the move", world.designer).pk == version.pk
    assert [event.data for event in LineEvent.objects.filter(kind="named")] == [
        {"was": "", "name": "Before the move"}
    ]
    with pytest.raises(Invalid):
        version_history.name_version(named, "x" * 201, world.designer)
