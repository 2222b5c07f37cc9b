"""Form of a line's guarantees: each is a sentence of one of the forms, in which the parts of the line can be
chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.routing.basics.keys import free_key
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.guarantees import (
    AFTER,
    GUARANTEE,
    NEVER,
    REJECT,
    SEND_BACK,
    VISITS,
    AfterWord,
    Guarantee,
    NeverReached,
    VisitsAtMost,
)
from pipelines.routing.sentences.guarantees import guarantee_sentence
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.declared import control
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import Fragment, Rows, Section, Setting, values_at
from pipelines.web.editor.forms.places import Place

WITHOUT, AFTERWARDS, VISIT, ENDS, COST = "never", "after", "at_most", "ends_within", "cost_at_most"


def kinds() -> list[tuple[str, str]]:
    return [
        (WITHOUT, "Nothing reaches … without …"),
        (AFTERWARDS, "After a rejection nothing reaches …"),
        (VISIT, "A task visits … at most n times"),
        (ENDS, "Every path ends within n moves"),
        (COST, "A task costs at most …"),
    ]


def of_line(setting: Setting) -> Section:
    return Section(title="Guarantees", fields=[_rows(setting)])


def _rows(setting: Setting) -> Rows:
    return Rows(
        at=("guarantees",),
        label="Guarantees",
        row=lambda fragment, at: _row(fragment, at, setting),
        new=lambda fragment, kind: _new(fragment, kind, setting),
        title=lambda member, index: _title(member, index, setting),
        add="Add a guarantee",
        kinds=kinds(),
        help="Each is checked with the line. A refuted one keeps the line from being published.",
        empty="No guarantees yet.",
        ordered=False,
        folded=True,
    )


def form_of(member: Any) -> str:
    if type(member) is not dict:
        return ""
    # AFTERWARDS before WITHOUT: such a guarantee has a `never`, too.
    return next((form for form in (AFTERWARDS, WITHOUT, VISIT, ENDS, COST) if form in member), "")


def _title(member: Any, index: int, setting: Setting) -> str:
    """The sentence itself, with names; as much of it as is there."""
    drafted, known = _drafted(member), setting.names
    if drafted is None:
        return str(index + 1)
    names = dict([*known.options("gates"), *known.options("ends"), *known.options("stations")])
    return people_text(guarantee_sentence(drafted, lambda key: names.get(key, key)))


def _drafted(member: Any) -> Guarantee | None:
    """Return the guarantee with “…” for the parts that are still missing."""
    form = form_of(member)

    def of(part: str, key: str) -> Any:
        inner = member.get(part)
        return _shown(inner.get(key) if type(inner) is dict else None)

    if form == WITHOUT:
        return Guarantee(id="", never=NeverReached(of(form, "reach"), of(form, "without")))
    if form == AFTERWARDS:
        word = SEND_BACK if of(form, "word") == SEND_BACK else REJECT
        after, never = AfterWord(of(form, "gate"), word), NeverReached(of(WITHOUT, "reach"))
        return Guarantee(id="", after=after, never=never)
    if form == VISIT:
        return Guarantee(id="", at_most=VisitsAtMost(of(form, "visit"), of(form, "times")))
    if form == ENDS:
        return Guarantee(id="", ends_within=_shown(member[form]))
    return Guarantee(id="", cost_at_most=_shown(member[form])) if form else None


def _shown(value: Any) -> Any:
    return value if type(value) is int else str(value or "…")


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
    promises: dict[str, dict[str, Any]] = {
        WITHOUT: {"never": {"reach": last, "without": gates[0] if gates else first}},
        AFTERWARDS: {
            "after": {"gate": gates[0] if gates else "", "word": "reject"},
            "never": {"reach": last},
        },
        VISIT: {"at_most": {"visit": first, "times": 3}},
        ENDS: {"ends_within": 40},
        COST: {"cost_at_most": "10.00"},
    }
    return {"id": key, **promises[kind]}


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
