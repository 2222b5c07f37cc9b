"""Pages of triggers: saved by plain choices with the next runs beside them, tried, paused, deleted, and their log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines import engine
from pipelines.lines import line_operations as line_settings
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Line, LineVersion, Membership, Task, Trigger, TriggerDelivery
from pipelines.work.scheduler import timers
from tests.factories import World, station
from tests.pages.conftest import As, at, text

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
INPUTS = [{"key": "request", "label": "Request", "type": "long_text", "required": True}]
FORM = {
    "every": "weekday",
    "time": "07:30",
    "zone": "Europe/Berlin",
    "missed": "skip",
    "one_at_a_time": "on",
    "title": "Upkeep of {date}",
    "inputs.request": "Raise coverage",
}
NIGHT = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)


def version_of(world: World, key: str = "line") -> LineVersion:
    return world.line(key=key, stations=[station("work", kind="manual")], inputs=INPUTS)


def scheduled(world: World, line: Line, **more: Any) -> Trigger:
    options = {"cron": "30 7 * * 1-5", "zone": "Europe/Berlin", "missed": "once"}
    request = TriggerRequest(options, inputs={"request": "Raise coverage"}, **more)
    return triggers.add_trigger(line, "schedule", request, by=world.operator)


def ran(trigger: Trigger, at: datetime = NIGHT) -> None:
    Trigger.objects.filter(pk=trigger.pk).update(next_at=at)
    timers.run_due_timers_and_triggers(now=at)


def logged(trigger: Trigger, *rows: tuple[str, str, Task | None]) -> None:
    TriggerDelivery.objects.bulk_create(
        TriggerDelivery(
            trigger=trigger,
            key=f"{NIGHT + timedelta(hours=number):%Y-%m-%dT%H:%MZ}",
            at=NIGHT,
            outcome=outcome,
            detail=detail,
            task=task,
        )
        for number, (outcome, detail, task) in enumerate(rows)
    )


def test_an_empty_page_says_what_it_is_for_and_who_may(world: World, signed_in: As) -> None:
    version_of(world)
    page = text(signed_in(world.operator).get(at(world, "line-triggers", "line")))
    assert "No triggers yet" in page and "every night" in page and at(world, "trigger-new", "line") in page
    page = text(signed_in(world.viewer).get(at(world, "line-triggers", "line")))
    assert "A trigger needs the role Operator." in page and at(world, "trigger-new", "line") not in page
    page = text(signed_in(world.operator).get(at(world, "project-triggers")))
    assert "No triggers yet" in page and at(world, "trigger-new-choose") in page


def test_a_line_that_is_not_published_has_to_be_first(world: World, signed_in: As) -> None:
    version = version_of(world)
    Line.objects.filter(pk=version.line_id).update(live=None)
    client = signed_in(world.operator)
    assert "Publish the line first." in text(client.get(at(world, "line-triggers", "line")))
    assert "no published version" in text(client.get(at(world, "trigger-new", "line")))
    answer = client.post(at(world, "trigger-new", "line"), FORM)
    assert answer.status_code == 422 and not Trigger.objects.exists()


def test_a_schedule_is_saved_by_plain_choices_and_shown(world: World, signed_in: As) -> None:
    version_of(world)
    client = signed_in(world.operator)
    answer = client.post(at(world, "trigger-new", "line"), FORM)
    trigger = Trigger.objects.get()
    assert answer.status_code == 302 and answer["Location"].endswith(f"#trigger-{trigger.pk}")
    assert trigger.options == {"cron": "30 7 * * 1-5", "zone": "Europe/Berlin", "missed": "skip"}
    assert (trigger.title, trigger.inputs) == ("Upkeep of {date}", {"request": "Raise coverage"})
    assert trigger.one_at_a_time and trigger.changed_by == world.operator
    page = text(client.get(at(world, "line-triggers", "line")))
    for words in (
        "Every weekday at 07:30",
        "Schedule · Europe/Berlin",
        "30 7 * * 1-5",
        "Raise coverage",
        "Skip the run",
    ):
        assert words in page
    assert page.count('class="runs-day"') == 5
    assert "No run yet" in page


@pytest.mark.parametrize(
    ("change", "cron"),
    [
        ({"every": "hour", "minute": "5"}, "5 * * * *"),
        ({"every": "day"}, "30 7 * * *"),
        ({"every": "week", "weekday": "0"}, "30 7 * * 0"),
        ({"every": "month", "day": "L"}, "30 7 L * *"),
        ({"every": "cron", "cron": " 0  9,17 * * mon-fri "}, "0 9,17 * * MON-FRI"),
    ],
)
def test_each_choice_is_an_expression_and_the_form_shows_it_again(
    world: World, signed_in: As, change: dict[str, str], cron: str
) -> None:
    version_of(world)
    client = signed_in(world.operator)
    client.post(at(world, "trigger-new", "line"), FORM | change)
    trigger = Trigger.objects.get()
    assert trigger.options["cron"] == cron
    page = text(client.get(at(world, "trigger-change", "line", trigger.pk)))
    assert f'value="{change["every"]}" checked' in page
    preview = text(client.get(at(world, "trigger-next-runs", "line"), FORM | change))
    assert preview.count('class="runs-day"') == 5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"time": "25:00"}, "Enter a time like 07:30."),
        ({"every": "hour", "minute": "60"}, "Enter a minute from 0 to 59."),
        ({"every": "cron", "cron": "every night"}, "Enter five fields"),
        ({"every": "never"}, "Choose how often."),
        ({"every": "week", "weekday": "9"}, "Choose one of the days."),
        ({"zone": "Mars/Olympus"}, "There is no such time zone."),
        ({"inputs.request": ""}, "Request is required."),
    ],
)
def test_what_is_wrong_is_said_at_its_place_and_nothing_saved(
    world: World, signed_in: As, change: dict[str, str], said: str
) -> None:
    version_of(world)
    answer = signed_in(world.operator).post(at(world, "trigger-new", "line"), FORM | change)
    assert answer.status_code == 422 and not Trigger.objects.exists()
    assert said in text(answer)
    assert "Upkeep of {date}" in text(answer)


def test_the_preview_says_what_is_wrong_with_the_time(world: World, signed_in: As) -> None:
    version_of(world)
    client = signed_in(world.operator)
    for change in ({"time": ""}, {"zone": ""}, {"every": "cron", "cron": "* * *"}):
        assert "field-error" in text(client.get(at(world, "trigger-next-runs", "line"), FORM | change))
    rare = FORM | {"every": "cron", "cron": "0 0 29 2 *", "zone": "UTC"}
    assert "29 Feb 2028" in text(client.get(at(world, "trigger-next-runs", "line"), rare))


def test_a_schedule_is_edited_paused_resumed_and_deleted(world: World, signed_in: As) -> None:
    trigger = scheduled(world, version_of(world).line)
    client = signed_in(world.designer)
    assert (
        client.post(at(world, "trigger-change", "line", trigger.pk), FORM | {"every": "day"}).status_code
        == 302
    )
    trigger.refresh_from_db()
    assert trigger.options["cron"] == "30 7 * * *" and trigger.changed_by == world.designer
    client.post(at(world, "trigger-pause", "line", trigger.pk), {"paused": "yes"})
    page = text(client.get(at(world, "line-triggers", "line")))
    assert "so it starts nothing" in page and 'aria-checked="false"' in page
    client.post(at(world, "trigger-pause", "line", trigger.pk), {"paused": "no"})
    assert 'aria-checked="true"' in text(client.get(at(world, "line-triggers", "line")))
    client.post(at(world, "trigger-delete", "line", trigger.pk), {"sure": "yes"})
    assert not Trigger.objects.exists()


def test_what_ran_is_shown_with_its_tasks_and_reasons(world: World, signed_in: As) -> None:
    trigger = scheduled(world, version_of(world).line)
    client = signed_in(world.viewer)
    assert "No runs" in text(client.get(at(world, "trigger-log", "line", trigger.pk)))
    ran(trigger)
    ran(trigger, NIGHT + timedelta(days=3))
    task = Task.objects.get()
    engine.cancel(task.pk, actor=engine.ENGINE)
    Membership.objects.filter(user=world.operator).update(roles=["viewer"])
    ran(trigger, NIGHT + timedelta(days=4))
    ran(trigger, NIGHT + timedelta(days=4))
    for address in (at(world, "line-triggers", "line"), at(world, "trigger-log", "line", trigger.pk)):
        page = text(client.get(address))
        for words in (
            "Started",
            task.name,
            "Ignored",
            f"{task.name} has not ended yet.",
            "Failed",
            "Repeated",
        ):
            assert words in page
    page = text(client.get(at(world, "project-triggers")))
    assert "Every weekday at 07:30" in page and "Repeated" in page


def test_a_log_shows_fifty_rows_and_leads_to_those_before(world: World, signed_in: As) -> None:
    trigger = scheduled(world, version_of(world).line)
    logged(trigger, *(("ignored", f"Reason {number}.", None) for number in range(60)))
    client, address = signed_in(world.viewer), at(world, "trigger-log", "line", trigger.pk)
    page = text(client.get(address))
    assert "Reason 59." in page and "Reason 10." in page and "Reason 9." not in page
    older = trigger.deliveries.order_by("-pk")[49].pk
    page = text(client.get(f"{address}?before={older}"))
    assert "Reason 9." in page and "Reason 10." not in page and "Older runs" not in page
    assert client.get(f"{address}?before=nine").status_code == 200


def test_the_overview_says_what_starts_the_line_by_itself(world: World, signed_in: As) -> None:
    line, viewer = version_of(world).line, signed_in(world.viewer)
    assert "Starts by itself" not in text(viewer.get(at(world, "line", line.key)))
    trigger = scheduled(world, line)
    page = text(viewer.get(at(world, "line", line.key)))
    assert "Starts by itself" in page and "Every weekday at 07:30" in page and "next" in page
    signed_in(world.operator).post(at(world, "trigger-pause", line.key, trigger.pk), {"paused": "yes"})
    assert "Paused" in text(viewer.get(at(world, "line", line.key)))


def test_to_try_one_says_what_would_start(world: World, signed_in: As) -> None:
    trigger = scheduled(world, version_of(world).line, title="Upkeep of {date}")
    client = signed_in(world.operator)
    page = text(client.post(at(world, "trigger-try", "line", trigger.pk)))
    assert "Would start <strong>Upkeep of 20" in page and "No task was created." in page
    assert not Task.objects.exists()
    ran(trigger)
    assert "Would start nothing now" in text(client.post(at(world, "trigger-try", "line", trigger.pk)))
    engine.cancel(Task.objects.get().pk, actor=engine.ENGINE)
    Trigger.objects.update(inputs={})
    page = text(client.post(at(world, "trigger-try", "line", trigger.pk)))
    assert "Would fail now" in page and "Request is required." in page


def test_an_archived_line_says_that_its_triggers_start_nothing(world: World, signed_in: As) -> None:
    trigger = scheduled(world, version_of(world).line)
    line_settings.set_archived(trigger.line, True, by=world.admin)
    client = signed_in(world.operator)
    assert "Its triggers start nothing." in text(client.get(at(world, "line-triggers", "line")))
    assert "The line is archived." in text(client.get(at(world, "trigger-change", "line", trigger.pk)))
    assert client.post(at(world, "trigger-change", "line", trigger.pk), FORM).status_code == 422
    client.post(at(world, "trigger-pause", "line", trigger.pk), {"paused": "yes"})
    client.post(at(world, "trigger-pause", "line", trigger.pk), {"paused": "no"})
    assert Trigger.objects.get().paused_at is not None


def test_a_trigger_is_found_under_its_own_line_only(world: World, signed_in: As) -> None:
    trigger = scheduled(world, version_of(world).line)
    version_of(world, "other")
    client = signed_in(world.operator)
    assert client.get(at(world, "trigger-change", "other", trigger.pk)).status_code == 404
    assert client.post(at(world, "trigger-delete", "other", trigger.pk), {"sure": "yes"}).status_code == 404


def test_a_new_schedule_of_a_project_begins_with_its_line(world: World, signed_in: As) -> None:
    client, address = signed_in(world.operator), at(world, "trigger-new-choose")
    assert "No line is live" in text(client.get(address))
    version_of(world)
    answer = client.get(address + "?every=week")
    assert (answer.status_code, answer["Location"]) == (302, at(world, "trigger-new", "line") + "?every=week")
    assert 'value="week" checked' in text(client.get(answer["Location"]))
    version_of(world, "other")
    page = text(client.get(address))
    assert at(world, "trigger-new", "line") in page and at(world, "trigger-new", "other") in page


@pytest.mark.smoke(1)
@pytest.mark.parametrize("name", ["line-triggers", "project-triggers"])
def test_a_page_takes_as_many_statements_for_few_rows_as_for_many(
    world: World, signed_in: As, name: str
) -> None:
    trigger = scheduled(world, version_of(world).line)
    ran(trigger)
    client, address = (
        signed_in(world.operator),
        at(world, name, *(["line"] if name == "line-triggers" else [])),
    )
    client.get(address)

    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    few = statements()
    values = {field.attname: getattr(trigger, field.attname) for field in Trigger._meta.concrete_fields}
    many = Trigger.objects.bulk_create(Trigger(**values | {"id": None}) for _ in range(49))
    task = Task.objects.get()
    for other in many:
        logged(other, *[("started", "", task)] * 20)
    assert statements() == few


def test_a_line_of_alp_begins_with_its_weekday_and_zone(world: World, signed_in: As) -> None:
    plan: dict[str, Any] = {"weekday": "thursday", "timeZone": "Europe/Copenhagen"}
    for kept, shown in (
        (plan, "Every Thursday at 02:00"),
        ({"weekday": 4, "timeZone": []}, "Every day"),
        (7, "Every day"),
    ):
        world.line(key="line", stations=[station("work")], extra={"init": {"schedule": kept}})
        page = text(signed_in(world.operator).get(at(world, "trigger-new", "line")))
        assert shown in page
        assert ('value="Europe/Copenhagen" selected' in page) == (kept is plan)
