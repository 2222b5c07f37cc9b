"""Whatever clients of other systems send: an answer that the description of the API names, in the shape that it gives
(schemathesis). Half of what is drawn names things that exist and leaves out what need not be said."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import pytest
import schemathesis
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.core import NotSet
from schemathesis.core.transport import Response

from pipelines.formats.foreign import document_import
from pipelines.models import Task
from tests.api.conftest import Apis
from tests.api.test_any_input import of_alp, operations, schema
from tests.dialects import test_imported as own
from tests.factories import World
from tests.formats.foreign.mutants import RIGHT, documents

__all__ = ["of_alp"]
pytestmark = pytest.mark.django_db(transaction=True)
FEW, MANY = 4, int(os.environ.get("API_EXAMPLES", "60"))
MANUAL = {**own.VIBE, "stations": [{**each, "agent_id": None} for each in own.VIBE["stations"]]}
VIBE = [each for each in operations() if "/workflow" in each[1]]
ALP = [each for each in operations() if re.search("/runners/|/runs/|}/artifacts$", each[1])]
TASKS = [
    each
    for each in operations()
    if each[0] != "DELETE" and re.search(r"/stages/{line}/tasks(/{task}(/gates/{gate})?)?$", each[1])
]
DOCUMENTS = [each for each in operations() if re.search("/import$|/export$", each[1])]
ROUTES = [*VIBE, *ALP, *TASKS, *DOCUMENTS]
TEXTS = [json.dumps(each) for dialect in RIGHT for each in RIGHT[dialect]]
TEXTS += [text for dialect in RIGHT for text in documents(dialect, 12)]
FITS: Mapping[str, st.SearchStrategy[Any]] = {
    "files": st.sampled_from(TEXTS).map(lambda text: {"a.json": text}),
    "text": st.sampled_from(TEXTS),
    "losses": st.integers(0, 6),
    "action": st.sampled_from(("approve", "reject", "send_back", "rework", "abort")),
    "columnId": st.sampled_from(("intake", "deliver", None)),
    "fields": st.just({}),
    "document": st.just({}),
    "reason": st.sampled_from(("", "It is not what was asked for.")),
    "question": st.just("Go on?"),
    "task_id": st.sampled_from(("T-1", "é")),
    "starter": st.sampled_from(("", "", "triage")),
    "key": st.sampled_from(("", "", "another")),
    "output_data": st.sampled_from(({"failed": 0}, '{"failed": 2}', "no JSON", 3, None)),
    "name": st.just("box"),
    "dialect": st.sampled_from((*RIGHT, "gateline")),
    "version": st.sampled_from(("", "1", "draft", "9")),
}
WANTED: Mapping[str, Sequence[str]] = {
    "draft/import": ("text", "document"),
    "import": ("files",),
    "{gate}": ("action", "reason"),
    "execute": ("task_id",),
    "retry-station": ("station_execution_id",),
    "complete-station": ("station_execution_id", "status"),
    "approval-requests": ("question",),
    "{runner}": ("jobResult", "jobId"),
    "{job}": ("status", "conclusion"),
}
"""What is said at least, where a request is to make sense."""


@pytest.fixture
def of_person(world: World, api: Apis) -> dict[str, Any]:
    """An execution of an imported workflow at a station of people, and a task at its gate."""
    version = world.line(document_import.import_document(json.dumps(MANUAL)).document)
    runs = world.start(version)
    gated = world.line(document_import.import_document(json.dumps(own.ALP)).document)
    waits = world.start(gated)
    for code in (0, 1, 0):
        world.report(waits, {"exit_code": code})
    owner, project = world.project.owner.key, world.project.key
    return {
        "headers": api.as_(world.admin).headers,
        "owner": owner,
        "project": project,
        "line": gated.line.key,
        "gate": "human",
        "task": waits.name,
        "execution": runs.name,
        "workflow": f"{owner}:{project}:{version.line.key}",
        "station_execution_id": str(runs.jobs.get().pk),
    }


def test_they_are_all_there() -> None:
    assert list(map(len, (VIBE, ALP, TASKS, DOCUMENTS))) == [8, 8, 4, 3]


@pytest.mark.smoke(5)
@pytest.mark.parametrize(("method", "path"), ROUTES, ids=map(" ".join, ROUTES))
def test_whatever_is_asked_is_answered_as_described(
    method: str, path: str, request: pytest.FixtureRequest
) -> None:
    assert answered(method, path, names(method, path, request), FEW)


@pytest.mark.wide
@pytest.mark.parametrize(("method", "path"), ROUTES, ids=map(" ".join, ROUTES))
def test_and_so_is_much_more_of_it(method: str, path: str, request: pytest.FixtureRequest) -> None:
    told = answered(method, path, names(method, path, request), MANY)
    assert any(code < 300 for code in told), f"nothing but refusals: {told}"


@pytest.mark.wide
@pytest.mark.parametrize(("method", "path"), TASKS, ids=map(" ".join, TASKS))
def test_and_under_the_other_name_of_a_line(method: str, path: str, request: pytest.FixtureRequest) -> None:
    assert answered(method, path, names(method, path, request), MANY, "/assembly-lines/")


def names(method: str, path: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """What there is, as this route says it."""
    if (method, path) not in ALP:
        real = request.getfixturevalue("of_person")
        if path.endswith("/retry-station"):
            failed = {"station_execution_id": real["station_execution_id"], "status": "failed"}
            where = f"/api/workflow-executions/{real['execution']}/complete-station"
            Client(headers=real["headers"]).post(where, failed, "application/json")
        return {**real, "task": real["execution"]} if (method, path) in VIBE else real
    real = request.getfixturevalue("of_alp")
    task = Task.objects.get(jobs=real["job"])
    its, client = {**real, "jobId": str(real["job"])}, Client(headers=real["headers"])
    base = f"/api/owners/{its['owner']}/projects/{its['project']}/runners/{its['runner']}"
    if path.endswith("/{asked}"):
        asked = client.post(base + "/approval-requests", {"question": "Go on?"}, "application/json")
        return {**its, "asked": asked.json()["id"]}
    if path.endswith("/runners/jobs"):
        client.patch(base, {"jobResult": "success"}, "application/json")
        request.getfixturevalue("world").start(task.pinned)
    return its


def answered(
    method: str, path: str, real: Mapping[str, Any], count: int, below: str = "/stages/"
) -> Counter[int]:
    """How often which answer came."""
    operation, told = schema()[path][method], Counter[int]()
    documented = operation.definition.raw["responses"]
    wanted = next((keys for end, keys in WANTED.items() if path.endswith(end)), ())
    client = Client(raise_request_exception=False, headers=real["headers"])

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(), st.data())
    def call(case: schemathesis.Case, data: st.DataObject) -> None:
        where = path.replace("/stages/", below)
        where = where.format(**{name: real.get(name, "x") for name in case.path_parameters or {}})
        body, query = sent(case.body, wanted, data, real), sent(case.query, (), data, real)
        given = {name: str(value) for name, value in (query or {}).items()}
        if path.endswith("/artifacts"):
            answer = client.post(where, form(data, real), query_params=given)
        else:
            text = b"" if body is None else json.dumps(body, default=str).encode()
            answer = client.generic(method, where, text, "application/json", query_params=given)
        said = (method, where, given, body, answer.status_code)
        assert str(answer.status_code) in documented or answer.status_code in (400, 401, 404), said
        if not answer.streaming:
            operation.validate_response(described(answer))
        told[answer.status_code] += 1

    call()
    print(json.dumps({"operation": f"{method} {path}", "below": below, **told}))
    return told


def sent(drawn: Any, wanted: Sequence[str], data: st.DataObject, real: Mapping[str, Any]) -> Any:
    """What was drawn; or with the ids that there are, values that make sense, and half of the other keys."""
    if isinstance(drawn, NotSet):
        return None
    if not isinstance(drawn, dict) or not data.draw(st.booleans()):
        return drawn
    made = {key: value for key, value in drawn.items() if data.draw(st.booleans())}
    for key in {**made, **dict.fromkeys(wanted)}:
        if key in FITS:
            made[key] = data.draw(FITS[key])
        elif key in real or key in drawn:
            made[key] = real.get(key, drawn.get(key))
    return made


def form(data: st.DataObject, real: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": data.draw(st.text()),
        "jobId": data.draw(st.sampled_from(("", real["jobId"], "x"))),
    }
    if data.draw(st.integers(0, 3)):
        made["file"] = BytesIO(data.draw(st.binary()))
        made["file"].name = data.draw(st.text(min_size=1))
    return made


def described(answer: Any) -> Response:
    headers = {name.lower(): [value] for name, value in answer.headers.items()}
    return Response(answer.status_code, headers, answer.content, None, 0.0, verify=False)  # type: ignore[arg-type]
