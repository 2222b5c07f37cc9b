"""Task chains of contenox as lines."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.contenox.work import rename_variables
from pipelines.formats.foreign.document_export import export_document
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.kinds.route import route_labels
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.support import goes


def chain(*branches: dict[str, Any], on_failure: str = "", **task: Any) -> str:
    first = {
        "id": "ask",
        "handler": "prompt_to_int",
        "transition": {"on_failure": on_failure, "branches": list(branches)},
    }
    tasks = [{**first, **task}, {"id": "more", "handler": "noop"}, {"id": "stop", "handler": "raise_error"}]
    return json.dumps({"id": "a_chain", "tasks": tasks, "token_limit": 10})


def branch(operator: str, goto: str = "more", when: Any = "", **more: Any) -> dict[str, Any]:
    return {"operator": operator, "when": when, "goto": goto, **more}


def read(text: str) -> tuple[ParsedLine, list[str]]:
    opened = document_import.import_document(text)
    assert opened.dialect == "contenox"
    return read_line(opened.document), [str(loss) for loss in opened.losses]


def refused(text: str) -> str:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(text)
    return str(error.value.problems[0])


def taken(line: ParsedLine, value: str, **outcome: Any) -> str:
    return goes(line, {"result": "success", "eval": value, **outcome}, station="ask")


def test_B7_default_of_a_chain_is_asked_last_wherever_it_stands() -> None:
    line, losses = read(chain(branch("default", "end"), branch(">", "stop", "6")))
    assert taken(line, "7").startswith("move stop") and taken(line, "6").startswith("finish completed")
    assert any("“default” is asked last there" in loss for loss in losses)


@pytest.mark.parametrize(
    ("operator", "when", "holds", "fails"),
    [
        ("equals", "ok", "ok", "OK"),
        ("not_equals", "ok", "no", "ok"),
        ("contains", "fail", "api_failure", "fine"),
        ("not_contains", "fail", "fine", "api_failure"),
        ("starts_with", "a", "ab", "ba"),
        ("ends_with", "b", "ab", "ba"),
        (">", "6", "7", "6"),
        ("lt", "6", "5", "6"),
        ("in_range", "-3-5", "-3", "6"),
        ("range", "200,299", "204", "300"),
    ],
)
def test_B20_every_spelling_of_an_operator_is_read(operator: str, when: str, holds: str, fails: str) -> None:
    line, _losses = read(chain(branch(operator, "more", when), branch("default", "end")))
    assert taken(line, holds).startswith("move more") and taken(line, fails).startswith("finish completed")


def test_B19_a_failing_handler_reaches_no_branch() -> None:
    line, _losses = read(chain(branch("default", "more")))
    assert goes(line, {"result": "failure"}, station="ask").startswith("finish failed")
    line, _losses = read(chain(branch("default", "more"), on_failure="stop"))
    assert goes(line, {"result": "failure"}, station="ask").startswith("move stop")


def test_B19_retries_come_before_on_failure() -> None:
    line, _losses = read(chain(branch("default", "more"), on_failure="stop", retry_on_failure=2))
    assert goes(line, {"result": "failure"}, station="ask").startswith("move ask")
    spent = {"rules": {line.station("ask").rules[0].id: 2}}
    assert goes(line, {"result": "failure"}, station="ask", **spent).startswith("move stop")


def test_B13_compose_and_edges() -> None:
    compose = {"with_var": "user", "strategy": "json_path:$.user.id"}
    back = branch("edge_traversed_at_least", "stop", "2", edge="more->ask")
    line, _losses = read(chain(back, branch("default", "more", compose=compose)))
    _first, second = line.station("ask").rules
    assert taken(line, "x", output={"user": {"id": 4}}).startswith("move more")
    assert goes(
        line, {"result": "success", "output": {"user": {"id": 4}}}, station="ask", edges={"more->ask": 2}
    ).startswith("move stop")
    assert [(each.var, each.path.text if each.path else None) for each in second.compose] == [
        ("user", "$.user.id")
    ]


def test_handlers_become_kinds_of_work() -> None:
    chat = {
        "handler": "chat_completion",
        "system_instruction": "Be brief.",
        "prompt_template": "{{.input}} on {{now:2006-01-02}}",
    }
    line, _losses = read(chain(branch("default", "end"), **chat))
    work = line.station("ask").work
    assert (work["kind"], work["system"], work["prompt"]) == (
        "chat",
        "Be brief.",
        "{{.input}} on {{now:2006-01-02}}",
    )
    choice = read(
        chain(branch("equals", "more", "valid"), handler="condition_key", prompt_template="Is it?")
    )[0]
    assert choice.station("ask").work["kind"] == "route" and choice.station("ask").work["strict"] is True
    assert line.station("more").work["kind"] == "noop" and line.station("stop").work["kind"] == "error"


def test_B12_every_word_that_may_be_chosen_has_a_rule_and_any_other_is_a_failure() -> None:
    chosen: dict[str, Any] = {
        "handler": "condition_key",
        "valid_conditions": {"valid": True, "maybe": True, "off": False},
    }
    line, _losses = read(chain(branch("default", "stop"), branch("equals", "more", "valid"), **chosen))
    station = line.station("ask")
    assert station.work["strict"] is True and route_labels(station) == ("valid", "maybe")
    assert taken(line, "maybe").startswith("move stop") and taken(line, "valid").startswith("move more")


def test_B16_names_of_tasks_in_templates_follow_their_stations_and_come_back() -> None:
    said = "{{.First_One}} {{.First_One_error}} {{edge_count:First_One->Second}} {{.other}}"
    tasks = [
        {
            "id": "First_One",
            "handler": "chat_completion",
            "transition": {"branches": [branch("default", "Second")]},
        },
        {"id": "Second", "handler": "chat_completion", "prompt_template": said},
    ]
    opened = document_import.import_document(json.dumps({"id": "c", "tasks": tasks}))
    prompt = opened.document["stations"][1]["work"]["prompt"]
    assert prompt == "{{.first_one}} {{.first_one_error}} {{edge_count:first_one->second}} {{.other}}"
    assert (
        json.loads(export_document(opened.document, "contenox").text)["tasks"][1]["prompt_template"] == said
    )


@pytest.mark.parametrize(
    ("handler", "named", "prompt"),
    [
        ("chat_completion", None, "{{.previous_output}}"),
        ("chat_completion", "First", "{{.first}}"),
        ("chat_completion", "found", "{{.found}}"),
        ("chat_completion", "input", "{{.input}}"),
        ("noop", None, "{{.input}}"),
        ("noop", "First", "{{.input}}"),
    ],
)
def test_B19_a_chat_without_a_prompt_is_asked_what_its_input_is(
    handler: str, named: str | None, prompt: str
) -> None:
    second = {"id": "second", "handler": "chat_completion", **({"input_var": named} if named else {})}
    first = {"id": "First", "handler": handler, "transition": {"branches": [branch("default", "second")]}}
    line, losses = read(json.dumps({"id": "c", "tasks": [first, second]}))
    assert line.station("second").work["prompt"] == prompt
    assert any("no station before it says" in loss for loss in losses) == (handler == "noop")


def test_a_model_is_carried_and_what_does_nothing_here_is_told() -> None:
    config = {
        "model": "qwen2.5:7b",
        "temperature": 0.2,
        "max_tokens": "{{var:most}}",
        "provider": "ollama",
        "shift": 1,
    }
    line, losses = read(chain(handler="chat_completion", execute_config=config, print="x"))
    assert {key: line.station("ask").work.get(key) for key in ("model", "temperature", "max_tokens")} == {
        "model": "qwen2.5:7b",
        "temperature": 0.2,
        "max_tokens": None,
    }
    told = "\n".join(losses)
    assert "says no max_tokens here" in told and "whichever the provider" in told
    assert "do nothing here: print, execute_config.shift" in told


def test_B11_the_other_word_for_a_call_is_told() -> None:
    _line, losses = read(chain(branch("equals", "more", "tool_call")))
    assert any("tool-call" in loss for loss in losses)


def test_T3_T12_a_task_without_branches_is_a_leaf_and_a_duration_may_be_nanoseconds() -> None:
    line, _losses = read(
        json.dumps({"id": "c", "tasks": [{"id": "one", "handler": "noop", "timeout": 30_000_000_000}]})
    )
    assert goes(line, {"result": "success"}, station="one").startswith("finish completed")
    assert line.station("one").limits.max_timeout == 30
    line, _losses = read(
        json.dumps({"id": "c", "tasks": [{"id": "one", "handler": "noop", "timeout": "1m30s"}]})
    )
    assert line.station("one").limits.max_timeout == 90


def test_T9_comments_and_keys_that_look_like_them() -> None:
    text = (
        '{ // the chain\n "id": "c", "//compute": "kept // too", /* and\n'
        ' all */ "tasks": [{"id": "x", "handler": "noop"}]}'
    )
    opened = document_import.import_document(text)
    assert opened.document["extra"] == {"id": "c", "//compute": "kept // too"}
    with pytest.raises(DocumentError) as error:
        document_import.import_document(
            text.replace('"noop"}', '"noop", "transition": {"branches": [{"operator": "odd"}]}}')
        )
    assert error.value.problems[0].line == 3, "comments keep their lines"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (branch("odd"), "tasks[0].transition.branches[0].operator"),
        (branch("default", "nowhere"), "there is no task"),
        (branch(">", "more", "many"), "has to be a number"),
        (branch("in_range", "more", "5"), "has to be a range"),
        (branch("edge_traversed_at_least", "more", "x", edge="more->ask"), "task->task"),
        (branch("default", compose={"with_var": "x", "strategy": "odd"}), "is no strategy"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(wrong: dict[str, Any], said: str) -> None:
    assert said in refused(chain(wrong))


@pytest.mark.parametrize("text", ["{{edge_count:" + "a->" * 70_000, "{{ " * 70_000, "{{" * 100_000])
def test_the_beginnings_of_many_places_are_looked_through_once(text: str) -> None:
    task = {"id": "b", "handler": "raise_error", "prompt_template": text}
    start = time.process_time()
    opened = document_import.import_document(json.dumps({"id": "c", "tasks": [task]}))
    assert opened.document["stations"][0]["work"]["message"] == text
    assert time.process_time() - start < 5


def test_an_edge_is_counted_between_the_stations_that_its_tasks_are() -> None:
    names = {"A b": "a-b", "C": "c"}
    assert (
        rename_variables("{{ edge_count:A b->C }} {{edge_count:C}}", names)
        == "{{ edge_count:a-b->c}} {{edge_count:C}}"
    )


def test_B12_a_label_goes_where_the_first_branch_that_takes_it_goes() -> None:
    words = {"yes": True, "no": True, "maybe": True, "12": True}
    text = chain(
        branch("starts_with", "more", "y"),
        branch("contains", "stop", "o"),
        branch("gt", "ask", "10"),
        branch("default", "end"),
        handler="prompt_to_condition",
        valid_conditions=words,
    )
    line, _losses = read(text)
    assert set(route_labels(line.station("ask"))) == set(words)
    assert taken(line, "yes").startswith("move more") and taken(line, "no").startswith("move stop")
    assert taken(line, "12").startswith("move ask") and taken(line, "maybe").startswith("finish completed")
    assert [str(found) for found in lint_line(line) if found.severity == "error"] == []


def test_B19_what_is_no_number_of_retries_and_no_transition_is_told() -> None:
    _line, losses = read(chain(retry_on_failure="3"))
    assert any("tasks[0].retry_on_failure" in loss and "counts for nothing" in loss for loss in losses)
    _line, losses = read(chain(transition=[branch("default")]))
    assert any("tasks[0].transition" in loss and "is no object" in loss for loss in losses)
    _line, losses = read(chain(branch("default", compose="override")))
    assert any("branches[0].compose" in loss and "is no object" in loss for loss in losses)


def test_what_a_transition_says_besides_is_kept_and_comes_back() -> None:
    said = {"branches": [branch("default", "end")], "description": "why"}
    opened = document_import.import_document(chain(transition=said))
    made = export_document(opened.document, "contenox")
    assert not made.losses and json.loads(made.text)["tasks"][0]["transition"]["description"] == "why"


def test_what_has_no_id_is_said() -> None:
    text = json.dumps({"description": "Say it", "tasks": [{"handler": "noop"}]})
    assert [loss for loss in read(text)[1] if "is missing" in loss] == [
        "line 1, column 1: id: is missing: the line is called “Say it” here",
        "line 1, column 37: tasks[0].id: is missing: the task is called “task” here",
    ]


def test_B15_what_another_task_said_is_no_variable_and_that_is_told() -> None:
    compose = {"with_var": "more", "strategy": "merge_chat_histories"}
    _line, losses = read(chain(branch("default", "end", compose=compose)))
    assert any("“more” is what a task said" in loss for loss in losses)
