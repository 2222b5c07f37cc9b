"""A line that asks for inputs, waits at a gate and then has work for a person."""

from __future__ import annotations

from pipelines.models import Task
from tests.factories import World, document, station

ASKING = document(
    [
        station("ask", {"id": "on", "label": "Well asked", "to": "look", "gates": ["gate"]}),
        {
            "key": "look",
            "name": "Have a look",
            "work": {
                "kind": "manual",
                "instructions": "Look at it.",
                "form": [
                    {"key": "verdict", "type": "choice", "choices": ["good", "bad"], "required": True},
                    {"key": "count", "type": "number"},
                    {"key": "note", "type": "text"},
                ],
            },
        },
    ],
    gates=[{"key": "gate", "name": "The gate"}],
    inputs=[
        {"key": "repository", "type": "repository", "label": "Repository", "required": True},
        {"key": "revision", "label": "Revision", "default": "main"},
        {"key": "times", "type": "number", "label": "How often"},
        {"key": "kind", "type": "choice", "label": "Kind", "choices": ["fast", "slow"]},
        {"key": "on", "type": "date", "label": "On"},
    ],
    key="asking",
)


def begun(world: World) -> Task:
    return world.start(
        world.line(ASKING), inputs={"repository": "https://example.com/app.git"}, title="Check it"
    )
