"""A gate: how it decides, its checks, who approves, what they may say, when it is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.document.gates import FLUX_OFFERS, OFFERS
from pipelines.routing.document.line import Problem
from pipelines.web.editor.forms import checks, places, tool
from pipelines.web.editor.forms.approval import approvers
from pipelines.web.editor.forms.fields import (
    ChoiceField,
    DurationField,
    FlagField,
    FormField,
    ListedField,
    NumberField,
    SeveralField,
    TextField,
)
from pipelines.web.editor.forms.form import (
    Fragment,
    Placed,
    Rows,
    Section,
    Setting,
    others,
    skeleton,
    with_rest,
)
from pipelines.web.editor.forms.words import reject_words, routes


@dataclass(frozen=True, kw_only=True)
class DueAfter(DurationField):
    """Without a time nothing is due."""

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        blank = not typed or not typed[0].strip()
        return places.put(fragment, ("due",), places.MISSING) if blank else super().written(fragment, typed)


class GateForm:
    def sections(self, fragment: Fragment, setting: Setting) -> Sequence[Section]:
        found = [
            Section(fields=_names(fragment)),
            Section(title=_("Checks"), fields=checks.fields(fragment), open=True),
            tool.section(fragment),
            Section(title=_("People"), fields=_people(fragment, setting), open=True),
            Section(title=_("Their words"), fields=_words(setting)),
            Section(title=_("Due, and who is told"), fields=_due(fragment)),
        ]
        words = _("What has no field of its own, as JSON.")
        return with_rest(found, fragment, _("Everything else"), words)

    def place(self, fragment: Fragment, setting: Setting) -> Placed:
        rest = others(setting.names.gates, setting.own)
        return Placed(skeleton(setting.names, gates=[*rest, fragment]), f"gates[{len(rest)}]")

    def more(self, fragment: Fragment, setting: Setting) -> Sequence[Problem]:
        return ()


def _names(fragment: Fragment) -> list[FormField | Rows]:
    usual = _("checks, then people") if {"checks", "tool"} & set(fragment) else _("people")
    return [
        TextField(at=("name",), label=_("Name")),
        TextField(
            at=("key",),
            label=_("Key"),
            help=_("Stations and rules name the gate so. They follow a new key."),
            needed=True,
            code=True,
            covers=("",),
        ),
        TextField(at=("description",), label=_("What is asked"), help=_("Whoever decides reads it."), rows=2),
        ChoiceField(
            at=("mode",),
            label=_("Who decides"),
            options=[
                ("", _("As the gate is made: %s") % usual),
                ("auto", _("Checks alone; a person only where one says hold")),
                ("manual", _("Always people; checks are only shown")),
                ("checks_then_manual", _("Checks first, then people")),
                ("skip", _("Nobody: passed, and recorded")),
            ],
        ),
    ]


def _people(fragment: Fragment, setting: Setting) -> list[FormField | Rows]:
    flags: list[FormField | Rows] = [
        FlagField(
            at=("requires_approval",),
            label=_("A person has to approve"),
            help=_("Without it only a check that says hold asks one."),
            usual=True,
        ),
        *approvers(fragment, setting),
        FlagField(at=("approval", "requester_may"), label=_("The requester can decide")),
        FlagField(at=("approval", "producer_may"), label=_("The producer can decide")),
        FlagField(
            at=("approval", "reason_required"),
            label=_("Every word needs a reason"),
            help=_("Rejecting and sending back always do."),
        ),
        NumberField(
            at=("approval", "max_rounds"),
            label=_("Most times it can be sent back"),
            placeholder="3",
        ),
    ]
    return flags


def _words(setting: Setting) -> list[FormField | Rows]:
    words = [
        ("approve", _("Approve: the task goes on")),
        ("send_back", _("Send back: the station runs again with the reason")),
        ("reject", _("Reject: what is said below")),
        ("rework", _("Rework: the rules as after a failure")),
        ("abort", _("Abort: the task fails")),
    ]
    known = reject_words()
    policy = setting.names.policy if type(setting.names.policy) is dict else {}
    line = policy.get("on_reject")
    said = dict(known).get(line, line) if type(line) is str else ""
    return [
        SeveralField(
            at=("offers",),
            label=_("What they can say"),
            options=words,
            usual=FLUX_OFFERS if setting.names.preset == "flux" else OFFERS,
        ),
        ChoiceField(
            at=("on_reject",),
            label=_("After a rejection"),
            options=[
                ("", _("As the line says: %s") % said if said else _("As the line says")),
                *known,
                *routes(setting, "route"),
            ],
        ),
    ]


def _due(fragment: Fragment) -> list[FormField | Rows]:
    found: list[FormField | Rows] = [
        DueAfter(
            at=("due", "after"),
            label=_("A decision is wanted within"),
            help=_("Shown, and sorted by. Nothing is ever approved because time has passed."),
        )
    ]
    if "due" in fragment:
        words = [("", _("remind")), ("escalate", _("escalate")), ("reject", _("reject"))]
        found.append(ChoiceField(at=("due", "then"), label=_("When that time has passed"), options=words))
    notify = ListedField(
        at=("notify",), label=_("Also tell"), help=_("Mail addresses, one per line."), rows=2
    )
    return [*found, notify]
