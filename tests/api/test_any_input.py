"""Whatever the description of the API allows, and much that it does not: never a 500 (schemathesis)."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.core import NotSet

from pipelines.api import api as described
from tests.api.conftest import Apis
from tests.factories import World
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db(transaction=True)
EXAMPLES = int(os.environ.get("API_EXAMPLES", "3"))


@pytest.fixture
def real(world: World, api: Apis) -> dict[str, Any]:
    """Values that exist, so that the requests reach further than a 404, and a token that opens everything."""
    task = world.start(world.line(**gated()))
    world.report(task)
    owner = world.project.owner.key
    names = {
        "owner": owner,
        "project": world.project.key,
        "line": "release",
        "task": task.name,
        "gate": "review",
    }
    return names | {"headers": api.as_(world.admin).headers}


PREFIX = "/api/v1"


def operations() -> list[tuple[str, str]]:
    """Method and path of each. Not from the description: making it takes seconds, in every process of a run."""
    found = []
    for prefix, router in described._routers:
        for path, view in router.path_operations.items():
            whole = re.sub(r"{\w+:", "{", f"{PREFIX}{prefix}{path}")
            found += [(method, whole) for each in view.operations for method in each.methods]
    return found


@cache
def schema() -> Any:
    return schemathesis.openapi.from_dict(described.get_openapi_schema())


def test_every_operation_is_tried() -> None:
    said = [result.ok() for result in schema().get_all_operations()]
    assert sorted((each.method.upper(), each.path) for each in said) == sorted(operations())


@pytest.mark.smoke(28)
@pytest.mark.parametrize(("method", "path"), operations(), ids=map(" ".join, operations()))
def test_no_input_makes_the_api_fail(method: str, path: str, real: dict[str, Any]) -> None:
    operation = schema()[path][method]
    client = Client(raise_request_exception=False)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy())
    def call(case: schemathesis.Case) -> None:
        path = operation.path.format(**{name: real.get(name, "x") for name in case.path_parameters or {}})
        body = b"" if isinstance(case.body, NotSet) else json.dumps(case.body, default=str).encode()
        query = {name: str(value) for name, value in (case.query or {}).items()}
        answer = client.generic(
            operation.method.upper(),
            path,
            body,
            "application/json",
            query_params=query,
            headers=real["headers"],
        )
        assert answer.status_code < 500, (path, query, body)

    call()
