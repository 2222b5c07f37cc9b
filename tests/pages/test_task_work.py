"""Working on tasks by their pages: manual stations, questions, what is stuck or held."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from pipelines.models import Job, Task, Token
from pipelines.web.tasks.manual_report_form import SKELETON
from tests.factories import World, document, station
from tests.pages.asking import begun
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


def at_the_form(world: World) -> tuple[Task, Job]:
    task = begun(world)
    world.report(task)
    world.vote(task)
    return task, world.job(task, "look")


def filled(job: Job, **more: str) -> dict[str, str]:
    version = Token.objects.get(pk=job.token_id).version
    return {"token_version": str(version), "result": "success", "outcome.output.verdict": "good"} | more


SKELETON_AS_SENT = json.dumps(SKELETON, indent=2).replace("\n", "\r\n")
STAGE = station(
    "test",
    {"id": "bad", "when": {"failure_type": ["test gap", "test_gap"]}, "to": "mend"},
    {"id": "again", "when": {"eval": {"op": "equals", "value": "tool-call"}}, "to": "test"},
    {"id": "on", "to": "ship"},
    kind="manual",
    requires=["handoff"],
)


def test_what_the_rules_read_is_asked_of_who_completes_a_manual_station(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=[station("mend"), STAGE, station("ship")], start="test"))
    job = world.job(task)
    client, address = signed_in(world.operator), at(world, "job-complete", task.name, job.pk)
    page = text(client.get(address))
    for asked in ('name="eval"', '<option value="tool-call">', '<option value="test gap">', "what_changed"):
        assert asked in page
    version = {"token_version": job.token.version, "result": "success"}
    refused = client.post(address, version | {"handoff": "{nothing"})
    assert refused.status_code == 422
    assert "{nothing" in text(refused)
    assert client.post(address, version | {"handoff": SKELETON_AS_SENT}).status_code == 302
    assert world.token(task).wait["missing"] == ["handoff"]
    job = world.job(world.start(task.pinned))
    failed = {"token_version": job.token.version, "result": "failure", "failure_type": "test gap"}
    client.post(at(world, "job-complete", job.task.name, job.pk), failed)
    assert world.at(job.task) == ["mend"]


def test_a_station_whose_rules_read_no_such_thing_asks_nothing_more(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=[station("plain", kind="manual")]))
    page = text(signed_in(world.operator).get(at(world, "job-complete", task.name, world.job(task).pk)))
    assert 'name="eval"' not in page and 'name="failure_type"' not in page and 'name="handoff"' not in page


def test_a_manual_station_is_completed_by_its_form(world: World, signed_in: As) -> None:
    task, job = at_the_form(world)
    client = signed_in(world.operator)
    page = text(client.get(at(world, "job-complete", task.name, job.pk)))
    assert "Look at it." in page
    answer = client.post(
        at(world, "job-complete", task.name, job.pk),
        filled(job, **{"outcome.output.count": "4", "summary": "Fine"}),
    )
    assert answer.status_code == 302
    job.refresh_from_db()
    assert job.outcome == {"result": "success", "summary": "Fine", "output": {"verdict": "good", "count": 4}}
    assert job.reported_by == f"person:{world.operator.pk}"
    assert world.status(task) == "completed"


def test_a_manual_station_is_worked_in_the_inbox(world: World, signed_in: As) -> None:
    task, job = at_the_form(world)
    client, address = signed_in(world.operator), at(world, "job-complete", task.name, job.pk)
    assert f'hx-get="{address}?fragment=form"' in text(client.get(reverse("needs-me")))
    form = text(client.get(address, {"fragment": "form"}))
    assert f'hx-post="{address}?fragment=form"' in form and 'name="outcome.output.verdict"' in form
    assert "<html" not in form and "Not now" not in form
    answer = client.post(f"{address}?fragment=form", filled(job, **{"outcome.output.count": "many"}))
    assert answer.status_code == 422 and "<html" not in text(answer) and 'value="many"' in text(answer)
    answer = client.post(f"{address}?fragment=form", filled(job, **{"outcome.output.count": "4"}))
    assert answer.headers["HX-Redirect"].startswith("/needs-me/?after-task=")
    assert world.status(task) == "completed"


def test_a_form_that_misses_something_comes_back_with_what_was_typed(world: World, signed_in: As) -> None:
    task, job = at_the_form(world)
    given = filled(job, **{"outcome.output.verdict": "", "summary": "Almost <done>"})
    answer = signed_in(world.operator).post(at(world, "job-complete", task.name, job.pk), given)
    assert answer.status_code == 422
    assert "Almost &lt;done&gt;" in text(answer)
    assert world.status(task) == "running"


def test_a_form_that_was_overtaken_is_a_conflict_that_keeps_what_was_typed(
    world: World, signed_in: As
) -> None:
    task, job = at_the_form(world)
    one, other = signed_in(world.operator), signed_in(world.admin)
    given = filled(job, summary="What I saw")
    assert (
        one.post(at(world, "job-complete", task.name, job.pk), given | {"summary": "First"}).status_code
        == 302
    )
    late = other.post(at(world, "job-complete", task.name, job.pk), given)
    assert late.status_code == 409
    assert "What I saw" in text(late)


@pytest.mark.parametrize("version", ["", "x", "-1", "9" * 40, "0"])
def test_a_form_without_the_version_that_was_seen_does_nothing(
    world: World, signed_in: As, version: str
) -> None:
    task, job = at_the_form(world)
    answer = signed_in(world.operator).post(
        at(world, "job-complete", task.name, job.pk), filled(job) | {"token_version": version}
    )
    assert answer.status_code in (409, 422)
    assert world.status(task) == "running"


def stuck(world: World) -> Task:
    line = document(
        [station("build", {"id": "never", "when": {"result": "failure"}, "to": "ship"}), "ship"],
        policy={"no_match": "stuck"},
        key="sticky",
    )
    task = world.start(world.line(line))
    world.report(task)
    return task


def test_a_stuck_task_says_a_sentence_the_remedy_and_the_name(world: World, signed_in: As) -> None:
    task = stuck(world)
    page = text(signed_in(world.operator).get(at(world, "task", task.name)))
    assert "No rule of build took this outcome." in page
    assert "NoValidTransition" in page
    assert "Retry" in page


def test_a_stuck_task_says_wherever_it_is_listed_what_its_station_said(world: World, signed_in: As) -> None:
    never = {"id": "never", "when": {"result": "failure"}, "to": "completed"}
    version = world.line(document([station("build", never, name="Build")], policy={"no_match": "stuck"}))
    task = world.start(version)
    world.report(task, {"result": "success", "summary": f"Coverage fell to 61 %.{chr(10)}Run it again."})
    client, said = signed_in(world.operator), "Coverage fell to 61 %. No rule of Build took this outcome."
    for address in (
        at(world, "task", task.name),
        at(world, "line-live", version.line.key),
        reverse("tasks-live"),
        reverse("needs-me"),
    ):
        page = text(client.get(address))
        assert said in page, (address, page[page.find("Coverage fell") :][:300])


def test_a_stuck_task_is_retried_and_no_reason_is_asked(world: World, signed_in: As) -> None:
    task = stuck(world)
    token = world.token(task)
    address = at(world, "task-move", task.name, token.pk)
    client = signed_in(world.operator)
    page = text(client.get(at(world, "task", task.name)))
    assert address in page and "> Retry <" in page
    dialog = page.partition(f'id="move-{token.pk}"')[2].partition("</dialog>")[0]
    assert dialog and "required" not in dialog
    assert client.post(address, {"reason": "It has no version"}).status_code == 422
    given = {"token_version": token.version, "reason": "The machine was full"}
    assert client.post(address, given).status_code == 302
    assert world.status(task) == "queued"
    assert "The machine was full" in text(client.get(at(world, "task", task.name)))
    late = client.post(address, given)
    assert late.status_code == 409
    assert "The machine was full" in text(late)


def blocked(world: World) -> Task:
    task = world.start(world.line(document(key="asks")))
    hold = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which region?"}}
    world.report(task, {"exit_code": 0, "signals": [hold]})
    return task


def test_a_question_is_shown_and_answered_and_the_station_runs_again(world: World, signed_in: As) -> None:
    task = blocked(world)
    token = world.token(task)
    client = signed_in(world.operator)
    assert "Which region?" in text(client.get(at(world, "task", task.name)))
    address = at(world, "task-answer", task.name, token.pk)
    assert client.post(address, {"token_version": token.version, "text": "  "}).status_code == 422
    assert client.post(address, {"token_version": token.version, "text": "Europe"}).status_code == 302
    assert world.job(task).feedback == "Europe"
    late = client.post(address, {"token_version": token.version, "text": "Asia"})
    assert late.status_code == 409
    assert "Asia" in text(late)


@pytest.mark.wide
def test_what_has_not_begun_is_held_with_a_reason_and_released(world: World, signed_in: As) -> None:
    task, client = begun(world), signed_in(world.operator)
    token = world.token(task)
    seen = {"token_version": token.version, "reason": "Wait for the others"}
    hold = at(world, "task-hold", task.name, token.pk)
    assert client.post(hold, {**seen, "reason": " "}).status_code == 422
    assert client.post(hold, seen).status_code == 302
    page = text(client.get(at(world, "task", task.name)))
    assert "holds this task: Wait for the others" in page
    assert "> Retry <" not in page and "> Move <" in page
    assert "Wait for the others" in text(client.post(hold, seen)), "what was typed is kept"
    release = at(world, "task-release", task.name, token.pk)
    assert client.post(release, seen).status_code == 409
    assert client.post(release, {"token_version": token.version + 1}).status_code == 302
    assert world.status(task) == "queued"


@pytest.mark.wide
def test_missing_metadata_is_added_on_the_page(world: World, signed_in: As) -> None:
    first = station("code", {"id": "on", "to": "ship"}, requires=["metadata:AI-Usage"])
    task = world.start(world.line(stations=[first, "ship"]))
    world.report(task)
    token, client = world.token(task), signed_in(world.operator)
    assert "Add what is missing" in text(client.get(at(world, "task", task.name)))
    address = at(world, "task-supply", task.name, token.pk)
    seen = {"token_version": token.version}
    assert client.post(address, {**seen, "metadata.AI-Usage": ""}).status_code == 422
    assert client.post(address, {**seen, "metadata.AI-Usage": "a\0b"}).status_code == 422
    assert client.post(address, {**seen, "metadata.AI-Usage": "Tests"}).status_code == 302
    assert world.at(task) == ["ship"]
    late = client.post(address, {**seen, "metadata.AI-Usage": "Docs"})
    assert (late.status_code, "Docs" in text(late)) == (409, True)
    assert "added what was missing: AI-Usage" in text(client.get(at(world, "task", task.name)))


def test_a_task_is_cancelled_once_and_a_reason_is_kept(world: World, signed_in: As) -> None:
    task = begun(world)
    client = signed_in(world.operator)
    address = at(world, "task-cancel", task.name)
    assert client.get(address).status_code == 405
    assert client.post(address).status_code == 422, "an empty request changes nothing"
    assert client.post(address, {"reason": "Not needed"}).status_code == 302
    assert world.status(task) == "cancelled"
    late = client.post(address, {"reason": "Me too"})
    assert late.status_code == 409
    assert "Me too" in text(late)
    assert "Not needed" in text(client.get(at(world, "task", task.name)))


def test_a_form_of_another_site_is_refused(world: World) -> None:
    task = begun(world)
    client = Client(enforce_csrf_checks=True)
    world.operator.set_password("x")
    world.operator.save()
    client.force_login(world.operator)
    assert client.post(at(world, "task-cancel", task.name), {"reason": "x"}).status_code == 403
    assert world.status(task) == "queued"


def test_tokens_and_jobs_of_another_task_are_not_there(world: World, signed_in: As) -> None:
    one, other = stuck(world), stuck(world)
    token = world.token(other)
    given = {"token_version": token.version, "reason": "x", "text": "x"}
    client = signed_in(world.operator)
    assert client.post(at(world, "task-move", one.name, token.pk), given).status_code == 404
    assert client.post(at(world, "task-answer", one.name, token.pk), given).status_code == 404
    job = Job.objects.filter(task=other).first()
    assert client.get(at(world, "job-complete", one.name, job.pk)).status_code == 404  # type: ignore[union-attr]


def test_what_blocks_a_task_is_listed_where_it_is_answered(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=["a", "b"]))
    blockers = [{"title": "No key", "description": "The registry wants one."}, "Something else"]
    outcome = {
        "verdict": "pass",
        "blockers": blockers,
        "comment": "Asked the owner.",
        "summary": "Stopped.",
        "signals": [{"verdict": "wait"}],
        "git": {"file_count": 2, "commit_count": 1, "commits": [{"id": "a" * 40, "subject": "Change <b>"}]},
    }
    world.report(task, outcome)
    client = signed_in(world.operator)
    page = text(client.get(at(world, "task", task.name)))
    for said in ("Stopped.", "No key: The registry wants one.", "Something else", "Asked the owner."):
        assert said in page
    assert "gave an unknown signal: wait" in page
    [link] = re.findall(r'href="([^"]*new-task/[^"]*title=No\+key[^"]*)"', page)
    world.line(key="other")
    choice = text(client.get(link.replace("&amp;", "&")))
    assert f"other/new/?{link.partition('?')[2]}" in choice
    fields = {"title": "Get a key", "blocks": task.name}
    form = text(client.get(at(world, "task-new", "other"), fields))
    assert 'value="Get a key"' in form and "Needed by" in form
    assert client.post(at(world, "task-new", "other"), fields).status_code == 302
    assert [each.on.title for each in task.depends_on.all()] == ["Get a key"]
    tab = text(client.get(at(world, "task", task.name), {"tab": "outputs"}))
    for said in ("2 files and 1 commit in git", "Change &lt;b&gt;", "aaaaaaaaaaaa"):
        assert said in tab


def test_a_reason_says_that_it_is_required(world: World, signed_in: As) -> None:
    task = begun(world)
    page = text(signed_in(world.operator).get(at(world, "task", task.name)))
    assert 'id="escalate-reason"' in page and "Required. It is kept with the task." in page
    assert 'id="cancel"' in page and 'id="cancel-reason"' not in page


def test_what_was_not_installed_leads_to_the_environment(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=["a", "b"]))
    world.report(task, {"result": "failure", "failure_type": "no_fixer", "summary": "Install eslint."})
    place = at(world, "project-repositories")
    shown = []
    for user in (world.designer, world.operator):
        tab = text(signed_in(user).get(at(world, "task", task.name), {"tab": "outputs"}))
        shown.append("what is installed before a station" in tab and f'href="{place}"' in tab)
    assert shown == [True, False], "who may not open it gets no link"
