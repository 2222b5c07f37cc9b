"""A client that was written from the description of ALP works one line to its end, over a real socket."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from tests.dialects.alp_client import Job, Json, Person, Runner, UnexpectedAnswer
from tests.factories import World
from tests.fixtures.site import Site
from tests.waiting import LONG, until

pytestmark = pytest.mark.django_db(transaction=True)


def _station(key: str, *labels: str, **more: Json) -> dict[str, Json]:
    trigger: dict[str, Json] = {"type": "dispatch_worker", "labels": list(labels), **more}
    return {"id": key, "name": key.upper(), "trigger": trigger}


DOCUMENT: dict[str, Json] = {
    "id": "mending",
    "name": "Mending",
    "version": "1.0.0",
    "stations": [
        _station("mend", "git", "node", promptTemplate="Mend {{task.title}}: {{task.description}}"),
        _station("check", "node", promptTemplate="Check it", appendSystemPrompt="Be brief."),
        _station("ship", "node", idleTimeoutMinutes=5, maxTimeoutMinutes=10),
    ],
    "transitionRules": [
        {"id": "again", "fromStationId": "check", "toStationId": "mend", "condition": "failure"},
        {
            "id": "go",
            "fromStationId": "check",
            "toStationId": "ship",
            "condition": "success",
            "gateId": "human-review",
        },
    ],
    "gates": [{"id": "human-review", "name": "Human Review", "requiresApproval": True}],
}


@pytest.fixture
def person(site: Site, world: World) -> Person:
    """Somebody of the project, in whose name the document became a line."""
    project, secret = world.project, world.token_of(world.admin)[1]
    found = Person(site.url, project.owner.key, project.key, secret)
    asked: dict[str, Json] = {"files": {"mending.json": json.dumps(DOCUMENT)}, "save": True, "losses": 0}
    found.ask("POST", f"{found.base}/import", asked, accept=(201,))
    found.ask("POST", f"{found.base}/lines/mending/publish", {"draft": 1}, accept=(201,))
    return found


@pytest.fixture
def runners(person: Person) -> tuple[Runner, Runner]:
    return person.runner("all", ["node", "git", "more"]), person.runner("node", ["node"])


def test_a_line_is_worked_from_its_first_station_to_its_end(
    person: Person, runners: tuple[Runner, Runner]
) -> None:
    able, less = runners
    person.create_task("mending", "Later", "It can wait", priority="low")
    with closing(able.events(LONG)) as news:
        heard = next(news)
    made = person.create_task("mending", "The clasp", "It is bent", priority="high", below="assembly-lines")
    task = str(made["id"])
    assert (made["stageId"], made["columnId"], made["status"]) == ("mending", "mend", "queued")
    assert less.poll() == [], "it lacks the label git"

    job = _next(able)
    assert (job.task, job.station, job.prompt) == (task, "mend", "Mend The clasp: It is bent")
    assert heard.name == "job_available" and heard.data["jobId"] != job.id, "the more urgent came first"
    assert able.poll() == [], "one job at a time"
    able.heartbeat()
    kept = able.store("clasp.txt", "Straight, tæt\n".encode())
    assert (kept["jobId"], kept["name"], kept["size"]) == (job.id, "clasp.txt", 15)
    able.complete(job, "success", session="s-1", logs="bent it back\n")

    checked = _next(less)
    assert (checked.station, checked.agent["appendSystemPrompt"]) == ("check", "Be brief.")
    less.report("failed", exit_code=3, error="It is still bent.")
    again = _next(able)
    assert (again.task, again.station) == (task, "mend"), "the failure led back"
    assert again.id != job.id
    able.report("success", exit_code=0)
    assert able.report("success", exit_code=0), "an answer that was lost"
    with pytest.raises(UnexpectedAnswer, match="409"):
        able.complete(again, "failure")

    assert _next(less).task == task
    less.report("success", exit_code=0)
    waiting = person.task("mending", task)
    assert (waiting["status"], waiting["pendingGateId"], waiting["columnId"]) == (
        "awaiting_review",
        "human-review",
        "check",
    )
    assert less.poll() == [], "behind the gate there is no job"
    with pytest.raises(UnexpectedAnswer, match="400"):
        person.decide("mending", task, "human-review", "reject", " ")
    person.decide("mending", task, "human-review", "approve", below="assembly-lines")
    with pytest.raises(UnexpectedAnswer, match="409"):
        person.decide("mending", task, "human-review", "approve")

    last = _next(less)
    assert (last.station, last.agent["idleTimeoutMinutes"], last.agent["maxTimeoutMinutes"]) == (
        "ship",
        5,
        10,
    )
    less.report("success", exit_code=0)
    assert person.task("mending", task)["status"] == "completed"

    visits = f"{person.base}/stages/mending/tasks/{task}/visits"
    log = person.ask("GET", f"{visits}/{job.id}/log").object()["lines"]
    assert isinstance(log, list)
    assert [line["text"] for line in log if isinstance(line, dict)] == ["bent it back"]


def _next(runner: Runner) -> Job:
    """The next job; the server may take a moment."""
    return until(runner.poll, "a job")[0]
