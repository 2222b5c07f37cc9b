"""Each invariant of house §3 is broken here on purpose, around the engine and the guards, and is seen broken."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command

from pipelines.engine.invariants import CHECKS, find_violations
from pipelines.models import Task
from tests.engine.breaks import (
    break_task,
    ended,
    i1_unknown_status,
    i2_event_rewritten,
    i2_token_moved_in_silence,
    i3_event_deleted,
    i4_decision_without_event,
    i4_job_without_event,
    i5_approved_without_votes,
    i5_by_somebody_not_asked,
    i5_by_the_requester,
    i5_on_other_evidence,
    i5_rejected_before_it_was_due,
    i5_self_approved_without_saying_so,
    i5_told_of_a_word_nobody_said,
    i6_about_another_version,
    i6_waiting_for_nobody,
    i7_running_without_a_job,
    i7_running_without_a_lease,
    i8_due_time_after_its_gate,
    i8_open_gate_after_the_end,
    i8_open_job_after_the_end,
    i9_another_answer,
    i9_another_outcome,
    i9_another_situation,
    i9_asked_what_nobody_waits_for,
    i9_told_of_an_answer_that_nobody_gave,
    i10_forward_while_escalated,
    i10_more_than_a_named_budget,
    i10_more_visits_than_the_cap,
    i10_rule_taken_too_often,
    i11_escalation_untold,
    i11_escalations_miscounted,
    i11_miscounted_edges,
    i13_delivery_of_another_lines_trigger,
    i13_job_of_another_tasks_token,
    i13_line_of_another_project,
    i13_trigger_of_a_line_of_another_project,
    i14_document_changed,
    i14_row_removed,
    i15_guard_removed,
    i17_due_and_nothing_tells,
    i17_held_by_no_escalation,
    i17_held_for_no_reason,
    i17_no_ticket,
    i18_more_at_once_than_the_agent_takes,
    i19_a_word_that_is_swallowed,
    i19_a_word_that_leads_elsewhere,
    plain,
    reviewed,
    sql,
)
from tests.factories import World

pytestmark = [pytest.mark.django_db, pytest.mark.broken]


BREAKS: tuple[tuple[str, Callable[[World], None]], ...] = (
    ("I1", i1_unknown_status),
    ("I1", break_task("status", "'stuck'")),
    ("I2", i2_token_moved_in_silence),
    ("I2", i2_event_rewritten),
    ("I2", break_task("context", "'{}'")),
    ("I3", i3_event_deleted),
    ("I3", break_task("seq", "seq + 1")),
    ("I21", break_task("retention", "2")),
    ("I4", i4_decision_without_event),
    ("I4", i4_job_without_event),
    ("I5", i5_approved_without_votes),
    ("I5", i5_by_somebody_not_asked),
    ("I5", i5_by_the_requester),
    ("I5", i5_self_approved_without_saying_so),
    ("I5", i5_on_other_evidence),
    ("I5", i5_told_of_a_word_nobody_said),
    ("I5", i5_rejected_before_it_was_due),
    ("I6", i6_waiting_for_nobody),
    ("I6", i6_about_another_version),
    ("I7", i7_running_without_a_job),
    ("I7", i7_running_without_a_lease),
    ("I8", i8_open_job_after_the_end),
    ("I8", i8_open_gate_after_the_end),
    ("I8", i8_due_time_after_its_gate),
    ("I9", i9_another_outcome),
    ("I9", i9_another_answer),
    ("I9", i9_another_situation),
    ("I9", i9_told_of_an_answer_that_nobody_gave),
    ("I9", i9_asked_what_nobody_waits_for),
    ("I10", i10_more_visits_than_the_cap),
    ("I10", i10_rule_taken_too_often),
    ("I10", i10_more_than_a_named_budget),
    ("I10", i10_forward_while_escalated),
    ("I11", i11_escalations_miscounted),
    ("I11", i11_escalation_untold),
    ("I11", i11_miscounted_edges),
    ("I11", break_task("rounds", """'{"review": 1}'""")),
    ("I11", i5_told_of_a_word_nobody_said),
    ("I13", i13_line_of_another_project),
    ("I13", i13_job_of_another_tasks_token),
    ("I13", i13_delivery_of_another_lines_trigger),
    ("I13", i13_trigger_of_a_line_of_another_project),
    ("I14", i14_document_changed),
    ("I14", i14_row_removed),
    ("I15", i15_guard_removed),
    ("I17", i17_due_and_nothing_tells),
    ("I17", i17_held_by_no_escalation),
    ("I17", i17_no_ticket),
    ("I17", i17_held_for_no_reason),
    ("I19", i19_a_word_that_is_swallowed),
    ("I19", i19_a_word_that_leads_elsewhere),
    ("I18", i18_more_at_once_than_the_agent_takes),
)


@pytest.mark.smoke(16)
@pytest.mark.parametrize(("invariant", "breaks"), BREAKS, ids=[f"{i}-{f.__name__}" for i, f in BREAKS])
def test_it_sees_what_was_broken(world: World, invariant: str, breaks: Callable[[World], None]) -> None:
    breaks(world)
    assert invariant in {violation.invariant for violation in find_violations()}


@pytest.mark.parametrize("made", [plain, ended, reviewed], ids=lambda made: str(made.__name__))
def test_it_sees_nothing_where_nothing_was_broken(world: World, made: Callable[[World], Task]) -> None:
    made(world)
    assert find_violations() == []


def test_every_check_is_broken_by_some_test() -> None:
    named = {f"I{n}" for n in (*range(1, 20), 21)} - {"I12", "I16"}
    assert {invariant for invariant, _ in BREAKS} == named
    assert {str(each.__doc__).split(":")[0] for each in CHECKS} == named


def test_only_the_asked_tasks_are_looked_at(world: World) -> None:
    sound, broken = plain(world), plain(world)
    sql("UPDATE pipelines_task SET seq = seq + 1 WHERE id = %s", broken.pk)
    assert find_violations([sound.pk]) == []
    assert find_violations([broken.pk]) != []


def test_the_command_says_what_does_not_hold(world: World) -> None:
    task, errors = plain(world), io.StringIO()
    call_command("check_invariants", "--task", task.name, stdout=io.StringIO())
    sql("UPDATE pipelines_task SET seq = seq + 1 WHERE id = %s", task.pk)
    with pytest.raises(CommandError, match="violation"):
        call_command("check_invariants", stderr=errors)
    assert f"I3 task {task.pk}" in errors.getvalue()
