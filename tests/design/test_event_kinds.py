"""docs/events.md names every kind of event that the engine records."""

from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings

KIND = re.compile(
    r'"((?:task|job|signal|token|metadata|handoff|gate|evaluation|escalation|deadlock)\.[a-z]+)"'
)


def test_every_kind_of_event_is_documented() -> None:
    engine = Path(settings.BASE_DIR, "pipelines/engine")
    kinds = {kind for path in engine.rglob("*.py") for kind in KIND.findall(path.read_text())}
    kinds.discard("handoff.json")  # a file
    assert len(kinds) > 20
    table = Path(settings.BASE_DIR, "docs/events.md").read_text()
    assert sorted(kind for kind in kinds if f"`{kind}`" not in table) == []
