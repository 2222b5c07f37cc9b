"""docs/rules.md names everything that rules can say, and its examples are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pipelines.formats import native
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.basics.bounds import MAX_STEPS
from pipelines.routing.basics.jsonpath import MAX_NESTING
from pipelines.routing.document import operators
from pipelines.routing.document.document_readers.conditions import KNOWN
from pipelines.routing.document.line import PRESETS, read_line
from pipelines.routing.document.policy import POLICY
from pipelines.routing.simulate.run import run_scenario_until_refused
from pipelines.routing.simulate.scenario import read_scenario
from tests.routing.support import FAILED, OK, goes

TEXT = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
LINES = [block for block in BLOCKS if block.startswith("key:")]
GUARANTEES = [block for block in BLOCKS if block.startswith("guarantees:")]
ENDS = [block for block in BLOCKS if block.startswith("ends:")]
CONDITIONS = [block for block in BLOCKS if block not in LINES + GUARANTEES + ENDS]


@pytest.mark.parametrize("block", CONDITIONS)
def test_an_example_of_a_condition_is_a_condition(block: str) -> None:
    rule = {"id": "r", "when": native.loads(block), "to": "fix"}
    read_line({"key": "x", "stations": [{"key": "review", "rules": [rule]}, {"key": "fix"}]})


@pytest.mark.parametrize("block", ENDS)
def test_an_example_of_ends_is_read(block: str) -> None:
    ends = read_line({"key": "x", "stations": [{"key": "a"}], **native.loads(block)}).ends
    assert [end.follow_up for end in ends] == ["feedback", "always"]


@pytest.mark.parametrize("block", LINES)
def test_an_example_of_a_line_is_a_line(block: str) -> None:
    assert native.read_text(block).stations


def test_the_example_of_a_line_goes_where_the_page_says() -> None:
    of = native.read_text(LINES[0])
    assert goes(of, {"exit_code": 1}, station="lint") == "move lint by rule broken"
    assert goes(of, {"exit_code": 0, "output": {"high": 1}}, station="lint") == (
        "wait awaiting_review at human-review then triage high-severity"
    )


def test_the_example_of_a_join_goes_where_the_page_says() -> None:
    [block] = [block for block in LINES if "wait_for" in block]
    of = native.read_text(block)
    assert not [finding for finding in lint_line(of) if finding.severity != "info"]
    steps = [OK, OK, FAILED, OK, OK, OK, OK]
    result = run_scenario_until_refused(
        of, read_scenario({"key": "page", "steps": [{"outcome": each} for each in steps]})
    )
    assert result.path == ("implement", "qa", "security", "release") * 2
    assert result.matched_rules[3] == "holes"
    assert result.walk is not None and result.walk.end == "completed"


def test_every_form_has_an_example() -> None:
    forms = {next(iter(native.loads(block))) for block in CONDITIONS}
    assert forms | {"always", "any", "not"} == set(KNOWN)


NAMES: list[Any] = [
    *operators.OUTPUT,
    *POLICY.fields,
    *PRESETS,
    "@origin",
    "@blocked",
    "range",
    f"{MAX_STEPS:,}",
    f"{MAX_NESTING} filters",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_names_it(name: str) -> None:
    assert name in TEXT


def test_the_table_of_presets_is_the_table_of_the_product() -> None:
    for name, policy in PRESETS.items():
        [row] = [line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |")]
        cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
        loop = f", self_loop_limit {policy.self_loop_limit}" if policy.self_loop_limit else ""
        assert cells == [
            policy.no_rules,
            policy.no_match,
            policy.on_failure,
            policy.revisit + loop,
            policy.on_reject,
            policy.on_exhausted,
        ]
