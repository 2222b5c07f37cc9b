"""The workflow endpoints of Vibe Factory over HTTP (C16, C17, C21, C22, C26)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from pipelines import engine
from pipelines.formats.foreign import document_import
from pipelines.models import LineVersion, Task, User
from tests.dialects.test_imported import VIBE
from tests.factories import World, make_project, make_worker

pytestmark = pytest.mark.django_db


@dataclass
class Workflows:
    """A client with the token of a person."""

    headers: dict[str, str]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        text = json.dumps(body) if body is not None else ""
        return Client().generic(method, f"/api{path}", text, "application/json", headers=self.headers)

    def execute(self, workflow: str, **more: Any) -> Any:
        said = {"task_id": "T-1", "base_branch": "main", **more}
        return self.ask("POST", f"/workflows/{workflow}/execute", said)

    def look(self, execution: str) -> Any:
        return self.ask("GET", f"/workflow-executions/{execution}").json()

    def stations(self, execution: str) -> list[Any]:
        found: list[Any] = self.ask("GET", f"/workflow-executions/{execution}/stations").json()
        return found

    def does(self, execution: str, what: str, **body: Any) -> Any:
        return self.ask("POST", f"/workflow-executions/{execution}/{what}", body)

    def completes(self, execution: str, status: str = "completed", output: Any = None) -> Any:
        now = self.stations(execution)[-1]["id"]
        said = {"station_execution_id": now, "status": status, "output_data": output}
        return self.does(execution, "complete-station", **said)


def of(world: World, user: User) -> Workflows:
    return Workflows({"Authorization": f"Bearer {world.token_of(user)[1]}"})


@pytest.fixture
def workflows(world: World) -> Workflows:
    return of(world, world.operator)


@pytest.fixture
def version(world: World) -> LineVersion:
    return world.line(document_import.import_document(json.dumps(VIBE)).document)


def named(version: LineVersion) -> str:
    project = version.line.project
    return f"{project.owner.key}:{project.key}:{version.line.key}"


def test_C26_a_workflow_is_executed_looked_at_and_completed_station_by_station(
    workflows: Workflows, version: LineVersion
) -> None:
    begun = workflows.execute(named(version))
    assert begun.status_code == 200
    assert set(begun.json()) == {"workflow_execution_id", "task_attempt_id", "current_station_id", "status"}
    assert (begun.json()["current_station_id"], begun.json()["status"]) == ("b", "running")
    execution = begun.json()["workflow_execution_id"]
    assert Task.objects.get().title == "T-1"
    assert workflows.completes(execution).json()["current_station_id"] == "t"
    assert workflows.completes(execution, output='{"failed": 2}').json()["current_station_id"] == "b"
    workflows.completes(execution)
    done = workflows.completes(execution, output={"failed": 0}).json()
    assert (done["status"], done["completed_at"] is None) == ("completed", False)
    rows = workflows.stations(execution)
    assert [each["station_id"] for each in rows] == ["b", "t", "b", "t"]
    assert [each["output_data"] for each in rows] == [None, '{"failed": 2}', None, '{"failed": 0}']
    assert {each["status"] for each in rows} == {"completed"}
    assert workflows.look(execution) == done
    assert workflows.ask("GET", f"/tasks/{execution}/workflow-execution").json() == done


def test_C26_the_id_of_the_imported_document_names_its_workflow(
    workflows: Workflows, version: LineVersion
) -> None:
    assert workflows.execute("wf").status_code == 200
    assert workflows.execute("none-such").status_code == 404
    version.pk = None
    twin = version.line
    assert twin.key


def test_C21_a_failed_station_is_retried_and_the_old_id_leads_to_what_goes_on(
    world: World, workflows: Workflows, version: LineVersion
) -> None:
    execution = workflows.execute(named(version)).json()["workflow_execution_id"]
    workflows.completes(execution, output={"built": True})
    failed = workflows.completes(execution, "failed", {"failed": 0}).json()
    assert (failed["status"], failed["task_attempt_id"]) == ("failed", execution)
    first, second = workflows.stations(execution)
    refused = workflows.does(execution, "retry-station", station_execution_id=first["id"])
    assert refused.status_code == 409
    assert refused.json()["detail"] == "Can only retry failed stations, current status is 'completed'"
    again = workflows.does(execution, "retry-station", station_execution_id=second["id"]).json()
    assert (again["id"], again["status"], again["current_station_id"]) == (execution, "running", "t")
    linked = Task.objects.latest("pk")
    assert (again["task_attempt_id"], linked.follows, linked.context) == (
        linked.name,
        Task.objects.earliest("pk"),
        {"built": True},
    )
    rows = workflows.stations(execution)
    assert [(each["station_id"], each["status"]) for each in rows] == [
        ("b", "completed"),
        ("t", "failed"),
        ("t", "running"),
    ], "the old one is kept, and that the station was visited counts as no circle"
    twice = workflows.does(execution, "retry-station", station_execution_id=second["id"])
    assert twice.status_code == 409 and linked.name in twice.json()["detail"]
    assert workflows.completes(execution, output={"failed": 0}).json()["status"] == "completed"
    assert workflows.look(linked.name)["status"] == "completed"
    late = workflows.does(execution, "retry-station", station_execution_id=second["id"])
    assert late.status_code == 409


@pytest.mark.wide
def test_C21_retried_twice_the_first_id_leads_to_the_last(workflows: Workflows, version: LineVersion) -> None:
    execution = workflows.execute(named(version)).json()["workflow_execution_id"]
    for _time in range(3):
        assert workflows.completes(execution, "failed").json()["status"] == "failed"
        now = workflows.stations(execution)[-1]["id"]
        assert workflows.does(execution, "retry-station", station_execution_id=now).status_code == 200
    assert workflows.look(execution)["task_attempt_id"].endswith("-4")
    assert [each["status"] for each in workflows.stations(execution)] == ["failed"] * 3 + ["running"]


def test_C17_a_station_without_a_true_transition_stays_running_and_names_its_error(
    world: World, workflows: Workflows
) -> None:
    only = {
        **VIBE,
        "transitions": [{"source_station_id": "b", "target_station_id": "t", "condition_type": "failure"}],
    }
    version = world.line(document_import.import_document(json.dumps(only)).document)
    execution = workflows.execute(named(version)).json()["workflow_execution_id"]
    stuck = workflows.completes(execution).json()
    assert (stuck["status"], stuck["error"], stuck["current_station_id"]) == (
        "running",
        "NoValidTransition",
        "b",
    )
    assert workflows.completes(execution).status_code == 409, "it is not open any more"
    assert workflows.does(execution, "cancel", reason="Enough").json()["status"] == "cancelled"


def test_C13_output_that_is_no_json_is_an_error_where_a_transition_asks_for_it(
    workflows: Workflows, version: LineVersion
) -> None:
    execution = workflows.execute(named(version)).json()["workflow_execution_id"]
    workflows.completes(execution, output="no json")
    assert workflows.look(execution)["current_station_id"] == "t"
    assert workflows.completes(execution, output="{no").json()["error"] == "OutputDataParseError"


def test_C22_what_has_ended_is_not_cancelled_completed_or_resumed(
    world: World, workflows: Workflows, version: LineVersion
) -> None:
    execution = workflows.execute(named(version)).json()["workflow_execution_id"]
    now = workflows.stations(execution)[0]["id"]
    assert workflows.does(execution, "cancel").json()["status"] == "cancelled"
    assert workflows.stations(execution)[0]["status"] == "cancelled"
    for what, body in (
        ("cancel", {}),
        ("resume", {}),
        ("complete-station", {"station_execution_id": now, "status": "completed"}),
        ("retry-station", {"station_execution_id": now}),
    ):
        assert workflows.does(execution, what, **body).status_code == 409, what


def test_what_a_person_holds_is_resumed(world: World, workflows: Workflows) -> None:
    version = world.line(preset="vibe-factory", stations=["build"])
    execution = workflows.execute(named(version)).json()["workflow_execution_id"]
    token = Task.objects.get().tokens.get()
    engine.hold(token.pk, user=world.operator, token_version=token.version, reason="Wait")
    assert workflows.look(execution)["status"] == "running"
    assert workflows.does(execution, "resume").status_code == 200
    assert world.status(Task.objects.get()) == "queued"
    now = workflows.stations(execution)[0]["id"]
    by_hand = {"station_execution_id": now, "status": "completed"}
    refused = workflows.does(execution, "complete-station", **by_hand)
    assert refused.status_code == 409 and "program" in refused.json()["detail"]


def test_an_input_takes_the_base_branch(world: World, workflows: Workflows) -> None:
    version = world.line(
        preset="vibe-factory", stations=["build"], inputs=[{"key": "base_branch", "type": "text"}]
    )
    assert workflows.execute(named(version), base_branch="next").status_code == 200
    assert Task.objects.get().inputs == {"base_branch": "next"}


def test_the_whole_traffic_with_the_credentials_of_another_project_is_404(
    world: World, workflows: Workflows, version: LineVersion
) -> None:
    execution = workflows.execute(named(version)).json()["workflow_execution_id"]
    other = World(make_project("else", "others"), make_worker(name="far"))
    theirs = of(other, other.admin)
    now = workflows.stations(execution)[0]["id"]
    asked = [
        theirs.execute(named(version)),
        theirs.execute("wf"),
        theirs.ask("GET", f"/workflow-executions/{execution}"),
        theirs.ask("GET", f"/workflow-executions/{execution}/stations"),
        theirs.ask("GET", f"/tasks/{execution}/workflow-execution"),
        theirs.does(execution, "retry-station", station_execution_id=now),
        theirs.does(execution, "cancel"),
        theirs.does(execution, "resume"),
        theirs.does(execution, "complete-station", station_execution_id=now, status="completed"),
    ]
    assert [each.status_code for each in asked] == [404] * 9
    machine = Workflows({"Authorization": f"Bearer {world.machine()[1]}"})
    assert machine.completes(execution).status_code == 403, "a machine has no word at a station of people"
    assert world.status(Task.objects.get()) == "running"
