"""The engine: everything that happens to a task, one transaction per function (house §1, “One law”)."""

from __future__ import annotations

from pipelines.engine.byhand import answer, cancel, complete, hold, release, retry
from pipelines.engine.claims import lose, requeue, start
from pipelines.engine.deadlocks import resolve_deadlock
from pipelines.engine.dependencies import depend
from pipelines.engine.due import fire
from pipelines.engine.handing import hand_over, supply
from pipelines.engine.linked import retry_ended
from pipelines.engine.migrate import MigrateResult, Migrating, migrate
from pipelines.engine.putback import PuttingBack, put_back
from pipelines.engine.reconsider import reconsider
from pipelines.engine.registry import change_agent, register_agent
from pipelines.engine.report import report
from pipelines.engine.resolving import escalate, resolve
from pipelines.engine.submit import submit
from pipelines.engine.suspending import restore, suspend
from pipelines.engine.values import ENGINE, Actor, Report, ReportResult, VoteResult
from pipelines.engine.vote import vote

__all__ = [
    "ENGINE",
    "Actor",
    "MigrateResult",
    "Migrating",
    "PuttingBack",
    "Report",
    "ReportResult",
    "VoteResult",
    "answer",
    "cancel",
    "change_agent",
    "complete",
    "depend",
    "escalate",
    "fire",
    "hand_over",
    "hold",
    "lose",
    "migrate",
    "put_back",
    "reconsider",
    "register_agent",
    "release",
    "report",
    "requeue",
    "resolve",
    "resolve_deadlock",
    "restore",
    "retry",
    "retry_ended",
    "start",
    "submit",
    "supply",
    "suspend",
    "vote",
]
