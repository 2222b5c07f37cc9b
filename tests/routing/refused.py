"""Documents with one fault, and what a person reads of it."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import DocumentError, read_line
from tests.routing.support import document


def rule(**members: Any) -> dict[str, Any]:
    return document({"rules": [{"id": "r1", "to": "b", **members}]}, {}, gates=[{"key": "g"}])


def station(**members: Any) -> dict[str, Any]:
    return document(members, {}, gates=[{"key": "g"}])


def gate(**members: Any) -> dict[str, Any]:
    return document({}, {}, gates=[{"key": "g", **members}])


def refusal_of(faulty: Any) -> str:
    with pytest.raises(DocumentError) as caught:
        read_line(faulty)
    return str(caught.value)
