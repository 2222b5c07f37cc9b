"""Starting, watching and working on tasks by their pages."""

from __future__ import annotations

import json
import re

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.test import Client
from django.utils import timezone

from pipelines.models import Artifact, Blob, Job, Task, Token
from pipelines.web.tasks.manual_report_form import SKELETON
from pipelines.work import logs
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

ASKING = document(
    [
        station("ask", {"id": "on", "label": "Well asked", "to": "look", "gates": ["gate"]}),
        {
            "key": "look",
            "name": "Have a look",
            "work": {
                "kind": "manual",
                "instructions": "Look at it.",
                "form": [
                    {"key": "verdict", "type": "choice", "choices": ["good", "bad"], "required": True},
                    {"key": "count", "type": "number"},
                    {"key": "note", "type": "text"},
                ],
            },
        },
    ],
    gates=[{"key": "gate", "name": "The gate"}],
    inputs=[
        {"key": "repository", "type": "repository", "label": "Repository", "required": True},
        {"key": "revision", "label": "Revision", "default": "main"},
        {"key": "times", "type": "number", "label": "How often"},
        {"key": "kind", "type": "choice", "label": "Kind", "choices": ["fast", "slow"]},
        {"key": "on", "type": "date", "label": "On"},
    ],
    key="asking",
)


# Starting


def test_the_start_form_is_made_from_the_inputs_of_the_line(world: World, signed_in: As) -> None:
    version = world.line(ASKING)
    page = text(signed_in(world.operator).get(at(world, "task-new", version.line.key)))
    for words in ("Repository", "How often", 'type="date"', "fast", 'value="main"'):
        assert words in page


def test_a_task_is_started_by_the_form_and_its_page_opens(world: World, signed_in: As) -> None:
    version, first = world.line(ASKING), world.start(world.line(key="other"))
    answer = signed_in(world.operator).post(
        at(world, "task-new", version.line.key),
        {
            "title": "Check it",
            "inputs.repository": "https://example.com/app.git",
            "inputs.times": "3",
            "inputs.kind": "fast",
            "labels": "one, two ,,",
            "priority": "high",
            "due_at": "2026-12-31T17:00",
            "depends_on": f"{first.name}, ",
        },
    )
    task = Task.objects.get(title="Check it")
    assert answer.headers["Location"] == at(world, "task", task.name)
    assert task.inputs == {
        "repository": "https://example.com/app.git",
        "revision": "main",
        "times": 3,
        "kind": "fast",
    }
    assert (task.labels, task.priority, task.requester) == (["one", "two"], "high", world.operator)
    assert f"{task.due_at:%Y-%m-%d %H:%M %Z}" == "2026-12-31 17:00 UTC"
    assert world.status(task) == "held"
    page = text(signed_in(world.operator).get(at(world, "task", task.name)))
    assert "Depends on" in page and "Release" in page
    assert "Needed by" in text(signed_in(world.operator).get(at(world, "task", first.name)))


def test_a_title_that_is_left_as_it_is_follows_what_is_filled_in(world: World, signed_in: As) -> None:
    fields = [
        {"key": "app", "label": "App", "default": "web"},
        {"key": "strict", "type": "yes_no", "default": True},
    ]
    address = at(world, "task-new", world.line(key="checks", name="Check", inputs=fields).line.key)
    client = signed_in(world.operator)
    page = text(client.get(address))
    assert page.count('value="Check: web"') == 2
    assert "checked" in page
    sent = {"title": "Check: web", "default_title": "Check: web", "inputs.app": "api"}
    client.post(address, sent)
    task = Task.objects.get()
    assert task.title == "Check: api"
    assert task.inputs == {"app": "api", "strict": False}
    client.post(address, {**sent, "title": "My own", "inputs.strict": "on"})
    task = Task.objects.latest("pk")
    assert (task.title, task.inputs["strict"]) == ("My own", True)


def test_a_form_with_faults_comes_back_with_them_and_with_what_was_typed(world: World, signed_in: As) -> None:
    version = world.line(ASKING)
    answer = signed_in(world.operator).post(
        at(world, "task-new", version.line.key),
        {"title": "", "inputs.times": "many", "inputs.on": "tomorrow", "description": "Kept <b>text</b>"},
    )
    assert answer.status_code == 422
    page = text(answer)
    for words in ("Title is required.", "Repository is required.", "How often has to be a number.", "many",
                  "On has to be a date like", "Kept &lt;b&gt;text"):  # fmt: skip
        assert words in page
    assert not Task.objects.exists()


@pytest.mark.smoke(5)
@pytest.mark.parametrize(
    "given",
    [
        {"title": "a\0b"},
        {"title": "x" * 400},
        {"title": "t", "priority": "urgent"},
        {"title": "t", "labels": "y" * 500},
        {"title": "t", "inputs.repository": "--upload-pack=x"},
        {"title": "t", "inputs.times": "1e999"},
        {"title": "t", "inputs.times": "9" * 5000},
        {"title": "t", "inputs.times": "NaN"},
        {"title": "t", "inputs.times": "٣"},
        {"title": "t", "inputs.kind": "medium"},
        {"title": "t", "inputs.on": "2026-02-30"},
        {"title": "t", "due_at": "2026-02-30T10:00"},
        {"title": "t", "due_at": "tomorrow"},
        {"title": "t", "depends_on": "WI-app-99"},
    ],
)
def test_nonsense_in_the_form_is_a_form_with_faults(
    world: World, signed_in: As, given: dict[str, str]
) -> None:
    version = world.line(ASKING)
    filled = {"inputs.repository": "https://example.com/app.git", **given}
    answer = signed_in(world.operator).post(at(world, "task-new", version.line.key), filled)
    assert answer.status_code in (302, 422)
    if "times" not in str(given):
        assert answer.status_code == 422


def test_with_one_line_new_task_leads_straight_to_its_form(world: World, signed_in: As) -> None:
    version = world.line(ASKING)
    client = signed_in(world.operator)
    assert client.get(at(world, "task-new-choose")).headers["Location"] == at(
        world, "task-new", version.line.key
    )
    world.line(document(key="other"))
    assert "Choose a line" in text(client.get(at(world, "task-new-choose")))


# Watching


def begun(world: World) -> Task:
    return world.start(
        world.line(ASKING), inputs={"repository": "https://example.com/app.git"}, title="Check it"
    )


def test_a_failed_task_names_its_rule_shows_keys_as_code_and_says_how_to_go_on(
    world: World, signed_in: As
) -> None:
    hopeless = {"id": "hopeless", "label": "Not a repository", "to": "failed"}
    hopeless["when"] = {"failure_type": ["refused", "not_a_repository"]}
    again = {"id": "again", "when": {"result": "failure"}, "to": "build"}
    task = world.start(
        world.line(stations=[station("build", hopeless, again, {"id": "on", "to": "ship"}), "ship"])
    )
    world.report(task, {"result": "failure", "failure_type": "not_a_repository"})
    page = " ".join(text(signed_in(world.admin).get(at(world, "task", task.name))).split())
    assert "Failure type <code>not_a_repository</code>" in page
    assert "Rule 1 of build, “Not a repository”, matched: it ends, Failed." in page
    assert "failure type is <code>refused</code> or <code>not_a_repository</code>" in page
    assert "<code>again</code>" in page and ">hopeless<" not in page
    assert "Retry repeats the task with the same inputs. Follow up starts a new task" in page
    assert "with the same inputs" not in text(signed_in(world.viewer).get(at(world, "task", task.name)))


def test_the_page_of_a_task_says_where_it_is_how_it_came_there_and_why(world: World, signed_in: As) -> None:
    task = begun(world)
    world.report(task, {"exit_code": 0, "output": {"found": 7}, "summary": "Seven things"})
    page = text(signed_in(world.viewer).get(at(world, "task", task.name)))
    assert "Rule 1 of ask, “Well asked”, matched: on to Have a look, after The gate." in page
    assert "The gate, needs 1 approval" in page
    assert "Well asked" in page
    assert "edge-taken" in page


def test_the_whole_trace_is_on_the_page_and_over_the_api(world: World, signed_in: As) -> None:
    """Each rule tested with what it saw, the checks of the gate, the policy that was applied, step by step."""
    checks = {
        "all": [
            {"field": "output.lint", "operator": "equals", "value": 0, "action": "rework", "label": "lint"}
        ]
    }
    never = {"eval": {"op": "equals", "value": "never"}}
    built = station("build", {"id": "other", "when": never, "to": "ship"}, gate="code")
    gates = [{"key": "code", "name": "Code ready", "mode": "auto", "checks": checks}]
    task = world.start(
        world.line(stations=[built, "ship"], gates=gates, policy={"on_failure": "stuck"}, key="traced")
    )
    world.report(task, {"eval": "done", "output": {"lint": "<b>3</b>"}})
    page = text(signed_in(world.viewer).get(at(world, "task", task.name)))
    for said in (
        "Code ready",
        "Failed: rework",
        "The whole trace",
        "&lt;b&gt;3&lt;/b&gt;",
        "on_failure: stuck",
    ):
        assert said in page, said
    _, secret = world.token_of(world.viewer, "read")
    address = f"/api/owners/acme/projects/{world.project.key}/stages/traced/tasks/{task.name}/decisions"
    (decision,) = Client().get(address, headers={"Authorization": f"Bearer {secret}"}).json()
    steps = [(entry["step"], entry["rule"], entry["result"]) for entry in decision["trace"]]
    assert steps == [("station_gate", None, False), ("rules", "other", False), ("rules", None, True)]
    assert decision["trace"][0]["saw"][0]["saw"] == "<b>3</b>"
    assert decision["trace"][1]["saw"]
    assert decision["decision"]["error"] == "NoValidTransition"


def test_why_can_be_read_for_every_decision(world: World, signed_in: As) -> None:
    line = document(
        [
            station(
                "scan",
                {
                    "id": "many",
                    "when": {"output": {"path": "$.high", "op": "gt", "value": 5}},
                    "to": "failed",
                },
                {"id": "few", "when": {"result": "success"}, "to": "ship"},
                {"id": "rest", "to": "failed"},
            ),
            "ship",
        ],
        key="scan-line",
    )
    task = world.start(world.line(line))
    world.report(task, {"exit_code": 0, "output": {"high": 2}})
    world.report(task)
    client = signed_in(world.viewer)
    first = str(task.decisions.order_by("at").first().pk)  # type: ignore[union-attr]
    page = text(client.get(at(world, "task", task.name), {"move": first}))
    assert "decision 1 of 2" in page
    for words in ("high is greater than 5", "result is success", "Matched", "Not tried", ">2<", "success"):
        assert words in page
    assert "decision 2 of 2" in text(client.get(at(world, "task", task.name), {"move": "nonsense"}))


def test_a_hint_brings_only_the_part_that_changed(world: World, signed_in: As) -> None:
    task = begun(world)
    part = text(signed_in(world.viewer).get(at(world, "task", task.name), {"fragment": "live"}))
    assert re.match(r'\s*<div\s+id="task-live"', part)
    assert "<html" not in part


def write(job: Job, *lines: str) -> None:
    writer = logs.Writer(job.pk, job.attempt)
    writer.append("".join(f"{n}.5\t{line}\n" for n, line in enumerate(lines)), timezone.now())


def test_the_log_of_what_runs_goes_on_from_where_it_was_read(world: World, signed_in: As) -> None:
    task = begun(world)
    job = world.started(task)
    write(job, "first line", "<script>alert(1)</script>")
    client = signed_in(world.viewer)
    page = text(client.get(at(world, "task", task.name)))
    assert "first line" in page
    assert "<script>alert(1)" not in page
    more = re.search(r'hx-get="([^"]*from=\d+)"', page)
    assert more is not None
    logs.Writer(job.pk, job.attempt, number=1, position=99, lines=2).append(
        "9.5\tthird line\n", timezone.now()
    )
    part = text(client.get(more.group(1).replace("&amp;", "&").rpartition("from=")[0] + "from=99"))
    assert "third line" in part
    assert "first line" not in part
    assert "hx-get" in part
    world.report(task)
    assert "hx-get" not in text(client.get(at(world, "task-log", task.name), {"job": job.pk, "from": "120"}))


def test_the_log_can_be_had_as_a_file(world: World, signed_in: As) -> None:
    task = begun(world)
    job = world.started(task)
    write(job, "first line", "second line")
    answer = signed_in(world.viewer).get(at(world, "task-log-download", task.name), {"job": job.pk})
    assert b"".join(answer.streaming_content) == b"first line\nsecond line\n"  # type: ignore[attr-defined]
    assert answer.headers["Content-Disposition"].startswith("attachment")


def test_the_log_of_another_task_is_not_there(world: World, signed_in: As) -> None:
    one, other = begun(world), begun(world)
    foreign = world.job(other).pk
    assert signed_in(world.viewer).get(at(world, "task-log", one.name), {"job": foreign}).status_code == 404


def test_the_events_are_exported_one_json_object_a_line(world: World, signed_in: As) -> None:
    task = begun(world)
    world.report(task)
    answer = signed_in(world.viewer).get(at(world, "task-events", task.name))
    rows = [json.loads(line) for line in b"".join(answer).splitlines()]
    assert len(rows) == Task.objects.get(pk=task.pk).seq
    wanted = {"event_id", "timestamp", "work_item_id", "transition", "agent", "handoff_id", "gate_results"}
    assert all(wanted <= set(row) for row in rows)


def test_an_artifact_is_a_download_never_a_page(world: World, signed_in: As) -> None:
    task = begun(world)
    job = world.started(task)
    name = storages["artifacts"].save("tests/page", ContentFile(b"<script>alert(1)</script>"))
    blob = Blob.objects.create(digest="a" * 64, size=25, name=name, created_at=timezone.now())
    artifact = Artifact.objects.create(
        task=task, job=job, name="report.html", media_type="text/html", blob=blob
    )
    answer = signed_in(world.viewer).get(at(world, "artifact", task.name, artifact.pk))
    assert b"".join(answer.streaming_content) == b"<script>alert(1)</script>"  # type: ignore[attr-defined]
    assert "attachment" in answer.headers["Content-Disposition"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    storages["artifacts"].delete(name)
    assert signed_in(world.viewer).get(at(world, "artifact", task.name, artifact.pk)).status_code == 404


def test_a_task_of_another_project_is_not_there(world: World, signed_in: As) -> None:
    task = begun(world)
    assert signed_in(world.stranger).get(at(world, "task", task.name)).status_code == 404


def test_tasks_are_found_by_title_number_status_and_label(world: World, signed_in: As) -> None:
    version = world.line(document())
    one = world.start(version, title="Raise the limit", labels=["infra"])
    other = world.start(version, title="Translate invoices")
    world.report(other)
    world.report(other)
    client = signed_in(world.viewer)

    def found(**query: str) -> set[str]:
        page = text(client.get(at(world, "tasks"), {"fragment": "table", **query}))
        return {title for title in ("Raise the limit", "Translate invoices") if title in page}

    assert found() == {"Raise the limit", "Translate invoices"}
    assert found(q="limit") == found(q=one.name) == found(q="infra") == {"Raise the limit"}
    assert found(status="ended") == found(status="completed") == {"Translate invoices"}
    assert found(status="no such") == {"Raise the limit", "Translate invoices"}
    assert found(q="%") == set()
    assert found(requester="me") == set()
    part = client.get(at(world, "tasks"), {"fragment": "table", "q": "limit"})
    assert part.headers["HX-Replace-Url"] == at(world, "tasks") + "?q=limit"
    assert "Clear" in text(client.get(at(world, "tasks"), {"q": "nothing like it"}))


# Working


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


def test_a_stuck_task_is_retried_with_a_reason(world: World, signed_in: As) -> None:
    task = stuck(world)
    token = world.token(task)
    address = at(world, "task-retry", task.name, token.pk)
    client = signed_in(world.operator)
    page = text(client.get(at(world, "task", task.name)))
    assert address in page and "> Retry <" in page
    assert client.post(address, {"token_version": token.version}).status_code == 422
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


def test_what_has_not_begun_is_held_with_a_reason_and_released(world: World, signed_in: As) -> None:
    task, client = begun(world), signed_in(world.operator)
    token = world.token(task)
    seen = {"token_version": token.version, "reason": "Wait for the others"}
    hold = at(world, "task-hold", task.name, token.pk)
    assert client.post(hold, {**seen, "reason": " "}).status_code == 422
    assert client.post(hold, seen).status_code == 302
    page = text(client.get(at(world, "task", task.name)))
    assert "holds this task: Wait for the others" in page
    assert at(world, "task-retry", task.name, token.pk) not in page and "> Retry <" not in page
    assert "Wait for the others" in text(client.post(hold, seen)), "what was typed is kept"
    release = at(world, "task-release", task.name, token.pk)
    assert client.post(release, seen).status_code == 409
    assert client.post(release, {"token_version": token.version + 1}).status_code == 302
    assert world.status(task) == "queued"


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


def test_a_task_is_cancelled_with_a_reason_once(world: World, signed_in: As) -> None:
    task = begun(world)
    client = signed_in(world.operator)
    address = at(world, "task-cancel", task.name)
    assert client.get(address).status_code == 405
    assert client.post(address, {"reason": ""}).status_code == 422
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
    assert client.post(at(world, "task-retry", one.name, token.pk), given).status_code == 404
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
    assert "gave a signal that says nothing known: wait" in page
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
