"""Invariants that must always hold (house §3). Each check is one function; CHECKS is the list.

I12 is the mails': it comes from the observers. I16 (no secret, no planted canary in any log, event, mail
or page) is checked where secrets are handed out.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.engine.invariants.agents import (
    agent_capacity_violations,
    idle_agent_violations,
    suspension_audit_violations,
    unwoken_agent_wait_violations,
)
from pipelines.engine.invariants.budgets import named_budget_violations
from pipelines.engine.invariants.deadlocks import (
    deadlock_consistency_violations,
    endless_dependency_wait_violations,
)
from pipelines.engine.invariants.escalations import (
    escalation_consistency_violations,
    forward_move_while_escalated_violations,
    hold_without_cause_violations,
    work_while_blocked_violations,
)
from pipelines.engine.invariants.gates import (
    event_evaluation_violations,
    gate_vote_violations,
    review_wait_violations,
)
from pipelines.engine.invariants.handoffs import handoff_event_violations, handoff_soundness_violations
from pipelines.engine.invariants.history import (
    counter_mismatch_violations,
    event_gap_violations,
    fold_mismatch_violations,
    move_cause_violations,
)
from pipelines.engine.invariants.immutability import (
    append_only_guard_violations,
    changed_version_violations,
    cross_project_key_violations,
    purge_remnant_violations,
)
from pipelines.engine.invariants.joins import join_decision_violations, unmerged_join_violations
from pipelines.engine.invariants.pauses import endless_pause_violations
from pipelines.engine.invariants.positions import (
    ended_task_violations,
    live_job_violations,
    status_derivation_violations,
    unwoken_position_violations,
    visit_budget_violations,
)
from pipelines.engine.invariants.questions import ungiven_answer_violations
from pipelines.engine.invariants.record_reading import caching_records
from pipelines.engine.invariants.replay import decision_replay_violations, wait_decision_violations
from pipelines.engine.invariants.timers import (
    gate_without_due_time_violations,
    stale_due_time_violations,
    unnoticed_late_work_violations,
)
from pipelines.engine.invariants.vote_effects import vote_effect_violations
from pipelines.ports import observers
from pipelines.ports.observers import Invariant, InvariantSource, Violation

CHECKS: tuple[Invariant, ...] = (
    status_derivation_violations,  # I1
    fold_mismatch_violations,  # I2
    event_gap_violations,  # I3
    move_cause_violations,  # I4
    gate_vote_violations,  # I5
    review_wait_violations,  # I6
    live_job_violations,  # I7
    ended_task_violations,  # I8
    stale_due_time_violations,  # I8
    decision_replay_violations,  # I9
    wait_decision_violations,  # I9
    ungiven_answer_violations,  # I9
    join_decision_violations,  # I9
    visit_budget_violations,  # I10
    named_budget_violations,  # I10
    counter_mismatch_violations,  # I11
    event_evaluation_violations,  # I11
    cross_project_key_violations,  # I13
    changed_version_violations,  # I14
    append_only_guard_violations,  # I15
    purge_remnant_violations,  # I21
    forward_move_while_escalated_violations,  # I10
    work_while_blocked_violations,  # I10
    handoff_soundness_violations,  # I10
    escalation_consistency_violations,  # I11
    deadlock_consistency_violations,  # I11
    handoff_event_violations,  # I11
    suspension_audit_violations,  # I11
    unwoken_position_violations,  # I17
    vote_effect_violations,  # I19
    agent_capacity_violations,  # I18
    idle_agent_violations,  # I18
    unwoken_agent_wait_violations,  # I17
    endless_dependency_wait_violations,  # I17
    unnoticed_late_work_violations,  # I17
    unmerged_join_violations,  # I17
    hold_without_cause_violations,  # I17
    gate_without_due_time_violations,  # I17
    endless_pause_violations,  # I17
)


def find_violations(task_ids: Sequence[int] | None = None) -> list[Violation]:
    """Every violation, of these tasks or of all; those of versions and projects are always looked for everywhere.

    Reads many rows in several statements: call it inside a REPEATABLE READ transaction while tasks move."""
    checks = [*CHECKS]
    for observer in observers.configured_observers():
        if isinstance(observer, InvariantSource):
            checks += observer.invariants()
    with caching_records(task_ids):
        return [violation for invariant in checks for violation in invariant(task_ids)]
