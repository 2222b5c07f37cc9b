"""A line document with every place that the editor has a form for."""

from __future__ import annotations

from typing import Any

CHECKS = {
    "all": [
        {"field": "exit_code", "operator": "equals", "value": 0, "severity": "block", "label": "It ran"},
        {"any": [{"field": "output.high", "operator": "exists"}, {"all": []}]},
    ]
}


EVERYTHING: dict[str, Any] = {
    "gateline": 1,
    "key": "everything",
    "name": "Everything",
    "description": "Two\nlines.",
    "preset": "flux",
    "limits": {"cost_usd": 5},
    "sensitive": ["tests/**", "*.yml"],
    "guarantees": [
        {"id": "asked", "never": {"reach": "ship", "without": "look"}},
        {"id": "held", "after": {"gate": "look", "word": "reject"}, "never": {"reach": "ship"}},
        {"id": "twice", "at_most": {"visit": "lint", "times": 2}},
        {"id": "short", "ends_within": 9},
        {"id": "cheap", "cost_at_most": "41.50"},
    ],
    "jumps": ["ship"],
    "policy": {"revisit": "limit:4", "self_loop_limit": "none", "failure_rules": True, "on_reject": "route:ask"},
    "flags": {"agentic_conditions": True},
    "start": "lint",
    "inputs": [
        {"key": "who", "type": "choice", "choices": ["a, b", "c"], "default": "c", "required": True},
        {"key": "size", "type": "number", "default": 3, "help": "How many", "extra": {"ours": [1]}},
    ],
    "stations": [
        {
            "key": "lint",
            "name": "Lint",
            "work": {
                "kind": "command",
                "argv": ["ruff", "two\nlines", "{{ input.who }}", "a;b", "[x]", "$A \\"],
                "env": {"A": "it's=c", "TWO": "l\nm", " odd": ""},
                "prompt": "  kept as it is \n",
                "cwd": "src",
            },
            "output_keys": ["a", "b, c"],
            "result_document": "required",
            "limits": {
                "idle_timeout": "2m",
                "max_timeout": 3600,
                "expected": 90.5,
                "max_visits": 0,
                "cost_usd": 0.25,
            },
            "labels": ["python"],
            "expects": "change",
            "outcome_of": {"denied": "review", "nothing_done": "blocked"},
            "artifacts": [{"path": "a.xml", "kind": "junit"}, {"path": "b", "required": False}],
            "gate": "look",
            "rules": [{"id": "on", "to": ["ask", "ship"]}],
            "extra": {"theirs": [1, {"a": None}]},
        },
        {"key": "ask", "work": {"kind": "manual", "form": [{"key": "size", "type": "number", "default": 1}]}},
        {"key": "ship", "work": {"kind": "chat", "prompt": "Sum up."}, "join": {"wait_for": ["ask", "lint"]}},
    ],
    "gates": [
        {
            "key": "look",
            "mode": "auto",
            "checks": CHECKS,
            "requires_approval": False,
            "approval": {"who": [{"group": "security", "count": 2}, {"user": "ada"}], "max_rounds": 0},
            "offers": ["reject", "approve"],
            "on_reject": "route:ask",
            "due": {"after": "4h", "then": "reject"},
            "notify": ["a@example.com"],
            "extra": {"ours": 1},
        },
        {"key": "plain"},
    ],
    "ends": [{"key": "gone", "kind": "failed", "label": "GONE", "extra": {"x": 1}}],
    "forbidden_parallel": [["lint", "ask"]],
    "budgets": [{"key": "loops", "kind": "loop", "stations": ["lint", "ask"], "most": 3, "extra": {"x": 1}}],
    "extra": {"theirs": True},
}  # fmt: skip
