"""Open escalations of a task, as its page shows them: why, to whom, until when, and what may be done about each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.engine.moves.roles import may_user_answer_for_roles, roles_of_project
from pipelines.models import Deadlock, Escalation, Status, Task, Token, User
from pipelines.queries import versions
from pipelines.routing.decide.deadlocks import CIRCULAR
from pipelines.routing.decide.escalation_targets import escalation_targets
from pipelines.routing.document.escalations import OUTSIDER, PRESETS
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.escalations import (
    deadlock_words,
    role_words,
    trigger_words,
    unanswered_escalation_sentence,
)
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.waits import ProblemAndRemedy
from pipelines.templatetags.cuts import shortened

MAX_PEOPLE = 5
"""People who are named as those whom something is for."""


@dataclass(frozen=True, slots=True)
class EscalationCard:
    """`may`: whether this person may resolve it; `ways`: stations to which it may be sent, with their names; `holds`:
    whether a station is held by it, and would run again; `branches`: those that
    contradict each other, with what they say."""

    row: Escalation
    sentence: ProblemAndRemedy
    station: str
    may: bool
    holds: bool
    ways: tuple[tuple[str, str], ...]
    branches: tuple[tuple[str, str], ...] = ()

    @property
    def resolver_text(self) -> str:
        """Return in words who resolves the escalation, for readers who may not."""
        return resolver_text(self.row.task, self.row.role)

    @property
    def conflict(self) -> Deadlock | None:
        """The branches that contradict each other, whose agents are paused."""
        return getattr(self.row, "deadlock", None)

    @property
    def has_incident(self) -> bool:
        """Return whether an incident was opened when nobody had answered in time."""
        return self.row.breached_at is not None and "create_incident" in self.row.on_breach

    @property
    def answer_choices(self) -> list[tuple[str, str]]:
        """Answers to choose from, with their consequences."""
        options = [("go_on", "Continue: decided again with the current facts")]
        if self.branches:
            options = [
                ("go_on", "Continue with the latest output"),
                ("choose", "Choose the branch that counts"),
                ("retry", f"Add context: {self.station} runs with the latest output and the reason"),
            ]
        elif self.holds:
            options.append(("retry", f"Run {self.station} again, with the reason"))
        if self.ways:
            options.append(("route", "Send it to another station"))
        return [*options, ("cancel", "Cancel the task")]


def open_escalation_cards(task: Task, user: User) -> list[EscalationCard]:
    """The oldest first."""
    # A count on the row: most tasks cost no query.
    if not task.escalations:
        return []
    rows = Escalation.objects.filter(task=task, state=Escalation.State.OPEN).order_by("opened_at", "pk")
    return [escalation_card(row, task, user) for row in rows.select_related("token", "deadlock")]


def escalation_card(
    row: Escalation, task: Task, user: User | None = None, may: bool = False
) -> EscalationCard:
    """Return the card of an open escalation. `may`: True if the reader is known to be allowed to resolve it;
    otherwise the rights of `user` decide."""
    line = versions.parsed_line_by_version_id(task.pinned_id)
    token = row.token
    holds = token is not None and escalation_holds_token(row, token)
    # In a contradiction (`values`) a branch is chosen, not a station.
    targets = (
        escalation_targets(line, token.station) if holds and token and "values" not in token.wait else ()
    )
    return EscalationCard(
        row,
        escalation_sentence(row),
        station_name(line, row.station),
        may or (user is not None and may_user_answer_for_roles(task.project_id, row.roles, user)),
        holds,
        tuple((key, station_name(line, key)) for key in targets),
        _contradicting_branches(line, token) if holds and token else (),
    )


def _contradicting_branches(line: ParsedLine, token: Token) -> tuple[tuple[str, str], ...]:
    """The branches of a contradiction: what each says, by the station that it came from."""
    branch_values = token.wait.get("values", {}).items()
    return tuple(
        (key, shortened(f"{station_name(line, key)}: {json.dumps(values, ensure_ascii=False)}", 200))
        for key, values in branch_values
    )


def escalation_holds_token(row: Escalation, token: Token) -> bool:
    return token.status == Status.HELD and token.wait.get("escalation") == str(row.pk)


def escalation_sentence(row: Escalation) -> ProblemAndRemedy:
    words = {"what": trigger_words(row.trigger), "role": role_words(row.role)}
    text = "Escalated to {role}: {what}.".format(**words)
    if row.breached_at:
        text = unanswered_escalation_sentence(row.role, row.trigger) + "."
    name = row.trigger if row.trigger == "RetryLimitExceeded" else ""
    return ProblemAndRemedy(
        text, row.reason or "The task does not move forward until this is resolved.", name
    )


def resolver_text(task: Task, role: str) -> str:
    """Describe who resolves the escalation, by name: `Development Manager or an administrator of the project
    resolves it: Ada, Ben.`"""
    people = User.objects.filter(pk__in=list(roles_of_project(task.project_id).members_with_role_by_id(role)))
    words = {
        "role": role_words(role),
        "people": ", ".join(map(str, people.order_by("first_name", "username")[:MAX_PEOPLE])),
    }
    if role == OUTSIDER:
        text = "The administrators of the project resolve it: %(people)s."
    else:
        text = "%(role)s or an administrator of the project resolves it: %(people)s."
    sentence = text % words
    return sentence[:1].upper() + sentence[1:]


def escalation_trigger_choices(line: ParsedLine) -> list[tuple[str, str]]:
    """Return the triggers that a person may escalate with a rule for it: the words of the line, then those of
    its preset."""
    known: Iterable[str] = (rule.trigger for rule in (*line.escalations, *PRESETS.get(line.preset, ())))
    return [(trigger, trigger_words(trigger)) for trigger in dict.fromkeys(known)]


@dataclass(frozen=True, slots=True)
class DeadlockCard:
    """An open deadlock, with what may be said about it."""

    row: Deadlock
    sentence: ProblemAndRemedy
    may: bool

    @property
    def resolver_text(self) -> str:
        """Return in words who resolves the deadlock, for readers who may not."""
        return resolver_text(self.row.task, self.row.role)

    @property
    def answer_choices(self) -> list[tuple[str, str]]:
        circle = self.row.kind == CIRCULAR
        last = [
            ("escalate", "Escalate to the Solution Architect"),
            ("cancel", f"Cancel {self.row.task}"),
        ]
        if circle:
            go = f"Let {self.row.task} stop waiting for the others"
            return [("context", go), *last]
        return [
            ("context", "Add context: it runs again and is told the reason"),
            ("output", "Choose an output: the station is completed with it"),
            *last,
        ]

    @property
    def offers_output(self) -> bool:
        return self.row.kind != CIRCULAR


def open_deadlock_cards(task: Task, user: User) -> list[DeadlockCard]:
    """Return the deadlocks that the task is party to, the oldest first; those that an escalation resolves
    stand with it."""
    # One with an escalation is resolved there: two forms would answer the same
    rows = Deadlock.objects.filter(tasks=task, state=Deadlock.State.OPEN, escalation=None)
    rows = rows.select_related("task__project")
    return [
        deadlock_card(row, may_user_answer_for_roles(task.project_id, row.roles, user))
        for row in rows.order_by("found_at", "pk")
    ]


def deadlock_card(row: Deadlock, may: bool) -> DeadlockCard:
    text = f"A deadlock: {deadlock_words(row.kind)}."
    return DeadlockCard(row, ProblemAndRemedy(text, row.suggestion), may)
