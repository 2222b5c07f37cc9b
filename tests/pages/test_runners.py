"""The page of runners: who sees what, adding, draining and revoking one."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import AdministrativeAct, ApiToken, Membership, Worker
from pipelines.people import accounts
from pipelines.ports.leases import WorkOffer
from tests.factories import World, make_project, station
from tests.pages.conftest import client_of

pytestmark = pytest.mark.django_db


def at(world: World, name: str = "project-runners", **more: Any) -> str:
    return reverse(name, kwargs={"owner": world.project.owner.key, "project": world.project.key, **more})


def machine(token: ApiToken | None, name: str, seconds: float = 0, **more: Any) -> Worker:
    now = timezone.now()
    given = {
        "name": name,
        "host": name,
        "pid": 1,
        "isolation": "bubblewrap",
        "cuts_network": True,
        "concurrency": 4,
        "started_at": now,
        "seen_at": now - timedelta(seconds=seconds),
        "token": token,
        "project": token.project if token else None,
        "agents": {"claude": {"version": "2.1.330 (Claude Code)"}},
        "machine": {"os": "Linux 6", "arch": "x86_64", "git": "2.47.0"},
    }
    return Worker.objects.create(id=uuid.uuid4(), **(given | more))


def test_a_runner_is_added_with_one_command_and_shown_once(world: World) -> None:
    client = client_of(world.admin)
    made = client.post(at(world), {"name": "build 1", "labels": "gpu, linux", "days": "90"})
    token = ApiToken.objects.get(kind="runner")
    said = made.content.decode()
    secret = said.partition("GATELINE_TOKEN=")[2].split()[0]
    assert "make runner" in said and accounts.find_token_and_note_use(secret, timezone.now()) == token
    assert token.labels == ["gpu", "linux"] and token.scopes == [] and token.digest != secret
    assert secret not in client.get(at(world)).content.decode()
    assert AdministrativeAct.objects.filter(kind="token.created", data__labels=["gpu", "linux"]).exists()


@pytest.mark.parametrize(
    "given",
    [
        {"name": ""},
        {"name": "a", "labels": "no spaces/slashes"},
        {"name": "$(rm)"},
        {"name": "a", "days": "9"},
    ],
)
def test_a_runner_that_is_not_well_named_is_refused(world: World, given: dict[str, str]) -> None:
    answer = client_of(world.admin).post(at(world), {"labels": "", "days": "90", **given})
    assert answer.status_code == 422 and not ApiToken.objects.filter(kind="runner").exists()


def test_the_page_says_what_runners_offer_and_do(world: World) -> None:
    token, _secret = world.runner("gpu")
    far = machine(token, "far", labels=["gpu"])
    machine(world.runner("x")[0], "gone", seconds=7200, isolation="none", cuts_network=False)
    world.runner("y")
    line = world.line(stations=[station("build", {"id": "on", "to": "completed"}, name="Build it")])
    task = world.start(line)
    assert engine.start_claimed_job_or_none(
        task.jobs.get().pk, WorkOffer(worker=far.pk, project=world.project.pk)
    )
    said = client_of(world.viewer).get(at(world)).content.decode()
    known = ("Claude Code 2.1.330", "git 2.47.0", "gpu", task.name, "Build it")
    for words in ("Online", "Offline", "Never started", *known):
        assert words in said, words
    assert "Network: not enforced" in said and "Add runner" not in said


def test_runners_of_another_project_are_not_shown(world: World) -> None:
    token, _secret = world.runner(project=make_project("elsewhere"))
    machine(token, "secret-machine")
    assert "secret-machine" not in client_of(world.admin).get(at(world)).content.decode()


@pytest.mark.wide
def test_the_page_asks_as_much_for_many_runners_as_for_few(world: World) -> None:
    client = client_of(world.admin)
    counts = []
    for number in (10, 200):
        token, _secret = world.runner()
        for index in range(number):
            machine(token, f"m{number}-{index}")
        with CaptureQueriesContext(connection) as asked:
            assert client.get(at(world)).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_a_runner_is_drained_resumed_and_revoked_by_who_may_run_programs(world: World) -> None:
    token, _secret = world.runner()
    far = machine(token, "far")
    designer = world.designer
    client = client_of(designer)
    assert client.post(at(world, "runner-drain", token=token.pk)).status_code == 403
    Membership.objects.filter(user=designer).update(execute=True)
    client.post(at(world, "runner-drain", token=token.pk))
    far.refresh_from_db()
    assert far.stopping and "Draining" in client.get(at(world)).content.decode()
    client.post(at(world, "runner-resume", token=token.pk))
    far.refresh_from_db()
    assert not far.stopping
    shown = client.get(at(world)).content.decode()
    assert f'data-dialog="revoke-{token.pk}-1"' in shown and f'id="revoke-{token.pk}-1"' in shown, (
        "it asks first"
    )
    client.post(at(world, "runner-revoke", token=token.pk))
    token.refresh_from_db()
    assert token.revoked_at is not None and "far" not in client.get(at(world)).content.decode()
    kinds = AdministrativeAct.objects.filter(about=f"token:{token.pk}").values_list("kind", flat=True)
    assert {"runner.drained", "runner.resumed", "token.revoked"} <= set(kinds)


def test_a_runners_token_opens_nothing_else(world: World) -> None:
    _token, secret = world.runner()
    headers = {"Authorization": f"Bearer {secret}"}
    here = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}"
    for path in ("/api/projects", here, f"{here}/lines", "/api/needs"):
        assert Client(headers=headers).get(path).status_code == 401, path
