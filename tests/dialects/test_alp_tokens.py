"""What the token for one job of the queue, and one that expires, get by the protocol of ALP."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from pipelines.api.dialects import alp_events
from pipelines.models import ApiToken, Worker
from pipelines.work.runners import alp_runners
from tests.api.conftest import Apis
from tests.dialects.test_alp_runner import Runner, address, dispatched
from tests.factories import World
from tests.work.driving import command
from tests.work.repository_lines import to

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(world: World) -> Apis:
    return Apis(world)


def test_the_token_of_one_job_gets_no_other(world: World, api: Apis) -> None:
    other = world.start(world.line(key="other", **dispatched("write")))
    own = world.job(world.start(world.line(stations=[command("build", "pass", to("completed"))])))
    made = api.as_(world.admin, "read", "design").post(f"/queue/{own.pk}/token", {"minutes": 5})
    assert made.status_code == 201, made.content
    runner = Runner(address(world), made.json()["token"])
    assert runner.register().status_code == 200
    assert alp_runners.ids_of_jobs_for_runner(Worker.objects.get(pk=runner.id)) == []
    assert runner.poll() is None
    assert world.job(other).state == "queued"


def test_the_stream_of_an_expired_token_ends(world: World) -> None:
    runner = Runner(address(world), world.runner("gpu")[1])
    assert runner.register().status_code == 200
    assert alp_events._waiting_job_ids_or_none_if_revoked(uuid.UUID(runner.id)) == []
    ApiToken.objects.filter(kind="runner").update(expires_at=timezone.now() - timedelta(minutes=1))
    assert alp_events._waiting_job_ids_or_none_if_revoked(uuid.UUID(runner.id)) is None
