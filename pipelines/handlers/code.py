"""What publishing a station needs the permission `execute` for (house §5)."""

from __future__ import annotations

from typing import Any

from pipelines.handlers import EXECUTING
from pipelines.routing.kinds import secrets
from pipelines.routing.line import Station
from pipelines.routing.regions.situations import evaluations


def code_of(station: Station) -> list[Any]:
    """Its own work, if that is code on a worker or sends a secret of the worker somewhere; and the hooks that its rules
    ask."""
    asked = [each for rule in station.rules for each in evaluations(rule.when)]
    hooks = [each.payload for each in asked if each.kind == "hook"]
    runs = station.kind in EXECUTING or bool(secrets(station.work))
    return [*([station.work] if runs else []), *hooks]
