"""Whom a line tells when something is escalated, and whether it looks for deadlocks (docs/escalations.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from pipelines.queries.words import trigger_words
from pipelines.routing.basics.durations import written
from pipelines.routing.document.escalations import ACTIONS, PRESETS
from pipelines.routing.document.policy import Policy
from pipelines.web.editor.forms.fields import ChoiceField, DurationField, FormField, ListedField, SeveralField
from pipelines.web.editor.forms.form import Fragment, Rows, Section, Setting
from pipelines.web.editor.forms.needs import roles
from pipelines.web.editor.forms.places import Place

TRIGGERS = (
    "no_match",
    "on_failure",
    "compose_failed",
    "RetryLimitExceeded",
    "contradiction",
    "gate_overdue",
    "contract_violation",
    "deadlock",
)


def of_line(usual: Policy, preset: str, setting: Setting) -> Section:
    """`preset`: its name, known or not."""
    on, off = _("Yes"), _("No")
    known = (on if usual.deadlocks else off).lower()
    watch = ChoiceField(
        at=("policy", "deadlocks"),
        label=_("Look for stations that take too long"),
        help=_("A station that takes more than twice the time expected of it is held as a deadlock."),
        options=[("", _("Preset: %s") % known), ("yes", on), ("no", off)],
    )
    return Section(title=_("Escalations and deadlocks"), fields=[watch, _rules(preset, roles(setting))])


def actions() -> list[tuple[str, str]]:
    words = {
        "block": _("Hold all work on the task"),
        "notify": _("Write to the roles below"),
        "create_incident": _("Keep an incident"),
        "suspend_agent": _("Suspend the agent"),
        "convene_review": _("Convene a review"),
    }
    return [(action, words[action]) for action in ACTIONS]


def _rules(preset: str, told: list[tuple[str, str]]) -> Rows:
    return Rows(
        at=("escalations",),
        label=_("Who is told"),
        row=lambda fragment, at: _rule(at, told),
        new=_new,
        title=_title,
        add=_("Add a rule"),
        help=_("What no rule names goes as the preset says, else to the administrators of the project."),
        empty=_of_preset(preset),
        ordered=False,
        folded=True,
    )


def _of_preset(preset: str) -> str:
    """What holds where the line says nothing."""
    by_role: dict[str, list[str]] = {}
    for rule in PRESETS.get(preset, ()):
        time = f" ({written(rule.sla)})" if rule.sla is not None else ""
        by_role.setdefault(rule.role, []).append(f"{trigger_words(rule.trigger)}{time}")
    if not by_role:
        return _("None: whatever is escalated, the administrators of the project answer, without a limit.")
    told = "; ".join(f"{role}: {', '.join(words)}" for role, words in by_role.items())
    return _("None of its own. The preset tells %(told)s.") % {"told": told}


def _new(fragment: Fragment, kind: str) -> dict[str, Any]:
    taken = {each.get("trigger") for each in fragment.get("escalations") or () if type(each) is dict}
    free = (trigger for trigger in TRIGGERS if trigger not in taken)
    return {"trigger": next(free, ""), "role": "", "sla": "4h"}


def _title(member: Any, index: int) -> str:
    if type(member) is not dict:
        return str(index + 1)
    return f"{trigger_words(str(member.get('trigger', '')))} → {member.get('role') or '?'}"


def _rule(at: Place, told: list[tuple[str, str]]) -> Sequence[FormField | Rows]:
    return [
        ChoiceField(
            at=(*at, "trigger"),
            label=_("When"),
            help=_("What the line escalates by itself; or any word with which a person does."),
            options=[(trigger, trigger_words(trigger)) for trigger in TRIGGERS],
            free=True,
            needed=True,
        ),
        ChoiceField(
            at=(*at, "role"),
            label=_("Who answers"),
            help=_("A group of the project by its name or key, or one of Gateline's own roles."),
            options=told,
            free=True,
            placeholder="Development Manager",
            needed=True,
        ),
        DurationField(at=(*at, "sla"), label=_("Time to answer"), help=_("Leave empty for no limit.")),
        SeveralField(at=(*at, "on_breach"), label=_("When it has passed"), options=actions()),
        ListedField(
            at=(*at, "notify"),
            label=_("Who is written to then"),
            help=_("Comma-separated roles. Leave empty for who answers."),
            between=",",
        ),
        SeveralField(at=(*at, "at_once"), label=_("At once, when it is escalated"), options=actions()),
    ]
