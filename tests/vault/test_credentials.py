"""Credentials of repositories are for git and the host alone: no station gets one, whichever way it is named."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from pipelines.lines import publishing
from pipelines.models import Job, Line, Project, Repository, Role
from pipelines.work.transport.http import wire_format
from pipelines.work.transport.local import jobs
from tests.factories import World, document, make_member, make_project
from tests.pages.conftest import at, client_of, text
from tests.vault.conftest import Put
from tests.work.conftest import artifacts_here, bench
from tests.work.driving import Bench, command, done, drive

__all__ = ["artifacts_here", "bench"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
TOKEN = "planted-credential-of-git"
PROGRAM = "import os; print('got', len(os.environ['TOKEN']))"
FIELDS = ("credential", "host_credential", "hook_secret")


def repository(project: Project, **fields: str) -> Repository:
    return Repository.objects.create(
        project=project,
        name="shop",
        address="https://git.example/shop.git",
        pushing="nobody",
        connected_at=timezone.now(),
        **fields,
    )


def line_document(secret: str = "GIT_TOKEN", **more: Any) -> dict[str, Any]:
    return document([command("leak", PROGRAM, work={"env": {"TOKEN": {"secret": secret}}})], **more)


@pytest.mark.parametrize("field", FIELDS)
def test_publishing_a_station_that_names_one_is_refused(world: World, put: Put, field: str) -> None:
    put(world.project, "GIT_TOKEN", TOKEN, by=world.admin)
    repository(world.project, **{field: "GIT_TOKEN"})
    executor = make_member(world.project, Role.DESIGNER, execute=True)
    line = publishing.create_line(world.project, "leak", "Leak", line_document(key="leak"), executor)
    with pytest.raises(publishing.PublishRefused, match="GIT_TOKEN is a credential of the repository shop"):
        publishing.publish_draft(line, user=executor, based_on=1)
    assert Line.objects.get(pk=line.pk).live is None


@pytest.mark.parametrize("named", ["GIT_TOKEN", "input:token"])
@pytest.mark.parametrize("field", FIELDS)
def test_a_secret_that_became_one_later_is_not_given(
    world: World, put: Put, bench: Bench, field: str, named: str
) -> None:
    put(world.project, "GIT_TOKEN", TOKEN, by=world.admin)
    inputs = [{"key": "token", "type": "secret", "required": True}] if named.startswith("input") else []
    version = world.line(line_document(named, inputs=inputs))
    repository(world.project, **{field: "GIT_TOKEN"})
    task = world.start(version, inputs={"token": "GIT_TOKEN"} if inputs else {})
    drive(bench, task)
    outcome = done(task, "leak").outcome
    assert outcome is not None
    assert outcome["failure_type"] == "template_error"
    assert "a credential of the repository shop: no station gets it" in str(outcome)


def test_a_runner_is_given_none(world: World, put: Put) -> None:
    put(world.project, "GIT_TOKEN", TOKEN, by=world.admin)
    version = world.line(line_document())
    repository(world.project, credential="GIT_TOKEN")
    task = world.start(version)
    job = Job.objects.get(task=task)
    started = jobs.start_job_or_none(job.pk, world.claim())
    assert started is not None
    sent = wire_format.started_json(started)["values"]
    assert (sent["secrets"], sent["credential"], sent["withheld"]) == ({}, "", {"GIT_TOKEN": "shop"})
    assert wire_format.started_from_json(wire_format.started_json(started)).values.withheld == {
        "GIT_TOKEN": "shop"
    }


def test_one_of_another_project_counts_where_both_get_the_value(world: World, put: Put) -> None:
    other = make_project("other-app")
    repository(other, credential="GIT_TOKEN")
    put(world.project, "GIT_TOKEN", "a-secret-of-its-own", by=world.admin)
    task = world.start(world.line(line_document()))
    started = jobs.start_job_or_none(Job.objects.get(task=task).pk, world.claim())
    assert started is not None
    assert started.values.secrets == {"GIT_TOKEN": "a-secret-of-its-own"}

    put(world.project.owner, "SHARED", TOKEN, by=world.admin)
    version = world.line(line_document("SHARED", key="second"))
    Repository.objects.filter(project=other).update(credential="SHARED")
    second = world.start(version)
    started = jobs.start_job_or_none(Job.objects.get(task=second).pk, world.claim())
    assert started is not None
    assert (started.values.secrets, started.values.withheld) == ({}, {"SHARED": "shop"})


def test_a_value_that_is_both_is_told(world: World, put: Put) -> None:
    put(world.project, "GIT_TOKEN", TOKEN, by=world.admin)
    world.line(line_document())
    repository(world.project, credential="GIT_TOKEN")
    page = text(client_of(world.admin).get(at(world, "project-secrets")))
    assert "Credential of shop" in page
    assert "Stations that name it do not get it" in page
