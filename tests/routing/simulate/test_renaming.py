"""A scenario follows the parts of its line to other keys."""

from __future__ import annotations

from pipelines.routing.simulate.scenario import read_scenario
from pipelines.routing.simulate.scenario_keys import script_with_new_keys

SCRIPT = {
    "key": "s",
    "name": "build",
    "inputs": {"build": 1, "who": "build"},
    "steps": [
        {"at": "build", "outcome": {"result": "success", "output": {"build": "build"}}},
        {
            "outcome": {
                "result": "success",
                "signals": [
                    {"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "build"}}
                ],
            }
        },
        {"gates": {"look": {"decision": "reject", "route": "build"}, "build": "approve"}},
        {"resolve": {"word": "route", "route": "build", "reason": "build"}},
    ],
    "expect": {"path": ["build", "check"], "rules": ["on", "build"], "end": "sent"},
}
KEYS = {
    ("station", "build"): "make",
    ("station", "check"): "build",
    ("gate", "look"): "sign",
    ("rule", "on"): "off",
    ("end", "sent"): "gone",
    ("input", "who"): "whom",
}


def test_every_key_is_the_new_one_and_no_other_text_changes() -> None:
    script = read_scenario(SCRIPT)
    assert script_with_new_keys(script, KEYS).to_dict() == {
        "key": "s",
        "name": "build",
        "inputs": {"build": 1, "whom": "build"},
        "steps": [
            {"at": "make", "outcome": {"result": "success", "output": {"build": "build"}}},
            {
                "outcome": {
                    "result": "success",
                    "signals": [
                        {"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "make"}}
                    ],
                }
            },
            {"gates": {"sign": {"decision": "reject", "route": "make"}, "build": "approve"}},
            {"resolve": {"word": "route", "route": "make", "reason": "build"}},
        ],
        "expect": {"path": ["make", "build"], "rules": ["off", "build"], "end": "gone"},
    }
    assert script_with_new_keys(script, {("station", "other"): "x"}) == script
