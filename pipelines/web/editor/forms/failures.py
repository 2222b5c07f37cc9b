"""Form of where the failures of a station go, type by type (AEEF E16): ordinary rules of one form, a row
each.

The fragment is `{rules: […]}`, the rules of this form only. `told` of a rule is no key of the document:
the canvas makes a named budget of it, since only a budget names the role that answers its escalation
(docs/rules.md, Budgets).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics.keys import first_unused_key
from pipelines.routing.document.budgets import MAX_ROLE
from pipelines.routing.document.line import Problem
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.conditions.controls import FailureTypesField
from pipelines.web.editor.forms.fields import ChoiceField, FormField, NumberField, TextField
from pipelines.web.editor.forms.form import (
    FormSetting,
    Fragment,
    PlacedFragment,
    Rows,
    Section,
    member_values,
    skeleton_document,
)
from pipelines.web.editor.forms.fragment_paths import MISSING, Place
from pipelines.web.editor.forms.option_lists import exhaustion_options
from pipelines.web.editor.forms.rule import ExhaustedField, end_options

RULES: Place = ("rules",)
USUAL = 3
"""As often as AEEF lets most types of failure come back."""


class FailuresForm:
    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]:
        return [Section(fields=[_failure_rows(setting)])]

    def placed_fragment(self, fragment: Fragment, setting: FormSetting) -> PlacedFragment:
        keys = [station.key for station in setting.names.stations]
        index = keys.index(setting.own) if setting.own in keys else 0
        document = skeleton_document(setting.names)
        stations = document["stations"] or [{"key": "station"}]
        rules = fragment.get("rules")
        if type(rules) is list:
            # The readers would refuse `told`, which is no key of the document.
            rules = [_rule_without_notified_role(rule) for rule in rules]
        stations[index] = {**stations[index], **({} if rules is None else {"rules": rules})}
        return PlacedFragment({**document, "stations": stations}, f"stations[{index}]")

    def extra_problems(self, fragment: Fragment, setting: FormSetting) -> Sequence[Problem]:
        return [*_type_problems(fragment), *_notification_problems(fragment, dict(end_options(setting)))]


def _rule_without_notified_role(rule: Any) -> Any:
    return {key: value for key, value in rule.items() if key != "told"} if type(rule) is dict else rule


def _rule_members(fragment: Fragment) -> Iterator[tuple[int, dict[str, Any]]]:
    rules = fragment_paths.value_at(fragment, RULES)
    members = rules if type(rules) is list else []
    return ((index, member) for index, member in enumerate(members) if type(member) is dict)


def _path_of_failure_types(rule: Any) -> Place:
    """Return the path of the rule's failure types: alone, or together with `result: failure`."""
    alone: Place = ("when", "failure_type")
    # `{all: [{result: failure}, {failure_type: …}]}`
    both: Place = ("when", "all", 1, "failure_type")
    return alone if fragment_paths.value_at(rule, both) is MISSING else both


def rule_failure_types(rule: Any) -> list[str]:
    value = fragment_paths.value_at(rule, _path_of_failure_types(rule))
    members = value if type(value) is list else [value]
    return [type_name for type_name in members if type(type_name) is str and type_name.strip()]


def _type_problems(fragment: Fragment) -> Iterator[Problem]:
    """A row without a type, or with one that a row before it takes already, is never reached."""
    used_types: set[str] = set()
    for index, rule in _rule_members(fragment):
        types, at = (
            rule_failure_types(rule),
            fragment_paths.path_name((*RULES, index, *_path_of_failure_types(rule))),
        )
        if not types:
            yield Problem(at, "is empty", "write the type as the work says it, for example test failure")
        for name in types:
            if name in used_types:
                yield Problem(at, f"“{name}” has a row already", "change that one")
        used_types.update(types)


def _notification_problems(fragment: Fragment, ends: dict[str, str]) -> Iterator[Problem]:
    """Yield problems of the notified role: it needs a limit, and a target that is a station, since budgets
    count only moves to stations. Each problem is reported at both fields that can fix it."""
    for index, rule in _rule_members(fragment):
        notified_role = rule.get("told", MISSING)
        if notified_role is MISSING:
            continue
        at = (*RULES, index)
        if type(notified_role) is not str or len(notified_role) > MAX_ROLE:
            yield Problem(
                fragment_paths.path_name((*at, "told")), f"has to be a text of at most {MAX_ROLE} characters"
            )
        if "max_retries" not in rule:
            # Either field mends it, so that both say it
            for name in ("told", "max_retries"):
                message = "nobody can be told where there is no limit"
                yield Problem(fragment_paths.path_name((*at, name)), message, "say at most how often")
        if rule.get("to") in ends:
            for name in ("told", "to"):
                message = "nobody is told of a path to an end, because no limit counts it"
                yield Problem(
                    fragment_paths.path_name((*at, name)), message, "lead to a station, or tell nobody"
                )


# Its rows


@dataclass(frozen=True, kw_only=True)
class LabelledTypesField(FailureTypesField):
    """A label that says the types follows them."""

    def to_text(self, value: Any) -> str:
        return "" if value == "" else super().to_text(value)

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        rule = self.at[:2]
        label, before = (
            fragment_paths.value_at(fragment, (*rule, "label")),
            self.control_values_for_fragment(fragment),
        )
        changed = super().with_typed(fragment, typed)
        # A label that somebody wrote differs from the types, and stays.
        if before and before[0] and label == before[0]:
            return fragment_paths.fragment_with_value_at(
                changed, (*rule, "label"), self.control_values_for_fragment(changed)[0]
            )
        return changed


@dataclass(frozen=True, kw_only=True)
class ExhaustionField(ExhaustedField):
    """Only who answers an escalation is told."""

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        changed = super().with_typed(fragment, typed)
        if typed and typed[0] == "escalate":
            return changed
        return fragment_paths.fragment_with_value_at(changed, (*self.at[:2], "told"), MISSING)


def _failure_rows(setting: FormSetting) -> Rows:
    stations, ends = setting.names.options("stations"), end_options(setting)
    names = dict([*stations, *ends])

    def failure_row_title(member: Any, index: int) -> str:
        if type(member) is not dict:
            return str(index + 1)
        types, to = ", ".join(rule_failure_types(member)) or "?", str(member.get("to", "?"))
        most = member.get("max_retries")
        route = f"{types} → {names.get(to, to)}"
        return route if type(most) is not int else f"{route}, at most {most}"

    def new_failure_rule(fragment: Fragment, kind: str) -> dict[str, Any]:
        keys = [key for key, _words in stations]
        place = keys.index(setting.own) if setting.own in keys else 0
        # Suggests the station before this one, where a failure is usually mended.
        to = keys[max(place - 1, 0)] if keys else "failed"
        used_ids = [*setting.names.rules, *member_values(fragment, RULES, "id")]
        free = first_unused_key(f"{setting.own or 'station'}-failure", used_ids)
        return {"id": free, "when": {"failure_type": ""}, "to": to, "max_retries": USUAL}

    return Rows(
        at=RULES,
        label="Types of failure",
        row=lambda fragment, at: _failure_fields(fragment, at, setting),
        new=new_failure_rule,
        title=failure_row_title,
        add="Add a type of failure",
        help="Each is a rule of its own, before the one that takes every failure.",
        empty="None yet. All failures take the same route.",
        ordered=False,
        folded=True,
        rest=False,
    )


def _failure_fields(fragment: Fragment, at: Place, setting: FormSetting) -> Sequence[FormField | Rows]:
    stations, ends = setting.names.options("stations"), end_options(setting)
    special = [("@origin", "Back where it came from"), ("@blocked", "Wait for an answer")]
    after = (*at, "on_exhausted")
    return [
        LabelledTypesField(
            at=(*at, *_path_of_failure_types(fragment_paths.value_at(fragment, at))),
            label="Type of failure",
            help="As the work reports it. Comma-separated; any of them matches.",
            between=",",
            placeholder="test failure",
        ),
        ChoiceField(at=(*at, "to"), label="Goes to", options=[*stations, *ends, *special], needed=True),
        NumberField(
            at=(*at, "max_retries"),
            label="At most this many times",
            help="Per task. Leave empty for no limit.",
        ),
        ExhaustionField(
            at=after,
            label="After that",
            options=exhaustion_options((*stations, *ends)),
            covers=(f"{fragment_paths.path_name(after)}.to",),
        ),
        TextField(
            at=(*at, "told"),
            label="Who is told then",
            help="A role or a group of the project to escalate to. Leave empty for the setting of the line.",
            placeholder="Development Manager",
            longest=MAX_ROLE,
            also=((after, "escalate"),),
        ),
    ]
