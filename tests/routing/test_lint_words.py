"""What lint says of the bad example of each page, word for word: the sentence, the remedy, and where it points to."""

# ruff: noqa: E501  # findings stand here as they are shown

from __future__ import annotations

import json

import pytest

from pipelines.routing.analysis.lint.finding import Finding
from tests.routing.lint.support import examples, found

Words = tuple[str, str, str | None, str | None, tuple[str, ...]]

WORDS: dict[str, Words] = {
    "not-publishable": (
        "stations[0].work.argv",
        "error: is missing (a command needs a program, like ruff) [not-publishable]",
        None,
        None,
        (),
    ),
    "unknown-reference": (
        "stations[0].rules[0].to",
        "error: the line has no station or end “fixx” (known: work, completed, failed, cancelled, @origin, @blocked) [unknown-reference]",
        "work",
        "broken",
        (),
    ),
    "constant-condition": (
        "stations[0].rules[0].when",
        'error: The condition of rule never is never true: eval starts with "a" and eval is "b" (correct it, or remove the rule) [constant-condition]',
        "work",
        "never",
        (),
    ),
    "dead-rule": (
        "stations[0].rules[2]",
        "error: Rule number can never be taken: high, low together take all of it (move it up, narrow the rules above, or remove it) [dead-rule]",
        "work",
        "number",
        ("high", "low"),
    ),
    "no-way-to-an-end": (
        "stations[0]",
        "error: From work no end can be reached (add a rule that leads to an end, or towards one) [no-way-to-an-end]",
        "work",
        None,
        (),
    ),
    "unsatisfiable-gate": (
        "gates[0].offers",
        "error: Gate review: a person is always asked, but cannot approve (offer approve) [unsatisfiable-gate]",
        None,
        None,
        (),
    ),
    "forbidden-parallel": (
        "stations[0].rules[0].to",
        "error: Rule both forks so that design and build can run in parallel (let one follow the other) [forbidden-parallel]",
        "work",
        "both",
        (),
    ),
    "default-not-last": (
        "stations[0].rules[0]",
        "warning: Rule rest takes everything, but 1 stand below it (move it to the end, or give it a condition) [default-not-last]",
        "work",
        "rest",
        ("broken",),
    ),
    "shadowed-gate": (
        "stations[0].rules[1].gates",
        "warning: Rule quick leads to the same target past the gate review of risky (put the gate on quick, too, or move risky up) [shadowed-gate]",
        "work",
        "risky",
        ("quick",),
    ),
    "unreachable-station": (
        "stations[1]",
        "warning: No rule and no policy leads from work to fix (add a rule that leads there, or remove it; only a jump or a person's hand gets there) [unreachable-station]",
        "fix",
        None,
        (),
    ),
    "unbounded-cycle": (
        "stations[0]",
        "warning: work → fix → work has no limit (only the cap of 100 visits) (give a rule of the cycle max_retries or max_visits, or a station limits: {max_visits: …}, or the line a budget for it) [unbounded-cycle]",
        "work",
        None,
        (),
    ),
    "no-rule-takes": (
        "stations[0].rules",
        "info: No rule of work takes some outcomes that failed: the policy ends the task: failed (add a rule that always matches at the end to decide it here) [no-rule-takes]",
        "work",
        None,
        (),
    ),
    "shadowed-rule": (
        "stations[0].rules[1]",
        "info: Rule broken takes some of what rule high would take [shadowed-rule]",
        "work",
        "high",
        ("broken",),
    ),
    "undecided": (
        "stations[0].rules[0]",
        "info: Unknown whether rule odd can be taken: the pattern uses, at position 1, what is not turned into an automaton [undecided]",
        "work",
        "odd",
        (),
    ),
}


@pytest.mark.parametrize("check", WORDS)
def test_a_finding_says_what_is_wrong_where_and_what_to_do(check: str) -> None:
    finding = found(check, examples(check)[0])[0]
    path, words, station, rule, rules = WORDS[check]
    assert (finding.path, str(finding)) == (path, words)
    assert (finding.station, finding.rule, finding.rules) == (station, rule, rules)


@pytest.mark.parametrize("check", WORDS)
def test_a_finding_is_one_object_for_machines(check: str) -> None:
    finding = found(check, examples(check)[0])[0].with_position(4, 2)
    told = json.loads(json.dumps(finding.to_dict()))
    witness = told.pop("witness")
    assert told == {
        "check": check,
        "severity": finding.severity,
        "path": finding.path,
        "line": 4,
        "column": 2,
        "station": finding.station,
        "rule": finding.rule,
        "rules": list(finding.rules),
        "message": finding.message,
        "hint": finding.hint,
    }
    assert (witness is None) is (finding.witness is None)


def test_a_finding_is_shown_with_its_place_where_that_is_known_and_its_hint_where_there_is_one() -> None:
    finding = Finding("dead-rule", "error", "stations[0]", "It is dead")
    assert str(finding) == "error: It is dead [dead-rule]"
    assert str(finding.with_position(3, 7)) == "3:7: error: It is dead [dead-rule]"
