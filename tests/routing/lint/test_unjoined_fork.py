"""unjoined-fork"""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line


def test_the_page_is_right() -> None:
    assert the_page_is_right("unjoined-fork").severity == "warning"


def rules(key: str, *targets: Any, **more: Any) -> dict[str, Any]:
    return {"key": key, "rules": [{"id": f"{key}{i}", "to": to} for i, to in enumerate(targets)], **more}


def failing(key: str, to: str, then: str) -> dict[str, Any]:
    when = {"any": [{"result": ["failure", "cancelled"]}, {"verdict": "fail"}]}
    return {"key": key, "rules": [{"id": f"{key}0", "to": to, "when": when}, {"id": f"{key}1", "to": then}]}


FORK, B, C, D = rules("a", ["b", "c"]), rules("b", "d"), rules("c", "d"), rules("d", "completed")
JOIN = {"wait_for": ["b", "c"]}


@pytest.mark.parametrize(
    ("stations", "met"),
    [
        pytest.param([FORK, B, C, D], ["d"], id="they meet"),
        pytest.param([FORK, B, C, {**D, "join": JOIN}], [], id="they are waited for"),
        pytest.param([FORK, B, rules("c", "completed"), D], [], id="one ends"),
        pytest.param([FORK, {"key": "b"}, rules("c", "d"), D], [], id="by the order of the line into the other"),
        pytest.param([FORK, rules("c", "d"), {"key": "b"}, D], ["d"], id="by the order of the line"),
        pytest.param(
            [FORK, B, C, {**D, "join": JOIN, "rules": [{"id": "on", "to": "e"}]}, rules("e", "completed")],
            [],
            id="behind the join they are one",
        ),
        pytest.param(
            [FORK, rules("b", "deep"), C, rules("deep", "d"), D], ["d"], id="one branch takes longer"
        ),
        pytest.param(
            [FORK, failing("b", "fix", "completed"), failing("c", "fix", "completed"), rules("fix", "failed")],
            [],
            id="what failed ends up at one place",
        ),
        pytest.param(
            [rules("z", "a"), FORK, rules("b", "z"), rules("c", "z")], [], id="both go back"
        ),
    ],
)  # fmt: skip
def test_where_branches_meet(stations: list[dict[str, Any]], met: list[str]) -> None:
    assert [finding.station for finding in found("unjoined-fork", line(*stations))] == met


def test_it_names_the_rule_and_who_comes() -> None:
    [finding] = found("unjoined-fork", line(FORK, B, C, D))
    assert (finding.rule, finding.path) == ("a0", "stations[0].rules[0].to")
    assert "meet at d, which does not wait for b, c" in finding.message
