"""Output that is not JSON, when it is merged into the context (Vibe Factory C25): it harms only who asks for it."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.decide import effects
from pipelines.routing.decide.decisions import Move
from pipelines.routing.decide.effects import DecisionSubject
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.document.paths import compile_path
from tests.routing.support import decided, goes, line

LOST: dict[str, Any] = {"unreadable": {"high": "scan", "low": "scan"}}
NOT_JSON: dict[str, Any] = {"exit_code": 0, "output_error": "line 1"}


def asking(prompt: str, **more: Any) -> ParsedLine:
    """Station a leads to b, whose prompt asks for something."""
    work = {"kind": "command", "argv": ["x"], "prompt": prompt}
    return line({"output_keys": ["high"]}, {"key": "b", "work": work}, **more)


@pytest.mark.parametrize(
    ("prompt", "stuck"),
    [
        ("{{context.high}}", True),
        ("{{context.high.n}}", True),
        ("{{.high}}", True),
        ("{{.high.n}} of {{.other}}", True),
        ("{{context.medium}}", False),
        ("{{variables.high}} {{input.high}} {{task.high}}", False),
        ("high", False),
    ],
)
def test_C25_a_station_is_not_entered_whose_prompt_asks_for_what_could_not_be_read(
    prompt: str, stuck: bool
) -> None:
    expected = "stuck OutputDataParseError" if stuck else "move b by policy"
    assert goes(asking(prompt), {"exit_code": 0}, **LOST) == expected
    assert goes(asking(prompt), NOT_JSON) == expected, "the output of this very station"


def test_C25_what_stands_before_the_context_hides_it() -> None:
    of = asking("{{.high}}")
    assert goes(of, {"exit_code": 0}, **LOST, variables={"high": 1}) == "move b by policy"
    assert goes(of, {"exit_code": 0}, **LOST, inputs={"high": 1}) == "move b by policy"


def test_C25_another_station_may_say_it_at_last() -> None:
    of = asking("{{.high}}")
    assert goes(of, {"exit_code": 0, "output": {"high": 1}}, **LOST) == "move b by policy"
    assert goes(of, {"exit_code": 0}, unreadable={"high": ""}) == "move b by policy"


def test_C25_outputs_of_failed_stations_do_not_count() -> None:
    rules = [{"id": "r", "when": {"result": "failure"}, "to": "b"}]
    work = {"kind": "command", "argv": ["x"], "prompt": "{{.high}}"}
    of = line({"output_keys": ["high"], "rules": rules}, {"key": "b", "work": work})
    failed = {"exit_code": 1, "output_error": "line 1"}
    assert goes(of, failed) == "move b by rule r"
    assert goes(of, {"exit_code": 1, "output": {"high": 1}}, **LOST) == "stuck OutputDataParseError r"


def test_C25_it_is_told_before_people_are_asked() -> None:
    rules = [{"id": "r", "to": "b", "gates": ["g"]}]
    work = {"kind": "command", "argv": ["x"], "prompt": "{{.high}}"}
    of = line({"rules": rules}, {"key": "b", "work": work}, gates=[{"key": "g"}])
    assert goes(of, {"exit_code": 0}, **LOST) == "stuck OutputDataParseError r"


@pytest.mark.parametrize(
    ("path", "scope", "stuck"),
    [
        ("high", "merged", True),
        ("high.n", "merged", True),
        ("$.high", "merged", True),
        ("$['high'].n", "merged", True),
        ("$.medium", "merged", False),
        ("$..high", "merged", False),
        ("$.high", "current", False),
    ],
)
def test_C25_a_merged_condition_that_asks_for_it_is_stuck(path: str, scope: str, stuck: bool) -> None:
    rules = [{"id": "r", "when": {"output": {"path": path, "op": "exists"}}, "to": "b"}]
    of = line({"rules": rules}, {}, policy={"condition_scope": scope})
    expected = "stuck OutputDataParseError r" if stuck else "move b by policy"
    assert goes(of, {"exit_code": 0}, **LOST) == expected


def test_C25_a_merged_condition_reads_what_this_output_says() -> None:
    rules = [{"id": "r", "when": {"output": {"path": "$.high", "op": "exists"}}, "to": "b"}]
    of = line({"rules": rules}, {}, policy={"condition_scope": "merged"})
    assert goes(of, {"exit_code": 0, "output": {"high": 1}}, **LOST) == "move b by rule r"


def test_C25_the_message_names_who_asks_for_what() -> None:
    stuck = decided(asking("{{.high}}"), NOT_JSON)
    assert stuck["message"] == "b asks for high, but the output that should have said it was not JSON."


def test_C25_the_keys_are_remembered_and_forgotten_again() -> None:
    of, move = asking("x"), Move(("b",), None, "policy")
    kept = effects.variables_and_context_to_store(
        DecisionSubject(of, "a", None, read_outcome(NOT_JSON)), move
    )
    assert (kept["context"], kept["unreadable"]) == ({}, {"high": "a"})
    said = read_outcome({"exit_code": 0, "output": {"high": 1}})
    kept = effects.variables_and_context_to_store(
        DecisionSubject(of, "a", None, said, unreadable={"high": "a", "low": "a"}), move
    )
    assert (kept["context"], kept["unreadable"]) == ({"high": 1}, {"high": ""})
    failed = read_outcome({"exit_code": 1, "output_error": "line 1"})
    assert "unreadable" not in effects.variables_and_context_to_store(
        DecisionSubject(of, "a", None, failed), move
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [("a.b", "a.b"), ("a.b", "a"), ("$.a[0]", "a"), ("$['a.b']", "a.b"), ('$["a"]', "a"), ("$.a..b", "a")],
)
def test_a_path_asks_for_its_first_key(text: str, key: str) -> None:
    assert compile_path(text).reads_any({key})
    assert not compile_path(text).reads_any({"c"})
