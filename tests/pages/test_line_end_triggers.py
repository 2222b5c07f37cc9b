"""Pages of triggers that wait for the end of another line: mapped beside the latest task, and linked on both tasks."""

from __future__ import annotations

import pytest

from pipelines.models import Task, Trigger
from pipelines.work.triggers import line_end_starts
from tests.factories import World, station
from tests.pages.conftest import As, at, text

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
FORM = {
    "source": "build",
    "state": "completed",
    "path.inputs.request": "outputs.summary",
    "path.title": "task.title",
}


def two_lines(world: World) -> None:
    world.line(
        key="build",
        name="Build",
        stations=[station("make", {"id": "ok", "to": "completed"}, output_keys=["summary"])],
        inputs=[{"key": "branch", "label": "Branch", "type": "text"}],
    )
    world.line(
        key="line",
        name="Deploy",
        stations=[station("work", kind="manual")],
        inputs=[{"key": "request", "label": "Request", "type": "long_text", "required": True}],
    )


def built(world: World) -> Task:
    version = Task._meta.get_field("pinned").related_model.objects.get(line__key="build")
    task = world.start(version, title="Mend the door", inputs={"branch": "main"})
    world.report(task, {"result": "success", "output": {"summary": "All green"}})
    return task


def new(world: World) -> str:
    return at(world, "trigger-new", "line") + "?kind=line_end"


def test_one_is_saved_and_both_tasks_lead_to_each_other(world: World, signed_in: As) -> None:
    two_lines(world)
    client = signed_in(world.operator)
    page = text(client.get(new(world)))
    assert "New line trigger" in page and 'name="path.inputs.request"' in page and "Build" in page
    assert 'name="path.requester"' not in page, "the requesters of the other task count already"
    answer = client.post(new(world), FORM)
    trigger = Trigger.objects.get()
    assert answer.status_code == 302
    assert trigger.options == {
        "line": "build",
        "state": "completed",
        "inputs": {"request": "outputs.summary"},
        "title": "task.title",
        "requester": "",
        "only_if": "",
    }
    source = built(world)
    assert line_end_starts.start_task_after_end_and_return_outcome(trigger.pk, source.pk) == "started"
    task = Task.objects.get(line__key="line")
    page = text(client.get(at(world, "line-triggers", "line")))
    for words in ("After a task of Build completes", "End of another line", "outputs.summary", "Ended"):
        assert words in page
    assert at(world, "task", source.name) in page and at(world, "task", task.name) in page
    assert at(world, "task", source.name) in text(client.get(at(world, "task", task.name)))
    assert at(world, "task", task.name) in text(client.get(at(world, "task", source.name)))
    log = text(client.get(at(world, "trigger-log", "line", trigger.pk)))
    assert source.name in log and "Started" in log
    assert "When a task ends" in text(client.get(at(world, "project-triggers")))


def test_the_form_shows_what_the_latest_task_gives(world: World, signed_in: As) -> None:
    two_lines(world)
    client = signed_in(world.operator)
    address = at(world, "trigger-example", "line")
    assert "With an example" in text(client.post(address, FORM | {"kind": "line_end"}))
    source = built(world)
    shown = text(client.post(address, FORM | {"kind": "line_end"}))
    assert "All green" in shown and source.name in shown and "What paths can find" in shown
    shown = text(client.post(address, FORM | {"kind": "line_end", "state": "failed"}))
    assert source.name in shown, "of no task that failed the latest of any shows what there is"
    for odd in ("no such", "\0", "line"):
        assert "With an example" in text(client.post(address, FORM | {"kind": "line_end", "source": odd}))
    shown = text(client.post(address, FORM | {"kind": "line_end", "path.only_if": "$.task[?@ == 'no']"}))
    assert "It would start nothing" in shown


def test_to_try_one_and_to_edit_it(world: World, signed_in: As) -> None:
    two_lines(world)
    client = signed_in(world.operator)
    client.post(new(world), FORM)
    trigger = Trigger.objects.get()
    tried = text(client.post(at(world, "trigger-try", "line", trigger.pk)))
    assert "No task of Build has ended so yet." in tried
    built(world)
    tried = text(client.post(at(world, "trigger-try", "line", trigger.pk)))
    assert "Would start" in tried and "Mend the door" in tried and "No task was created." in tried
    page = text(client.get(at(world, "trigger-change", "line", trigger.pk)))
    assert "Edit line trigger" in page and 'value="outputs.summary"' in page
    answer = client.post(at(world, "trigger-change", "line", trigger.pk), FORM | {"state": "any"})
    assert answer.status_code == 302 and Trigger.objects.get().options["state"] == "any"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": ""}, "Choose the line whose tasks it waits for."),
        ({"source": "line"}, "Deploy would start itself without end"),
        ({"source": "no such"}, "is no line of this project"),
        ({"state": "gone"}, "Choose one of"),
        ({"path.inputs.request": "$["}, "Not a JSONPath"),
        ({"path.inputs.request": ""}, "Request is required."),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    world: World, signed_in: As, change: dict[str, str], message: str
) -> None:
    two_lines(world)
    answer = signed_in(world.operator).post(new(world), FORM | change)
    assert answer.status_code == 422 and message.lower() in text(answer).lower()
    assert not Trigger.objects.exists()


def test_a_project_with_one_line_says_that_there_is_no_other(world: World, signed_in: As) -> None:
    world.line(key="line", stations=[station("work", kind="manual")])
    assert "This project has no other line." in text(signed_in(world.operator).get(new(world)))
