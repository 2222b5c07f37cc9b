"""Escalation rules: who is notified, how soon they answer, and what is done when they do not (law §8)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import ReadContext, declared_field
from pipelines.routing.document.fields.plain_fields import ChoiceList, Duration, Text, Texts
from pipelines.routing.document.fields.record import Record

ACTIONS: Final = {
    "block": "Hold all work on the task",
    "notify": "Write to the roles below",
    "create_incident": "Keep an incident",
    "suspend_agent": "Suspend the agent",
    "convene_review": "Convene a review",
}
"""What may be done on a breach. `block` holds all work on the task; `notify` writes to the roles in `notify`;
`create_incident` keeps an incident; `suspend_agent` gives the agent of the station no new work; `convene_review` asks
the roles in `notify`, or the role itself, for a review."""

WORDS_TO_RESOLVE: Final = ("go_on", "choose", "retry", "route", "cancel")
"""What a person says who resolves one: it is decided again; the values of one branch count, where branches contradict
each other; the station runs again; it goes to another station; the task is cancelled."""
ROUTED: Final = ("route", "choose")
"""Those that name a station."""

LONGEST: Final = 100
"""Characters of a trigger or a role."""

OF_THE_ENGINE: Final = (
    "no_match",
    "on_failure",
    "compose_failed",
    "RetryLimitExceeded",
    "contradiction",
    "gate_overdue",
    "deadlock",
)
"""The triggers that a line brings about by itself."""

REVIEW: Final = "review"
"""The trigger of a review that is convened."""

OUTSIDER: Final = "admin"
"""The role that answers what no rule names anybody for: the administrators of the project."""


OWNERS_OF: Final = "owner:"
"""Begins a role that is held by whoever answers for one of these agents, with commas between them."""


@dataclass(frozen=True)
class EscalationRule:
    """`trigger`: a trigger of `decide` or any word with which something is escalated by hand. `sla`: seconds to answer,
    None: as long as it takes. `at_once`: actions taken when it opens, and recorded again on a breach (AEEF E19)."""

    trigger: str = declared_field(
        Text(
            required=True,
            longest=LONGEST,
            label="When",
            help="What the line escalates by itself; or any word with which a person does.",
        ),
        required=True,
    )
    role: str = declared_field(
        Text(
            required=True,
            longest=LONGEST,
            label="Who answers",
            help="A group of the project by its name or key, or one of Gateline's own roles.",
            placeholder="Development Manager",
        ),
        required=True,
    )
    sla: float | None = declared_field(Duration(label="Time to answer", help="Leave empty for no limit."))
    on_breach: tuple[str, ...] = declared_field(ChoiceList(ACTIONS, "the action", label="When it has passed"))
    notify: tuple[str, ...] = declared_field(
        Texts(
            between=",",
            label="Who is written to then",
            help="Comma-separated roles. Leave empty for who answers.",
        )
    )
    at_once: tuple[str, ...] = declared_field(
        ChoiceList(ACTIONS, "the action", label="At once, when it is escalated")
    )


def _note_escalation_problems(reader: Reader, context: ReadContext) -> None:
    if reader.values["on_breach"] and reader.values["sla"] is None:
        reader.note("on_breach", "is never done without a time to answer", "say sla, such as 4h")


ESCALATION: Final = Record.of(EscalationRule, check=_note_escalation_problems)

HOUR: Final = 3600
MANAGER: Final = "Development Manager"
ARCHITECT: Final = "Solution Architect"

AEEF: Final = (
    EscalationRule("architecture", ARCHITECT, 4 * HOUR, ("block", "notify"), ("CTO",)),
    EscalationRule("security", "Security Engineer", 2 * HOUR, ("block", "notify"), ("Security lead",)),
    EscalationRule("RetryLimitExceeded", MANAGER, 4 * HOUR, ("block", "create_incident")),
    EscalationRule("contract_violation", "CTO", HOUR, ("suspend_agent",), (), ("suspend_agent",)),
    EscalationRule("contradiction", ARCHITECT, 4 * HOUR, ("block", "convene_review")),
    # What nobody can tell the kind of goes to the same manager (AEEF E17, E21).
    *(
        EscalationRule(trigger, MANAGER)
        for trigger in ("no_match", "on_failure", "compose_failed", "gate_overdue", "deadlock")
    ),
)
"""AEEF E18: trigger → role, time to answer, what is done on a breach."""

PRESETS: Final[dict[str, tuple[EscalationRule, ...]]] = {"aeef": AEEF}


def escalation_rule(declared: Iterable[EscalationRule], preset: str, trigger: str) -> EscalationRule:
    """Return the rule for a trigger: that of the line, else that of its preset, else one that notifies the
    administrators."""
    for rule in (*declared, *PRESETS.get(preset, ())):
        if rule.trigger == trigger:
            return rule
    return EscalationRule(trigger, OUTSIDER)


def group_key_of_role(role: str) -> str:
    """Return the role as a key of groups: “Development Manager” is `development-manager`."""
    # What Django's `slugify` makes of it; routing imports no Django (house §1).
    plain = unicodedata.normalize("NFKD", role).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain)).strip("-_")


def agents_owned_by_role(role: str) -> frozenset[str]:
    """The keys of the agents whose owners have this role."""
    return frozenset(role.removeprefix(OWNERS_OF).split(",")) if role.startswith(OWNERS_OF) else frozenset()


def keys_of_groups_with_role(role: str, groups: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The keys of the groups, each given with its name, that have this role as their name or key."""
    key, name = group_key_of_role(role), role.casefold()
    return frozenset(group for group, called in groups if group == key or called.casefold() == name)
