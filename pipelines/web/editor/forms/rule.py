"""A rule: its condition, where it leads, which gates it asks, and what bounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from pipelines.queries.recorded import output_paths
from pipelines.routing.document.compose_strategies import STRATEGIES
from pipelines.routing.document.line import Problem
from pipelines.routing.document.rules import COMPOSE, RULE
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.conditions import nesting
from pipelines.web.editor.forms.conditions.controls import AsJson
from pipelines.web.editor.forms.conditions.setting import ConditionSetting, in_words
from pipelines.web.editor.forms.declared import control, unplaced
from pipelines.web.editor.forms.fields import ChoiceField, FormField, Options, Reading
from pipelines.web.editor.forms.form import (
    Fragment,
    Placed,
    Rows,
    Section,
    Setting,
    first_free,
    members_at,
    skeleton,
    with_rest,
)
from pipelines.web.editor.forms.operands import PathField
from pipelines.web.editor.forms.places import MISSING, Place
from pipelines.web.editor.forms.words import exhausted

WHEN = ("when",)
FORK = "*fork"
"""Stands among the targets for several at once; no key begins with a star."""


class RuleForm:
    def sections(self, fragment: Fragment, setting: Setting) -> Sequence[Section]:
        around = _around(fragment, setting)
        sections = [
            Section(fields=[control(RULE, (), "label", longest=200)]),
            _condition(fragment, around),
            _as_json(fragment, around),
            Section(title="Leads to", fields=_targets(fragment, setting), open=True),
            _gates(fragment, setting),
            Section(title="Limits", fields=_limits(fragment, setting)),
            Section(title="Feedback and variables", fields=_effects(around)),
            Section(title="Id", fields=[control(RULE, (), "id", covers=("",))]),
        ]
        placed = [field for section in sections for field in section.fields]
        sections[0] = replace(sections[0], fields=[*sections[0].fields, *unplaced(RULE, (), placed)])
        return with_rest(
            sections, fragment, "Everything else", "What has no field of its own, as JSON.", WHEN
        )

    def place(self, fragment: Fragment, setting: Setting) -> Placed:
        keys = [station.key for station in setting.names.stations]
        index = keys.index(setting.within) if setting.within in keys else 0
        document = skeleton(setting.names)
        stations = document["stations"] or [{"key": "station"}]
        stations[index] = {**stations[index], "rules": [fragment]}
        return Placed({**document, "stations": stations}, f"stations[{index}].rules[0]")

    def more(self, fragment: Fragment, setting: Setting) -> Sequence[Problem]:
        """An id that another rule of the line has."""
        others = list(setting.names.rules)
        if setting.own in others:
            # Takes out one only: where two rules have this id, it is a fault.
            others.remove(setting.own)
        name = places.get(fragment, ("id",))
        if name not in others:
            return []
        return [Problem("id", "another rule of the line has this id", "choose another one")]


def _around(fragment: Fragment, setting: Setting) -> ConditionSetting:
    reads = setting.line is not None and _reads_output(places.get(fragment, WHEN), 0)
    wants = reads or places.get(fragment, ("compose",)) is not MISSING
    paths = output_paths(setting.line, setting.within) if wants and setting.line is not None else []
    return ConditionSetting(setting.names, setting.within, paths)


def _reads_output(condition: Any, depth: int) -> bool:
    """Recorded outputs are only looked up for a condition that could use them."""
    if depth > nesting.DEEPEST:
        return False
    if type(condition) is list:
        return any(_reads_output(member, depth + 1) for member in condition)
    if type(condition) is not dict:
        return condition is MISSING
    return bool(condition)


def _condition(fragment: Fragment, around: ConditionSetting) -> Section:
    return Section(
        title="When",
        fields=nesting.items(fragment, WHEN, around),
        open=True,
        template="editor/forms/words.html",
        context={"words": in_words(places.get(fragment, WHEN), around)},
        on_top=True,
        css="ef-when",
    )


def _as_json(fragment: Fragment, around: ConditionSetting) -> Section:
    json_field = AsJson(
        at=WHEN,
        label="The whole condition",
        help="Leave empty for always. What has no field can be written here.",
        rows=4,
        around=around,
    )
    kind = nesting.kind_of(places.get(fragment, WHEN))
    return Section(title="Condition as JSON", fields=[json_field], open=not kind)


# Where it leads


@dataclass(frozen=True, kw_only=True)
class TargetField(ChoiceField):
    """Field for one target, also of a fork that has only one left."""

    @cached_property
    def name(self) -> str:
        return f"{super().name}#one"

    def shown(self, fragment: Any) -> list[str]:
        to = places.get(fragment, self.at)
        one = to[0] if type(to) is list and len(to) == 1 else to
        return [self.text(one)] if one is not MISSING else [""]

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        key = typed[0] if typed else ""
        if key != FORK:
            return places.put(fragment, self.at, key)
        # No branches: `@origin`, `@blocked`, and the option of a fork itself.
        stations = [value for value, _words in self.options if not value.startswith(("@", "*"))]
        before = self.shown(fragment)
        # The target until now stays the first branch.
        return places.put(fragment, self.at, list(dict.fromkeys([*before, *stations]))[:2])


def _targets(fragment: Fragment, setting: Setting) -> list[FormField | Rows]:
    to = places.get(fragment, ("to",))
    stations = setting.names.options("stations")
    if type(to) is list and len(to) != 1:
        return [_fork(stations)]
    special = [("@origin", "Back where it came from"), ("@blocked", "Wait for an answer")]
    fork = [(FORK, "Several at once: a fork")] if len(stations) > 1 else []
    options = [*stations, *ends_of(setting), *special, *fork]
    return [TargetField(at=("to",), label="Target", options=options, needed=True, covers=("to", "to[0]"))]


def ends_of(setting: Setting) -> Options:
    declared = setting.names.options("ends")
    known = {key for key, words in declared}
    built_in = [("completed", "completed"), ("failed", "failed"), ("cancelled", "cancelled")]
    return [*declared, *(end for end in built_in if end[0] not in known)]


def _fork(stations: Options) -> Rows:
    return Rows(
        at=("to",),
        label="Branches",
        help="One branch each. With a single target the rule does not fork.",
        row=lambda fragment, at: [ChoiceField(at=at, label="Branch", options=stations, needed=True)],
        new=lambda fragment, kind: _free(stations, fragment, "to"),
        title=lambda member, index: dict(stations).get(str(member), str(member)),
        add="Add a branch",
        ordered=False,
        rest=False,
        css="ef-short",
    )


def _free(options: Options, fragment: Fragment, name: str) -> str:
    """Return an option that is not yet in the list `name`, where there is one."""
    keys = [key for key, _words in options]
    return first_free(keys, members_at(fragment, (name,))) or next(iter(keys), "")


def _gates(fragment: Fragment, setting: Setting) -> Section:
    gates = setting.names.options("gates")
    rule_gates = places.get(fragment, ("gates",))
    if not gates and not rule_gates:
        return Section(title="Gates", help="The line has no gate yet. Add one below.")

    rows = Rows(
        at=("gates",),
        label="Gates of this rule",
        help="Checks of all first, then the people of all are asked together.",
        row=lambda fragment, at: [ChoiceField(at=at, label="Gate", options=gates, needed=True)],
        new=lambda fragment, kind: _free(gates, fragment, "gates"),
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

    def text(self, value: Any) -> str:
        to = value.get("to") if type(value) is dict and set(value) == {"to"} else None
        return f"to:{to}" if type(to) is str else super().text(value)


@dataclass(frozen=True, kw_only=True)
class YesNoField(ChoiceField):
    """true, false, or not said."""

    reading: ClassVar[Reading] = Reading(words={"yes": True, "no": False})

    def text(self, value: Any) -> str:
        return {True: "yes", False: "no"}[value] if type(value) is bool else super().text(value)


def _limits(fragment: Fragment, setting: Setting) -> list[FormField | Rows]:
    return [
        *(control(RULE, (), key) for key in ("max_retries", "max_visits")),
        control(
            RULE,
            (),
            "on_exhausted",
            ExhaustedField,
            options=exhausted((*setting.names.options("stations"), *ends_of(setting))),
            covers=("on_exhausted.to",),
        ),
        control(
            RULE,
            (),
            "allow_revisit",
            YesNoField,
            options=[("", "as the line's policy says"), ("yes", "allowed"), ("no", "never")],
        ),
    ]


# What it does on the way


def _effects(around: ConditionSetting) -> list[FormField | Rows]:
    def row(fragment: Any, at: Place) -> list[FormField | Rows]:
        strategies = [("", "replace"), *((strategy, strategy) for strategy in STRATEGIES)]
        return [
            control(COMPOSE, at, "var", needed=True),
            control(COMPOSE, at, "path", PathField, options=(), free=True, known=tuple(around.paths)),
            control(COMPOSE, at, "strategy", ChoiceField, options=strategies),
        ]

    return [
        control(RULE, (), "feedback"),
        Rows(
            at=("compose",),
            label="Variables",
            help="Set from the output when the rule is taken.",
            row=row,
            new=lambda fragment, kind: {"var": "value", "path": "$"},
            title=lambda member, index: (
                str(places.get(member, ("var",))) if type(member) is dict else str(index + 1)
            ),
            add="Add a variable",
        ),
    ]
