"""The conditions that hold no others, a row each: its name, the simplest one, what fields can show, the fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics.facts import PATHS
from pipelines.routing.basics.outcome import RESULTS, VERDICTS
from pipelines.routing.basics.values import TYPES
from pipelines.routing.document import operators
from pipelines.routing.document.document_readers.conditions import ANY_RESULT, ANY_VERDICT
from pipelines.routing.document.kinds import KINDS
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.conditions.controls import FailureTypesField, OperatorField, WordsField
from pipelines.web.editor.forms.conditions.setting import ConditionSetting
from pipelines.web.editor.forms.fields import (
    ArgumentsField,
    ChoiceField,
    DurationField,
    FormField,
    NumberField,
    Options,
    TextField,
)
from pipelines.web.editor.forms.form import Rows
from pipelines.web.editor.forms.fragment_paths import Place
from pipelines.web.editor.forms.operands import OperandField, PathField

Items = list[FormField | Rows]


def _no_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    return []


def _is_object(value: Any) -> bool:
    return type(value) is dict


@dataclass(frozen=True, kw_only=True)
class ConditionKind:
    """`new`: what its key says in the simplest one, which can be read as it stands and says something likely; `answer`:
    what that wants of who is asked, in a key beside. `fits`: whether fields can show what the key says."""

    label: str
    new: Callable[[ConditionSetting], Any]
    fits: Callable[[Any], bool] = _is_object
    fields: Callable[[Any, Place, ConditionSetting], Items] = _no_fields
    answer: str = ""


def _are_words(value: Any, known: Sequence[str]) -> bool:
    words = [value] if type(value) is str else value
    return type(words) is list and all(type(word) is str and word in (*known, "any") for word in words)


def _are_texts(value: Any) -> bool:
    return type(value) is str or (type(value) is list and all(type(text) is str for text in value))


def _result_word_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    words = {
        "success": "success",
        "failure": "failure",
        "cancelled": "cancelled",
        "blocked": "blocked",
    }
    options = [(word, words[word]) for word in RESULTS]
    return [WordsField(at=(*at, "result"), label="Result is", options=options, any_of=ANY_RESULT)]


def _verdict_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    words = {"pass": "pass", "fail": "fail", "blocked": "blocked"}
    options = [(word, words[word]) for word in VERDICTS]
    return [WordsField(at=(*at, "verdict"), label="Verdict is", options=options, any_of=ANY_VERDICT)]


def _failure_type_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    return [
        FailureTypesField(
            at=(*at, "failure_type"),
            label="Failure type is",
            help="Comma-separated; any of them matches.",
            between=",",
        )
    ]


def _eval_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    place = (*at, "eval")
    op = fragment_paths.value_at(fragment, (*place, "op"))
    return [
        OperatorField(
            at=(*place, "op"), label="Eval", options=_operator_options((*operators.COMMON, "range"))
        ),
        OperandField(
            at=(*place, "value"),
            label="Value",
            op=op,
            texts=True,
            placeholder="200,299" if op == "range" else "ok",
            known=_kind_evals(condition_setting) if op in ("equals", "not_equals") else (),
        ),
    ]


def _kind_evals(condition_setting: ConditionSetting) -> tuple[tuple[str, str], ...]:
    """Return the evals that a station of this kind gives by itself (dialects B11)."""
    kind = next(
        (
            station.kind
            for station in condition_setting.names.stations
            if station.key == condition_setting.station
        ),
        "",
    )
    own = KINDS[kind].evals if kind in KINDS else ()
    return tuple((word, "") for word in dict.fromkeys((*own, *DERIVED))) if own else ()


DERIVED = ("ok", "error", "cancelled", "blocked")
"""What an outcome that says no eval has."""


def _operator_options(known: Sequence[str]) -> Options:
    return [(op, words) for op, words in operators.WORDS.items() if op in known]


# What can find several nodes: `[*]`, `[?…]`, `[1,2]`, `[0:3]`, `..`
SEVERAL = re.compile(r"[*?,:]|\.\.")


def _output_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    return _path_fields(fragment, (*at, "output"), tuple(condition_setting.paths))


def _fact_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    return _path_fields(fragment, (*at, "fact"), tuple((path, "") for path in PATHS))


def _path_fields(fragment: Any, place: Place, known: tuple[tuple[str, str], ...]) -> Items:
    test = fragment_paths.value_at(fragment, place)
    op = test.get("op")
    path = test.get("path")
    fields: Items = [
        PathField(
            at=(*place, "path"),
            label="Path",
            options=(),
            free=True,
            known=known,
            needed=True,
        )
    ]
    # Only a path that may find several nodes leaves a choice of which count.
    if "of" in test or (type(path) is str and path.startswith("$") and SEVERAL.search(path)):
        some = [
            ("", "some of them"),
            ("every", "every one of them"),
            ("count", "how many there are"),
        ]
        fields.append(ChoiceField(at=(*place, "of"), label="Of what it finds", options=some))
    ops = _operator_options((*operators.OUTPUT, *operators.ALONE))
    fields.append(OperatorField(at=(*place, "op"), label="Comparison", options=ops))
    if op == "type":
        types = [(type_name, type_name) for type_name in TYPES]
        fields.append(ChoiceField(at=(*place, "value"), label="Type", options=types, needed=True))
    elif op not in operators.ALONE:
        fields.append(OperandField(at=(*place, "value"), label="Value", op=op, needed=True))
    return fields


def _edge_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    place = (*at, "edge")
    stations = condition_setting.names.options("stations")
    return [
        ChoiceField(at=(*place, "from"), label="From", options=stations, needed=True),
        ChoiceField(
            at=(*place, "to"),
            label="To",
            options=[*stations, *condition_setting.names.options("ends")],
            needed=True,
        ),
        NumberField(at=(*place, "at_least"), label="At least this many times", needed=True),
    ]


def _agentic_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    return [
        TextField(at=(*at, "agentic", "question"), label="Question", rows=2, needed=True),
        ChoiceField(
            at=(*at, "agentic", "evaluator"),
            label="Who answers",
            options=[
                ("", "Whoever there is: an evaluator, a model, else a person"),
                ("worker", "The evaluator of a runner"),
                ("model", "A model"),
                ("person", "A person"),
            ],
        ),
        ChoiceField(at=(*at, "answer"), label="Answer", options=[("yes", "yes"), ("no", "no")], needed=True),
    ]


def _hook_fields(fragment: Any, at: Place, condition_setting: ConditionSetting) -> Items:
    answers = [("pass", "pass: exit code 0"), ("block", "block: anything else")]
    return [
        ArgumentsField(at=(*at, "hook", "argv"), label="Program and arguments", rows=2),
        DurationField(at=(*at, "hook", "timeout"), label="Timeout", placeholder="60s"),
        ChoiceField(at=(*at, "answer"), label="Answer", options=answers, needed=True),
    ]


def _default_edge(condition_setting: ConditionSetting) -> dict[str, Any]:
    stations = condition_setting.names.stations
    after = next(
        (station.key for station in stations if station.key != condition_setting.station),
        condition_setting.station,
    )
    return {"from": condition_setting.station, "to": after, "at_least": 1}


LEAVES: Mapping[str, ConditionKind] = {
    # `always: false` is shown as JSON.
    "always": ConditionKind(label="Always", new=lambda around: True, fits=lambda value: value is True),
    "result": ConditionKind(
        label="Result",
        new=lambda around: "success",
        fits=lambda value: _are_words(value, RESULTS),
        fields=_result_word_fields,
    ),
    "output": ConditionKind(
        label="Output",
        new=lambda around: {"path": around.paths[0][0] if around.paths else "$", "op": "exists"},
        fits=lambda value: type(value) is dict and value.get("op") in operators.WORDS,
        fields=_output_fields,
    ),
    "fact": ConditionKind(
        label="What Gateline observed",
        new=lambda around: {"path": "tests.failed", "op": "equals", "value": 0},
        fits=lambda value: type(value) is dict and value.get("op") in operators.WORDS,
        fields=_fact_fields,
    ),
    "verdict": ConditionKind(
        label="Verdict",
        new=lambda around: "pass",
        fits=lambda value: _are_words(value, VERDICTS),
        fields=_verdict_fields,
    ),
    "eval": ConditionKind(
        label="Eval",
        new=lambda around: {"op": "equals", "value": "ok"},
        fits=lambda value: type(value) is dict and value.get("op") in (*operators.COMMON, "range"),
        fields=_eval_fields,
    ),
    "failure_type": ConditionKind(
        label="Failure type", new=lambda around: "flaky", fits=_are_texts, fields=_failure_type_fields
    ),
    "edge": ConditionKind(label="How often a path was taken", new=_default_edge, fields=_edge_fields),
    "agentic": ConditionKind(
        label="An evaluator answers",
        new=lambda around: {"question": "Is the result good enough?"},
        fields=_agentic_fields,
        answer="yes",
    ),
    "hook": ConditionKind(
        label="A script answers",
        new=lambda around: {"argv": ["true"]},
        fields=_hook_fields,
        answer="pass",
    ),
}
"""In the order in which they are offered."""
