"""The engine: everything that happens to a task, one transaction per function."""

from __future__ import annotations

from pipelines.engine.commands.agents import change_agent, raise_trust_level, register_agent
from pipelines.engine.commands.claims import (
    expire_lease,
    requeue_job_and_return_result,
    start_claimed_job_or_none,
    start_claimed_jobs,
)
from pipelines.engine.commands.deadlocks import resolve_deadlock
from pipelines.engine.commands.dependencies import wait_for_tasks
from pipelines.engine.commands.fork import ForkPlan, ForkPosition, TaskMoment, fork, plan_fork, task_moment
from pipelines.engine.commands.linked_tasks import start_follow_up_task, start_retry_task
from pipelines.engine.commands.manual_actions import (
    CHECKS_RERUN,
    answer_blocked_token,
    cancel,
    complete_manual_job,
    hold,
    release,
    rerun_checks,
)
from pipelines.engine.commands.move import SUCCESS, MovePlan, move_or_retry_by_hand, plan_move
from pipelines.engine.commands.override import override_gate_as_administrator
from pipelines.engine.commands.pauses import PauseScope, pause, resume
from pipelines.engine.commands.preview import ReportPreview, preview_report
from pipelines.engine.commands.purge import PurgedTasks, purge_files, purge_records
from pipelines.engine.commands.push_visits import ObservedPush, record_push_visit_and_return_result
from pipelines.engine.commands.reconsider import decide_held_tokens_again
from pipelines.engine.commands.report import report
from pipelines.engine.commands.resolve_escalation import escalate, resolve_escalation
from pipelines.engine.commands.submit import submit
from pipelines.engine.commands.supply_preconditions import (
    store_handoff_and_decide_again,
    supply_metadata_and_decide_again,
)
from pipelines.engine.commands.tool_permissions import (
    PermissionCall,
    answer_tool_permission,
    ask_tool_permission,
)
from pipelines.engine.commands.unanimous import (
    decide_gates_all_have_approved,
    decide_gates_all_have_approved_on_commit,
)
from pipelines.engine.commands.vote import vote
from pipelines.engine.core.sampling_fallback import ask_about_every_task_after_revert
from pipelines.engine.core.values import ENGINE, Actor, Report, ReportResult, VoteResult
from pipelines.engine.deadlines import fire_due_time_and_return_result
from pipelines.engine.migration.migrate import TaskMigration, migrate
from pipelines.engine.migration.migration_batch import MigrateResult
from pipelines.engine.migration.undo import MigrationUndo, undo_migration_of_tasks
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
    "PermissionCall",
    "PurgedTasks",
    "Report",
    "ReportPreview",
    "ReportResult",
    "TaskMigration",
    "TaskMoment",
    "VoteResult",
    "answer_blocked_token",
    "answer_tool_permission",
    "ask_about_every_task_after_revert",
    "ask_tool_permission",
    "cancel",
    "change_agent",
    "complete_manual_job",
    "decide_gates_all_have_approved",
    "decide_gates_all_have_approved_on_commit",
    "decide_held_tokens_again",
    "escalate",
    "expire_lease",
    "fire_due_time_and_return_result",
    "fork",
    "hold",
    "migrate",
    "move_or_retry_by_hand",
    "override_gate_as_administrator",
    "pause",
    "plan_fork",
    "plan_move",
    "preview_report",
    "purge_files",
    "purge_records",
    "raise_trust_level",
    "record_push_visit_and_return_result",
    "register_agent",
    "release",
    "report",
    "requeue_job_and_return_result",
    "rerun_checks",
    "resolve_deadlock",
    "resolve_escalation",
    "restore_agent",
    "resume",
    "start_claimed_job_or_none",
    "start_claimed_jobs",
    "start_follow_up_task",
    "start_retry_task",
    "store_handoff_and_decide_again",
    "submit",
    "supply_metadata_and_decide_again",
    "suspend_agent",
    "task_moment",
    "undo_migration_of_tasks",
    "vote",
    "wait_for_tasks",
]
