"""What the tests of the difference mean by the same decision."""

from __future__ import annotations

import json
from typing import Any

from pipelines.routing.document.line import ParsedLine
from tests.routing.support import decided


def routed(of: ParsedLine, situation: dict[str, Any]) -> str:
    """All of a decision that routes: no rule id, no message, not by what, no order within a fork."""
    answer = decided(of, situation["outcome"], situation["station"], **situation.get("facts", {}))
    for name in ("rule", "by", "message", "question"):
        answer.pop(name, None)
    return json.dumps({**answer, "to": sorted(answer.get("to", []))}, sort_keys=True)
