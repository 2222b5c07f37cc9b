"""Invariants that must always hold (house §3). Each check is one function; CHECKS is the list.

I12 is the mails': it comes from the observers. I16 (no secret, no planted canary in any log, event, mail
or page) is checked where secrets are handed out.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.engine.invariants.agents import (
    agents_within_capacity,
    free_agents_wake_waiting,
    idle_agents_begin_nothing,
    suspensions_match_audit,
)
from pipelines.engine.invariants.budgets import named_budgets_hold
from pipelines.engine.invariants.deadlocks import deadlocks_are_consistent, dependency_waits_end
from pipelines.engine.invariants.escalations import (
    escalations_are_consistent,
    holds_have_open_cause,
    nothing_went_forward,
    nothing_works_while_blocked,
)
from pipelines.engine.invariants.gates import (
    events_name_what_was_evaluated,
    gates_were_passed_by_votes,
    waiting_has_open_visits,
)
from pipelines.engine.invariants.handoffs import handoffs_are_sound, handoffs_match_events
from pipelines.engine.invariants.history import (
    counters_match_history,
    events_are_gapless,
    fold_is_row,
    moves_have_one_cause,
)
from pipelines.engine.invariants.immutability import (
    events_are_append_only,
    no_key_leads_across_projects,
    versions_are_unchanged,
)
from pipelines.engine.invariants.joins import decidable_joins_are_merged, joins_are_as_decided
from pipelines.engine.invariants.pauses import pauses_let_go
from pipelines.engine.invariants.positions import (
    ended_is_final,
    running_has_one_live_job,
    something_wakes_it,
    status_is_derived,
    visits_within_budgets,
)
from pipelines.engine.invariants.questions import answers_were_given
from pipelines.engine.invariants.record_reading import caching_records
from pipelines.engine.invariants.replay import decisions_come_out_again, waits_are_as_decided
from pipelines.engine.invariants.timers import (
    due_times_end_with_their_wait,
    gates_keep_their_times,
    late_work_is_noticed,
)
from pipelines.engine.invariants.vote_effects import votes_lead_as_displayed
from pipelines.ports import observers
from pipelines.ports.observers import Invariant, InvariantSource, Violation

CHECKS: tuple[Invariant, ...] = (
    status_is_derived,  # I1
    fold_is_row,  # I2
    events_are_gapless,  # I3
    moves_have_one_cause,  # I4
    gates_were_passed_by_votes,  # I5
    waiting_has_open_visits,  # I6
    running_has_one_live_job,  # I7
    ended_is_final,  # I8
    due_times_end_with_their_wait,  # I8
    decisions_come_out_again,  # I9
    waits_are_as_decided,  # I9
    answers_were_given,  # I9
    joins_are_as_decided,  # I9
    visits_within_budgets,  # I10
    named_budgets_hold,  # I10
    counters_match_history,  # I11
    events_name_what_was_evaluated,  # I11
    no_key_leads_across_projects,  # I13
    versions_are_unchanged,  # I14
    events_are_append_only,  # I15
    nothing_went_forward,  # I10
    nothing_works_while_blocked,  # I10
    handoffs_are_sound,  # I10
    escalations_are_consistent,  # I11
    deadlocks_are_consistent,  # I11
    handoffs_match_events,  # I11
    suspensions_match_audit,  # I11
    something_wakes_it,  # I17
    votes_lead_as_displayed,  # I19
    agents_within_capacity,  # I18
    idle_agents_begin_nothing,  # I18
    free_agents_wake_waiting,  # I17
    dependency_waits_end,  # I17
    late_work_is_noticed,  # I17
    decidable_joins_are_merged,  # I17
    holds_have_open_cause,  # I17
    gates_keep_their_times,  # I17
    pauses_let_go,  # I17
)


def check(task_ids: Sequence[int] | None = None) -> list[Violation]:
    """Every violation, of these tasks or of all; those of versions and projects are always looked for everywhere.

    Reads many rows in several statements: call it inside a REPEATABLE READ transaction while tasks move."""
    checks = [*CHECKS]
    for observer in observers.configured_observers():
        if isinstance(observer, InvariantSource):
            checks += observer.invariants()
    with caching_records(task_ids):
        return [violation for invariant in checks for violation in invariant(task_ids)]
