"""Assembly lines of ALP as lines: one document, or the files of a folder."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.document_export import export_document
from pipelines.formats.foreign.folder_archive import readable_file_by_path
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import ParsedLine, read_line
from tests.formats.foreign.round_trip import back_and_forth
from tests.routing.support import goes

WORKED = {
    "type": "dispatch_worker",
    "labels": ["vibecheck"],
    "promptTemplate": "Do {{task.title}}",
    "idleTimeoutMinutes": 5,
}


def line(*rules: dict[str, Any], **more: Any) -> str:
    stations = [{"id": key, "name": key.upper(), "trigger": WORKED} for key in ("write", "review", "ship")]
    given = {
        "id": "a-line",
        "name": "A line",
        "version": "1.0.0",
        "stations": stations,
        "transitionRules": list(rules),
    }
    return json.dumps({**given, **more})


def rule(condition: str, source: str = "write", to: str = "ship", **more: Any) -> dict[str, Any]:
    return {
        "id": f"{source}-{condition}",
        "fromStationId": source,
        "toStationId": to,
        "condition": condition,
        **more,
    }


def read(text: str) -> tuple[ParsedLine, list[str]]:
    opened = document_import.import_document(text)
    assert opened.dialect == "alp"
    return read_line(opened.document), [str(loss) for loss in opened.losses]


def refused(text: str) -> str:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(text)
    return str(error.value.problems[0])


def test_A5_rules_stand_at_their_stations_and_the_order_of_the_list_holds_without_any() -> None:
    given, _losses = read(line(rule("failure", to="write", maxRetries=2), rule("any")))
    assert goes(given, {"result": "failure"}, station="write").startswith("move write")
    assert goes(given, {"result": "cancelled"}, station="write").startswith("move ship")
    assert goes(given, {"result": "success"}, station="review").startswith("move ship")
    station = given.station("write")
    assert (station.name, station.limits.idle_timeout, station.labels) == ("Write", 300, ("vibecheck",))
    assert station.work == {"kind": "runner", "prompt": "Do {{task.title}}"}


def test_A15_gates_and_those_that_are_enforced_as_well() -> None:
    tool = {"tool": {"kind": "cli"}, "enabled": False, "requiresApproval": False}
    gates = [
        {"id": "human", "name": "Human", "requiresApproval": True, "notifyEmails": ["a@example.com"]},
        {"id": "tool", "name": "Tool", **tool},
    ]
    given, _losses = read(line(rule("success", gateId="human", _alsoEnforce=["tool"]), gates=gates))
    assert goes(given, {"result": "success"}, station="write").startswith("wait awaiting_review at human")
    assert given.gates_by_key["tool"].mode == "skip", "T8: it passes"
    assert given.gates_by_key["human"].notify == ("a@example.com",)


def test_A30_questions_and_hooks_are_asked_after_a_success_and_switched_on() -> None:
    asks = {"id": "q", "fromStationId": "write", "condition": "agentic", "evaluator": "Good?",
            "onYes": {"toStationId": "ship"}, "onNo": {"toStationId": "write"}}  # fmt: skip
    hook = {"id": "h", "fromStationId": "review", "condition": "hook", "hook": ".agentics/gate.sh",
            "onPass": {"toStationId": "ship"},
            "onBlock": {"toStationId": "review", "feedbackFromHook": True}}  # fmt: skip
    given, losses = read(line(asks, hook))
    assert given.flags["agentic_conditions"] is True
    assert any("may ask an evaluator or a hook" in loss for loss in losses)
    answers = [{"agentic": {"question": "Good?"}, "answer": "no"}]
    assert goes(given, {"result": "success"}, station="write", answers=answers).startswith("move write")
    assert goes(given, {"result": "failure"}, station="write").startswith("finish failed"), "A29"
    assert [each.feedback for each in given.station("write").rules] == [False, True]
    assert [each.feedback for each in given.station("review").rules] == [False, True]


def test_T4_T5_what_is_no_station_is_an_end_and_a_sink_ends() -> None:
    stations = [
        {"id": "work", "trigger": WORKED},
        {"id": "merged", "trigger": {"type": "none"}},
        {"id": "stopped"},
    ]
    rules = [
        rule("success", "work", "merged"),
        rule("failure", "work", "stopped"),
        rule("cancelled", "work", "failed"),
    ]
    given, losses = read(line(*rules, stations=stations))
    assert goes(given, {"result": "success"}, station="work").startswith("finish merged")
    assert goes(given, {"result": "failure"}, station="work").startswith("finish stopped")
    assert goes(given, {"result": "cancelled"}, station="work").startswith("finish failed")
    kinds = {end.key: end.kind for end in given.ends}
    assert (kinds["merged"], kinds["stopped"]) == ("completed", "failed"), "by the rules that lead there"
    assert any("no station is called failed" in loss for loss in losses)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (rule("sometimes"), "transitionRules[0].condition"),
        (rule("success", to="nowhere"), 'there is no station "nowhere"'),
        (
            rule("success", source="nowhere"),
            'transitionRules[0].fromStationId: there is no station "nowhere"',
        ),
        (rule("success", gateId="none"), "there is no gate none"),
        ({"fromStationId": "write", "condition": "agentic"}, "transitionRules[0].evaluator"),
    ],
)
def test_A24_what_cannot_be_meant_is_refused_at_its_place(wrong: dict[str, Any], said: str) -> None:
    assert said in refused(line(wrong))


FOLDER = {
    ".agentics/assembly-line.json": {"name": "Scaffold", "version": "1.0.0"},
    ".agentics/stations/02-plan/station.json": {"id": "plan", "name": "Plan", "trigger": {"type": "none"}},
    ".agentics/stations/01-team/station.json": {
        "id": "todo",
        "name": "Hold på",
        "trigger": {"type": "dispatch_worker"},
    },
    ".agentics/stations/01-team/prompt.md": "Hire for {{project.name}}",
    ".agentics/transitions.json": [{"from": "todo", "to": "plan", "condition": "success", "gate": "g"}],
    ".agentics/gates.json": [{"id": "g", "name": "Team gate", "requiresApproval": True}],
}


def files(**changed: Any) -> dict[str, str]:
    given = {**FOLDER, **changed}
    return {
        path: text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        for path, text in given.items()
    }


def test_a_folder_is_put_together_in_the_order_of_its_stations() -> None:
    opened = document_import.import_files(files())
    given = read_line(opened.document)
    assert [station.key for station in given.stations] == ["todo"]
    assert [end.key for end in given.ends if end.key == "plan"], "nothing works there, and nothing leads on"
    assert given.station("todo").work["prompt"] == 'Hire for {{"{{"}}project.name}}'
    assert goes(given, {"result": "success"}, station="todo").startswith("wait awaiting_review at g")
    (text,) = [each for each in opened.losses if "project.name" in str(each.message)]
    assert (text.path, text.line) == (".agentics/stations/01-team/prompt.md", None), "the file that holds it"


@pytest.mark.parametrize("kind", ["dispatch_worker", "none"])
def test_a_system_prompt_beside_its_station_comes_back_without_a_loss(kind: str) -> None:
    folder = ".agentics/stations/01-team"
    station = {"id": "todo", "name": "Hold på", "trigger": {"type": kind}}
    given = {f"{folder}/station.json": station, f"{folder}/system.md": "You are {{project.name}}."}
    opened = document_import.import_files(files(**given))
    back_and_forth(opened)
    made = json.loads(export_document(opened.document, "alp").text)
    assert made["stations"][0]["system"] == "You are {{project.name}}."


def test_a_zip_of_it_is_read_alike_and_hostile_ones_are_refused() -> None:
    def archived(given: dict[str, str]) -> bytes:
        with io.BytesIO() as held:
            with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
                for path, text in given.items():
                    archive.writestr(path, text)
            return held.getvalue()

    assert document_import.import_files(
        readable_file_by_path(archived(files()))
    ) == document_import.import_files(files())
    for wrong, said in (
        (b"PK\x03\x04 broken", "cannot be read"),
        (archived({f"{n}.json": "{}" for n in range(501)}), "more than 500 files"),
        (archived({"bomb.json": " " * 50_000_000}), "longer than"),
        (archived({"../../etc/note.json": "{}", "b.json": "{}"}), "no line together"),
    ):
        with pytest.raises(DocumentError) as error:
            document_import.import_files(readable_file_by_path(wrong))
        assert said in str(error.value.problems[0])


def test_a_fault_in_a_file_names_the_file() -> None:
    with pytest.raises(DocumentError) as error:
        document_import.import_files(files(**{".agentics/gates.json": "[{]"}))
    assert str(error.value.problems[0]).count(".agentics/gates.json") == 1


def test_what_cannot_be_meant_in_a_file_names_the_file_and_the_line() -> None:
    wrong = '[\n  {"from": "todo",\n   "to": "nowhere", "condition": "success"}\n]'
    with pytest.raises(DocumentError) as error:
        document_import.import_files(files(**{".agentics/transitions.json": wrong}))
    (fault,) = error.value.problems
    assert (fault.path, fault.line) == (".agentics/transitions.json: [0].to", 3)


def test_a_repository_of_each_task_and_set_times_are_told_as_lost_and_kept() -> None:
    trigger = {"type": "dispatch_worker", "createAssemblyLineRepo": True}
    files = {
        "assembly-line.json": '{"id": "x", "name": "X"}',
        "stations/01-a/station.json": json.dumps({"trigger": trigger}),
        "init.json": '{"schedule": {"weekday": "monday", "timeZone": "Europe/Copenhagen"}}',
    }
    opened = document_import.import_files(files)
    assert [(each.path, each.line, each.column) for each in opened.losses] == [
        ("stations/01-a/station.json: trigger.createAssemblyLineRepo", 1, 41),
        ("init.json: schedule", 1, 2),
    ]
    assert opened.document["stations"][0]["extra"]["trigger"]["createAssemblyLineRepo"] is True
    assert opened.document["extra"]["init"]["schedule"]["weekday"] == "monday"


def test_T5_a_station_before_an_end_still_leads_there_and_it_comes_back_where_it_stood() -> None:
    stations = [
        {"id": "work", "trigger": WORKED},
        {"id": "Closed", "name": "CLOSED", "trigger": {"type": "none"}, "colour": "red"},
        {"id": "later", "trigger": WORKED},
    ]
    text = line(rule("failure", "work", "work"), rule("failure", "later", "Closed"), stations=stations)
    opened = document_import.import_document(text)
    given = read_line(opened.document)
    assert goes(given, {"result": "success"}, station="work").startswith("finish closed"), (
        "the next in its list"
    )
    assert goes(given, {"result": "failure"}, station="later").startswith("finish closed")
    assert [end.kind for end in given.ends if end.key == "closed"] == ["completed"]
    made = export_document(opened.document, "alp")
    assert not made.losses
    again = json.loads(made.text)["stations"]
    assert [each["id"] for each in again] == ["work", "Closed", "later"] and again[1]["colour"] == "red"


def test_what_a_folder_holds_besides_is_lost_by_name() -> None:
    files = {
        ".agentics/assembly-line.json": '{"id": "x", "name": "X", "operatorConfig": {"a": 1}}',
        ".agentics/stations/01-a/station.json": json.dumps(
            {"trigger": {**WORKED, "operatorConfig": {"b": 1}}}
        ),
        ".agentics/automations.json": "{}",
        ".agentics/marketplaces.json": "[]",
        ".agentics/tunables.json": "{}",
        ".agentics/specs/one.md": "# One",
        ".agentics/specs/two.md": "# Two",
        ".agentics/testbench/scenarios/init.json": "{}",
        ".agentics/odd.json": "{}",
        ".agentics/README.md": "# Read me",
        "package.json": "{}",
    }
    losses = {each.path: str(each.message) for each in document_import.import_files(files).losses}
    assert losses == {
        ".agentics/assembly-line.json: operatorConfig": losses[
            ".agentics/assembly-line.json: operatorConfig"
        ],
        ".agentics/stations/01-a/station.json: trigger.operatorConfig": (
            "an operator's settings do nothing: choose agent, secrets and limits at the stations"
        ),
        ".agentics/automations.json": (
            "no task starts by what happens elsewhere: let a program start them over the API, or a person"
        ),
        ".agentics/marketplaces.json": (
            "nothing is installed from marketplaces: choose an agent that has what its station needs"
        ),
        ".agentics/tunables.json": "nothing is tuned: write into the prompts what it would change",
        ".agentics/specs/": (
            "stations are given no specifications of a line: keep them in the repository that they work on"
        ),
        ".agentics/testbench/": (
            "recorded answers of models are not played: give the line scenarios of its own"
        ),
        ".agentics/odd.json": "it is no part of a line, and is not read",
    }


def test_a_head_that_has_its_stations_itself_keeps_them() -> None:
    head = json.loads(line(rule("success", gateId="g")))
    opened = document_import.import_files(
        {"assembly-line.json": json.dumps(head), "gates.json": files()[".agentics/gates.json"]}
    )
    assert [station.key for station in read_line(opened.document).stations] == ["write", "review", "ship"]
    assert opened.losses == ()


def test_what_a_folder_says_twice_is_told() -> None:
    head = {**FOLDER[".agentics/assembly-line.json"], "gates": [{"id": "other"}], "stations": [{"id": "old"}]}
    losses = document_import.import_files(files(**{".agentics/assembly-line.json": head})).losses
    told = {loss.path: str(loss.message) for loss in losses if "is not read, as" in str(loss.message)}
    assert told == {
        ".agentics/assembly-line.json: stations": "is not read, as the folder stations says it, too",
        ".agentics/assembly-line.json: gates": "is not read, as gates.json says it, too",
    }


def test_the_stations_of_a_testbench_are_none_of_the_line() -> None:
    opened = document_import.import_files(files(**{".agentics/testbench/a/station.json": {"id": "fake"}}))
    given = read_line(opened.document)
    assert {*given.stations_by_key, *(end.key for end in given.ends)} >= {"todo", "plan"}
    assert "fake" not in opened.text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"other/assembly-line.json": {"name": "B", "version": "1"}}, "these are several lines"),
        ({".agentics/assembly-line.json": ["a"]}, ".agentics/assembly-line.json: has to be an object"),
        ({".agentics/stations/03-c/station.json": "[]"}, "stations/03-c/station.json: has to be an object"),
    ],
)
def test_what_is_no_folder_of_one_line_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(DocumentError) as error:
        document_import.import_files(files(**more))
    assert said in str(error.value.problems[0])


GATES = [
    {"id": key, "name": key, "requiresApproval": True} for key in ("review", "Safety Check", "safety-check")
]


def test_A15_a_gate_that_stands_alone_in_place_of_a_list_is_asked() -> None:
    given, losses = read(line(rule("success", _alsoEnforce="review"), gates=GATES))
    assert goes(given, {"result": "success"}, station="write").startswith("wait awaiting_review at review")
    assert losses == []
    _given, losses = read(line(rule("success", _alsoEnforce={"all": ["review"]}), gates=GATES))
    assert any("_alsoEnforce" in loss and "is no list of texts" in loss for loss in losses)


def test_A15_gates_whose_ids_make_one_key_stay_two() -> None:
    rules = [rule("success", gateId="safety-check"), rule("failure", gateId="Safety Check")]
    given, _losses = read(line(*rules, gates=GATES))
    asked = [own.gates for own in given.station("write").rules]
    assert asked == [("safety-check-2",), ("safety-check",)]


@pytest.mark.parametrize("part", ["stations", "gates"])
def test_A24_an_id_that_is_there_twice_is_refused_at_its_place(part: str) -> None:
    twice = [{"id": "one", "name": "A", "trigger": WORKED}, {"id": "one", "name": "B", "trigger": WORKED}]
    message = refused(line(**{part: twice}))
    assert f'{part}[1].id: "one" is there twice' in message and message.startswith("line 1, column ")


def test_A22_no_retry_is_no_retry_and_comes_back() -> None:
    opened = document_import.import_document(line(rule("failure", to="write", maxRetries=0)))
    assert "RetryLimitExceeded" in goes(read_line(opened.document), {"result": "failure"}, station="write")
    made = export_document(opened.document, "alp")
    assert not made.losses and json.loads(made.text)["transitionRules"][0]["maxRetries"] == 0


@pytest.mark.parametrize("most", ["3", 2.5, -1, True])
def test_A22_a_limit_that_is_no_whole_number_is_told(most: Any) -> None:
    _given, losses = read(line(rule("failure", to="write", maxRetries=most)))
    assert any("transitionRules[0].maxRetries" in loss and "counts for nothing" in loss for loss in losses)


def test_what_a_trigger_says_otherwise_is_read_or_told() -> None:
    triggers: list[Any] = [
        {**WORKED, "labels": "gpu", "maxTimeoutMinutes": "60"},
        {"type": "webhook"},
        "worker",
    ]
    given, losses = read(line(stations=[{"id": f"s{n}", "trigger": said} for n, said in enumerate(triggers)]))
    assert given.station("s0").labels == ("gpu",)
    places = ["stations[0].trigger.maxTimeoutMinutes", "stations[1].trigger.type", "stations[2].trigger"]
    assert [place for place in places if any(f"{place}: " in loss for loss in losses)] == places
