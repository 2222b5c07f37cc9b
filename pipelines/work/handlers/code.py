"""Parts of a station whose publishing needs the permission `execute` (house §5)."""

from __future__ import annotations

from typing import Any

from pipelines.routing.document.kinds import is_done_elsewhere, kind_executes, secret_names
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.document.work.network import OPEN


def runs_code(station: Station) -> bool:
    """Return whether the station's own work is code on a worker or an instruction to an agent elsewhere,
    sends a secret somewhere or has the network."""
    runs = kind_executes(station.kind) or is_done_elsewhere(station.kind)
    return runs or bool(secret_names(station.work)) or station.work.get("network") == OPEN


def untrusted_code(line: ParsedLine, station: Station) -> list[Any]:
    """Its own work, if that is code on a worker or what an agent elsewhere is told, sends a secret of the worker
    somewhere or has the network; the hooks that its rules ask, and the tools of its gates."""
    evaluations = [evaluation for rule in station.rules for evaluation in rule.evaluations]
    hooks = [evaluation.payload for evaluation in evaluations if evaluation.kind == "hook"]
    keys = [*([station.gate] if station.gate else []), *(key for rule in station.rules for key in rule.gates)]
    gates = [line.gates_by_key[key] for key in keys if key in line.gates_by_key]
    tools = [gate.tool.run_spec() for gate in gates if gate.tool]
    return [*([station.work] if runs_code(station) else []), *hooks, *tools]
