"""Lines on which processes are killed and people race. `plain`: work between stations that do nothing. `whole_law`:
everything that can be waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = dict[str, Any]
NOTHING: Document = {"kind": "noop"}
INPUTS = [{"key": "seconds", "type": "text", "required": True}]


def escaping(mark: str, *then: str) -> Document:
    """Work that leaves a process behind in a session of its own, with the mark in its command line."""
    escape = f"setsid sh -c 'sleep 600; : {mark}' & sleep {{{{input.seconds}}}}"
    return {"kind": "command", "argv": ["sh", "-c", "; ".join((escape, *then))]}


COUNTS = ("echo line >> trail", "wc -l < trail")


def plain(mark: str) -> Document:
    """Commands that leave a process behind, between stations that do nothing."""
    work = escaping(mark, *COUNTS)
    return {
        "gateline": 1,
        "key": "soak",
        "name": "Soak",
        "inputs": INPUTS,
        "stations": [
            {"key": "first", "work": NOTHING},
            {"key": "build", "work": work},
            {"key": "between", "work": NOTHING},
            {"key": "check", "work": work},
            {"key": "last", "work": NOTHING},
        ],
    }


# The hook finds what the build left: with one line in the trail it has to run again.
HOOK = "#!/bin/sh\\ncat > /dev/null\\ntest $(wc -l < trail) -ge 2\\n"
LEAVES_HOOK = ("mkdir -p hooks", f"printf '{HOOK}' > hooks/check", "chmod 755 hooks/check")
ASKED_OF_A_PROGRAM = {"hook": {"argv": ["hooks/check"], "timeout": "60s"}}
ASKED_OF_A_MODEL = {"agentic": {"question": "Is it good?"}}


def killed(mark: str) -> Document:
    """`whole_law` with commands: each branch leaves a file of its own, and what merges finds both."""
    work = {
        "build": escaping(mark, *LEAVES_HOOK, *COUNTS),
        "left": escaping(mark, "echo left > left"),
        "right": {"kind": "command", "argv": ["sh", "-c", "echo right > right"]},
        "merge": {"kind": "command", "argv": ["sh", "-c", "test -f left -a -f right"]},
    }
    return {**whole_law(work, ASKED_OF_A_PROGRAM, ("pass", "block"), rest="1s"), "inputs": INPUTS}


def whole_law(
    work: Mapping[str, Document] | None = None,
    question: Document = ASKED_OF_A_MODEL,
    answers: tuple[str, str] = ("yes", "no"),
    rest: str = "1h",
) -> Document:
    """A station gate with groups of checks, a condition that is asked, a loop with a budget of its own and a named one,
    a wait, a fork with a join, a gate of people with a due time, and an escalation that is to be answered in time."""
    doing, (good, bad) = work or {}, answers
    worked = {"result": "success"}
    on = {"id": "build-on", "when": {"all": [worked, {**question, "answer": good}]}, "to": "rest"}
    again = {
        "id": "build-again",
        "when": {"all": [worked, {**question, "answer": bad}]},
        "to": "build",
        "max_visits": 9,
        "feedback": True,
    }
    groups = [
        {"field": "result", "operator": "equals", "value": "success", "action": "rework"},
        {
            "any": [
                {"field": "exit_code", "operator": "exists"},
                {"field": "run.attempt", "operator": "less_than", "value": 100, "action": "abort"},
            ]
        },
    ]
    rules: dict[str, list[Document]] = {
        "first": [{"id": "first-on", "to": "build"}],
        "build": [on, again],
        "rest": [{"id": "rest-over", "to": ["left", "right"]}],
        "left": [{"id": "left-on", "to": "merge"}],
        "right": [{"id": "right-on", "to": "merge"}],
        "merge": [{"id": "merge-on", "when": worked, "to": "last", "gates": ["sign"]}],
        "last": [{"id": "last-on", "to": "completed"}],
    }
    more: dict[str, Document] = {
        "build": {"gate": "checked"},
        "rest": {"work": {"kind": "wait", "for": rest}},
        "merge": {"join": {"wait_for": ["left", "right"], "aggregation": "all-pass"}},
    }
    return {
        "gateline": 1,
        "key": "whole-law",
        "name": "The whole law",
        "flags": {"agentic_conditions": True},
        "policy": {"self_loop_limit": "none"},
        "stations": [
            {"key": key, "work": doing.get(key, NOTHING), "rules": said, **more.get(key, {})}
            for key, said in rules.items()
        ],
        "gates": [
            {"key": "checked", "name": "Checked", "mode": "auto", "checks": {"all": groups}},
            {"key": "sign", "name": "Sign", "mode": "manual", "due": {"after": "1h", "then": "reject"}},
        ],
        "budgets": [{"key": "builds", "kind": "rules", "rules": ["build-again"], "most": 6}],
        "escalations": [
            {"trigger": "help", "role": "Lead", "sla": "1s", "on_breach": ["block", "create_incident"]}
        ],
    }
