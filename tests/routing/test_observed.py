"""Law §13: `facts` of an outcome, their groups and keys, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.facts import (
    GROUPS,
    facts_with_claim,
    facts_with_source,
    outcome_with_facts_as_claims,
)
from pipelines.routing.basics.outcome import OutcomeError, read_outcome

WHOLE: dict[str, Any] = {
    "git": {
        "base": "a1",
        "head": "b2",
        "tree": "c3",
        "commits": 1,
        "files_changed": 2,
        "insertions": 3,
        "deletions": 0,
        "paths": ["a.py", "tests/b.py"],
        "sensitive": ["tests/b.py"],
        "lines": "d4",
    },
    "commands": {"run": 4, "failed": 1, "denied": 0, "last_exit_code": -9},
    "tests": {"passed": 3, "failed": 0, "skipped": 0, "errors": 0, "suites": 1},
    "findings": {"critical": 0, "high": 1, "medium": 0, "low": 2, "total": 3},
    "coverage": {"lines": 81.5, "branches": 70},
    "prepare": {"cached": True, "seconds": 3},
    "ci": {"pending": 0, "failed": 0, "passed": 2},
    "usage": {"tokens_in": 10, "tokens_out": 20, "cost_usd": 0.4, "price": "reported", "limit": "month"},
    "agent": {
        "name": "codex",
        "version": "1.0",
        "session": "s",
        "final_event": True,
        "provider": "answered",
        "error": "quota",
    },
    "output": {"unreadable": "line 3: no JSON", "refused": "I cannot.", "empty": True, "signal": False},
    "claims": {"made": [{"kind": "tests"}], "contradicted": []},
}

REFUSED = [
    ([], "outcome.facts", "has to be an object"),
    ({"weather": {}}, "outcome.facts.weather", "unknown key; known are git, commands, tests"),
    ({"git": {"colour": 1}}, "outcome.facts.git.colour", "unknown key; known are base, head"),
    ({"git": 1}, "outcome.facts.git", "has to be an object"),
    ({"git": {"paths": ["a", 1]}}, "outcome.facts.git.paths[1]", "has to be a text"),
    ({"tests": {"failed": -1}}, "outcome.facts.tests.failed", "0 or more"),
    ({"tests": {"failed": "1"}}, "outcome.facts.tests.failed", "whole number"),
    ({"tests": {"failed": 1.5}}, "outcome.facts.tests.failed", "whole number"),
    ({"coverage": {"lines": 100.1}}, "outcome.facts.coverage.lines", "share of 100"),
    ({"usage": {"cost_usd": -0.01}}, "outcome.facts.usage.cost_usd", "0 or more"),
    ({"usage": {"price": "guessed"}}, "outcome.facts.usage.price", "one of reported, table, none"),
    ({"agent": {"final_event": "result"}}, "outcome.facts.agent.final_event", "true or false"),
    ({"claims": {"made": {}}}, "outcome.facts.claims.made", "has to be a list"),
    ({"ci": {"source": {"who": "me"}}}, "outcome.facts.ci.source.who", "unknown key; known are station"),
]


def outcome(facts: Any) -> dict[str, Any]:
    return {"exit_code": 0, "facts": facts}


def test_every_group_and_key_is_read_and_written_back() -> None:
    assert {group: {*keys} for group, keys in GROUPS.items()} == {g: {*keys} for g, keys in WHOLE.items()}
    assert read_outcome(outcome(WHOLE)).to_dict() == outcome(WHOLE)


def test_what_is_null_is_absent() -> None:
    nothing = {group: dict.fromkeys([*keys, "source"]) for group, keys in GROUPS.items()}
    assert read_outcome(outcome(nothing)).facts == {group: {} for group in GROUPS}
    assert read_outcome(outcome({"git": None})).facts == {}
    assert read_outcome(outcome({"tests": {"failed": None}})).facts == {"tests": {}}


@pytest.mark.parametrize(("facts", "path", "message"), REFUSED)
def test_it_is_refused_with_its_place(facts: Any, path: str, message: str) -> None:
    with pytest.raises(OutcomeError, match=message) as refused:
        read_outcome(outcome(facts), "outcome")
    assert refused.value.path == path


def test_each_group_says_who_observed_it_and_on_which_tree() -> None:
    by = {"station": "check", "visit": 2, "observed_by": "server"}
    seen = {"tests": {"failed": 0, "source": {"tree": "p1"}}}
    assert facts_with_source(seen, by) == {"tests": {"failed": 0, "source": {"tree": "p1", **by}}}
    reported = facts_with_source({"usage": {"tokens_in": 1, "source": {"observed_by": "worker:7"}}}, by)
    assert reported["usage"]["source"] == {**by, "observed_by": "worker:7"}, (
        "the server says whose word it is"
    )
    with_git = facts_with_source({**seen, "git": {"tree": "g1"}}, by)
    assert [with_git[group]["source"]["tree"] for group in ("tests", "git")] == ["g1", "g1"]


def test_a_claim_joins_those_that_were_made() -> None:
    facts = {"tests": {"failed": 0}, "claims": {"made": ["a"], "contradicted": ["b"]}}
    assert facts_with_claim("facts", {"said": 1}, facts) == {
        "tests": {"failed": 0},
        "claims": {"made": ["a", {"kind": "facts", "said": 1}], "contradicted": ["b"]},
    }


def test_facts_that_nobody_of_ours_saw_are_a_claim() -> None:
    said = {"tests": {"failed": 0}, "nonsense": -1}
    kept = outcome_with_facts_as_claims(outcome(said))
    assert kept["facts"] == {"claims": {"made": [{"kind": "facts", "said": said}]}}
    assert read_outcome(kept).facts["claims"]["made"][0]["said"] == said
    assert outcome_with_facts_as_claims({"exit_code": 0}) == {"exit_code": 0}
    assert outcome_with_facts_as_claims(None) is None
