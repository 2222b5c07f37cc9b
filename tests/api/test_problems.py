"""What no operation answers is a problem as well (docs/api.md, Errors): unknown addresses and methods."""

from __future__ import annotations

import pytest
from django.test import Client

from pipelines.api import api as door
from tests.api.conftest import Apis
from tests.factories import World

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/nowhere", 404),
        ("POST", "/api/v1/runners/1/approval-requests", 404),
        ("GET", "/api/v1/lines?key=%00", 400),
        ("DELETE", "/api/v1/lines", 405),
        ("GET", "/api/owners/acme/projects/app/runners/register", 405),
    ],
)
def test_what_no_operation_answers_is_a_problem(method: str, path: str, status: int) -> None:
    answer = Client().generic(method, path)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    body = answer.json()
    assert (body["status"], body["errors"]) == (status, []) and body["title"] and body["detail"]
    assert ("Allow" in answer) == (status == 405)


def test_it_is_the_same_for_who_has_a_token(world: World, api: Apis) -> None:
    answer = api.as_(world.viewer).get("/stages")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")


def test_pages_stay_pages() -> None:
    assert Client().get("/nowhere")["Content-Type"].startswith("text/html")


def test_a_start_makes_one_model_of_all_problems() -> None:
    """The library alone would make one for each status of each operation, a quarter of a start."""
    operations = [
        operation
        for _prefix, router in door._routers
        for view in router.path_operations.values()
        for operation in view.operations
    ]
    problems = {
        id(model) for each in operations for status, model in each.response_models.items() if status >= 400
    }
    assert len(operations) > 100 and len(problems) < 5
