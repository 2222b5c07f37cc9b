"""Lint over HTTP: the findings and standings of drafts, versions and documents that are not stored."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.models import Line
from tests.api.conftest import Api, Apis
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db

TEXT = """\
gateline: 1
key: line
name: Line
stations:
  - key: build
    work: {kind: noop}
    rules:
      - {id: fine, when: {result: success}, to: completed}
      - {id: rest, to: failed}
      - {id: late, when: {result: failure}, to: completed}
"""


def linted(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def sent(asking: Api, path: str, body: str | bytes) -> Any:
    data = body if isinstance(body, bytes) else body.encode()
    return asking.client.post(asking.base + path, data, "application/yaml", headers=asking.headers)


def test_the_stored_draft_has_its_findings_with_line_and_column(world: World, api: Apis) -> None:
    api.as_(world.designer).put("/lines/line/draft", TEXT)
    found = linted(api.as_(world.viewer).get("/lines/line/lint"))
    assert (found["line"], found["readable"], found["counts"]["error"]) == ("line", True, 1)
    [dead] = [f for f in found["findings"] if f["severity"] == "error"]
    assert (dead["check"], dead["rule"], dead["line"], dead["column"]) == ("dead-rule", "late", 10, 9)
    assert found["visits"] == {"build": 1}


def test_each_rule_has_its_standing_with_a_witness_or_its_killers(world: World, api: Apis) -> None:
    found = linted(api.as_(world.viewer).post("/lint", document([two_rules()])))
    [build] = found["stations"]
    assert [(rule["rule"], rule["standing"], rule["killers"]) for rule in build["rules"]] == [
        ("good", "live", []),
        ("same", "dead", ["good"]),
    ]
    assert build["rules"][0]["witness"]["situation"]["outcome"] == {"result": "success"}
    assert build["rules"][0]["witness"]["decision"]["rule"] == "good"
    assert [(each["outcomes"], each["then"]) for each in build["untaken"]] == [
        ("failed", "the policy ends the task: failed"),
        ("blocked", "the task waits, blocked"),
    ]


def two_rules() -> dict[str, Any]:
    return station(
        "build",
        {"id": "good", "when": {"result": "success"}, "to": "completed"},
        {"id": "same", "when": {"all": [{"result": "success"}]}, "to": "failed"},
    )


def test_a_version_has_the_findings_of_its_own_document(world: World, api: Apis) -> None:
    version = world.line(document())
    api.as_(world.designer).put("/lines/line/draft?based_on=1", TEXT)
    asking = api.as_(world.viewer)
    assert linted(asking.get(f"/lines/line/lint?version={version.number}"))["counts"]["error"] == 0
    assert linted(asking.get("/lines/line/lint"))["counts"]["error"] == 1
    for missing in (0, -1, 7, 2**70):
        assert asking.get(f"/lines/line/lint?version={missing}").status_code == 404


def test_a_document_in_the_body_is_not_saved(world: World, api: Apis) -> None:
    before = Line.objects.count()
    asking = api.as_(world.viewer)
    assert linted(sent(asking, "/lint", TEXT))["counts"]["error"] == 1
    assert Line.objects.count() == before


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("key: [", "", 1),
        ("", "", 1),
        ("- a list", "", 1),
        ("gateline: 1\nkey: x\nstationz: []\n", "stationz", 3),
        ("key: a\0", "", 1),
        ("&a [*a]", "", 1),
        ("key: " + "[" * 3000, "", 1),
        (f"key: x\nname: {'1' * 5000}\nstations: [{{key: a}}]\n", "", None),
        ("key: x\nstations: [{key: a, rules: [{id: r, to: nowhere}]}]\nunheard: 1\n", "unheard", 3),
    ],
)
def test_a_document_that_is_no_line_has_its_problems_as_findings(
    world: World, api: Apis, text: str, path: str, line: int | None
) -> None:
    found = linted(sent(api.as_(world.viewer), "/lint", text))
    assert (found["line"], found["readable"], found["stations"]) == (None, False, [])
    assert {f["check"] for f in found["findings"]} == {"not-publishable"}
    assert path in {f["path"] for f in found["findings"]}
    assert line is None or line in {f["line"] for f in found["findings"]}


def test_publishing_is_refused_with_the_findings_that_block(world: World, api: Apis) -> None:
    api.as_(world.designer).put("/lines/line/draft", TEXT)
    answer = api.as_(world.designer).post("/lines/line/publish", {"draft": 1})
    assert answer.status_code == 409
    [error] = answer.json()["errors"]
    assert (error["check"], error["line"], error["rules"]) == ("dead-rule", 10, ["rest"])
    assert error["hint"]


def test_what_is_larger_than_a_draft_is_refused_as_malformed(world: World, api: Apis) -> None:
    asking = api.as_(world.viewer)
    for size in (2_000_001, 3_000_000):
        answer = sent(asking, "/lint", "x" * size)
        assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert sent(asking, "/lint", b"\xff").status_code == 400


FRACTIONS = """\
gateline: 1
key: line
name: Line
stations:
  - key: build
    work: {kind: noop}
    rules:
      - {id: half, when: {output: {path: $.n, op: equals, value: 0.5}}, to: completed}
      - {id: more, when: {output: {path: $.n, op: gt, value: 0.25}}, to: completed}
      - {id: rest, to: failed}
"""


def test_a_fraction_of_an_example_is_a_number(world: World, api: Apis) -> None:
    """As text it would decide otherwise: the example has to be what the line is asked."""
    answer = linted(sent(api.as_(world.viewer), "/lint", FRACTIONS))
    [build] = answer["stations"]
    numbers = [rule["witness"]["situation"]["outcome"]["output"]["n"] for rule in build["rules"][:2]]
    assert numbers[0] == 0.5
    assert all(isinstance(number, int | float) for number in numbers)
