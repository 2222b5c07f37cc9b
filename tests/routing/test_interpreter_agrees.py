"""The routing law read twice: a second interpreter, its own proof, and what both readings say."""

from typing import Any

import pytest

from tests.routing.interpreter import decide as second_reading
from tests.routing.interpreter.table import CASES


@pytest.mark.parametrize(
    ("document", "situation", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_second_reading_decides_what_the_sentences_demand(
    document: dict[str, Any], situation: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert second_reading(document, situation) == expected
