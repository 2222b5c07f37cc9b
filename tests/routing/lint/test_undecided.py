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
