"""The working time of a project: its page, its API, and who may change it."""

from __future__ import annotations

from datetime import date, time

import pytest

from pipelines.models import AdministrativeAct, Project
from tests.api.conftest import Api
from tests.factories import World
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db
GIVEN = {
    "time_zone": "Europe/Berlin",
    "work_days": ["1", "5"],
    "work_from": "08:30",
    "work_until": "16:00",
    "days_off": "2026-12-25\n2026-12-24\n",
}


def test_an_admin_sets_when_people_work(world: World, signed_in: As) -> None:
    client, page = signed_in(world.admin), at(world, "project-working-time")
    assert "Working time" in text(client.get(page))
    assert client.post(page, GIVEN).status_code == 302
    project = Project.objects.get(pk=world.project.pk)
    assert (project.time_zone, project.work_days) == ("Europe/Berlin", [1, 5])
    assert (project.work_from, project.work_until) == (time(8, 30), time(16))
    assert project.days_off == [date(2026, 12, 24), date(2026, 12, 25)]
    act = AdministrativeAct.objects.get(kind="project.working_time")
    assert act.data["after"]["days_off"] == ["2026-12-24", "2026-12-25"]
    assert "2026-12-24" in text(client.get(page)) and "08:30" in text(
        client.get(at(world, "project-general"))
    )
    client.post(page, GIVEN)
    assert AdministrativeAct.objects.filter(kind="project.working_time").count() == 1, "nothing changed"


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_zone": "Mars/Olympus"},
        {"work_days": []},
        {"work_from": "17:00"},
        {"work_until": "noon"},
        {"days_off": "Christmas"},
    ],
)
def test_what_is_no_working_time_is_refused(world: World, signed_in: As, wrong: dict[str, object]) -> None:
    answer = signed_in(world.admin).post(at(world, "project-working-time"), GIVEN | wrong)
    assert answer.status_code == 422 and "field-error" in text(answer)
    assert Project.objects.get(pk=world.project.pk).time_zone == "UTC"


def test_the_api_tells_and_changes_it(world: World) -> None:
    api = Api(world.project, world.token_of(world.admin, "read", "settings")[1])
    assert api.get("").json()["working_time"]["work_days"] == [1, 2, 3, 4, 5]
    said = GIVEN | {"work_days": [7], "work_until": "00:00", "days_off": []}
    answer = api.client.patch(api.base, {"working_time": said}, "application/json", headers=api.headers)
    assert answer.status_code == 200
    assert answer.json()["working_time"] == {**said, "work_days": [7]}
    wrong = {"working_time": said | {"work_days": [8]}}
    refused = api.client.patch(api.base, wrong, "application/json", headers=api.headers)
    assert refused.status_code == 400
