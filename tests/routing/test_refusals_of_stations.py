"""What a person reads when a station or its work is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.refused import refusal_of, station
from tests.routing.support import document

FAULTY = [
    (
        document({"key": "completed"}),
        "stations[0].key: “completed” is an end, and stations and ends share one name space",
    ),
    (
        document({}, ends=[{"key": "a", "kind": "failed"}]),
        "stations[0].key: “a” is an end, and stations and ends share one name space",
    ),
    (station(rule=[]), "stations[0].rule: unknown key (did you mean rules?)"),
    (station(gate="z"), "stations[0].gate: the line has no gate “z” (known: g)"),
    (station(gate=None), "stations[0].gate: has to be a text, not null"),
    (
        station(result_document="yes"),
        "stations[0].result_document: “yes” is not known (known: required, optional, none)",
    ),
    (station(output_keys="high"), "stations[0].output_keys: has to be a list of texts, not a string"),
    (station(output_keys=[1]), "stations[0].output_keys[0]: has to be a text, not a number"),
    (
        station(limits={"max_visits": -1}),
        "stations[0].limits.max_visits: has to be a whole number, 0 or more",
    ),
    (
        station(limits={"max_visits": True}),
        "stations[0].limits.max_visits: has to be a whole number, 0 or more",
    ),
    (station(limits={"timeout": 1}), "stations[0].limits.timeout: unknown key (did you mean max_timeout?)"),
    (
        station(limits={"expected": "soon"}),
        "stations[0].limits.expected: a duration is a number of seconds, or a text like 90s, 5m, 2h, 1d",
    ),
    (station(limits={"expected": -1}), "stations[0].limits.expected: a duration is between 0 and ten years"),
    (station(join={"wait_for": ["z"]}), "stations[0].join.wait_for[0]: the line has no station “z”"),
    (station(join={}), "stations[0].join.wait_for: names no station"),
    (
        station(join={"wait_for": ["b"], "aggregation": "most"}),
        "stations[0].join.aggregation: “most” is not known (known: all-pass, any-pass, majority-pass, none)",
    ),
    (station(work={}), "stations[0].work.kind: is missing"),
    (
        station(work={"kind": "command", "argv": "ls -l"}),
        "stations[0].work.argv: has to be a list of texts, not a string",
    ),
    (station(work={"kind": "command", "argv": []}), "stations[0].work.argv: names no program"),
    (
        station(work={"kind": "command", "shell": True}),
        "stations[0].work.shell: unknown key (known: kind, network, argv, env, prompt, cwd)",
    ),
    (
        station(work={"kind": "command", "env": {"A": 1}}),
        "stations[0].work.env.A: an environment is names and texts",
    ),
    (
        station(work={"kind": "noop", "argv": ["x"]}),
        "stations[0].work.argv: unknown key (known: kind, network)",
    ),
    (
        station(work={"kind": "manual", "form": [{"key": "X"}]}),
        "stations[0].work.form[0].key: “X” is not a key (small letters, digits, _ . and -, "
        "beginning with a letter or digit, at most 64 characters)",
    ),
    (station(name="x" * 100_001), "stations[0].name: is longer than 100000 characters"),
    (
        station(limits={"max_retries": 1.5, "idle_timeout": "3 weeks", "max_timeout": True}),
        "stations[0].limits.idle_timeout: a duration is a number of seconds, or a text like 90s, "
        "5m, 2h, 1d\n"
        "stations[0].limits.max_timeout: a duration is a number of seconds, or a text like 90s, "
        "5m, 2h, 1d\n"
        "stations[0].limits.max_retries: has to be a whole number, 0 or more",
    ),
    (
        station(limits={"idle_timeout": 10 * 366 * 86400 + 1}),
        "stations[0].limits.idle_timeout: a duration is between 0 and ten years",
    ),
    (station(limits=5), "stations[0].limits: has to be an object, not a number"),
    (
        station(labels=["a", "", 3]),
        "stations[0].labels[1]: is empty\nstations[0].labels[2]: has to be a text, not a number",
    ),
    (station(join={"wait_for": ["b", "b"]}), "stations[0].join.wait_for[1]: the station “b” appears twice"),
    (
        station(join={"wait_for": ["b"], "mode": "all"}),
        "stations[0].join.mode: unknown key (known: wait_for, aggregation)",
    ),
    (station(work={"kind": 5}), "stations[0].work.kind: has to be a text, not a number"),
    (station(work={"kind": "x" * 65}), "stations[0].work.kind: is longer than 64 characters"),
    (
        station(work={"kind": "command", "argv": ["x"], "env": {"": "x"}}),
        'stations[0].work.env[""]: an environment is names and texts',
    ),
    (
        station(work={"kind": "command", "argv": ["x"], "env": {"A=B": "x"}}),
        'stations[0].work.env["A=B"]: an environment is names and texts',
    ),
    (
        station(work={"kind": "command", "argv": ["x"], "prompt": "x" * 1_000_001}),
        "stations[0].work.prompt: is longer than 1000000 characters",
    ),
    (
        station(work={"kind": "command", "argv": ["x"], "cwd": ["."]}),
        "stations[0].work.cwd: has to be a text, not an array",
    ),
    (
        station(work={"kind": "manual", "form": [{"key": "n"}, {"key": "n"}], "instructions": 1}),
        "stations[0].work.instructions: has to be a text, not a number\n"
        "stations[0].work.form[1]: the field “n” appears twice",
    ),
]


@pytest.mark.parametrize(("faulty", "told"), FAULTY)
def test_a_fault_is_told_with_its_place_and_its_remedy(faulty: Any, told: str) -> None:
    assert refusal_of(faulty) == told
