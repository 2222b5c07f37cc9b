"""Documents of any shape: a line, or problems with their places, within a time; never a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.formats import native
from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.import_notes import MOST_LOSSES
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import read_line

WORDS = st.sampled_from(
    [
        *("s1", "s2", "end", "failed", "success", "any", "conditional", "always", "default", "equals", ">"),
        *("complete", "blocked", "loop", "parallel", "VERDICT_PASS", "hook", "agentic", "in_range", "3-5"),
        *("{{.input}}", "{{odd}}", ""),
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**12) | WORDS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
EITHER = WORDS | VALUES


def record(keys: str, **more: Any) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional={**dict.fromkeys(keys.split(), EITHER), **more})


def several(keys: str, **more: Any) -> st.SearchStrategy[Any]:
    return st.lists(record(keys, **more), max_size=3) | VALUES


VIBE = record(
    "workflow",
    stations=several("id name position is_terminator output_context_keys workflow_id"),
    transitions=several(
        "source_station_id target_station_id condition_type condition_value priority max_retries"
    ),
)
ALP = record(
    "id name",
    stations=several("id name trigger"),
    transitionRules=several(
        "id fromStationId from toStationId condition gateId evaluator onYes onNo hook onPass onBlock"
    ),
    gates=several("id name notifyEmails tool enabled"),
)
TRANSITION = record("on_failure", branches=several("operator when goto edge compose"))
CHAIN = record(
    "id",
    tasks=several(
        "id handler timeout retry_on_failure prompt_template execute_config", transition=TRANSITION | VALUES
    ),
)
BOOK = record(
    "name",
    stages=several(
        "id skill type onPass onFail fallback rules gateMode parallel children aggregation until maxIterations "
        "onComplete onExhausted"
    ),
)
WAYS = several("from to requires produces failure_type max from_state to_state", transition=VALUES)
ITEM = record("id current_state current_agent", stage_history=several("stage agent result"))
MACHINE = record(
    "id name transition agent_id contract_version agent gate_results",
    transitions=WAYS,
    work_items=st.lists(ITEM, max_size=2) | VALUES,
    events=several("work_item_id transition agent gate_results"),
    agents=several("agent_id allowed_outputs"),
)
DOCUMENTS = VIBE | ALP | CHAIN | BOOK | MACHINE | ITEM | st.lists(MACHINE, max_size=2)


def opens(document: Any) -> None:
    text = json.dumps(document)
    try:
        opened = document_import.import_document(text)
    except DocumentError as error:
        assert error.problems and all(str(each.message) for each in error.problems)
        return
    if not opened.dialect:
        return
    assert native.loads(opened.text) == opened.document, "the text that is shown is the document"
    try:
        read_line(opened.document)
    except DocumentError as error:
        # It is drawn, and lint names what keeps it from being published.
        assert all(str(each.message) for each in error.problems)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(DOCUMENTS)
def test_a_document_is_read_or_refused(document: Any) -> None:
    opens(document)


@pytest.mark.soak
@settings(max_examples=25_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(DOCUMENTS)
def test_any_document_is_read_or_refused(document: Any) -> None:
    opens(document)


@pytest.mark.parametrize(
    "text",
    [
        '{"tasks": [' + '{"id": "x"},' * 900_000 + "0]}",
        '{"tasks": ' + "[" * 5_000 + "]" * 5_000 + "}",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nstages: [*c, *c]\n",
        '{"tasks": [{"handler": "noop", "id": "' + "/" * 100_000 + '"}]}',
        '{"id": "x", /*' * 20_000,
        '"' + "\\" * 200_000,
        json.dumps({"tasks": [{"handler": "noop", "id": f"t{n}"} for n in range(600)]}),
        json.dumps(
            {
                "tasks": [
                    {
                        "id": "t",
                        "handler": "condition_key",
                        "valid_conditions": [f"l{n}" for n in range(30_000)],
                        "transition": {"branches": [{"operator": "default", "goto": "end"}]},
                    }
                ]
            }
        ),
        json.dumps({"stages": [{"id": "a", "onPass": "a", "rules": {"logic": "OR", "rules": [{}] * 5_000}}]}),
    ],
    ids=["ten megabytes", "deep", "aliases", "slashes", "comments", "quote", "many", "labels", "faults"],
)
def test_hostile_documents_are_read_or_refused_soon(text: str) -> None:
    try:
        document_import.import_document(text)
    except DocumentError as error:
        assert error.problems


def test_what_is_lost_is_told_in_bounds() -> None:
    """Each is compared with those before: a text of many places would take hours."""
    text = "".join(f"{{{{{number}!}}}}" for number in range(40_000))
    branch = {"operator": "default", "goto": "end"}
    task = {"id": "t", "handler": "noop", "prompt_template": text, "transition": {"branches": [branch]}}
    losses = document_import.import_document(json.dumps({"id": "x", "tasks": [task]})).losses
    assert len(losses) == MOST_LOSSES + 1
    assert "more is different than is told here" in [each.message for each in losses]
