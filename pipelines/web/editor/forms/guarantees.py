"""What a line promises: each guarantee a sentence of one of the forms, with the parts of the line in it to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.basics.keys import free_key
from pipelines.routing.document.guarantees import AFTER, GUARANTEE, NEVER, VISITS
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.declared import control
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import Fragment, Rows, Section, Setting, values_at
from pipelines.web.editor.forms.places import Place

WITHOUT, AFTERWARDS, VISIT, ENDS, COST = "never", "after", "at_most", "ends_within", "cost_at_most"


def kinds() -> list[tuple[str, str]]:
    return [
        (WITHOUT, _("Nothing reaches … without …")),
        (AFTERWARDS, _("After a rejection nothing reaches …")),
        (VISIT, _("A task visits … at most n times")),
        (ENDS, _("Every path ends within n moves")),
        (COST, _("A task costs at most …")),
    ]


def of_line(setting: Setting) -> Section:
    return Section(title=_("Guarantees"), fields=[_rows(setting)])


def _rows(setting: Setting) -> Rows:
    return Rows(
        at=("guarantees",),
        label=_("Guarantees"),
        row=lambda fragment, at: _row(fragment, at, setting),
        new=lambda fragment, kind: _new(fragment, kind, setting),
        title=lambda member, index: _title(member, index, setting),
        add=_("Add a guarantee"),
        kinds=kinds(),
        help=_(
            "Each is proved when the line is checked. One that is not true keeps it from being published."
        ),
        empty=_("The line promises nothing yet."),
        ordered=False,
        folded=True,
    )


def form_of(member: Any) -> str:
    if type(member) is not dict:
        return ""
    return next((form for form in (AFTERWARDS, WITHOUT, VISIT, ENDS, COST) if form in member), "")


def _title(member: Any, index: int, setting: Setting) -> str:
    """The sentence itself, with names; as much of it as is there."""
    form = form_of(member)
    if not form:
        return str(index + 1)
    known = setting.names
    names = dict([*known.options("gates"), *known.options("ends"), *known.options("stations")])

    def of(part: str, key: str) -> str:
        inner = member.get(part)
        found = inner.get(key) if type(inner) is dict else None
        return str(names.get(found, found) if type(found) is str else found or "…")

    if form == WITHOUT:
        told = {"place": of("never", "reach"), "without": of("never", "without")}
        return _("Nothing reaches %(place)s without %(without)s") % told
    if form == AFTERWARDS:
        told = {"gate": of("after", "gate"), "place": of("never", "reach")}
        return _("After %(gate)s says no, nothing reaches %(place)s") % told
    if form == VISIT:
        told = {"station": of("at_most", "visit"), "times": of("at_most", "times")}
        return _("A task visits %(station)s at most %(times)s times") % told
    if form == ENDS:
        return _("Every path ends within %s moves") % member[form]
    return _("A task costs at most $%s") % member[form]


def _new(fragment: Fragment, kind: str, setting: Setting) -> dict[str, Any]:
    stations = [key for key, _label in setting.names.options("stations")]
    gates = [key for key, _label in setting.names.options("gates")]
    last, first = (stations[-1], stations[0]) if stations else ("", "")
    key = free_key(
        {WITHOUT: "reviewed", AFTERWARDS: "stays-rejected", VISIT: "visits", ENDS: "ends", COST: "cost"}[
            kind
        ],
        values_at(fragment, ("guarantees",), "id"),
    )
    said: dict[str, dict[str, Any]] = {
        WITHOUT: {"never": {"reach": last, "without": gates[0] if gates else first}},
        AFTERWARDS: {
            "after": {"gate": gates[0] if gates else "", "word": "reject"},
            "never": {"reach": last},
        },
        VISIT: {"at_most": {"visit": first, "times": 3}},
        ENDS: {"ends_within": 40},
        COST: {"cost_at_most": "10.00"},
    }
    return {"id": key, **said[kind]}


def _row(fragment: Fragment, at: Place, setting: Setting) -> Sequence[FormField | Rows]:
    form = form_of(places.get(fragment, at))
    names = setting.names
    reached = (*names.options("stations"), *names.options("ends"), *names.options("gates"))
    own: list[FormField | Rows] = []
    if form in (WITHOUT, AFTERWARDS):
        own.append(control(NEVER, (*at, "never"), "reach", ChoiceField, options=reached, needed=True))
    if form == WITHOUT:
        passed = (*names.options("gates"), *names.options("stations"))
        own.append(control(NEVER, (*at, "never"), "without", ChoiceField, options=passed, needed=True))
    if form == AFTERWARDS:
        gates = names.options("gates")
        own.append(control(AFTER, (*at, "after"), "gate", ChoiceField, options=gates, needed=True))
        own.append(control(AFTER, (*at, "after"), "word"))
    if form == VISIT:
        stations = names.options("stations")
        own.append(control(VISITS, (*at, "at_most"), "visit", ChoiceField, options=stations, needed=True))
        own.append(control(VISITS, (*at, "at_most"), "times"))
    if form in (ENDS, COST):
        own.append(control(GUARANTEE, at, form))
    return [*own, control(GUARANTEE, at, "id")]
