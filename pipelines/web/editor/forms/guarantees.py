"""Form of a line's guarantees: each is a sentence of one of the forms, in which the parts of the line can be
chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.routing.basics.keys import first_unused_key
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
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.declared_fields import declared_control
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import FormSetting, Fragment, Rows, Section, member_values
from pipelines.web.editor.forms.fragment_paths import Place

WITHOUT, AFTERWARDS, VISIT, ENDS, COST = "never", "after", "at_most", "ends_within", "cost_at_most"


def guarantee_kinds() -> list[tuple[str, str]]:
    return [
        (WITHOUT, "Nothing reaches … without …"),
        (AFTERWARDS, "After a rejection nothing reaches …"),
        (VISIT, "… runs at most n times per task"),
        (ENDS, "Every path ends within n moves"),
        (COST, "A task costs at most …"),
    ]


def guarantees_section(setting: FormSetting) -> Section:
    return Section(title="Guarantees", fields=[_guarantee_rows(setting)])


def _guarantee_rows(setting: FormSetting) -> Rows:
    return Rows(
        at=("guarantees",),
        label="Guarantees",
        row=lambda fragment, at: _guarantee_fields(fragment, at, setting),
        new=lambda fragment, kind: _new_guarantee(fragment, kind, setting),
        title=lambda member, index: _guarantee_title(member, index, setting),
        add="Add a guarantee",
        kinds=guarantee_kinds(),
        help="Each is checked with the line. A refuted one keeps the line from being published.",
        empty="No guarantees yet.",
        ordered=False,
        folded=True,
    )


def guarantee_form_or_empty(member: Any) -> str:
    if type(member) is not dict:
        return ""
    # AFTERWARDS before WITHOUT: such a guarantee has a `never`, too.
    return next((form for form in (AFTERWARDS, WITHOUT, VISIT, ENDS, COST) if form in member), "")


def _guarantee_title(member: Any, index: int, setting: FormSetting) -> str:
    """The sentence itself, with names; as much of it as is there."""
    drafted, known = _draft_guarantee_or_none(member), setting.names
    if drafted is None:
        return str(index + 1)
    names = dict([*known.options("gates"), *known.options("ends"), *known.options("stations")])
    return people_text(guarantee_sentence(drafted, lambda key: names.get(key, key)))


def _draft_guarantee_or_none(member: Any) -> Guarantee | None:
    """Return the guarantee with “…” for the parts that are still missing."""
    form = guarantee_form_or_empty(member)

    # A draft may have any value there, and a title is still shown
    def part_value(part: str, key: str) -> Any:
        inner = member.get(part)
        return _integer_or_text_or_ellipsis(inner.get(key) if type(inner) is dict else None)

    if form == WITHOUT:
        return Guarantee(id="", never=NeverReached(part_value(form, "reach"), part_value(form, "without")))
    if form == AFTERWARDS:
        word = SEND_BACK if part_value(form, "word") == SEND_BACK else REJECT
        after, never = AfterWord(part_value(form, "gate"), word), NeverReached(part_value(WITHOUT, "reach"))
        return Guarantee(id="", after=after, never=never)
    if form == VISIT:
        return Guarantee(id="", at_most=VisitsAtMost(part_value(form, "visit"), part_value(form, "times")))
    if form == ENDS:
        return Guarantee(id="", ends_within=_integer_or_text_or_ellipsis(member[form]))
    return Guarantee(id="", cost_at_most=_integer_or_text_or_ellipsis(member[form])) if form else None


def _integer_or_text_or_ellipsis(value: Any) -> Any:
    return value if type(value) is int else str(value or "…")


def _new_guarantee(fragment: Fragment, kind: str, setting: FormSetting) -> dict[str, Any]:
    stations = [key for key, _label in setting.names.options("stations")]
    gates = [key for key, _label in setting.names.options("gates")]
    last, first = (stations[-1], stations[0]) if stations else ("", "")
    key = first_unused_key(
        {WITHOUT: "reviewed", AFTERWARDS: "stays-rejected", VISIT: "visits", ENDS: "ends", COST: "cost"}[
            kind
        ],
        member_values(fragment, ("guarantees",), "id"),
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


def _guarantee_fields(fragment: Fragment, at: Place, setting: FormSetting) -> Sequence[FormField | Rows]:
    form = guarantee_form_or_empty(fragment_paths.value_at(fragment, at))
    names = setting.names
    reached = (*names.options("stations"), *names.options("ends"), *names.options("gates"))
    own: list[FormField | Rows] = []
    if form in (WITHOUT, AFTERWARDS):
        own.append(
            declared_control(NEVER, (*at, "never"), "reach", ChoiceField, options=reached, needed=True)
        )
    if form == WITHOUT:
        passed = (*names.options("gates"), *names.options("stations"))
        own.append(
            declared_control(NEVER, (*at, "never"), "without", ChoiceField, options=passed, needed=True)
        )
    if form == AFTERWARDS:
        gates = names.options("gates")
        own.append(declared_control(AFTER, (*at, "after"), "gate", ChoiceField, options=gates, needed=True))
        own.append(declared_control(AFTER, (*at, "after"), "word"))
    if form == VISIT:
        stations = names.options("stations")
        own.append(
            declared_control(VISITS, (*at, "at_most"), "visit", ChoiceField, options=stations, needed=True)
        )
        own.append(declared_control(VISITS, (*at, "at_most"), "times"))
    if form in (ENDS, COST):
        own.append(declared_control(GUARANTEE, at, form))
    return [*own, declared_control(GUARANTEE, at, "id")]
