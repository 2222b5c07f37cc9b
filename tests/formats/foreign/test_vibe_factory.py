"""Workflows of Vibe Factory as lines: order, spellings of conditions, terminators, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.document_export import export_document
from pipelines.formats.foreign.import_notes import ImportNotes
from pipelines.formats.foreign.vibe_factory.reader import _condition_of_text_or_none
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import ParsedLine, read_line
from tests.formats.foreign.round_trip import back_and_forth
from tests.routing.support import goes

STATIONS = [
    {"id": "s2", "name": "Ship it", "position": 2, "agent_id": None, "station_prompt": None},
    {
        "id": "s1",
        "name": "Build & test",
        "position": 1,
        "agent_id": "Code Agent",
        "station_prompt": "Build {{.input}}",
    },
    {"id": "s3", "name": "Done", "position": 3, "is_terminator": True},
]


def workflow(*transitions: dict[str, Any], stations: Any = STATIONS, **more: Any) -> str:
    named = [{"source_station_id": "s1", "target_station_id": "s2", **each} for each in transitions]
    return json.dumps(
        {"workflow": {"id": "w", "name": "A flow", **more}, "stations": stations, "transitions": named}
    )


def read(text: str) -> tuple[ParsedLine, list[str]]:
    opened = document_import.import_document(text)
    assert opened.dialect == "vibe-factory"
    return read_line(opened.document), [str(loss) for loss in opened.losses]


def refused(text: str) -> list[str]:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(text)
    return [str(each) for each in error.value.problems]


def way(condition: Any, output: Any) -> bool:
    """Whether a conditional transition is taken."""
    line, _losses = read(workflow({"condition_type": "conditional", "condition_value": condition}))
    answer = goes(line, {"result": "success", "output": output}, station="build-test")
    assert answer.startswith(("move ship-it", "stuck NoValidTransition")), answer
    return answer.startswith("move")


def test_stations_stand_by_position_and_a_terminator_is_an_end() -> None:
    line, losses = read(workflow({"target_station_id": "s3", "condition_type": "always"}))
    assert [station.key for station in line.stations] == ["build-test", "ship-it"]
    assert [(end.key, end.kind, end.label) for end in line.ends if end.key == "done"] == [
        ("done", "completed", "Done")
    ]
    answer = goes(line, {"result": "failure"}, station="build-test")
    assert answer.startswith("wait awaiting_review at in-review then done"), "always, whatever came"
    assert line.station("build-test").work == {"kind": "manual", "instructions": "Build {{.input}}"}
    assert line.station("build-test").extra["agent_id"] == "Code Agent"
    assert any("the original uses Code Agent" in loss for loss in losses)
    assert line.preset == "vibe-factory"


@pytest.mark.parametrize("spelling", ["review", '"review"'])
def test_C7_a_name_or_a_json_string_asks_whether_the_key_is_there(spelling: str) -> None:
    assert way(spelling, {"review": None}) and not way(spelling, {"other": 1})


@pytest.mark.parametrize("keys", [("key", "value"), ("check_output_key", "expected_value")])
def test_C9_both_spellings_compare_strictly(keys: tuple[str, str]) -> None:
    text = json.dumps({keys[0]: "passed", keys[1]: True})
    assert way(text, {"passed": True}) and not way(text, {"passed": "true"})
    assert way(json.loads(text), {"passed": True}), "an object that is not written as text"


def test_T14_a_key_with_dots_is_looked_up_flat_first() -> None:
    text = json.dumps({"key": "test.status", "value": "ok"})
    assert way(text, {"test.status": "ok"}) and way(text, {"test": {"status": "ok"}})
    assert way(json.dumps({"key": "a key's name", "value": 1}), {"a key's name": 1})


@pytest.mark.parametrize(
    ("condition", "taken", "not_taken"),
    [
        ("test_failures < 5", {"test_failures": 4}, {"test_failures": 5}),
        ("$.r[?(@.status == 'failed')].length == 0", {"r": [{"status": "ok"}]}, {"r": [{"status": "failed"}]}),
        (
            {"and": [{">": [{"var": "high"}, 0]}, {"!": {"==": [{"var": "skip"}, True]}}]},
            {"high": 1, "skip": False},
            {"high": 1, "skip": True},
        ),
        ({"<": [3, {"var": "n"}]}, {"n": 4}, {"n": 3}),
        ({"in": [{"var": "n"}, [1, 2]]}, {"n": 2}, {"n": 3}),
        ({"in": ["a", {"var": "tags"}]}, {"tags": ["a", "b"]}, {"tags": ["b"]}),
        ({"<=": [1, {"var": "n"}, 3]}, {"n": 3}, {"n": 4}),
    ],
)  # fmt: skip
def test_C28_comparisons_paths_and_json_logic_are_read(condition: Any, taken: Any, not_taken: Any) -> None:
    assert way(condition, taken) and not way(condition, not_taken)


def test_C28_json_logic_that_cannot_be_said_is_told_and_never_taken() -> None:
    asked = {"some": [{"var": "r"}, {"==": [{"var": "status"}, "failed"]}]}
    text = workflow({"condition_type": "conditional", "condition_value": asked})
    line, losses = read(text)
    assert goes(
        line, {"result": "success", "output": {"r": [{"status": "failed"}]}}, station="build-test"
    ) == ("stuck NoValidTransition")
    assert any("JSONLogic cannot be said" in loss for loss in losses)
    made = export_document(line.to_document(), "vibe-factory")
    assert json.loads(made.text)["transitions"][0]["condition_value"] == asked and not made.losses


def test_C29_the_greatest_priority_comes_first_then_the_oldest() -> None:
    line, _losses = read(
        workflow(
            {"label": "new", "created_at": "2025-02", "condition_type": "success"},
            {"label": "old", "created_at": "2025-01", "condition_type": "success"},
            {"label": "urgent", "created_at": "2025-03", "priority": 5, "condition_type": "success"},
        )
    )
    assert [rule.label for rule in line.station("build-test").rules] == ["urgent", "old", "new"]


def test_C30_max_retries_counts_the_first_visit_and_revisits_are_kept() -> None:
    line, _losses = read(workflow({"condition_type": "failure", "allow_revisit": True, "max_retries": 3}))
    [rule] = line.station("build-test").rules
    assert (rule.max_visits, rule.max_retries, rule.allow_revisit) == (3, None, True)


@pytest.mark.parametrize(("said", "most"), [("BigInt(2)", 2), (0, 0), ("3", 3)])
def test_C30_max_retries_is_read_however_it_is_written(said: Any, most: int) -> None:
    opened = document_import.import_document(workflow({"condition_type": "failure", "max_retries": said}))
    line = read_line(opened.document)
    [rule] = line.station("build-test").rules
    assert rule.max_visits == most
    answer = goes(line, {"result": "failure"}, station="build-test", visits={"build-test": 1})
    assert answer.startswith("move ship-it") is (most > 0), answer
    made = export_document(opened.document, "vibe-factory")
    assert not made.losses and json.loads(made.text)["transitions"][0]["max_retries"] == most


def test_C30_what_is_no_number_of_visits_is_told() -> None:
    _line, losses = read(workflow({"condition_type": "failure", "max_retries": 2.5, "allow_revisit": "yes"}))
    assert any("transitions[0].max_retries" in loss and "counts for nothing" in loss for loss in losses)
    assert any("transitions[0].allow_revisit" in loss and "is read as false" in loss for loss in losses)


def test_rows_of_its_tables_come_back_without_a_loss() -> None:
    row = {"created_at": "2025-11-08T00:00:00Z", "workflow_id": "w"}
    stations = [{**STATIONS[1], **row, "is_terminator": False}, {**STATIONS[0], **row, "is_terminator": 0}]
    text = workflow({**row, "condition_type": "success"}, stations=stations)
    opened = document_import.import_document(text)
    back_and_forth(opened)
    made = json.loads(export_document(opened.document, "vibe-factory").text)
    assert [station["is_terminator"] for station in made["stations"]] == [False, 0]
    assert made["transitions"][0]["created_at"] == row["created_at"]


def test_a_station_that_was_copied_here_has_an_id_of_its_own() -> None:
    opened = document_import.import_document(workflow({"condition_type": "success"}))
    [build, ship] = opened.document["stations"]
    copied = {**ship, "key": "ship-again", "rules": [{**ship["rules"][0], "id": "again"}]}
    made = export_document({**opened.document, "stations": [build, ship, copied]}, "vibe-factory")
    assert [station["id"] for station in json.loads(made.text)["stations"][:3]] == ["s1", "s2", "s2-2"]
    read = read_line(document_import.import_document(made.text).document)
    assert goes(read, {"result": "success"}, station="build-test").startswith("move ship-it")


def test_a_database_writes_true_as_1() -> None:
    ends = [*STATIONS[:2], {**STATIONS[2], "is_terminator": 1}]
    line, losses = read(workflow({"target_station_id": "s3", "allow_revisit": 1}, stations=ends))
    assert (line.station("build-test").rules[0].allow_revisit, [end.key for end in line.ends][:1]) == (
        True,
        ["done"],
    )
    first = [{**STATIONS[1], "is_terminator": True}, *STATIONS[:1]]
    _line, losses = read(workflow(stations=first))
    assert any("stations[0].is_terminator" in loss and "is no end here" in loss for loss in losses)


def test_an_id_that_is_there_twice_is_refused_at_its_place() -> None:
    [problem] = refused(workflow(stations=[*STATIONS, STATIONS[0]]))
    assert 'stations[3].id: "s2" is there twice' in problem


def test_C8_a_key_with_a_control_character_is_a_key() -> None:
    assert way({"key": "a\tb", "value": 1}, {"a\tb": 1})
    assert not way({"key": "a\tb", "value": 1}, {"a": 1})


def test_words_of_the_editor_are_read_and_told() -> None:
    line, losses = read(workflow({"condition_type": "on_tests_fail"}))
    assert goes(line, {"result": "failure"}, station="build-test").startswith("move ship-it")
    assert "transitions[0].condition_type: on_tests_fail is read as failure" in losses[-1]


@pytest.mark.parametrize(
    ("transition", "said"),
    [
        ({"condition_type": "sometimes"}, "transitions[0].condition_type: Unknown condition_type"),
        ({"condition_type": "conditional"}, "requires condition_value"),
        ({"condition_type": "conditional", "condition_value": "{no"}, "Invalid JSON in condition_value"),
        ({"condition_type": "conditional", "condition_value": "[1]"}, "Unsupported condition type"),
        ({"condition_type": "conditional", "condition_value": "n < many"}, "many is no value"),
        ({"target_station_id": "s9"}, "transitions[0].target_station_id: there is no station"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(transition: dict[str, Any], said: str) -> None:
    [problem] = refused(workflow(transition))
    assert said in problem and problem.startswith("line 1, column ")


@pytest.mark.parametrize("given", ['["a", "b"]', "a, b", ["a", "b"]])
def test_C23_wanted_keys_are_a_list_however_they_are_written(given: Any) -> None:
    stations = [{**STATIONS[1], "output_context_keys": given}, STATIONS[0]]
    line, _losses = read(workflow(stations=stations))
    assert line.station("build-test").output_keys == ("a", "b")


def test_what_is_not_read_is_kept() -> None:
    opened = document_import.import_document(
        workflow({"condition_type": "always", "condition": "legacy"}, project_id="p-1")
    )
    assert opened.document["extra"]["project_id"] == "p-1"
    [rule] = opened.document["stations"][0]["rules"]
    assert rule["extra"]["condition"] == "legacy"


def test_a_condition_of_signs_alone_is_refused_before_each_is_tried() -> None:
    import_notes = ImportNotes()
    assert _condition_of_text_or_none("<" * 200_000, "condition", import_notes) is None
    assert [str(each) for each in import_notes.faults] == ["condition: is longer than 10000 characters"]


def test_C16_what_completes_is_in_review_there_and_comes_back_without_a_loss() -> None:
    opened = document_import.import_document(
        workflow({"condition_type": "success"}, {"target_station_id": "s3"})
    )
    line = read_line(opened.document)
    answer = goes(line, {"result": "success"}, station="ship-it")
    assert answer.startswith("wait awaiting_review at in-review then completed"), "no transition"
    assert goes(line, {"result": "failure"}, station="ship-it").startswith("finish failed")
    made = export_document(opened.document, "vibe-factory")
    assert not made.losses and len(json.loads(made.text)["transitions"]) == 2
    assert len(json.loads(made.text)["stations"]) == 3
