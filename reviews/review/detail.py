"""Everything a reviewer needs to decide, exactly as stored: what is shown is what is voted on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from django.db.models import BigIntegerField, CharField, QuerySet, UUIDField

from pipelines.engine.moves.entitlement import usernames_yet_to_approve
from pipelines.engine.moves.gates import approval_policy_of_visit
from pipelines.models import Artifact, GateVisit, User, Vote, Word
from pipelines.models.gates import RETURNS
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.models.plumbing.django_internals import set_prefetched
from pipelines.queries.actors import station_actor_kind_and_name
from pipelines.queries.task_branch import PeoplePush, pushes_by_people
from pipelines.queries.task_view import filled_inputs_with_labels
from pipelines.queries.unmerged import has_unmerged_change
from pipelines.queries.versions import parsed_line_by_version_id, parsed_version
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.decide.approval import UNKNOWN_REQUESTER, UNPROVEN
from pipelines.routing.document.inputs import LONG_TEXT
from pipelines.routing.document.kinds.deliver import MERGE, TO
from pipelines.routing.document.line import Gate, ParsedLine, Requirement
from pipelines.routing.document.requirements import OWNER
from pipelines.routing.sentences.conditions import condition_words
from pipelines.routing.sentences.names import station_name, target_name
from pipelines.routing.sentences.waits import waiting_question_or_empty
from pipelines.work import logs
from reviews.decision.consequences import (
    VoteOption,
    loaded_base_branch_or_empty,
    no_send_back_reason_or_empty,
    offered_votes_within_allowed_rounds,
)
from reviews.decision.entitlements import Entitlement, Entitlements
from reviews.decision.gates import gate_with_approval_policy_of_visit
from reviews.review.steps import PathStep, artifacts_of_all_stations, last_step_of_each_station_ended_before

LOG_LINES = 60
# Characters
SHOWN_OUTPUT = 200_000
MOST_PARTS = 12
MAX_RETURNS = 3


@dataclass(frozen=True)
class OutputPart:
    """Value of an output, as people read it: a text as it was written, anything else as JSON."""

    key: str
    value: Any

    @property
    def label(self) -> str:
        return escape_hidden(self.key.replace("_", " ").replace("-", " ").capitalize())

    @property
    def is_text(self) -> bool:
        return isinstance(self.value, str)

    @property
    def text(self) -> str:
        return self._text[:SHOWN_OUTPUT]

    @property
    def cut(self) -> int:
        """Characters of it that are not shown."""
        return max(0, len(self._text) - SHOWN_OUTPUT)

    @cached_property
    def _text(self) -> str:
        if isinstance(self.value, str):
            return escape_hidden(self.value.strip())
        return json.dumps(self.value, ensure_ascii=False, indent=2)


@dataclass(frozen=True)
class ReviewDetail:
    """`standing`: whether the reader may decide now, or why not; `live`: whether anybody still may."""

    visit: GateVisit
    line: ParsedLine
    gate: Gate
    station: str
    standing: Entitlement
    options: Sequence[VoteOption]
    rounds: Sequence[GateVisit]
    votes: Sequence[Vote]
    artifacts: Sequence[Artifact]
    steps: Sequence[PathStep]
    log: logs.LogPart
    checks: Sequence[dict[str, Any]]
    seats: Sequence[tuple[str, str]] = ()
    """(user name, name) of those in whose place the reader may decide, where it is not only their own."""
    missing: Sequence[str] = ()
    """User names of those of whom all have to approve, and who have not."""

    @property
    def request(self) -> list[tuple[str, str]]:
        """(label, text) of what was asked for: the description of the task, else the first long text among its
        inputs."""
        task = self.visit.task
        if task.description.strip():
            return [("Asked for", escape_hidden(task.description.strip()))]
        texts = {
            line_input.label or line_input.key
            for line_input in self.line.inputs
            if line_input.type == LONG_TEXT
        }
        inputs = filled_inputs_with_labels(self.line, task)
        return [(label, escape_hidden(text)) for label, text in inputs if label in texts][:1]

    @property
    def returns(self) -> list[GateVisit]:
        """Return the last three rounds in which this work was sent back, or rejected, before it came here, newest
        first."""
        opened_at = self.visit.opened_at
        return [
            earlier
            for earlier in self.rounds
            if earlier.word in RETURNS and earlier.decided_at and earlier.decided_at <= opened_at
        ][:MAX_RETURNS]

    @property
    def answered_questions(self) -> list[dict[str, Any]]:
        """Questions and answers before people: results of tools, evaluations. `{question, answer, text}`."""
        # Of the situation that was decided: what was answered later nobody saw at this gate
        answers = self.visit.asked_by.situation["facts"].get("answers", [])
        return [
            {
                "question": waiting_question_or_empty({"evaluation": answer}),
                "answer": answer["answer"],
                "text": answer.get("text", ""),
            }
            for answer in answers
        ]

    @property
    def agent(self) -> bool:
        """Return whether an agent produced what is under review, so that its words are a claim."""
        return (
            station_actor_kind_and_name(self.line.stations_by_key.get(self.visit.asked_by.station))[0]
            == "agent"
        )

    @property
    def repository(self) -> str:
        """“app, from main”, where the task works in a repository."""
        workspace = self.line.workspace
        if workspace is None:
            return ""
        name = (
            self.visit.task.inputs.get(workspace.input_key) if workspace.input_key else workspace.repository
        )
        # As the task started: by now the line may name another branch
        branch = self.base_branch or workspace.base or "its default branch"
        return f"{escape_hidden(str(name or '–'))}, from {escape_hidden(branch)}"

    @property
    def deliveries(self) -> list[tuple[str, str]]:
        """(station, what it does) of each station that delivers what this gate approves."""
        return [
            (station.name, self._delivery_text(station.work.get("to", MERGE)))
            for station in self.line.stations
            if station.kind == "deliver" and station.work.get("gate", self.visit.gate) == self.visit.gate
        ]

    def _delivery_text(self, to: str) -> str:
        if to == MERGE and self.base_branch:
            return f"Merge into {escape_hidden(self.base_branch)}"
        return str(TO[to])

    @property
    def base_branch(self) -> str:
        """The branch that the task started from, "" where that is not known."""
        return loaded_base_branch_or_empty(self.visit)

    @property
    def git_tree(self) -> str:
        """The tree in the repository that an approval is about, "" where the task works in none."""
        return str(self.visit.evidence.get("tree") or "")

    @property
    def end(self) -> str:
        """Name of the end that the task reached, as on its own page; "" while it moves."""
        task = self.visit.task
        # Of the version that the task has now: it may have been migrated after this review
        return target_name(parsed_line_by_version_id(task.pinned_id), task.end) if task.end else ""

    @property
    def unmerged(self) -> bool:
        """True where the task completed, and its change was merged nowhere."""
        return not self.live and has_unmerged_change(self.visit.task)

    @property
    def live(self) -> bool:
        return self.visit.state == GateVisit.State.OPEN

    @property
    def may_decide(self) -> bool:
        """Return whether the reader is offered the words of this gate."""
        return self.live and self.standing.may

    @property
    def no_send_back_reason(self) -> str:
        """Reason why the work cannot be sent back from here, or ""."""
        return no_send_back_reason_or_empty(self.visit)

    @property
    def note(self) -> str:
        """Note to read before deciding."""
        alone = "You are the only member of this project: your approval is recorded as self-approved."
        return " ".join(filter(None, (alone if self.standing.alone else "", self.no_send_back_reason)))

    @property
    def bar_version(self) -> str:
        """A version that changes with what the bar shows. While the gate is open the task's state is not part of it,
        because another branch may move at any time."""
        version = f"{self.visit.state}-{len(self.votes)}"
        return version if self.live else f"{version}-{self.visit.task.status}"

    @property
    def needed_approval_count(self) -> int:
        """Approvals that the gate asks for at least."""
        return self.gate.approval.min_votes

    @property
    def approval_count(self) -> int:
        return sum(vote.word == Word.APPROVE for vote in self.votes)

    @property
    def outcome(self) -> dict[str, Any]:
        return self.visit.job.outcome or {}

    @property
    def output(self) -> str:
        """The output as JSON, cut where a page could not show it; the whole is on the task's page."""
        return self._output[:SHOWN_OUTPUT]

    @property
    def output_cut(self) -> int:
        """Characters of it that are not shown."""
        return max(0, len(self._output) - SHOWN_OUTPUT)

    @cached_property
    def _output(self) -> str:
        if "output" not in self.outcome:
            return ""
        return json.dumps(self.outcome["output"], ensure_ascii=False, indent=2)

    @property
    def output_parts(self) -> list[OutputPart]:
        """The output value by value, where it is an object of few; without what its summary says already."""
        output = self.outcome.get("output")
        if not isinstance(output, dict) or len(output) > MOST_PARTS:
            return []
        summary = str(self.outcome.get("summary") or "").strip()
        parts = [OutputPart(str(key), value) for key, value in output.items()]
        return [part for part in parts if part.text != summary]

    @property
    def rule_that_led_here(self) -> dict[str, str] | None:
        """The rule that led here: its label, and its condition in words."""
        evidence_rule = self.visit.evidence.get("rule")
        if not evidence_rule:
            return None
        _station, rule = self.line.rules_by_id[evidence_rule["id"]]
        number = 1 + [candidate.id for candidate in _station.rules].index(rule.id)
        return {
            "number": str(number),
            "label": rule.label,
            "words": condition_words(rule.when, called=partial(station_name, self.line)),
        }

    @property
    def asks_for(self) -> str:
        """“Needs 2 of role reviewer. The requester may not vote.”"""
        who = ", ".join(
            _text_of_required_votes(self.line, requirement) for requirement in self.gate.approval.who
        )
        if not self.live:
            return f"Needed {who}."
        # Whoever is alone in the project may approve what they asked for, and it is recorded so
        lenient = self.gate.approval.requester_may or self.standing.alone
        barred = [] if lenient else ["The requester cannot vote."]
        return " ".join([f"Needs {who}.", *barred])

    @property
    def has_unproven_pusher(self) -> bool:
        """Tell that nobody vouches for who pushed to the branch, so that one approval more is needed still."""
        return self.live and UNPROVEN in self.visit.producers and not self.gate.approval.producer_may

    @property
    def has_unknown_requester(self) -> bool:
        """Tell that nobody is known who may have asked for the task by an issue, and one approval more is needed."""
        lenient = self.gate.approval.requester_may
        return self.live and UNKNOWN_REQUESTER in self.visit.producers and not lenient

    @cached_property
    def pushes(self) -> list[PeoplePush]:
        """Pushes of people to the branch before the review opened."""
        return pushes_by_people(self.visit.task, self.visit.opened_at) if self.visit.producers else []


def build_review_detail(visit: GateVisit, user: User, standings: Entitlements | None = None) -> ReviewDetail:
    set_prefetched([visit], "votes", _votes_of_visit(visit=visit.pk), "visit_id")
    set_prefetched(
        [visit.asked_by], "gate_visits", _visits_of_decision(decision=visit.asked_by_id), "asked_by_id"
    )
    line = parsed_version(visit.asked_by.pinned)
    earlier = _decided_visits(task=visit.task_id, gate=visit.gate)
    entitlement = (standings or Entitlements(user)).entitlement_to_visit(visit)
    is_open = visit.state == GateVisit.State.OPEN
    return ReviewDetail(
        visit=visit,
        line=line,
        gate=gate_with_approval_policy_of_visit(visit, line),
        station=line.station(visit.asked_by.station).name,
        standing=entitlement,
        options=offered_votes_within_allowed_rounds(visit) if is_open else (),
        rounds=[earlier_visit for earlier_visit in earlier if earlier_visit.pk != visit.pk],
        votes=list(visit.votes.all()),
        artifacts=artifacts_of_all_stations(visit.task),
        steps=last_step_of_each_station_ended_before(visit.task, line, visit.opened_at),
        log=logs.read_log_tail(visit.job, visit.job.attempt, LOG_LINES),
        checks=_checks_evaluated_at_gate(visit),
        seats=_seat_choices_if_stand_in(entitlement, user),
        missing=sorted(usernames_yet_to_approve(visit, approval_policy_of_visit(visit, line)))
        if is_open
        else (),
    )


@compiled(visit=UUIDField())
def _votes_of_visit(visit: Any) -> QuerySet[Vote]:
    return Vote.objects.filter(visit=visit).select_related("user", "stands_for").order_by("at")


@compiled(decision=UUIDField())
def _visits_of_decision(decision: Any) -> QuerySet[GateVisit]:
    return GateVisit.objects.filter(asked_by=decision)


@compiled(task=BigIntegerField(), gate=CharField())
def _decided_visits(task: Any, gate: Any) -> QuerySet[GateVisit]:
    decided = GateVisit.objects.filter(task=task, gate=gate, state=GateVisit.State.DECIDED)
    return decided.select_related("decided_by").order_by("-decided_at")


def _seat_choices_if_stand_in(entitlement: Entitlement, user: User) -> list[tuple[str, str]]:
    if not entitlement.stands_in:
        return []
    people = User.objects.in_bulk([seat.person.user_id for seat in entitlement.seats])
    return username_and_label_of_seats(entitlement, people)


def username_and_label_of_seats(
    entitlement: Entitlement, people: Mapping[int, User]
) -> list[tuple[str, str]]:
    """`people`: at least those of its seats, by id."""
    return [
        (
            seat.person.username,
            f"In place of {people[seat.person.user_id]}, who is away" if seat.is_stand_in else "As yourself",
        )
        for seat in entitlement.seats
    ]


def _checks_evaluated_at_gate(visit: GateVisit) -> list[dict[str, Any]]:
    """The checks of this gate that the decision evaluated, from its trace."""
    return [
        check
        for entry in visit.asked_by.trace
        if entry.get("step") in ("station_gate", "rule_gates")
        for check in entry.get("saw") or ()
        if isinstance(check, dict) and "field" in check and entry.get("gate", visit.gate) == visit.gate
    ]


def _text_of_required_votes(line: ParsedLine, requirement: Requirement) -> str:
    words = {"n": requirement.count, "name": requirement.name}
    if requirement.kind == OWNER and requirement.everyone:
        return f"the vote of whoever answers for {requirement.agent}"
    if requirement.kind == OWNER:
        return f"the vote of the owner of {line.station(requirement.name).name}"
    if requirement.everyone:
        of_group = "the votes of all in the group {name}".format(**words)
        return (
            of_group
            if requirement.kind == "group"
            else "the votes of all with the role {name}".format(**words)
        )
    kinds = {"role": "from the role", "group": "from the group", "user": "from"}
    people = singular_or_plural("%(n)s vote", "%(n)s votes", requirement.count) % words
    return f"{people} {kinds[requirement.kind]} {requirement.name}"
