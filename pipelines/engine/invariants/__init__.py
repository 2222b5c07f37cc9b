"""Invariants that must always hold (house §3). Each check is one function; CHECKS is the list.

I12 is the mails': it comes from the observers. I16 (no secret, no planted canary in any log, event, mail
or page) is checked where secrets are handed out.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.engine.invariants.agents import (
    agents_within_capacity,
    idle_agents_begin_nothing,
    suspensions_are_as_told,
    who_waits_for_an_agent_is_told,
)
from pipelines.engine.invariants.budgets import named_budgets_hold
from pipelines.engine.invariants.deadlocks import deadlocks_are_kept, dependencies_let_go
from pipelines.engine.invariants.escalations import (
    escalations_are_kept,
    nothing_went_forward,
    nothing_works_while_blocked,
    what_is_held_is_let_go,
)
from pipelines.engine.invariants.gates import (
    events_name_what_was_evaluated,
    gates_were_passed_by_votes,
    waiting_has_open_visits,
)
from pipelines.engine.invariants.handoffs import handoffs_are_as_told, handoffs_are_sound
from pipelines.engine.invariants.history import (
    counters_count,
    events_are_gapless,
    fold_is_row,
    moves_have_one_cause,
)
from pipelines.engine.invariants.joins import joins_are_as_decided, nobody_waits_for_nobody
from pipelines.engine.invariants.positions import (
    ended_is_final,
    running_has_one_live_job,
    something_wakes_it,
    status_is_derived,
    visits_within_budgets,
)
from pipelines.engine.invariants.questions import answers_were_given
from pipelines.engine.invariants.reading import read_once
from pipelines.engine.invariants.record import (
    events_stay,
    no_key_leads_across_projects,
    versions_are_unchanged,
)
from pipelines.engine.invariants.replay import decisions_come_out_again, waits_are_as_decided
from pipelines.engine.invariants.timers import (
    due_times_end_with_their_wait,
    gates_keep_their_times,
    late_work_is_noticed,
)
from pipelines.engine.invariants.words import words_lead_where_shown
from pipelines.ports import observers
from pipelines.ports.observers import Invariant, Violation, Watchful

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
    counters_count,  # I11
    events_name_what_was_evaluated,  # I11
    no_key_leads_across_projects,  # I13
    versions_are_unchanged,  # I14
    events_stay,  # I15
    nothing_went_forward,  # I10
    nothing_works_while_blocked,  # I10
    handoffs_are_sound,  # I10
    escalations_are_kept,  # I11
    deadlocks_are_kept,  # I11
    handoffs_are_as_told,  # I11
    suspensions_are_as_told,  # I11
    something_wakes_it,  # I17
    words_lead_where_shown,  # I19
    agents_within_capacity,  # I18
    idle_agents_begin_nothing,  # I18
    who_waits_for_an_agent_is_told,  # I17
    dependencies_let_go,  # I17
    late_work_is_noticed,  # I17
    nobody_waits_for_nobody,  # I17
    what_is_held_is_let_go,  # I17
    gates_keep_their_times,  # I17
)


def check(task_ids: Sequence[int] | None = None) -> list[Violation]:
    """Every violation, of these tasks or of all; those of versions and projects are always looked for everywhere.

    Reads many rows in several statements: call it inside a REPEATABLE READ transaction while tasks move."""
    checks = [*CHECKS]
    for observer in observers.observers():
        if isinstance(observer, Watchful):
            checks += observer.invariants()
    with read_once(task_ids):
        return [violation for invariant in checks for violation in invariant(task_ids)]
