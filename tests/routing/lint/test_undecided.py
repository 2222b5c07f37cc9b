"""undecided"""

from __future__ import annotations

from tests.routing.lint.support import messages, the_page_is_right
from tests.routing.support import ruled


def test_a_pattern_outside_the_subset_is_unknown_and_why() -> None:
    assert "position" in the_page_is_right("undecided").message


def test_behind_a_rule_that_cannot_be_read_nothing_is_known() -> None:
    assert messages("undecided", ruled({"to": "zz"}, {})) == [
        "Unknown whether rule r1 can be taken: the rule cannot be read",
        "Unknown whether rule r2 can be taken: a rule above it cannot be read",
    ]


def test_it_may_be_known_that_a_rule_can_be_taken_and_unknown_what_is_taken_of_it() -> None:
    there, missing = ({"when": {"output": {"path": "$.f[*]", "op": op}}} for op in ("exists", "missing"))
    assert [m.split(":")[0] for m in messages("undecided", ruled(there, missing))] == [
        "Unknown whether an earlier rule takes a part of rule r2"
    ]
