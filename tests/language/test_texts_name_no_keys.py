"""What people read has names: no text of the product says a key of the document, but for those named here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from tests.language import messages
from tests.language.messages import Text

KEY = re.compile(r"\b[a-z]+_[a-z_]+\b")
PLACE = re.compile(r"%\(\w+\)[sd]|\{\w+\}")
TYPED = (
    "manage.py ",
    "Comma-separated: station_gate",
    "A list of tests of its arguments",
    "?based_on=",
)
"""Commands, and what somebody types into this very field or address."""
OF_OTHER_SYSTEMS = ("condition_type", "condition_value", "check_output_key", "timing.duration_sec")
"""Keys of their documents, in what is said about reading one."""


@pytest.mark.parametrize("texts", [messages.python_and_templates, messages.scripts])
def test_no_text_says_a_key(texts: Callable[[], Iterator[tuple[Text, str | None]]]) -> None:
    said = [one for text, _ in texts() for one in ([text] if isinstance(text, str) else text)]
    assert len(said) > 100
    assert [
        one
        for one in said
        if KEY.search(PLACE.sub("", one)) and not any(each in one for each in (*TYPED, *OF_OTHER_SYSTEMS))
    ] == []
