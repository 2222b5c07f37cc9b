"""A fork of two branches and their join, and tasks on it."""

from __future__ import annotations

from typing import Any

from pipelines.models import LineVersion, Task
from tests.factories import World, station

OK, FAILED = {"result": "success"}, {"result": "failure"}


def on(key: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A station whose rules have ids of their own."""
    return station(key, *[{"id": f"{key}-{i}", **rule} for i, rule in enumerate(rules, 1)], **more)


def gate5(
    world: World,
    *extra: dict[str, Any],
    aggregation: str = "all-pass",
    branch: dict[str, Any] | None = None,
    release: list[dict[str, Any]] | None = None,
    **more: Any,
) -> LineVersion:
    """plan → (qa ∥ security) → release. A branch leads to release whatever its outcome, unless `branch` says else."""
    rule = branch or {"to": "release"}
    known = {
        "plan": on("plan", {"to": ["qa", "security"]}),
        "qa": on("qa", rule),
        "security": on("security", rule),
        "release": on(
            "release",
            *(release or [{"when": {"result": "success"}, "to": "completed"}, {"to": "failed"}]),
            join={"wait_for": ["qa", "security"], "aggregation": aggregation},
        ),
    }
    known |= {each["key"]: each for each in extra}
    return world.line(stations=list(known.values()), **more)


def begun(world: World, line: LineVersion) -> Task:
    task = world.start(line)
    world.report(task, station="plan")
    return task
