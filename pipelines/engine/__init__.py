"""The engine: everything that happens to a task, one transaction per function."""

from __future__ import annotations

from pipelines.engine.commands.agents import change_agent, register_agent
from pipelines.engine.commands.claims import expire_lease, requeue, start, start_all
from pipelines.engine.commands.deadlocks import resolve_deadlock
from pipelines.engine.commands.dependencies import depend
from pipelines.engine.commands.fork import ForkPlan, ForkPosition, TaskMoment, fork, plan_fork, task_moment
from pipelines.engine.commands.linked_tasks import follow_up, retry_ended
from pipelines.engine.commands.manual_actions import (
    CHECKS_RERUN,
    answer,
    cancel,
    complete,
    hold,
    release,
    rerun_checks,
)
from pipelines.engine.commands.move import SUCCESS, MovePlan, move, plan_move
from pipelines.engine.commands.override import override
from pipelines.engine.commands.pauses import PauseScope, pause, resume
from pipelines.engine.commands.push_visits import ObservedPush, record_push_visit
from pipelines.engine.commands.reconsider import reconsider
from pipelines.engine.commands.report import report
from pipelines.engine.commands.resolve_escalation import escalate, resolve
from pipelines.engine.commands.submit import submit
from pipelines.engine.commands.supply_preconditions import hand_over, supply
from pipelines.engine.commands.vote import vote
from pipelines.engine.core.sampling_fallback import fall_back_after_revert
from pipelines.engine.core.values import ENGINE, Actor, Report, ReportResult, VoteResult
from pipelines.engine.deadlines import fire
from pipelines.engine.migration.migrate import TaskMigration, migrate
from pipelines.engine.migration.migration_batch import MigrateResult
from pipelines.engine.migration.undo import MigrationUndo, put_back
from pipelines.engine.moves.agent_suspension import restore_agent, suspend_agent
from pipelines.engine.moves.chat_votes import Chat

__all__ = [
    "CHECKS_RERUN",
    "ENGINE",
    "SUCCESS",
    "Actor",
    "Chat",
    "ForkPlan",
    "ForkPosition",
    "MigrateResult",
    "MigrationUndo",
    "MovePlan",
    "ObservedPush",
    "PauseScope",
    "Report",
    "ReportResult",
    "TaskMigration",
    "TaskMoment",
    "VoteResult",
    "answer",
    "cancel",
    "change_agent",
    "complete",
    "depend",
    "escalate",
    "expire_lease",
    "fall_back_after_revert",
    "fire",
    "follow_up",
    "fork",
    "hand_over",
    "hold",
    "migrate",
    "move",
    "override",
    "pause",
    "plan_fork",
    "plan_move",
    "put_back",
    "reconsider",
    "record_push_visit",
    "register_agent",
    "release",
    "report",
    "requeue",
    "rerun_checks",
    "resolve",
    "resolve_deadlock",
    "restore_agent",
    "resume",
    "retry_ended",
    "start",
    "start_all",
    "submit",
    "supply",
    "suspend_agent",
    "task_moment",
    "vote",
]
