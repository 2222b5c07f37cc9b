"""Watching tasks by their pages."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.test import Client
from django.utils import timezone

from pipelines.models import Artifact, Blob, Job, Task
from pipelines.queries import tasks as tables
from pipelines.work import logs
from tests.factories import World, document, station
from tests.pages.asking import begun
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


def test_a_failed_task_names_its_rules_shows_keys_as_code_and_says_how_to_go_on(
    world: World, signed_in: As
) -> None:
    hopeless = {"id": "hopeless", "label": "Not a repository", "to": "failed"}
    hopeless["when"] = {"failure_type": ["no_access", "not_a_repository"]}
    again = {"id": "again", "when": {"result": "failure"}, "to": "build"}
    task = world.start(
        world.line(stations=[station("build", hopeless, again, {"id": "on", "to": "ship"}), "ship"])
    )
    world.report(task, {"result": "failure", "failure_type": "not_a_repository"})
    page = " ".join(text(signed_in(world.admin).get(at(world, "task", task.name))).split())
    assert "Failure type <code>not_a_repository</code>" in page
    assert "Rule 1 of build, “Not a repository”, matched: it ends, Failed." in page
    assert "it failed: <code>no_access</code> or <code>not_a_repository</code>" in page
    assert "Rule 2" in page and ">hopeless<" not in page
    assert "Retry repeats the task with the same inputs. Follow up starts a new task" in page
    assert "with the same inputs" not in text(signed_in(world.viewer).get(at(world, "task", task.name)))


def test_the_page_of_a_task_says_where_it_is_how_it_came_there_and_why(world: World, signed_in: As) -> None:
    task = begun(world)
    world.report(task, {"exit_code": 0, "output": {"found": 7}, "summary": "Seven things"})
    page = text(signed_in(world.viewer).get(at(world, "task", task.name)))
    assert "Rule 1 of ask, “Well asked”, matched: on to Have a look, after The gate." in page
    assert "The gate, needs 1 approval" in page
    assert "Well asked" in page
    page = html.unescape(page)
    assert '"@start": "taken"' in page
    assert re.search(r'"state": "attention", "words": "here for [^"]+"', page)


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
        "The policy on a failure: stuck.",
    ):
        assert said in page, said
    assert "on_failure" not in page
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
    writer.append_chunk("".join(f"{n}.5\t{line}\n" for n, line in enumerate(lines)), timezone.now())


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
    logs.Writer(job.pk, job.attempt, number=1, position=99, lines=2).append_chunk(
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


def test_a_table_counts_no_further_than_somebody_would_page(
    world: World, signed_in: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MOST", 2)
    monkeypatch.setattr(tables, "PER_PAGE", 1)
    version = world.line(document())
    client, address = signed_in(world.viewer), at(world, "line-tasks", version.line.key)
    for n in range(2):
        world.start(version, title=f"task {n}")
    assert "2 tasks" in (page := text(client.get(address))) and "more than" not in page
    world.start(version, title="task 3")
    page = text(client.get(address, {"page": "9"}))
    assert "more than 2 tasks: narrow the list to see the rest" in page and "page 2 of 2" in page
