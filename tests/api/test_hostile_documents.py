"""Documents made to cost much: they are refused or answered within bounds that are counted, and never answer 500."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.routing.analysis.lint.station_analysis import MAX_STATION
from pipelines.routing.analysis.satisfiability.document_guesses import MAX_SHAPES, documents_with_leaf_at_path
from pipelines.routing.analysis.satisfiability.effort import STEP, limiting_effort
from pipelines.routing.analysis.satisfiability.search_failures import Unknown
from pipelines.routing.basics.bounds import EvaluationBudget, counting_steps
from pipelines.routing.basics.values import MAX_DEPTH, MAX_VALUES
from pipelines.routing.document.document_readers.reader import MOST_PROBLEMS
from tests.api.conftest import Api, Apis
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db


def line_when(condition: dict[str, Any], **more: Any) -> str:
    rules = [{"id": "one", "when": condition, "to": "completed"}, {"id": "two", "to": "failed"}]
    return json.dumps(document([station("build", rules=rules)], **more))


def nested(depth: int) -> dict[str, Any]:
    condition: dict[str, Any] = {"always": True}
    for _ in range(depth):
        condition = {"not": condition}
    return condition


def linted(api: Api, text: str) -> dict[str, Any]:
    answer = api.client.post(api.base + "/lint", text, "application/yaml", headers=api.headers)
    assert answer.status_code == 200, answer.content[:500]
    found: dict[str, Any] = answer.json()
    return found


def test_120000_keys_are_refused_before_any_of_them_is_looked_at(world: World, api: Apis) -> None:
    keys = {f"{n:x}": 0 for n in range(120_000)}
    text = json.dumps(document([station("build")]) | keys, separators=(",", ":"))
    assert len(text) > 1_100_000
    designer = api.as_(world.designer)
    [only] = linted(designer, text)["findings"]
    assert f"more than {MAX_VALUES} values" in only["message"]
    refused = designer.put("/lines/new/draft", text)
    assert (
        refused.status_code == 400
        and f"more than {MAX_VALUES} values" in refused.json()["errors"][0]["message"]
    )


def test_of_a_thousand_unknown_keys_the_first_are_told_and_how_many_follow(world: World, api: Apis) -> None:
    text = json.dumps(document([station("build")]) | {f"k{n}": n for n in range(1_000)})
    findings = linted(api.as_(world.designer), text)["findings"]
    assert len(findings) == MOST_PROBLEMS + 1
    assert findings[-1]["message"] == f"there are {1_000 - MOST_PROBLEMS} more problems"


@pytest.mark.parametrize("depth", [90, 150, 900, 5_000])
def test_conditions_nested_too_deeply_are_a_finding_and_no_failure(
    world: World, api: Apis, depth: int
) -> None:
    text = line_when({"always": True}).replace(
        '{"always": true}', '{"not": ' * depth + '{"always": true}' + "}" * depth
    )
    designer = api.as_(world.designer)
    messages = [finding["message"] for finding in linted(designer, text)["findings"]]
    if depth > MAX_DEPTH:
        assert any("nested" in message for message in messages)
        assert designer.put("/lines/new/draft", text).status_code == 400
    assert designer.put("/lines/yaml/draft", "a: " + "[" * depth).status_code == 400


PATHS = {
    "descents": "$" + "..*" * 20,
    "more descents": "$" + "..*" * 300,
    "descents by index": "$" + "..[1]" * 60,
    "indices": "$" + "[0]" * 300,
    "names": "$" + ".a" * 499,
    "a dotted key": ".".join("a" * 500),
    "filters": "$" + "[?@.a==1]" * 30,
}


@pytest.mark.wide
@pytest.mark.smoke(3)
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("negated", [False, True], ids=["", "not"])
def test_paths_made_to_explode_are_answered(world: World, api: Apis, path: str, negated: bool) -> None:
    condition: dict[str, Any] = {"output": {"path": path, "op": "exists"}}
    text = line_when({"not": condition} if negated else condition)
    assert linted(api.as_(world.designer), text)["readable"]


def test_what_an_analysis_tries_counts_as_its_own_work() -> None:
    with pytest.raises(Unknown), limiting_effort(1_000) as meter:
        for _ in range(1_000):
            EvaluationBudget().spend()
    assert meter.left == -STEP
    told: list[int] = []
    with counting_steps(told.append):
        EvaluationBudget().spend(3)
    EvaluationBudget().spend(5)
    assert told == [3]
    assert MAX_STATION > STEP


def test_filters_one_after_the_other_do_not_multiply_the_guesses() -> None:
    assert len(list(documents_with_leaf_at_path(PATHS["filters"], 1))) <= MAX_SHAPES
