"""Two projects' runners of ALP, each with a job of its own: each operation of such a runner that is sent with the
token of the other is refused, and nothing changes. Gateline's own runners: tests/work/runners/test_lying.py."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from pipelines.models import Job, Task
from tests.access.matrix_api import PROJECT
from tests.access.place import Place
from tests.access.test_matrix import API, BODIES
from tests.access.test_tenant_addresses import OF_RUNNERS
from tests.factories import World, make_project, make_worker, station

pytestmark = pytest.mark.django_db
ROWS = [*(row for row in OF_RUNNERS if f" {PROJECT}/" in row), f"POST {PROJECT}/runners/register"]
SENT: dict[str, dict[str, Any]] = {
    **BODIES,
    "/runners/{runner}": {"jobResult": "success"},
    "/jobs/{job}": {"status": "completed", "conclusion": "success"},
    "/approval-requests": {"message": "May I?"},
}


class RunnerTenant:
    """A project whose runner took a job, and asked a question with another."""

    def __init__(self, mark: str) -> None:
        world = World(make_project(f"app{mark}", f"owner{mark}"), make_worker(name=f"worker{mark}"))
        self.place = Place(world, mark)
        line = world.line(key=f"far{mark}", preset="alp", stations=[station("build", kind="runner")])
        self.secret = world.runner()[1]
        self.base = PROJECT.format(owner=world.project.owner.key, project=world.project.key)
        self.runner = self.ask("POST", "/runners/register", {"name": "box"}).json()["id"]
        world.start(line)
        self.asked = (
            self.ask("POST", "/runners/jobs")
            and self.ask("POST", f"/runners/{self.runner}/approval-requests", {"message": "Why?"}).json()[
                "id"
            ]
        )
        self.task: Task = world.start(line)
        self.job = int(self.ask("POST", "/runners/jobs").json()["jobs"][0]["id"])

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return sent(self, method, self.base + path, body or {})

    @property
    def arguments(self) -> dict[str, Any]:
        own = {"runner": self.runner, "job": self.job, "run": self.task.name, "asked": self.asked}
        return {**self.place.arguments("api"), **own}

    @property
    def state(self) -> list[Any]:
        jobs = Job.objects.filter(task__project=self.place.world.project).order_by("pk")
        return list(jobs.values("pk", "state", "result", "worker_id", "lease_key", "attempt"))


def sent(by: RunnerTenant, method: str, address: str, body: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {by.secret}"}
    return Client().generic(method, address, json.dumps(body), "application/json", headers=headers)


def test_every_operation_of_a_runner_is_refused_to_one_of_another_project() -> None:
    here, there = RunnerTenant("-aa"), RunnerTenant("-bb")
    before, faults = (here.state, there.state), []
    for row in ROWS:
        method, path = row.split()
        body = next((body for end, body in SENT.items() if path.endswith(end)), {})
        # All of the other's, and each of its ids below one's own.
        named = [name for name in there.arguments if f"{{{name}}}" in path]
        for of_other in [
            set(named),
            *({name} for name in named if name in ("runner", "run", "job", "asked")),
        ]:
            if not of_other:
                continue
            given = {**here.arguments, **{name: there.arguments[name] for name in of_other}}
            answer = sent(here, method, path.format(**given), body)
            if answer.status_code not in (403, 404):
                faults.append(f"{row} with the other's {sorted(of_other)}: {answer.status_code}")
    assert not faults, "\n".join(faults)
    assert (here.state, there.state) == before


def test_what_is_refused_to_the_other_is_there_for_its_own() -> None:
    """Else they would be refused what nobody gets."""
    mine = RunnerTenant("-aa")
    alps = [row for row in ROWS if not row.endswith("/events")]
    assert len(ROWS) == 8 and {row for row in API if "/runs/" in row} <= set(alps)
    for row in alps:
        method, path = row.split()
        body = next((body for end, body in SENT.items() if path.endswith(end)), {})
        answer = sent(mine, method, path.format(**mine.arguments), body)
        assert answer.status_code != 404, row
