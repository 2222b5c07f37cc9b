"""The runner protocol of ALP over HTTP (dialects A): bodies and codes as its documentation has them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient, Client
from django.urls import resolve
from django.utils import timezone

from pipelines import engine
from pipelines.formats.foreign import document_import
from pipelines.models import ApiToken, Artifact, Event, Job, Lease, LineVersion, Task, Worker
from tests.api.conftest import Apis
from tests.dialects.test_imported import ALP
from tests.factories import World, make_project, station

pytestmark = pytest.mark.django_db
AS_DOCUMENTED = {
    "labels", "taskId", "stageId", "prompt", "appendSystemPrompt", "repository", "branch", "initBranch", "autoGit",
    "commitMessageTemplate", "devcontainerFiles", "assemblyLineRepoUrl", "assemblyLineRepoToken",
    "idleTimeoutMinutes", "maxTimeoutMinutes",
}  # fmt: skip


@dataclass
class Runner:
    """A program that was written from the documentation of ALP."""

    base: str
    token: str
    id: str = ""
    client: Client = field(default_factory=Client)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        text = json.dumps(body) if body is not None else ""
        return self.client.generic(method, self.base + path, text, "application/json", headers=headers)

    def register(self, name: str = "box", *labels: str) -> Any:
        answer = self.ask("POST", "/runners/register", {"name": name, "labels": list(labels)})
        if answer.status_code == 200:
            self.id, self.token = answer.json()["id"], answer.json()["token"]
        return answer

    def poll(self) -> Any:
        answer = self.ask("POST", "/runners/jobs", {})
        assert answer.status_code in (200, 204), answer.content
        return answer.json()["jobs"][0] if answer.status_code == 200 else None

    def says(self, result: str, **more: Any) -> Any:
        return self.ask("PATCH", f"/runners/{self.id}", {"jobResult": result, **more})


def address(world: World) -> str:
    return f"/api/owners/{world.project.owner.key}/projects/{world.project.key}"


@pytest.fixture
def runner(world: World) -> Runner:
    found = Runner(address(world), world.runner("gpu", "vibecheck")[1])
    assert found.register().status_code == 200
    return found


def dispatched(*keys: str, **more: Any) -> dict[str, Any]:
    """A line whose stations wait for such a runner."""
    return {"preset": "alp", "stations": [station(key, kind="runner", **more) for key in keys]}


def imported(world: World, document: dict[str, Any] = ALP) -> LineVersion:
    return world.line(document_import.import_document(json.dumps(document)).document)


def test_a_line_of_alp_is_worked_from_its_first_station_to_its_gate_and_its_end(
    world: World, api: Apis, runner: Runner
) -> None:
    version = imported(world)
    person = api.as_(world.admin)
    made = person.post(
        f"/stages/{version.line.key}/tasks",
        {"title": "Ship it", "description": "Now", "columnId": "intake", "priority": "high"},
    ).json()
    assert (made["columnId"], made["stageId"], made["status"]) == ("intake", "vibecheck", "queued")
    went = []
    for code in (0, 1, 0):
        job = runner.poll()
        assert set(job) == {"id", "runId", "agentDefinition"}
        assert set(job["agentDefinition"]) == AS_DOCUMENTED
        assert (job["agentDefinition"]["prompt"].strip(), job["agentDefinition"]["taskId"]) == (
            "Ship it",
            made["id"],
        )
        went.append(job["agentDefinition"]["stageId"])
        assert runner.says("in_progress").status_code == 200
        assert runner.says("success" if code == 0 else "failed", exitCode=code).status_code == 200
    assert went == ["intake", "architecture", "synthesis"]
    assert runner.poll() is None, "A14: behind the gate there is no job"
    task = person.get(f"/assembly-lines/{version.line.key}/tasks/{made['id']}").json()
    assert (task["status"], task["pendingGateId"]) == ("awaiting_review", "human")
    gate = f"/assembly-lines/{version.line.key}/tasks/{made['id']}/gates/human"
    assert api.as_(world.reviewer).post(gate, {"action": "approve"}).status_code == 200
    assert runner.poll()["agentDefinition"]["stageId"] == "deliver"
    assert runner.says("success", exitCode=0).json()["taskStatus"] == "completed"


def test_A13_an_operator_reports_in_the_words_of_alp_and_the_server_routes(
    world: World, runner: Runner
) -> None:
    task = world.start(world.line(**dispatched("build", "ship")))
    job = runner.poll()
    answer = runner.says(
        "failed", exitCode=7, error="The tests fail.", facts={"tests": {"passed": 9}}, to="ship"
    )
    assert answer.status_code == 200 and answer.json()["taskStatus"] == "failed"
    done = task.jobs.get(pk=job["id"])
    assert (done.result, done.exit_code, done.summary) == ("failure", 7, "The tests fail.")
    assert "facts" not in (done.outcome or {}), "a foreign report carries no facts"
    assert runner.says("nonsense").status_code == 400


def test_labels_have_to_be_a_superset_and_the_highest_priority_comes_first(
    world: World, runner: Runner
) -> None:
    version = world.line(**dispatched("build", labels=["gpu"]))
    elsewhere = world.line(**dispatched("build", labels=["mac"]), key="mac")
    world.start(elsewhere)
    world.start(version, title="Low", priority="low")
    urgent = world.start(version, title="High", priority="high")
    assert runner.poll()["agentDefinition"]["taskId"] == urgent.name
    assert runner.poll() is None, "one job at a time"
    runner.says("success")
    assert runner.poll()["agentDefinition"]["labels"] == ["gpu"]
    runner.says("success")
    assert runner.poll() is None, "nobody here has the label mac"


def test_a_runner_has_no_more_labels_than_its_token(world: World, runner: Runner) -> None:
    assert runner.register("box", "mac", "gpu").status_code == 200
    assert Worker.objects.get(pk=runner.id).labels == ["gpu"]


def test_a_person_registers_a_runner_with_a_token_of_its_own(world: World, api: Apis) -> None:
    runner = Runner(address(world), api.as_(world.admin).headers["Authorization"].split()[1])
    person = runner.token
    assert runner.register("box", "gpu").status_code == 200
    made = ApiToken.objects.get(runners=runner.id)
    assert (made.kind, made.labels, made.created_by) == ("runner", ["gpu"], world.admin)
    assert runner.token != person and runner.poll() is None
    for user in (world.operator, world.designer, world.reviewer):
        by = Runner(address(world), api.as_(user).headers["Authorization"].split()[1])
        assert by.register().status_code == 403
    machine = Runner(address(world), world.machine("read", "design", role="admin")[1])
    assert machine.register().status_code == 403


def test_the_same_result_again_is_answered_alike_and_another_one_is_refused(
    world: World, runner: Runner
) -> None:
    task = world.start(world.line(**dispatched("build", "ship")))
    runner.poll()
    assert [runner.says("success", exitCode=0).status_code for _time in range(2)] == [200, 200]
    assert runner.says("failed", exitCode=1).status_code == 409
    assert task.jobs.count() == 2 and world.at(task) == ["ship"]


def test_a_runner_that_lost_its_job_is_told_so_and_moves_nothing(world: World, runner: Runner) -> None:
    task = world.start(world.line(**dispatched("build", "ship")))
    job = runner.poll()
    world.expire(task)
    assert world.lose(task) == "requeued"
    assert runner.says("in_progress").status_code == 409
    assert runner.says("success").status_code == 409
    assert Event.objects.filter(task=task, kind="job.ignored").count() == 1
    other = Runner(address(world), world.runner()[1])
    assert other.says("success").status_code == 404, "it never registered"
    assert other.register("other").status_code == 200
    assert other.poll()["id"] == job["id"]
    assert runner.says("success", jobId=job["id"]).status_code == 409
    assert other.says("success").status_code == 200 and world.at(task) == ["ship"]


def test_a_heartbeat_keeps_the_job_and_beyond_its_limit_it_is_cancelled(world: World, runner: Runner) -> None:
    task = world.start(world.line(**dispatched("build", limits={"max_timeout": "10m"})))
    job = runner.poll()
    assert job["agentDefinition"]["maxTimeoutMinutes"] == 10
    Lease.objects.update(expires_at=timezone.now())
    assert runner.says("in_progress").status_code == 200
    assert Lease.objects.get().expires_at > timezone.now() + timedelta(seconds=60)
    Job.objects.filter(pk=job["id"]).update(started_at=timezone.now() - timedelta(minutes=12))
    assert runner.says("in_progress").status_code == 409
    outcome = task.jobs.get().outcome
    assert outcome and (outcome["result"], outcome["reason"]) == ("cancelled", "max_timeout")


def test_a_cancelled_task_tells_its_runner_to_stop(world: World, runner: Runner) -> None:
    task = world.start(world.line(**dispatched("build")))
    runner.poll()
    engine.cancel(task.pk, actor=engine.Actor.person(world.admin), reason="No more")
    assert runner.says("in_progress").status_code == 409
    assert runner.poll() is None


def test_feedback_reaches_the_prompt_and_the_system_prompt_is_apart(world: World, runner: Runner) -> None:
    work = {"prompt": "Do {{task.title}}", "system": "Be brief, {{task.requester}}."}
    task = world.start(world.line(**dispatched("build", work=work)), title="this")
    told = runner.poll()["agentDefinition"]
    assert (told["prompt"].strip(), told["appendSystemPrompt"][:9]) == ("Do this", "Be brief,")
    assert runner.says("failed").status_code == 200 and world.status(task) == "failed"


def test_what_cannot_be_rendered_fails_before_anything_starts(world: World, runner: Runner) -> None:
    bad = world.start(world.line(**dispatched("build", work={"prompt": "{{context.nothing}}"})))
    good = world.start(world.line(**dispatched("build"), key="good"))
    assert runner.poll()["agentDefinition"]["taskId"] == good.name
    outcome = bad.jobs.get().outcome
    assert outcome and outcome["failure_type"] == "template_error" and world.status(bad) == "failed"


def test_the_addresses_of_the_live_server(world: World, runner: Runner) -> None:
    rules = [{"id": "again", "when": {"result": "cancelled"}, "to": "ship"}]
    stations = [station("build", *rules, kind="runner"), station("ship", kind="runner")]
    task = world.start(world.line(preset="alp", stations=stations))
    job = runner.poll()
    run = f"/runs/{job['runId']}/jobs/{job['id']}"
    assert runner.ask("PATCH", run, {"status": "in_progress", "logs": "one\ntwo"}).status_code == 200
    said = {
        "status": "completed",
        "conclusion": "failure",
        "completionReason": "idle_timeout",
        "sessionId": "s-1",
    }
    assert runner.ask("PATCH", f"/runs/WI-app-99/jobs/{job['id']}", said).status_code == 404
    assert runner.ask("PATCH", run, {"status": "completed"}).status_code == 400
    assert runner.ask("PATCH", run, said).status_code == 200
    outcome = task.jobs.get(station="build").outcome
    assert outcome and (outcome["result"], outcome["reason"]) == ("cancelled", "idle_timeout")
    assert outcome["comment"] == "Session s-1"
    assert task.jobs.get(station="build").log.count() == 1 and world.at(task) == ["ship"]


@pytest.mark.django_db(transaction=True)
def test_files_are_kept_with_the_job_and_a_declared_one_that_is_missing_fails_it(
    world: World, runner: Runner
) -> None:
    version = world.line(**dispatched("build", "ship", artifacts=[{"path": "report.txt"}]))
    without = world.start(version)
    runner.poll()
    runner.says("success", exitCode=0)
    outcome = Job.objects.get(task=without)
    assert outcome.result == "failure" and world.status(without) == "failed"
    task = world.start(version)
    runner.poll()
    headers = {"Authorization": f"Bearer {runner.token}"}
    file = SimpleUploadedFile("report.txt", b"all well", "text/plain")
    sent = runner.client.post(f"{runner.base}/artifacts", {"file": file}, headers=headers)
    assert sent.status_code == 201 and sent.json()["size"] == 8
    runner.says("success", exitCode=0)
    assert Artifact.objects.get(task=task).name == "report.txt" and world.at(task) == ["ship"]
    late = runner.client.post(f"{runner.base}/artifacts", {"file": file}, headers=headers)
    assert late.status_code == 409


def test_an_approval_request_asks_a_person_and_the_answer_reaches_the_next_prompt(
    world: World, runner: Runner
) -> None:
    task = world.start(world.line(**dispatched("build", "ship")))
    first = runner.poll()
    answer = runner.ask("POST", f"/runners/{runner.id}/approval-requests", {"message": "May I open port 80?"})
    assert answer.status_code == 202 and answer.json()["status"] == "pending"
    asked = f"/runners/{runner.id}/approval-requests/{answer.json()['id']}"
    told = runner.ask("GET", asked).json()
    assert (told["status"], told["question"], told["answer"]) == ("pending", "May I open port 80?", None)
    task.refresh_from_db()
    token = task.tokens.get()
    assert (task.display_status, token.wait["question"]) == ("waiting_for_input", "May I open port 80?")
    assert runner.poll() is None
    engine.answer_blocked_token(
        token.pk, user=world.operator, token_version=token.version, text="Yes, until noon."
    )
    again = runner.poll()
    assert again["id"] != first["id"]
    assert "May I open port 80?" in again["agentDefinition"]["prompt"]
    assert "Yes, until noon." in again["agentDefinition"]["prompt"]
    told = runner.ask("GET", asked).json()
    assert (told["status"], told["answer"], told["jobId"]) == ("answered", "Yes, until noon.", first["id"])
    assert told["answeredAt"] and told["taskId"] == task.name
    empty = runner.ask("POST", f"/runners/{runner.id}/approval-requests", {"message": " "})
    assert empty.status_code == 400


def test_a_question_that_nobody_answers_any_more_is_closed_and_no_other_is_found(
    world: World, runner: Runner
) -> None:
    task = world.start(world.line(**dispatched("build", "ship")))
    requests = f"/runners/{runner.id}/approval-requests"
    states = []
    for _time in range(2):
        job = runner.poll()
        number = runner.ask("POST", requests, {"message": "The same?"}).json()["id"]
        token = task.tokens.get()
        engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version)
        states.append(runner.ask("GET", f"{requests}/{number}").json())
    assert {(each["status"], each["answer"]) for each in states} == {("closed", None)}
    job = runner.poll()
    last = runner.ask("POST", requests, {"message": "And now?"}).json()["id"]
    engine.cancel(task.pk, actor=engine.Actor.person(world.admin), reason="No more")
    assert runner.ask("GET", f"{requests}/{last}").json()["status"] == "closed"
    other = Runner(address(world), world.runner()[1])
    other.register("other")
    assert other.ask("GET", f"/runners/{other.id}/approval-requests/{last}").status_code == 404
    for odd in ("0-1", "x", f"{job['id']}-2", "9" * 30, f"{job['id']}"):
        assert runner.ask("GET", f"{requests}/{odd}").status_code == 404


def test_a_drained_runner_gets_nothing_and_a_revoked_one_is_a_stranger(world: World, runner: Runner) -> None:
    world.start(world.line(**dispatched("build")))
    Worker.objects.filter(pk=runner.id).update(stopping=True)
    assert runner.poll() is None
    Worker.objects.filter(pk=runner.id).update(stopping=False)
    assert runner.poll() is not None
    ApiToken.objects.filter(runners=runner.id).update(revoked_at=timezone.now())
    assert runner.says("success").status_code == 401


def test_tasks_start_where_the_line_starts(world: World, api: Apis) -> None:
    version = world.line(**dispatched("build", "ship"))
    where = f"/assembly-lines/{version.line.key}/tasks"
    refused = api.as_(world.operator).post(where, {"title": "t", "columnId": "ship"})
    assert refused.status_code == 400 and refused.json()["errors"][0]["path"] == "columnId"
    made = api.as_(world.operator).post(where, {"title": "t", "columnId": "build"})
    assert made.status_code == 201 and made.json()["order"] == Task.objects.get().number


def test_an_alias_is_the_same_operation() -> None:
    for prefix in ("/api/", "/api/v1/"):
        for rest in ("", "/WI-app-1", "/WI-app-1/gates/review", "/WI-app-1/events"):
            where = f"{prefix}owners/o/projects/p/%s/line/tasks{rest}"
            assert resolve(where % "assembly-lines").func is resolve(where % "stages").func


def test_a_runner_reaches_nothing_of_another_project(world: World, runner: Runner) -> None:
    task = world.start(world.line(**dispatched("build")))
    runner.poll()
    other_project = make_project("else", "others")
    stranger = Runner(
        f"/api/owners/{other_project.owner.key}/projects/{other_project.key}",
        world.runner(project=other_project)[1],
    )
    stranger.register("far")
    theirs = Runner(address(world), stranger.token, runner.id)
    job = task.jobs.get()
    asked = [
        theirs.ask("POST", "/runners/register", {"name": "x"}),
        theirs.ask("POST", "/runners/jobs", {}),
        theirs.says("success"),
        theirs.ask(
            "PATCH", f"/runs/{task.name}/jobs/{job.pk}", {"status": "completed", "conclusion": "success"}
        ),
        theirs.ask("POST", f"/runners/{runner.id}/approval-requests", {"message": "?"}),
        theirs.ask("GET", f"/runners/{runner.id}/approval-requests/{job.pk}-1"),
        theirs.ask("POST", "/artifacts", {}),
        theirs.ask("GET", "/runners/events"),
        stranger.ask("PATCH", f"/runners/{runner.id}", {"jobResult": "success"}),
        stranger.ask(
            "PATCH", f"/runs/{task.name}/jobs/{job.pk}", {"status": "completed", "conclusion": "success"}
        ),
        stranger.says("success", jobId=job.pk),
    ]
    assert {each.status_code for each in asked} == {404}
    assert stranger.poll() is None and world.status(task) == "running"


@pytest.mark.django_db(transaction=True)
async def test_the_stream_says_that_a_job_is_available(world: World, runner: Runner) -> None:
    version = await sync_to_async(lambda: world.line(**dispatched("build")))()
    headers = {"Authorization": f"Bearer {runner.token}"}
    answer = await AsyncClient().get(f"{runner.base}/runners/events", headers=headers)
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/event-stream")
    pieces = aiter(answer)
    assert (await anext(pieces)).startswith(b"retry:")
    assert (await anext(pieces)).startswith(b": nothing")
    task = await sync_to_async(lambda: world.start(version))()
    job = await sync_to_async(lambda: task.jobs.get().pk)()
    said = await anext(pieces)
    assert said == f'event: job_available\ndata: {{"jobId": "{job}"}}\n\n'.encode()
    await pieces.aclose()
