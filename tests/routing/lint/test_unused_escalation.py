"""unused-escalation"""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.wording import people_text
from tests.routing.lint.support import found, messages, the_page_is_right
from tests.routing.support import line

LEAD = {"role": "Lead"}
JOINED = ({"rules": [{"id": "f", "to": ["b", "c"]}]}, {}, {}, {"join": {"wait_for": ["b", "c"]}})
LATE = {"key": "g", "due": {"after": "1h", "then": "escalate"}}
SPENT: dict[str, Any] = {"rules": [{"id": "r", "to": "b", "max_retries": 1, "on_exhausted": "escalate"}]}


def test_the_page_is_right() -> None:
    finding = the_page_is_right("unused-escalation")
    assert (finding.path, finding.severity) == ("escalations[0].trigger", "warning")


@pytest.mark.parametrize(
    ("trigger", "stations", "more"),
    [
        ("on_failure", [{}, {}], {"policy": {"on_failure": "escalate"}}),
        (
            "compose_failed",
            [{"rules": [{"id": "r", "to": "b", "compose": [{"var": "n", "path": "$.n"}]}]}, {}],
            {"policy": {"on_failure": "escalate"}},
        ),
        ("RetryLimitExceeded", [SPENT, {}], {}),
        ("RetryLimitExceeded", [{"limits": {"max_visits": 2}}, {}], {"policy": {"on_exhausted": "escalate"}}),
        (
            "RetryLimitExceeded",
            [{}, {}],
            {"budgets": [{"key": "k", "kind": "restart", "most": 1, "on_exhausted": "escalate"}]},
        ),
        ("contradiction", JOINED, {"policy": {"contradiction": "escalate"}}),
        ("gate_overdue", [{"gate": "g"}, {}], {"gates": [LATE]}),
    ],
)
def test_a_word_is_used_only_where_the_line_says_so(
    trigger: str, stations: Any, more: dict[str, Any]
) -> None:
    declared = {"escalations": [{"trigger": trigger, **LEAD}]}
    assert messages("unused-escalation", line(*stations, **more, **declared)) == []
    [message] = messages("unused-escalation", line({}, {}, **declared))
    assert message.startswith(f"The line never escalates with {trigger}: ")


@pytest.mark.parametrize(
    ("trigger", "policy", "why"),
    [
        ("no_match", {"no_match": "fail"}, "where no rule matches a passed outcome: task fails"),
        ("on_failure", {"on_failure": "stuck"}, "where no rule matches a failure: stuck"),
    ],
)
def test_people_read_what_happens_instead(trigger: str, policy: dict[str, str], why: str) -> None:
    made = line({}, {}, policy=policy, escalations=[{"trigger": trigger, **LEAD}])
    [finding] = found("unused-escalation", made)
    assert people_text(finding.message).endswith(why)
    assert "_" not in people_text(finding.message)


def test_words_of_ones_own_and_deadlocks_may_always_come() -> None:
    declared = [{"trigger": word, **LEAD} for word in ("deadlock", "security", "contract_violation")]
    assert messages("unused-escalation", line({}, escalations=declared)) == []


def test_a_word_that_is_spelt_almost_like_one_of_the_engine_is_told() -> None:
    said = messages("unused-escalation", line({}, escalations=[{"trigger": "no-match", **LEAD}]))
    assert said == ["Nothing escalates with the word no-match"]


def test_a_budget_that_leads_elsewhere_tells_nobody() -> None:
    budget = {"key": "k", "kind": "restart", "most": 1, "role": "CTO"}
    assert messages("unused-escalation", line({}, budgets=[budget])) == [
        "Nobody tells CTO that the budget k is spent: it leads to fail"
    ]
    assert messages("unused-escalation", line({}, budgets=[{**budget, "on_exhausted": "escalate"}])) == []
