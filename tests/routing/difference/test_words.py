"""A difference in sentences, and as the tool prints it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.routing.__main__ import main
from pipelines.routing.analysis.difference.change import LinePair, Sample
from pipelines.routing.analysis.difference.compare import line_difference
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.sentences.differences import sample_sentence
from tests.effort import calls
from tests.routing.support import document, line

STATIONS = (
    {"key": "security", "name": "Security"},
    {"key": "triage", "name": "Triage"},
    {"key": "deliver", "name": "Deliver"},
)
GATES = [{"key": "review", "name": "Human review"}]
HIGH = {"output": {"path": "$.high", "op": "gt", "value": 0}}
ASKED = {"agentic": {"question": "Well?"}}
BOTH = {"all": [{"result": "failure"}, HIGH]}


def secured(*rules: dict) -> ParsedLine:
    return line({**STATIONS[0], "rules": list(rules)}, *STATIONS[1:], gates=GATES)


def test_a_sentence_says_where_it_went_and_where_it_goes() -> None:
    old = secured(
        {"id": "ok", "when": {"result": "success"}, "to": "deliver"},
        {"id": "bad", "when": BOTH, "to": "triage"},
    )
    new = secured(
        {"id": "bad", "when": BOTH, "to": "deliver", "gates": ["review"]},
        {"id": "ok", "when": {"result": "success"}, "to": "deliver"},
    )
    assert line_difference(old, new).sentences() == [
        "Outcomes of Security such as {result: failure, output: {high: 1}} went to Triage by rule 2; "
        "now they go to Deliver by rule 1 after Human review."
    ]


def test_a_sentence_names_the_facts_that_it_takes() -> None:
    old = secured({"id": "again", "to": "security", "max_retries": 1})
    new = secured({"id": "again", "to": "security", "max_retries": 2})
    assert line_difference(old, new).sentences() == [
        "Outcomes of Security such as {result: success} (rule again taken once) ended as failed with "
        "RetryLimitExceeded by rule 1; now they run Security again by rule 1."
    ]


def test_people_read_where_a_signal_would_jump_by_name_and_machines_by_key() -> None:
    signal = {"verdict": "hold", "meta": {"targetState": "triage", "note": "deliver"}}
    situation = {"station": "security", "outcome": {"result": "success", "signals": [signal]}}
    pair = LinePair(secured(), secured())
    sample = Sample(
        situation, {"decision": "ask", "evaluation": ASKED}, {"decision": "ask", "evaluation": ASKED}
    )
    said = sample_sentence(pair, sample)
    assert "meta: {targetState: triage, note: deliver}" in str(said)
    assert "meta: {targetState: Triage, note: deliver}" in people_text(said)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    for name, target in (("old", "triage"), ("new", "deliver")):
        rule = {"id": "bad", "when": BOTH, "to": target}
        text = json.dumps(document({**STATIONS[0], "rules": [rule]}, *STATIONS[1:]))
        (tmp_path / f"{name}.json").write_text(text)
    return str(tmp_path / "old.json"), str(tmp_path / "new.json")


def test_the_tool_prints_sentences_and_exits_with_1(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *files]) == 1
    assert "went to Triage by rule 1; now they go to Deliver by rule 1." in capsys.readouterr().out


def test_the_tool_proves_that_nothing_differs_and_exits_with_0(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", files[0], files[0]]) == 0
    assert capsys.readouterr().out == "No routing changes: proved for every outcome.\n"


def test_the_tool_answers_as_json(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--json", *files]) == 1
    said = json.loads(capsys.readouterr().out)
    (change,) = said["changes"]
    assert (said["difference"], change["station"], change["old_rule"]) == ("some", "security", "bad")
    assert change["sample"]["situation"]["outcome"] == {"result": "failure", "output": {"high": 1}}
    assert (change["sample"]["old"]["to"], change["sample"]["new"]["to"]) == (["triage"], ["deliver"])


def test_the_tool_refuses_what_is_no_line_and_says_which(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("key: [")
    assert main(["diff", files[0], str(broken)]) == 2
    assert "broken.yaml: refused" in capsys.readouterr().err


def big(changed: int) -> ParsedLine:
    """200 stations with five rules each; in one of them a threshold is `changed`."""

    def rules(n: int) -> list[dict]:
        return [
            {
                "id": f"s{n}r{i}",
                "when": {"output": {"path": f"$.k{i}", "op": "gt", "value": changed if n == i == 3 else 0}},
                "to": f"s{(n + i) % 200}",
            }
            for i in range(5)
        ]

    stations = [{"key": f"s{n}", "rules": rules(n)} for n in range(200)]
    return read_line({"gateline": 1, "key": "line", "stations": stations})


def test_two_hundred_stations_take_no_longer_than_what_differs() -> None:
    old, new = big(0), big(7)
    found = line_difference(old, new)
    assert {each.station for each in found.changes} == {"s3"}
    assert not found.unknown
    assert calls(lambda: line_difference(old, new)) < 1_500_000, "390,000 when this was written"
