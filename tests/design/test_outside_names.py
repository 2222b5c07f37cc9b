"""The list of names that leave the process is what the code says."""

from __future__ import annotations

import json

from tests.design import outside_names


def test_the_list_of_names_that_leave_the_process_is_up_to_date() -> None:
    """What a name of the list is called outside changes with it: such a change shows in the list."""
    assert json.loads(outside_names.RECORD.read_text("utf-8")) == outside_names.collected(), (
        "run .venv/bin/python -m tests.design.outside_names, and commit tests/design/outside_names.json"
    )
