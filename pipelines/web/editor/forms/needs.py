"""What limits a line and what its stations need to go forward: named budgets, agents, preconditions (docs/rules.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipelines.models import Agent, Group, Role
from pipelines.routing.document.budgets import KINDS, standard
from pipelines.routing.document.policy import Policy
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.fields import (
    AnythingField,
    ChoiceField,
    FormField,
    ListedField,
    NumberField,
    TextField,
)
from pipelines.web.editor.forms.form import Fragment, Rows, Section, Setting
from pipelines.web.editor.forms.places import Place
from pipelines.web.editor.forms.rule import ExhaustedField
from pipelines.web.editor.forms.words import exhausted


@dataclass(frozen=True, kw_only=True)
class Requires(ListedField):
    """An empty list says something: that nothing is needed, whatever the policy says."""

    between: str = ","

    def text(self, value: Any) -> str:
        return "[]" if value == [] else super().text(value)

    def value(self, typed: str) -> Any:
        return [] if typed.strip() == "[]" else super().value(typed)


def of_station(setting: Setting) -> Section:
    stages = [each for each in setting.names.options("stations") if each[0] != setting.own]
    return Section(
        title=_("Who works here, and what going on needs"),
        fields=[
            ChoiceField(
                at=("agent",),
                label=_("Agent"),
                help=_(
                    "The key of an agent of the project; see its settings. Leave empty for nobody in particular."
                ),
                options=_agents(setting),
                free=True,
            ),
            Requires(
                at=("requires",),
                label=_("Needed to go forward"),
                help=_(
                    "Comma-separated: station_gate, handoff, agent, metadata:NAME. Leave empty for the line's policy;"
                    " [] for nothing."
                ),
                placeholder="handoff, metadata:AI-Usage",
                code=True,
            ),
            ChoiceField(
                at=("stage",),
                label=_("Does the rework of"),
                help=_("To enter it is rework of that station's stage, to go back from it is not."),
                options=[("", _("none: a stage of its own")), *stages],
            ),
            handoff(_("Leave empty for that of the line, else that of AEEF.")),
        ],
    )


def _agents(setting: Setting) -> list[tuple[str, str]]:
    keys = Agent.objects.filter(project=setting.project).order_by("key").values_list("key", flat=True)
    return [(key, key) for key in keys]


def roles(setting: Setting) -> list[tuple[str, str]]:
    """Who may be named for an escalation: groups of the project, and Gateline's own roles."""
    names = Group.objects.filter(project=setting.project).order_by("name").values_list("name", flat=True)
    return [(name, name) for name in names] + [(role.value, str(role.label)) for role in Role]


def handoff(otherwise: str) -> AnythingField:
    """The JSON Schema of the documents that are handed on from here."""
    return AnythingField(
        at=("handoff",),
        label=_("Schema of the handoff"),
        help=_("A JSON Schema; what the work hands to the next station has to be valid by it.")
        + " "
        + otherwise,
        placeholder='{"type": "object", "required": ["change_summary"]}',
        rows=4,
    )


def of_line(usual: Policy, setting: Setting) -> list[Section]:
    on, off = _("Yes"), _("No")
    fields: list[FormField | Rows] = [
        ChoiceField(
            at=("policy", name),
            label=label,
            help=words,
            options=[("", _("Preset: %s") % (on if known else off).lower()), ("yes", on), ("no", off)],
        )
        for name, label, words, known in (
            (
                "standard_budgets",
                _("The usual limits of AEEF apply"),
                _(
                    "Rework, restarts and types of failure, each with its number; one below of the same key counts."
                ),
                usual.standard_budgets,
            ),
            (
                "preconditions",
                _("Going forward needs gate, handoff and agent"),
                _("Where a station does not say itself what it needs."),
                usual.preconditions,
            ),
        )
    ]
    schema = handoff(_("Leave empty for that of AEEF. A station can have its own."))
    return [Section(title=_("Limits and preconditions"), fields=[*fields, schema, _budgets(usual, setting)])]


def kinds() -> list[tuple[str, str]]:
    words = {
        "rules": _("Times rules are taken, together"),
        "edges": _("Moves from station to station"),
        "station": _("Entries of stations, together"),
        "failure_type": _("Moves with a type of failure"),
        "same_stage": _("Rework within a stage"),
        "cross_stage": _("Rework across stages"),
        "restart": _("Restarts of the whole line"),
        "loop": _("Rounds of a loop"),
    }
    return [(kind, words[kind]) for kind in KINDS]


def _budgets(usual: Policy, setting: Setting) -> Rows:
    told = roles(setting)
    return Rows(
        at=("budgets",),
        label=_("Named limits"),
        row=lambda fragment, at: _budget(fragment, at, setting, told),
        new=_new,
        title=_title,
        add=_("Add a limit for"),
        kinds=kinds(),
        help=_("Moves beyond the limit are refused. If several apply, the strictest counts."),
        empty=_of_preset(usual),
        ordered=False,
        folded=True,
    )


def _of_preset(usual: Policy) -> str:
    """The standard ones, where the line declares none."""
    if not usual.standard_budgets:
        return _("None: only the limits of rules and stations bind.")
    told = ", ".join(f"{each.name} {each.most}" for each in standard(()))
    return _("None of its own. The preset brings %(told)s.") % {"told": told}


def _new(fragment: Fragment, kind: str) -> dict[str, Any]:
    taken = {each.get("key") for each in fragment.get("budgets") or () if type(each) is dict}
    base = kind.replace("_", "-")
    key = next(name for n in range(1, 10_000) if (name := base if n == 1 else f"{base}-{n}") not in taken)
    needed: dict[str, list[str]] = {
        name: [] for name in KINDS[kind][:1] if kind not in ("same_stage", "restart")
    }
    return {"key": key, "kind": kind, **needed, "most": 3}


def _title(member: Any, index: int) -> str:
    if type(member) is not dict:
        return str(index + 1)
    words = dict(kinds()).get(str(member.get("kind")), str(member.get("kind", "")))
    return f"{member.get('label') or member.get('key') or index + 1}: {words}, {member.get('most', '?')}"


LISTS = {
    "rules": lambda: _("Rules, by their ids"),
    "edges": lambda: _("Paths, each as from->to"),
    "stations": lambda: _("Stations, by their keys"),
    "failure_types": lambda: _("Types of failure"),
}


def _budget(
    fragment: Fragment, at: Place, setting: Setting, told: list[tuple[str, str]]
) -> Sequence[FormField | Rows]:
    kind = places.get(fragment, (*at, "kind"))
    lists = KINDS.get(kind, ()) if type(kind) is str else ()
    return [
        TextField(at=(*at, "label"), label=_("Name"), placeholder=_("as the key")),
        TextField(at=(*at, "key"), label=_("Key"), needed=True, code=True),
        ChoiceField(at=(*at, "kind"), label=_("What is counted"), options=kinds()),
        NumberField(
            at=(*at, "most"),
            label=_("So many are allowed"),
            help=_("A number, or none for no limit."),
            code=True,
        ),
        *(
            ListedField(
                at=(*at, name),
                label=LISTS[name](),
                help=_("Comma-separated"),
                between=",",
                code=True,
                needed=name == lists[0] and kind not in ("same_stage", "restart"),
            )
            for name in lists
        ),
        ExhaustedField(
            at=(*at, "on_exhausted"),
            label=_("After that"),
            options=exhausted((*setting.names.options("stations"), *setting.names.options("ends"))),
            covers=(f"{places.name((*at, 'on_exhausted'))}.to",),
        ),
        ChoiceField(
            at=(*at, "role"),
            label=_("Who is told"),
            help=_(
                "Only where it is escalated. Leave empty for whom the escalations name for a used-up limit."
            ),
            options=told,
            free=True,
        ),
    ]
