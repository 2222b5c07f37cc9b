"""Whatever the description of the API allows, and much that it does not: never a 500 (schemathesis)."""

from __future__ import annotations

import json
import os
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
EXAMPLES = int(os.environ.get("API_EXAMPLES", "6"))


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


def operations() -> list[Any]:
    schema = schemathesis.openapi.from_dict(described.get_openapi_schema())
    return [result.ok() for result in schema.get_all_operations()]


@pytest.mark.parametrize("operation", operations(), ids=lambda each: f"{each.method.upper()} {each.path}")
def test_no_input_makes_the_api_fail(operation: Any, real: dict[str, Any]) -> None:
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
            "/api" + path if not path.startswith("/api") else path,
            body,
            "application/json",
            query_params=query,
            headers=real["headers"],
        )
        assert answer.status_code < 500, (path, query, body)

    call()
