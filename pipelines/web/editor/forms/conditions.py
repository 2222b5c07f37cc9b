"""A condition as fields: for each of its forms what it shows, nested as deep as it is.

What was not changed in a field is never written, so a form that is only looked at, or changed elsewhere, leaves every
condition exactly as it is. What has no form is shown as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.basics.outcome import RESULTS, VERDICTS
from pipelines.routing.basics.values import TYPES
from pipelines.routing.document import operators
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.reading.conditions import ANY_RESULT, ANY_VERDICT, read_condition
from pipelines.routing.document.reading.reader import Problems
from pipelines.routing.sentences.conditions import describe
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.asked import Outline
from pipelines.web.editor.forms.fields import (
    AnythingField,
    ArgumentsField,
    ChoiceField,
    DurationField,
    FieldRefused,
    FormField,
    ListedField,
    NumberField,
    Options,
    SeveralField,
    TextField,
    parsed,
)
from pipelines.web.editor.forms.form import Rows
from pipelines.web.editor.forms.operands import PathField, Value, fitting
from pipelines.web.editor.forms.places import MISSING, Place

DEEPEST = 20
"""Levels that are shown as fields; what lies deeper is JSON."""


@dataclass(frozen=True)
class ConditionSetting:
    """What the fields of a condition may name. `station`: where its rule leaves. `paths`: recorded ones with an
    example each."""

    names: Outline
    station: str
    paths: Sequence[tuple[str, str]] = ()


# The forms, in the order in which they are offered

LEAVES: Mapping[str, Callable[[], str]] = {
    "always": lambda: _("Always"),
    "result": lambda: _("Result"),
    "output": lambda: _("Output"),
    "verdict": lambda: _("Verdict"),
    "eval": lambda: _("Eval"),
    "failure_type": lambda: _("Failure type"),
    "edge": lambda: _("How often a path was taken"),
    "agentic": lambda: _("An evaluator answers"),
    "hook": lambda: _("A script answers"),
}
GROUPS: Mapping[str, Callable[[], str]] = {
    "all": lambda: _("All of"),
    "any": lambda: _("Any of"),
    "not": lambda: _("Not"),
}
COMPANIONS = {"agentic": {"answer"}, "hook": {"answer"}}


def new(kind: str, around: ConditionSetting) -> dict[str, Any]:
    """The simplest condition of this kind: it can be read as it stands, and says something likely."""
    ways = around.names.stations
    after = next((each.key for each in ways if each.key != around.station), around.station)
    made: dict[str, dict[str, Any]] = {
        "always": {"always": True},
        "result": {"result": "success"},
        "verdict": {"verdict": "pass"},
        "output": {"output": {"path": around.paths[0][0] if around.paths else "$", "op": "exists"}},
        "eval": {"eval": {"op": "equals", "value": "ok"}},
        "failure_type": {"failure_type": "flaky"},
        "edge": {"edge": {"from": around.station, "to": after, "at_least": 1}},
        "agentic": {"agentic": {"question": _("Is the result good enough?")}, "answer": "yes"},
        "hook": {"hook": {"argv": ["true"]}, "answer": "pass"},
        "all": {"all": [{"result": "success"}]},
        "any": {"any": [{"result": "success"}]},
        "not": {"not": {"result": "success"}},
    }
    return made[kind]


def kind_of(condition: Any) -> str:
    """Of one that can be shown as fields; "" for what is JSON only."""
    if condition is MISSING:
        return "always"
    if type(condition) is not dict:
        return ""
    forms = [key for key in condition if key in SHAPES]
    if len(forms) != 1 or set(condition) - {forms[0]} - COMPANIONS.get(forms[0], set()):
        return ""
    return forms[0] if SHAPES[forms[0]](condition[forms[0]]) else ""


def _words(value: Any, known: Sequence[str]) -> bool:
    said = [value] if type(value) is str else value
    return type(said) is list and all(type(each) is str and each in (*known, "any") for each in said)


def _texts(value: Any) -> bool:
    return type(value) is str or (type(value) is list and all(type(each) is str for each in value))


SHAPES: Mapping[str, Callable[[Any], bool]] = {
    "always": lambda value: value is True,
    "result": lambda value: _words(value, RESULTS),
    "verdict": lambda value: _words(value, VERDICTS),
    "failure_type": _texts,
    "eval": lambda value: type(value) is dict and value.get("op") in (*operators.COMMON, "range"),
    "output": lambda value: type(value) is dict and value.get("op") in operators.WORDS,
    "edge": lambda value: type(value) is dict,
    "agentic": lambda value: type(value) is dict,
    "hook": lambda value: type(value) is dict,
    "all": lambda value: type(value) is list,
    "any": lambda value: type(value) is list,
    "not": lambda value: type(value) is dict,
}


def in_words(condition: Any, around: ConditionSetting) -> str:
    """What a condition says; "" where it cannot be read."""
    if condition is MISSING:
        return _("always")
    problems = Problems()
    read = read_condition(condition, "", problems, _places(around))
    return "" if problems else describe(read)


def refuse_faulty(condition: Any, around: ConditionSetting) -> None:
    """Raises Refused with the place of the first fault."""
    problems = Problems()
    read_condition(condition, "when", problems, _places(around))
    for problem in problems.found[:1]:
        words = {"place": problem.path, "message": problem.message}
        raise FieldRefused(_("at %(place)s: %(message)s") % words, problem.hint)


def _places(around: ConditionSetting) -> list[str]:
    return [each.key for each in (*around.names.stations, *around.names.ends)]


# Its fields


def items(fragment: Any, at: Place, around: ConditionSetting, depth: int = 0) -> list[FormField | Rows]:
    """Of the condition at this place: what it is, then what that reads, then its members."""
    condition = places.get(fragment, at)
    kind = kind_of(condition)
    if not kind or depth > DEEPEST:
        return [AnythingField(at=at, label=_("Condition as JSON"), rows=4)] if depth else []
    first = ConditionKindField(at=at, label=_("Condition"), options=_kinds(condition, kind), around=around)
    return [first, *_of_kind(kind, fragment, at, around, depth)]


def _kinds(condition: Any, kind: str) -> Options:
    """Of a group also what is inside, where that is one condition."""
    known = [(key, words()) for key, words in (*LEAVES.items(), *GROUPS.items())]
    inside = [("inside", _("Only what is inside"))] if _only_member(condition, kind) is not MISSING else []
    return [*inside, *known]


def _only_member(condition: Any, kind: str) -> Any:
    if kind == "not":
        return condition["not"]
    if kind in ("all", "any") and len(condition[kind]) == 1:
        return condition[kind][0]
    return MISSING


@dataclass(frozen=True, kw_only=True)
class ConditionKindField(ChoiceField):
    """What a condition is. A group takes in what was there before; so nothing is lost by asking for one."""

    around: ConditionSetting

    @property
    def name(self) -> str:
        return f"{super().name}#kind"

    def shown(self, fragment: Any) -> list[str]:
        return [kind_of(places.get(fragment, self.at))]

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        before = places.get(fragment, self.at)
        after = turned(before, typed[0] if typed else "", self.around)
        whole = len(self.at) == 1
        return places.put(
            fragment, self.at, MISSING if whole and after == {"always": True} != before else after
        )


def turned(before: Any, kind: str, around: ConditionSetting) -> Any:
    """The condition as one of this kind. Raises Refused."""
    was = kind_of(before)
    if kind == "inside":
        inside = _only_member(before, was)
        return before if inside is MISSING else inside
    if kind not in SHAPES:
        raise FieldRefused(_("no such condition"))
    if kind == was:
        return before
    if kind in ("all", "any"):
        return {kind: before[was]} if was in ("all", "any") else {kind: [_there(before)]}
    if kind == "not":
        return {"not": _there(before)}
    return new(kind, around)


def _there(condition: Any) -> Any:
    return {"always": True} if condition is MISSING else condition


def _of_kind(
    kind: str, fragment: Any, at: Place, around: ConditionSetting, depth: int
) -> list[FormField | Rows]:
    if kind in ("all", "any"):
        return [members(kind, (*at, kind), around, depth)]
    if kind == "not":
        return items(fragment, (*at, "not"), around, depth + 1)
    make = FIELDS.get(kind)
    return make(fragment, at, around) if make else []


def members(kind: str, at: Place, around: ConditionSetting, depth: int) -> Rows:
    return Rows(
        at=at,
        label=_("All of these") if kind == "all" else _("Any of these"),
        row=lambda fragment, place: items(fragment, place, around, depth + 1),
        new=lambda fragment, chosen: new(chosen if chosen in SHAPES else "result", around),
        title=lambda member, index: in_words(member, around) or _("condition %d") % (index + 1),
        kinds=[
            ("result", _("Result")),
            ("output", _("Output")),
            ("any" if kind == "all" else "all", _("Group")),
        ],
        empty=_("No conditions yet. Always true.") if kind == "all" else _("No conditions yet. Never true."),
        rest=False,
        keeps_empty=True,
        css="ef-condition",
    )


@dataclass(frozen=True, kw_only=True)
class Words(SeveralField):
    """One word or several; one alone is written as such. `any_of`: what the word “any” stands for."""

    any_of: tuple[str, ...]

    @property
    def writes(self) -> str:
        return "words"

    def shown(self, fragment: Any) -> list[str]:
        value = places.get(fragment, self.at)
        said = [value] if type(value) is str else list(value or ())
        return list(
            dict.fromkeys(
                [each for each in said if each != "any"] + list(self.any_of if "any" in said else ())
            )
        )

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        chosen = [value for value, _words in self.options if value in typed]
        if not chosen:
            raise FieldRefused(_("nothing is chosen, so it would never be true"), _("choose at least one"))
        return places.put(fragment, self.at, chosen[0] if len(chosen) == 1 else chosen)


@dataclass(frozen=True, kw_only=True)
class Types(ListedField):
    """Failure types; one alone is written as such."""

    @property
    def writes(self) -> str:
        return "types"

    def text(self, value: Any) -> str:
        return super().text([value] if type(value) is str else value)

    def value(self, typed: str) -> Any:
        found = super().value(typed)
        if not found or found is MISSING:
            raise FieldRefused(_("names no failure type, so it would never be true"), _("for example flaky"))
        return found[0] if type(found) is list and len(found) == 1 else found


def _result(fragment: Any, at: Place, around: ConditionSetting) -> list[FormField | Rows]:
    words = {
        "success": _("success"),
        "failure": _("failure"),
        "cancelled": _("cancelled"),
        "blocked": _("blocked"),
    }
    options = [(each, words[each]) for each in RESULTS]
    return [Words(at=(*at, "result"), label=_("Result is"), options=options, any_of=ANY_RESULT)]


def _verdict(fragment: Any, at: Place, around: ConditionSetting) -> list[FormField | Rows]:
    words = {"pass": _("pass"), "fail": _("fail"), "blocked": _("blocked")}
    options = [(each, words[each]) for each in VERDICTS]
    return [Words(at=(*at, "verdict"), label=_("Verdict is"), options=options, any_of=ANY_VERDICT)]


def _failure_type(fragment: Any, at: Place, around: ConditionSetting) -> list[FormField | Rows]:
    return [
        Types(
            at=(*at, "failure_type"),
            label=_("Failure type is"),
            help=_("Comma-separated; any of them matches."),
            between=",",
        )
    ]


@dataclass(frozen=True, kw_only=True)
class OperatorField(ChoiceField):
    """The value that it compares with comes along, as far as the new operator can use it."""

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        op = typed[0] if typed else ""
        test = places.get(fragment, self.at[:-1])
        changed = fitting(test if type(test) is dict else {}, op, text_only="eval" in self.at[-2:-1])
        return places.put(fragment, self.at[:-1], changed)


def _eval(fragment: Any, at: Place, around: ConditionSetting) -> list[FormField | Rows]:
    place = (*at, "eval")
    op = places.get(fragment, (*place, "op"))
    return [
        OperatorField(at=(*place, "op"), label=_("Eval"), options=_operators((*operators.COMMON, "range"))),
        Value(
            at=(*place, "value"),
            label=_("Value"),
            op=op,
            texts=True,
            placeholder="200,299" if op == "range" else "ok",
            known=_evals(around) if op in ("equals", "not_equals") else (),
        ),
    ]


def _evals(around: ConditionSetting) -> tuple[tuple[str, str], ...]:
    """What a station of this kind says by itself (dialects B11)."""
    kind = next((each.kind for each in around.names.stations if each.key == around.station), "")
    own = KINDS[kind].evals if kind in KINDS else ()
    return tuple((word, "") for word in dict.fromkeys((*own, *DERIVED))) if own else ()


DERIVED = ("ok", "error", "cancelled", "blocked")
"""What an outcome that says no eval has."""


def _operators(known: Sequence[str]) -> Options:
    return [(op, _(words)) for op, words in operators.WORDS.items() if op in known]


SEVERAL = re.compile(r"[*?,:]|\.\.")


def _output(fragment: Any, at: Place, around: ConditionSetting) -> list[FormField | Rows]:
    place = (*at, "output")
    test = places.get(fragment, place)
    op = test.get("op")
    path = test.get("path")
    found: list[FormField | Rows] = [
        PathField(
            at=(*place, "path"),
            label=_("Path"),
            options=(),
            free=True,
            known=tuple(around.paths),
            needed=True,
        )
    ]
    if "of" in test or (type(path) is str and path.startswith("$") and SEVERAL.search(path)):
        some = [
            ("", _("some of them")),
            ("every", _("every one of them")),
            ("count", _("how many there are")),
        ]
        found.append(ChoiceField(at=(*place, "of"), label=_("Of what it finds"), options=some))
    known = (*operators.OUTPUT, *operators.ALONE)
    found.append(OperatorField(at=(*place, "op"), label=_("Comparison"), options=_operators(known)))
    if op == "type":
        types = [(each, each) for each in TYPES]
        found.append(ChoiceField(at=(*place, "value"), label=_("Type"), options=types, needed=True))
    elif op not in operators.ALONE:
        found.append(Value(at=(*place, "value"), label=_("Value"), op=op, needed=True))
    return found


def _edge(fragment: Any, at: Place, around: ConditionSetting) -> list[FormField | Rows]:
    place = (*at, "edge")
    stations = around.names.options("stations")
    return [
        ChoiceField(at=(*place, "from"), label=_("From"), options=stations, needed=True),
        ChoiceField(
            at=(*place, "to"), label=_("To"), options=[*stations, *around.names.options("ends")], needed=True
        ),
        NumberField(at=(*place, "at_least"), label=_("At least this many times"), needed=True),
    ]


def _agentic(fragment: Any, at: Place, around: ConditionSetting) -> list[FormField | Rows]:
    return [
        TextField(at=(*at, "agentic", "question"), label=_("Question"), rows=2, needed=True),
        ChoiceField(
            at=(*at, "agentic", "evaluator"),
            label=_("Who answers"),
            options=[
                ("", _("Whoever there is: an evaluator, a model, else a person")),
                ("worker", _("The evaluator of a runner")),
                ("model", _("A model")),
                ("person", _("A person")),
            ],
        ),
        ChoiceField(
            at=(*at, "answer"), label=_("Answer"), options=[("yes", _("yes")), ("no", _("no"))], needed=True
        ),
    ]


def _hook(fragment: Any, at: Place, around: ConditionSetting) -> list[FormField | Rows]:
    answers = [("pass", _("pass: exit code 0")), ("block", _("block: anything else"))]
    return [
        ArgumentsField(at=(*at, "hook", "argv"), label=_("Program and arguments"), rows=2),
        DurationField(at=(*at, "hook", "timeout"), label=_("Timeout"), placeholder="60s"),
        ChoiceField(at=(*at, "answer"), label=_("Answer"), options=answers, needed=True),
    ]


FIELDS: Mapping[str, Callable[[Any, Place, ConditionSetting], list[FormField | Rows]]] = {
    "result": _result,
    "verdict": _verdict,
    "failure_type": _failure_type,
    "eval": _eval,
    "output": _output,
    "edge": _edge,
    "agentic": _agentic,
    "hook": _hook,
}


@dataclass(frozen=True, kw_only=True)
class AsJson(AnythingField):
    """A whole condition as JSON: what is faulty in it is told with its place."""

    around: ConditionSetting

    def value(self, typed: str) -> Any:
        if not typed.strip():
            return MISSING
        condition = parsed(typed)
        refuse_faulty(condition, self.around)
        return condition
