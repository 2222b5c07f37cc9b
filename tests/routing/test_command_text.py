"""Commands as text."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from pipelines.routing.basics.command_text import command_text


@given(st.lists(st.text("ab '\"$`\\!>=[]-\n")))
def test_command_text_splits_into_the_same_words(words: list[str]) -> None:
    assert shlex.split(command_text(words)) == words


def test_quotes_within_a_script_stay_readable() -> None:
    script = "python3 -m venv .venv && .venv/bin/python -m pip install 'pip>=25.1'"
    assert command_text(["sh", "-c", script]) == f'sh -c "{script}"'
    assert command_text(["echo", """it's "so" """]) == 'echo "it\'s \\"so\\" "'
