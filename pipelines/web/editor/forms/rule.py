"""A rule: its condition, where it leads, which gates it asks, and what bounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from pipelines.queries.recorded_paths import recorded_output_examples
from pipelines.routing.document.compose_strategies import STRATEGIES
from pipelines.routing.document.line import Problem
from pipelines.routing.document.rules import COMPOSE, RULE
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.conditions import condition_fields
from pipelines.web.editor.forms.conditions.controls import ConditionJsonField
from pipelines.web.editor.forms.conditions.setting import ConditionSetting, condition_text
from pipelines.web.editor.forms.declared_fields import declared_control, remaining_fields
from pipelines.web.editor.forms.fields import ChoiceField, FormField, Options, Reading
from pipelines.web.editor.forms.form import (
    FormSetting,
    Fragment,
    PlacedFragment,
    Rows,
    Section,
    first_free_or_empty,
    list_members,
    sections_with_uncovered_rest,
    skeleton_document,
)
from pipelines.web.editor.forms.fragment_paths import MISSING, Place
from pipelines.web.editor.forms.operands import PathField
from pipelines.web.editor.forms.option_lists import exhaustion_options

WHEN = ("when",)
FORK = "*fork"
"""Stands among the targets for several at once; no key begins with a star."""


class RuleForm:
    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]:
        around = _condition_setting(fragment, setting)
        sections = [
            Section(fields=[declared_control(RULE, (), "label", longest=200)]),
            _condition_section(fragment, around),
            _json_section(fragment, around),
            Section(title="Leads to", fields=_target_fields(fragment, setting), open=True),
            _gates_section(fragment, setting),
            Section(title="Limits", fields=_limit_fields(fragment, setting)),
            Section(title="Feedback and variables", fields=_effect_fields(around)),
            Section(title="Id", fields=[declared_control(RULE, (), "id", covers=("",))]),
        ]
        placed = [field for section in sections for field in section.fields]
        sections[0] = replace(sections[0], fields=[*sections[0].fields, *remaining_fields(RULE, (), placed)])
        return sections_with_uncovered_rest(
            sections, fragment, "Everything else", "What has no field of its own, as JSON.", WHEN
        )

    def placed_fragment(self, fragment: Fragment, setting: FormSetting) -> PlacedFragment:
        keys = [station.key for station in setting.names.stations]
        index = keys.index(setting.within) if setting.within in keys else 0
        document = skeleton_document(setting.names)
        stations = document["stations"] or [{"key": "station"}]
        stations[index] = {**stations[index], "rules": [fragment]}
        return PlacedFragment({**document, "stations": stations}, f"stations[{index}].rules[0]")

    def extra_problems(self, fragment: Fragment, setting: FormSetting) -> Sequence[Problem]:
        """An id that another rule of the line has."""
        others = list(setting.names.rules)
        if setting.own in others:
            # Takes out one only: where two rules have this id, it is a fault.
            others.remove(setting.own)
        name = fragment_paths.value_at(fragment, ("id",))
        if name not in others:
            return []
        return [Problem("id", "another rule of the line has this id", "choose another one")]


def _condition_setting(fragment: Fragment, setting: FormSetting) -> ConditionSetting:
    reads = setting.line is not None and _reads_output(fragment_paths.value_at(fragment, WHEN), 0)
    wants = reads or fragment_paths.value_at(fragment, ("compose",)) is not MISSING
    paths = (
        recorded_output_examples(setting.line, setting.within) if wants and setting.line is not None else []
    )
    return ConditionSetting(setting.names, setting.within, paths)


def _reads_output(condition: Any, depth: int) -> bool:
    """Recorded outputs are only looked up for a condition that could use them."""
    if depth > condition_fields.DEEPEST:
        return False
    if type(condition) is list:
        return any(_reads_output(member, depth + 1) for member in condition)
    if type(condition) is not dict:
        return condition is MISSING
    return bool(condition)


def _condition_section(fragment: Fragment, condition_setting: ConditionSetting) -> Section:
    return Section(
        title="When",
        fields=condition_fields.condition_items(fragment, WHEN, condition_setting),
        open=True,
        template="editor/forms/words.html",
        context={"words": condition_text(fragment_paths.value_at(fragment, WHEN), condition_setting)},
        on_top=True,
        css="ef-when",
    )


def _json_section(fragment: Fragment, condition_setting: ConditionSetting) -> Section:
    json_field = ConditionJsonField(
        at=WHEN,
        label="The whole condition",
        help="Leave empty for always. What has no field can be written here.",
        rows=4,
        around=condition_setting,
    )
    kind = condition_fields.condition_kind_or_empty(fragment_paths.value_at(fragment, WHEN))
    return Section(title="Condition as JSON", fields=[json_field], open=not kind)


# Where it leads


@dataclass(frozen=True, kw_only=True)
class TargetField(ChoiceField):
    """Field for one target, also of a fork that has only one left."""

    @cached_property
    def name(self) -> str:
        return f"{super().name}#one"

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        to = fragment_paths.value_at(fragment, self.at)
        one = to[0] if type(to) is list and len(to) == 1 else to
        return [self.to_text(one)] if one is not MISSING else [""]

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        key = typed[0] if typed else ""
        if key != FORK:
            return fragment_paths.fragment_with_value_at(fragment, self.at, key)
        # No branches: `@origin`, `@blocked`, and the option of a fork itself.
        stations = [value for value, _words in self.options if not value.startswith(("@", "*"))]
        before = self.control_values_for_fragment(fragment)
        # The target until now stays the first branch.
        return fragment_paths.fragment_with_value_at(
            fragment, self.at, list(dict.fromkeys([*before, *stations]))[:2]
        )


def _target_fields(fragment: Fragment, setting: FormSetting) -> list[FormField | Rows]:
    to = fragment_paths.value_at(fragment, ("to",))
    stations = setting.names.options("stations")
    if type(to) is list and len(to) != 1:
        return [_branch_rows(stations)]
    special = [("@origin", "Back where it came from"), ("@blocked", "Wait for an answer")]
    fork = [(FORK, "Several at once: a fork")] if len(stations) > 1 else []
    options = [*stations, *end_options(setting), *special, *fork]
    return [TargetField(at=("to",), label="Target", options=options, needed=True, covers=("to", "to[0]"))]


def end_options(setting: FormSetting) -> Options:
    declared = setting.names.options("ends")
    known = {key for key, words in declared}
    built_in = [("completed", "completed"), ("failed", "failed"), ("cancelled", "cancelled")]
    return [*declared, *(end for end in built_in if end[0] not in known)]


def _branch_rows(stations: Options) -> Rows:
    return Rows(
        at=("to",),
        label="Branches",
        help="One branch each. With a single target the rule does not fork.",
        row=lambda fragment, at: [ChoiceField(at=at, label="Branch", options=stations, needed=True)],
        new=lambda fragment, kind: _unused_option(stations, fragment, "to"),
        title=lambda member, index: dict(stations).get(str(member), str(member)),
        add="Add a branch",
        ordered=False,
        rest=False,
        css="ef-short",
    )


def _unused_option(options: Options, fragment: Fragment, name: str) -> str:
    """Return an option that is not yet in the list `name`, where there is one."""
    keys = [key for key, _words in options]
    return first_free_or_empty(keys, list_members(fragment, (name,))) or next(iter(keys), "")


def _gates_section(fragment: Fragment, setting: FormSetting) -> Section:
    gates = setting.names.options("gates")
    rule_gates = fragment_paths.value_at(fragment, ("gates",))
    if not gates and not rule_gates:
        return Section(title="Gates", help="The line has no gate yet. Add one below.")

    rows = Rows(
        at=("gates",),
        label="Gates of this rule",
        help="Checks of all first, then the people of all are asked together.",
        row=lambda fragment, at: [ChoiceField(at=at, label="Gate", options=gates, needed=True)],
        new=lambda fragment, kind: _unused_option(gates, fragment, "gates"),
        title=lambda member, index: dict(gates).get(str(member), str(member)),
        add="Add a gate",
        empty="No gate: the task goes on at once.",
        rest=False,
        css="ef-short",
    )
    return Section(title="Gates", fields=[rows], open=rule_gates is not MISSING)


# What bounds it


@dataclass(frozen=True, kw_only=True)
class ExhaustedField(ChoiceField):
    """fail, stuck, escalate, or `to:` and a key."""

    @property
    def reading(self) -> Reading:
        return replace(super().reading, under="to")

    def to_text(self, value: Any) -> str:
        to = value.get("to") if type(value) is dict and set(value) == {"to"} else None
        return f"to:{to}" if type(to) is str else super().to_text(value)


@dataclass(frozen=True, kw_only=True)
class YesNoField(ChoiceField):
    """true, false, or not said."""

    reading: ClassVar[Reading] = Reading(words={"yes": True, "no": False})

    def to_text(self, value: Any) -> str:
        return {True: "yes", False: "no"}[value] if type(value) is bool else super().to_text(value)


def _limit_fields(fragment: Fragment, setting: FormSetting) -> list[FormField | Rows]:
    return [
        *(declared_control(RULE, (), key) for key in ("max_retries", "max_visits")),
        declared_control(
            RULE,
            (),
            "on_exhausted",
            ExhaustedField,
            options=exhaustion_options((*setting.names.options("stations"), *end_options(setting))),
            covers=("on_exhausted.to",),
        ),
        declared_control(
            RULE,
            (),
            "allow_revisit",
            YesNoField,
            options=[("", "as the line's policy says"), ("yes", "allowed"), ("no", "never")],
        ),
    ]


# What it does on the way


def _effect_fields(condition_setting: ConditionSetting) -> list[FormField | Rows]:
    def effect_row_fields(fragment: Any, at: Place) -> list[FormField | Rows]:
        strategies = [("", "replace"), *((strategy, strategy) for strategy in STRATEGIES)]
        return [
            declared_control(COMPOSE, at, "var", needed=True),
            declared_control(
                COMPOSE, at, "path", PathField, options=(), free=True, known=tuple(condition_setting.paths)
            ),
            declared_control(COMPOSE, at, "strategy", ChoiceField, options=strategies),
        ]

    return [
        declared_control(RULE, (), "feedback"),
        Rows(
            at=("compose",),
            label="Variables",
            help="Set from the output when the rule is taken.",
            row=effect_row_fields,
            new=lambda fragment, kind: {"var": "value", "path": "$"},
            title=lambda member, index: (
                str(fragment_paths.value_at(member, ("var",))) if type(member) is dict else str(index + 1)
            ),
            add="Add a variable",
        ),
    ]
