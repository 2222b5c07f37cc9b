"""Matches of each rule of a station: on how many recorded outcomes its condition is true, with an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse

from pipelines.models import Decision, Job, Line, Purpose, Task
from pipelines.queries.why import condition_tests
from pipelines.routing.analysis.condition_matching import (
    ConditionAnswer,
    RuleAnswer,
    answers_of_tested_rules_or_none,
    line_without_station_gate,
)
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.line import ParsedLine

OUTCOMES = 200
TASKS = 1_000
"""The latest tasks of the line that are looked at."""
TESTS = 20_000
"""Conditions that are asked at most: of a station with very many rules fewer outcomes are looked at."""
CHUNK = 20
VALUES = 4
MAX_SAMPLES = 5
"""Outcomes of a rule that are named, where another rule takes them."""


@dataclass(slots=True)
class MatchExample:
    """The newest outcome that it matches; where it matches none, the newest. `values`: what was seen there."""

    task: str
    title: str
    url: str
    matches: bool
    values: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MatchedOutcome:
    """`run`: of its task at the station, from 1."""

    task: str
    title: str
    url: str
    run: int


@dataclass(slots=True)
class RuleMatches:
    """`failed` cannot be evaluated, `unknown` wait for an answer that nobody gave then; `why`: of the newest such.
    `takes`: of `matches` those that no rule above it matches; `instead`: of the others, how many each rule above it
    takes; `shown`: the newest of these."""

    matches: int = 0
    takes: int = 0
    instead: dict[str, int] = field(default_factory=Counter)
    shown: list[MatchedOutcome] = field(default_factory=list)
    unknown: int = 0
    failed: int = 0
    why: str = ""
    example: MatchExample | None = None


@dataclass(slots=True)
class StationMatches:
    """`rules`: by id, those whose condition can be read. `outcomes`: of how many; `aside`: of how many more the rules
    were not asked, because a signal or the policy decides; `unread`: how many do not fit the line any more. `untaken`:
    those that no rule matches."""

    rules: dict[str, RuleMatches]
    outcomes: int = 0
    aside: int = 0
    unread: int = 0
    untaken: int = 0


@dataclass(frozen=True, slots=True)
class RecordedOutcome:
    number: int
    title: str
    run: int
    situation: dict[str, Any]


def count_station_matches(row: Line, line: ParsedLine, station: str) -> StationMatches:
    """`line`: with the rules that are asked, stored or not; of its rules those that can be read. Two statements."""
    rules = [rule for rule in line.station(station).rules if rule.fault is None]
    matches = StationMatches({rule.id: RuleMatches() for rule in rules})
    # Asked of the rules alone: with its gate most outcomes would wait for a person
    open_line = line_without_station_gate(line, station)
    # A bound on tests, not on outcomes: a station may have many rules
    for recorded in _recorded_outcomes(row, station, min(OUTCOMES, TESTS // max(len(rules), 1))):
        try:
            rule_answers = answers_of_tested_rules_or_none(open_line, recorded.situation, rules)
        # Decided under another version, of which this line may have neither stations nor inputs
        except Malformed:
            matches.unread += 1
            continue
        if rule_answers is None:
            matches.aside += 1
            continue
        matches.outcomes += 1
        for rule_matches, rule_answer in zip(matches.rules.values(), rule_answers, strict=True):
            _add_answer_to_rule_counts(row, line, rule_matches, rule_answer, recorded)
        _record_matched_rule(row, matches, rule_answers, recorded)
    return matches


def _record_matched_rule(
    row: Line, matches: StationMatches, rule_answers: Sequence[RuleAnswer], recorded: RecordedOutcome
) -> None:
    """The first rule that matches takes it; none where it is not known what a rule above says."""
    matched_rule = ""
    for rule_matches, rule_answer in zip(matches.rules.values(), rule_answers, strict=True):
        if rule_answer.answer == ConditionAnswer.MATCHES and matched_rule:
            rule_matches.instead[matched_rule] += 1
            if len(rule_matches.shown) < MAX_SAMPLES:
                rule_matches.shown.append(
                    MatchedOutcome(*_task_name_title_and_url(row, recorded), recorded.run)
                )
        elif rule_answer.answer == ConditionAnswer.MATCHES:
            matched_rule = rule_answer.rule.id
            rule_matches.takes += 1
        # A rule above may match or not, so that nobody knows what takes it
        elif rule_answer.answer != ConditionAnswer.NO and not matched_rule:
            return
    matches.untaken += not matched_rule


def _recorded_outcomes(row: Line, station: str, most: int) -> Iterator[RecordedOutcome]:
    """The newest first, each as it was decided last: with the answers that evaluations had got."""
    tasks = Task.objects.filter(line=row).order_by("-id").values("id")[:TASKS]
    jobs = {
        job: (task, run)
        for job, task, run in Job.objects.filter(
            task_id__in=tasks, station=station, purpose=Purpose.STATION, state=Job.State.DONE
        )
        .order_by("-id")
        .values_list("id", "task_id", "visit")[:most]
    }
    if not jobs:
        return
    decided = (
        Decision.objects.filter(task_id__in={task for task, _run in jobs.values()}, job_id__in=jobs)
        .order_by("-job_id", "-at")
        .distinct("job_id")
        .values_list("job_id", "task__number", "task__title", "situation")
    )
    for job, number, title, situation in decided.iterator(chunk_size=CHUNK):
        yield RecordedOutcome(number, title, jobs[job][1], situation)


def _add_answer_to_rule_counts(
    row: Line, line: ParsedLine, rule_matches: RuleMatches, rule_answer: RuleAnswer, recorded: RecordedOutcome
) -> None:
    matches = rule_answer.answer == ConditionAnswer.MATCHES
    rule_matches.matches += matches
    rule_matches.unknown += rule_answer.answer == ConditionAnswer.UNKNOWN
    rule_matches.failed += rule_answer.answer == ConditionAnswer.FAILED
    if rule_answer.answer in (ConditionAnswer.FAILED, ConditionAnswer.UNKNOWN):
        rule_matches.why = rule_matches.why or rule_answer.why
    # The newest of all, until there is one that matches: that shows more
    if rule_matches.example is None or (matches and not rule_matches.example.matches):
        rule_matches.example = MatchExample(
            *_task_name_title_and_url(row, recorded), matches, _tested_operands_and_values(line, rule_answer)
        )


def _task_name_title_and_url(row: Line, recorded: RecordedOutcome) -> tuple[str, str, str]:
    """Its task, the title and the address of it."""
    name = f"WI-{row.project.key}-{recorded.number}"
    return name, recorded.title, reverse("task", args=[row.project.owner.key, row.project.key, name])


def _tested_operands_and_values(line: ParsedLine, rule_answer: RuleAnswer) -> list[tuple[str, str]]:
    """Return what the condition tested, and what was there."""
    tests = condition_tests(line, rule_answer.rule, [operand.to_dict() for operand in rule_answer.saw])
    return [(test.words, test.value) for test in tests if test.value is not None][:VALUES]
