"""`python -m pipelines.routing decide LINE` from outside: what goes in, what comes out, and the exit code."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from pipelines.formats import native
from pipelines.routing.__main__ import main
from pipelines.routing.basics import jsontext
from pipelines.routing.document.line import PRESETS
from tests.routing.test_preconditions import HANDOFF
from tests.waiting import LONG

ROOT = Path(__file__).parents[2]

LINE = """\
gateline: 1
key: tried
stations:
  - key: lint
    work: {kind: command, argv: [ruff, check]}
    rules:
      - id: high
        when: {output: {path: $.high, op: gt, value: 0}}
        to: triage
      - {id: broken, when: {sometimes: true}, to: triage}
  - key: triage
    work: {kind: manual}
"""


@dataclass
class Done:
    returncode: int
    stdout: bytes
    stderr: bytes


def tool(*arguments: str, text: bytes = b"") -> Done:
    """The tool in this process, with standard input, output and errors of its own."""
    out, err = io.BytesIO(), io.BytesIO()
    with (
        io.TextIOWrapper(io.BytesIO(text)) as given,
        io.TextIOWrapper(out, "utf-8", write_through=True) as said,
        io.TextIOWrapper(err, "utf-8", write_through=True) as complained,
        patch.multiple(sys, stdin=given, stdout=said, stderr=complained),
    ):
        code = main(list(arguments))
        return Done(code, out.getvalue(), err.getvalue())


def run(line: Path, text: bytes) -> Done:
    return tool("decide", str(line), text=text)


@pytest.fixture
def line(tmp_path: Path) -> Path:
    path = tmp_path / "line.yaml"
    path.write_text(LINE)
    return path


def answers(done: Done) -> list[dict[str, Any]]:
    return [jsontext.loads(text.decode()) for text in done.stdout.splitlines()]


def situations(*members: dict[str, Any]) -> bytes:
    return "".join(json.dumps(member) + "\n" for member in members).encode()


def test_it_answers_one_decision_for_each_line(line: Path) -> None:
    high = {"station": "lint", "outcome": {"exit_code": 1, "output": {"high": 2}}}
    done = run(line, situations(high, {"station": "triage", "outcome": {"result": "success"}}))
    assert done.returncode == 0, done.stderr
    first, second = answers(done)
    assert (first["decision"], first["to"], first["rule"], first["by"]) == (
        "move",
        ["triage"],
        "high",
        "rule",
    )
    assert [entry["step"] for entry in first["trace"]] == ["rules", "effects"]
    assert (second["decision"], second["end"], second["by"]) == ("finish", "completed", "policy")


def test_a_faulty_rule_fails_when_it_is_reached(line: Path) -> None:
    done = run(line, situations({"station": "lint", "outcome": {"result": "success", "output": {"high": 0}}}))
    [answer] = answers(done)
    assert (answer["error"], answer["rule"], done.returncode) == ("InvalidTransitionSyntax", "broken", 0)


FIELDS = {
    "move": {"to", "rule", "by", "feedback", "variables"},
    "finish": {"end", "kind", "rule", "by", "error"},
    "wait": {"status", "gates", "to", "rule", "question", "missing", "evaluation"},
    "stuck": {"error", "message", "rule"},
}


def test_each_decision_has_exactly_its_fields(line: Path) -> None:
    outcomes: Sequence[dict[str, Any]] = [
        {"exit_code": 0, "output": {"high": 1}},
        {"exit_code": 0, "signals": [{"verdict": "abort"}]},
        {"exit_code": 0, "signals": [{"verdict": "hold"}]},
        {"exit_code": 0, "output": {}},
    ]
    done = run(line, situations(*({"station": "lint", "outcome": outcome} for outcome in outcomes)))
    for answer in answers(done):
        kind = answer.pop("decision")
        assert set(answer) == FIELDS.pop(kind) | {"trace"}
        for entry in answer["trace"]:
            assert set(entry) == {"step", "rule", "result", "saw", "why"}
    assert not FIELDS


MALFORMED = [
    (b"{", ""),
    (b"", ""),
    (b"[]", ""),
    (b"\xff{}", ""),
    (b'{"station": "lint"}', "outcome"),
    (b'{"station": "nowhere", "outcome": {"exit_code": 0}}', "station"),
    (b'{"station": "lint", "outcome": {}}', "outcome"),
    (b'{"station": "lint", "outcome": {"exit_code": 0, "more": 1}}', "outcome.more"),
    (b'{"station": "lint", "station": "lint", "outcome": {"exit_code": 0}}', ""),
    (b'{"station": "lint", "outcome": {"exit_code": 0, "output": NaN}}', ""),
    (b'{"station": "lint", "outcome": {"exit_code": 0, "output": 1e99999999999999999999}}', ""),
    (b'{"station": "lint", "outcome": {"exit_code": 0, "output": "\\u0000"}}', "outcome.output"),
    (b'{"station": "lint", "outcome": {"exit_code": 0, "output": ["\\ud800"]}}', "outcome.output[0]"),
    (b'{"station": "lint", "outcome": {"exit_code": 0, "output": ' + b"[" * 101 + b"]" * 101 + b"}}", None),
    (b"[" * 100_000, ""),
]


def test_a_malformed_line_is_answered_and_the_tool_goes_on(line: Path) -> None:
    good = b'{"station": "triage", "outcome": {"exit_code": 0}}'
    text = b"".join(bad + b"\n" + good + b"\n" for bad, _ in MALFORMED)
    done = run(line, text)
    assert (done.returncode, done.stderr) == (1, b"")
    found = answers(done)
    assert [answer["decision"] for answer in found[1::2]] == ["finish"] * len(MALFORMED)
    for answer, (bad, path) in zip(found[::2], MALFORMED, strict=True):
        assert set(answer) == {"error"}, bad
        assert set(answer["error"]) == {"path", "message"}, bad
        assert path is None or answer["error"]["path"] == path, bad


def test_numbers_keep_every_digit(tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text(
        "key: numbers\nstations:\n  - key: a\n    rules:\n"
        "      - {id: big, when: {output: {path: n, op: equals, value: 1e400}}, to: completed}\n"
        "      - {id: fine, when: {output: {path: n, op: gt, value: 0.30000000000000000000001}}, to: a,"
        " compose: [{var: n, path: n}]}\n"
    )
    numbers = ["1e400", "10e399", "0.3", "0.30000000000000000000002", "1" * 5000]
    text = "".join(
        f'{{"station": "a", "outcome": {{"eval": "", "output": {{"n": {n}}}}}}}\n' for n in numbers
    )
    done = run(path, text.encode())
    assert done.returncode == 0, done.stderr
    assert [answer.get("rule") for answer in answers(done)] == ["big", "big", None, "fine", "fine"]
    lines = done.stdout.decode().splitlines()
    assert '"variables": {"n": 0.30000000000000000000002}' in lines[3]
    assert f'"variables": {{"n": {"1" * 5000}}}' in lines[4]


NEEDY = """\
key: needy
preset: aeef
stations:
  - {key: a, rules: [{id: on, to: b}]}
  - {key: b, agent: ann}
"""
PASSED: dict[str, Any] = {"station": "a", "outcome": {"result": "success"}}
TOLD: list[tuple[dict[str, Any], list[str] | None]] = [
    ({}, ["handoff"]),
    ({"open_escalations": 1}, ["handoff", "no_open_escalation"]),
    ({"preconditions": {"handoff": True}}, None),
    ({"preconditions": {"tests": True, "handoff": False, "lint": False}}, ["handoff", "lint"]),
    ({"preconditions": {"agent": False, "handoff": True}}, ["agent"]),
    ({"agents": {"ann": {"state": "suspended"}}}, ["handoff", "agent:ann"]),
    ({"agents": {"ann": {"free": 1}}, "preconditions": {"handoff": True}}, None),
]
WRITTEN = [
    NEEDY,
    NEEDY + "policy: {preconditions: yes, standard_budgets: yes}\n",
    NEEDY.replace("preset: aeef", "preset: alp") + "policy: {preconditions: yes}\n",
    NEEDY.replace("key: a,", "key: a, requires: [station_gate, handoff, agent],"),
]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_preset_and_its_knobs_written_out_decide_alike(tmp_path: Path, text: str) -> None:
    """What the situation shows is looked up; agents count as available unless the facts say otherwise."""
    path = tmp_path / "line.yaml"
    path.write_text(text)
    given = [{**PASSED, "facts": facts} for facts, _ in TOLD]
    handed = {"station": "a", "outcome": {"result": "success", "handoff": HANDOFF}}
    found = [answer.get("missing") for answer in answers(run(path, situations(*given, handed)))]
    assert found == [*(missing for _, missing in TOLD), None]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_complete_document_decides_as_its_preset_does(tmp_path: Path, preset: str) -> None:
    short, whole = tmp_path / "short.yaml", tmp_path / "whole.json"
    short.write_text(NEEDY.replace("aeef", preset))
    whole.write_text(json.dumps(native.read_text(short.read_bytes()).to_document()))
    given = situations(
        *({**PASSED, "facts": facts} for facts, _ in TOLD), {**PASSED, "outcome": {"exit_code": 1}}
    )
    assert answers(run(short, given)) == answers(run(whole, given))


def test_a_document_that_is_refused_says_where_and_why(tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text("key: x\nstations:\n  - key: a\n    rule: []\n  - key: a\n")
    done = run(path, b"")
    assert (done.returncode, done.stdout) == (2, b"")
    text = done.stderr.decode()
    assert "line 4, column 5: stations[0].rule: unknown key (did you mean rules?)" in text
    assert "line 5, column 5: stations[1]: the station “a” appears twice" in text


def test_a_file_that_is_not_there_is_an_error_and_no_trace_of_the_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pipelines.routing", "decide", str(tmp_path / "none.yaml")]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=LONG, check=False)
    assert done.returncode == 2
    assert other("decide", str(tmp_path / "none.yaml")) == (
        2,
        "",
        f"{tmp_path / 'none.yaml'}: No such file or directory\n",
    )
    assert b"No such file" in done.stderr
    assert b"Traceback" not in done.stderr


def other(*arguments: str) -> tuple[int, str, str]:
    done = tool(*arguments)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_check_says_everything_that_keeps_a_line_from_being_published(tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text(LINE)
    code, said, complaint = other("check", str(path))
    assert (code, said) == (2, "")
    assert complaint.startswith(
        f"{path}: refused\n  line 10, column 22: stations[0].rules[1].when: no known form"
    )
    path.write_text("key: x\nstations:\n  - {key: a, work: {kind: command}}\n")
    code, said, complaint = other("check", str(path))
    assert (code, complaint) == (1, "")
    assert said == (
        "line 3, column 14: stations[0].work.argv: is missing (a command needs a program, like ruff)\n"
    )
    path.write_text("key: x\nstations:\n  - {key: a, work: {kind: noop}}\n")
    assert other("check", str(path)) == (0, "", "")


def test_schema_prints_the_schema_of_the_document() -> None:
    assert json.loads(other("schema")[1])["title"] == "Gateline line document"


def test_it_answers_while_its_input_is_still_open(line: Path) -> None:
    command = [sys.executable, "-m", "pipelines.routing", "decide", str(line)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin
        assert process.stdout
        for _ in range(3):
            process.stdin.write(b'{"station": "triage", "outcome": {"exit_code": 0}}\n')
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["decision"] == "finish"
        process.stdin.close()
    assert process.returncode == 0


def test_routing_and_formats_need_no_django_and_no_clock() -> None:
    script = (
        "import sys, pipelines.routing.__main__, pipelines.routing.decide.approval,"
        " pipelines.routing.document.templates, pipelines.routing.document.publishable\n"
        "print([name for name in ('django', 'psycopg', 'socket', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, cwd=ROOT, check=True, timeout=LONG
    )
    assert done.stdout.strip() == b"[]"
