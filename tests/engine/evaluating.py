"""A rule that is taken when a question is answered with yes."""

from __future__ import annotations

from typing import Any


def yes(question: dict[str, Any], to: Any, key: str = "good", **more: Any) -> dict[str, Any]:
    return {"id": key, "when": {**question, "answer": "yes"}, "to": to, **more}
