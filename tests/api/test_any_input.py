"""Whatever the description of the API allows, and much that it does not: never a 500 (schemathesis)."""

from __future__ import annotations

import json
import os
import re
import uuid
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.test import Client
from django.urls import get_resolver
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.core import NotSet

from pipelines.api import api as described
from pipelines.work.transport.http.wire_format import PROTOCOL
from tests.api.conftest import Apis
from tests.factories import World
from tests.reviews.conftest import gated
from tests.work.runners.far import FACTS

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
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
SAID = st.sampled_from(["status", "outcome", "result", "git", "pack", "branch", "base", "head", "files", "path",
                        "digest", "size", "log", "usage", "commands", "artifacts", "facts"])  # fmt: skip
DOCUMENTS = st.dictionaries(
    SAID | st.text(),
    st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(SAID | st.text(), inner)),
)


def operations() -> list[tuple[str, str]]:
    """Method and path of each. Not from the description: making it takes seconds, in every process of a run."""
    _all_routers_are_there()
    found = []
    for prefix, router in described._routers:
        for path, view in router.path_operations.items():
            whole = re.sub(r"{\w+:", "{", f"{PREFIX}{prefix}{path}")
            found += [(method, whole) for each in view.operations for method in each.methods]
    return found


@cache
def _all_routers_are_there() -> None:
    """Those of reviews are hung up by the addresses."""
    assert get_resolver().url_patterns


@cache
def schema() -> Any:
    _all_routers_are_there()
    return schemathesis.openapi.from_dict(described.get_openapi_schema())


def test_every_operation_is_tried() -> None:
    said = [result.ok() for result in schema().get_all_operations()]
    assert sorted((each.method.upper(), each.path) for each in said) == sorted(operations())


@pytest.mark.smoke(4)
@pytest.mark.parametrize(("method", "path"), operations(), ids=map(" ".join, operations()))
def test_no_input_makes_the_api_fail(method: str, path: str, real: dict[str, Any]) -> None:
    tried(method, path, real)


def tried(method: str, path: str, real: dict[str, Any]) -> None:
    """With whatever the description allows; where it says nothing of the body, with any document."""
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
    @given(operation.as_strategy(), DOCUMENTS)
    def call(case: schemathesis.Case, document: Any) -> None:
        path = operation.path.format(**{name: real.get(name, "x") for name in case.path_parameters or {}})
        said = document if isinstance(case.body, NotSet) and method != "GET" else case.body
        body = b"" if isinstance(said, NotSet) else json.dumps(said, default=str).encode()
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


# What runners say, with a job that they have


@pytest.fixture
def of_runner(world: World) -> dict[str, Any]:
    """A runner of ours, and the lease of what it took."""
    task = world.start(world.line(stations=[{"key": "build", "work": {"kind": "command", "argv": ["true"]}}]))
    job, runner, secret = task.jobs.get(), uuid.uuid4(), world.runner()[1]
    headers = {"Authorization": f"Bearer {secret}"}
    base, client = f"/api/v1/runner/{runner}", Client(headers=headers)
    told = client.post(base, {**FACTS, "protocol": PROTOCOL}, content_type="application/json")
    assert told.status_code == 200, told.content
    lease = client.post(f"{base}/jobs/{job.pk}/claim").json()["started"]["lease"]
    names = {"runner": runner, "job": job.pk, "digest": "0" * 64, "name": "x"}
    return names | {"headers": headers | {"Gateline-Lease": lease}}


@pytest.fixture
def of_alp(world: World) -> dict[str, Any]:
    """One of ALP, which polled a job of a line that came from there."""
    version = world.line(preset="alp", stations=[{"key": "build", "work": {"kind": "runner"}}])
    task = world.start(version)
    base = f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}"
    client = Client(headers={"Authorization": f"Bearer {world.runner()[1]}"})
    its = client.post(f"{base}/runners/register", {"name": "box"}, content_type="application/json").json()
    headers = {"Authorization": f"Bearer {its['token']}"}
    took = Client(headers=headers).post(f"{base}/runners/jobs", {}, content_type="application/json")
    assert took.status_code == 200, took.content
    found = {"owner": world.project.owner.key, "project": world.project.key, "runner": its["id"]}
    job = task.jobs.get().pk
    return found | {"run": task.name, "job": job, "headers": headers}


RUNNERS = [each for each in operations() if "/runner/" in each[1]]
ALP = [each for each in operations() if re.search("/runners/|/runs/", each[1])]


@pytest.mark.smoke(3)
@pytest.mark.parametrize(("method", "path"), RUNNERS, ids=map(" ".join, RUNNERS))
def test_no_input_of_a_runner_makes_the_api_fail(method: str, path: str, of_runner: dict[str, Any]) -> None:
    tried(method, path, of_runner)


@pytest.mark.smoke(2)
@pytest.mark.parametrize(("method", "path"), ALP, ids=map(" ".join, ALP))
def test_no_input_of_a_foreign_runner_makes_the_api_fail(
    method: str, path: str, of_alp: dict[str, Any]
) -> None:
    tried(method, path, of_alp)
