"""A field of the document and what it holds, in the words of the inspector: labels in place of keys, and what a choice
does in place of its word."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.command_text import command_text
from pipelines.routing.basics.durations import format_duration
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.checks import CHECK, CheckGroupField
from pipelines.routing.document.document_readers.reader import Problems, Reader
from pipelines.routing.document.ends import END
from pipelines.routing.document.escalations import ESCALATION
from pipelines.routing.document.exhausted_limits import ExhaustedAction
from pipelines.routing.document.fields.field import NOWHERE, Field
from pipelines.routing.document.fields.nested import ListField, ObjectField
from pipelines.routing.document.fields.plain_fields import Duration, Reference
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.gates import GATE, WORDS, Offers
from pipelines.routing.document.guarantees import FORMS, GUARANTEE
from pipelines.routing.document.inputs import INPUT
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.model import LINE
from pipelines.routing.document.policy import POLICY
from pipelines.routing.document.preconditions import AGENT, GATE_PASSED, HANDOFF, METADATA, Preconditions
from pipelines.routing.document.rules import RULE
from pipelines.routing.document.stations import STATION
from pipelines.routing.document.work.keys import ArgumentsKey
from pipelines.routing.sentences import guarantees
from pipelines.routing.sentences.escalations import role_words, trigger_words
from pipelines.routing.sentences.values import value_with_names_for_keys

Called = Callable[[str], str]
RECORDS: Final[Mapping[str, Record[Any]]] = {
    "line": LINE,
    "station": STATION,
    "rule": RULE,
    "gate": GATE,
    "end": END,
    "input": INPUT,
}
YES, NO = "Yes", "No"
WORDS_OF: Final[Mapping[type[Field], Mapping[str, str]]] = {
    Offers: WORDS,
    Preconditions: {
        GATE_PASSED: "the station's gate passed",
        HANDOFF: "a valid handoff",
        AGENT: "an agent that is free",
    },
}
"""Of lists whose words are no choice of the inspector."""
LIMIT: Final = "limit"
INDEX: Final = re.compile(r"\[\d+\]")
GROUPS: Final = {"all": "all of: %(checks)s", "any": "any of: %(checks)s"}


def find_declared_field(kind: str, path: str, work: str = "") -> Field | None:
    """The declaration of `policy.no_match` of a line, `work.argv` of a station whose work is of the kind `work`; of a
    member of a list as of the list: `inputs[0].type`, `offers[1]`."""
    record, declaration = RECORDS.get(kind), None
    for step in INDEX.sub("", path).split("."):
        fields: Mapping[str, Field] = record.fields if record else {}
        if declaration is not None and declaration is STATION.fields["work"]:
            fields = KINDS[work].keys if work in KINDS else {}
        declaration = fields.get(step)
        if declaration is None:
            return None
        record = declaration.record if isinstance(declaration, ObjectField | ListField) else None
    return declaration


def value_words(field: Field | None, value: Any, called: Called) -> str:
    """`called`: the name of what a key names; any other text as it is. Any JSON will do."""
    if (
        isinstance(value, str)
        and field is not None
        and (trigger_text := _escalation_words_or_empty(field, value))
    ):
        return trigger_text
    choices = _choice_texts(field)
    if type(value) is bool and not choices:
        return people_text(YES if value else NO)
    if choices and (choice_text := _choice_words_or_empty(choices, value, called)):
        return choice_text
    if isinstance(field, Duration) and type(value) in (int, float):
        return format_duration(value)
    if isinstance(value, list):
        return _list_words(field, value, called)
    if isinstance(value, Mapping):
        return _object_text(field, value, called)
    return (
        str(value_with_names_for_keys(called(value), called))
        if isinstance(value, str)
        else jsontext.dumps(value)
    )


def quoted_value_words(
    field: Field | None, value: Any, called: Called, cut: Callable[[str], str] = str
) -> str:
    """The same in quotes where it is a text or one of few words. A text is said by name only where it is a key."""
    if isinstance(value, str) and not (_choice_texts(field) or isinstance(field, Reference)):
        return f"“{cut(value)}”"
    text = cut(value_words(field, value, called))
    return f"“{text}”" if isinstance(value, str | bool) else text


def _escalation_words_or_empty(field: Field, value: str) -> str:
    """Return the reason of the escalation, or its recipient; "" for other fields."""
    if field is ESCALATION.fields["trigger"]:
        return trigger_words(value)
    return role_words(value) if field is ESCALATION.fields["role"] else ""


def _choice_texts(field: Field | None) -> Mapping[str, str]:
    """Return the effects of the field's words, where they have texts."""
    if isinstance(field, ExhaustedAction):
        # The same words as the knob of the line, which has texts for them
        field = POLICY.fields["on_exhausted"]
    if field is not None and type(field) in WORDS_OF:
        return WORDS_OF[type(field)]
    choices = getattr(field, "choices", None)
    return choices if isinstance(choices, Mapping) else {}


def _choice_words_or_empty(choices: Mapping[str, str], value: Any, called: Called) -> str:
    """“fail” as what it does, “station:fix” as where it leads; "" for what is neither."""
    word = ("yes" if value else "no") if type(value) is bool else value
    if not isinstance(word, str):
        return ""
    if word in choices:
        return choices[word]
    kind, colon, rest = word.partition(":")
    if not colon:
        return ""
    if kind == LIMIT:
        return people_text(_("Allowed, limited to %(n)s", n=rest))
    return people_text(_("On to %(station)s", station=called(rest)))


def _list_words(field: Field | None, value: list[Any], called: Called) -> str:
    if not value:
        return people_text("none")
    if isinstance(field, ArgumentsKey):
        return command_text(map(str, value))
    if isinstance(field, ListField):
        return "; ".join(_record_text(field.record, member, called) for member in value)
    return ", ".join(
        " + ".join(map(called, map(str, member)))
        if isinstance(member, list)
        else value_words(field, member, called)
        for member in value
    )


def _object_text(field: Field | None, value: Mapping[str, Any], called: Called) -> str:
    if isinstance(field, ExhaustedAction) and set(value) == {"to"}:
        return people_text(_("On to %(station)s", station=called(str(value["to"]))))
    if isinstance(field, CheckGroupField):
        return _checks_text(value, called)
    record = getattr(field, "record", None)
    if record is None:
        return jsontext.dumps(value_with_names_for_keys(value, called))
    return _record_text(record, value, called)


def _record_text(record: Record[Any], value: Any, called: Called) -> str:
    """“Joins the branches from: Test, Scan; continues when: one branch passed”."""
    if not isinstance(value, Mapping):
        return jsontext.dumps(value)
    if record is GUARANTEE and (promise := _guarantee_words_or_empty(value, called)):
        return promise
    return "; ".join(
        f"{field_label(record.fields.get(key), key)}: {value_words(record.fields.get(key), member, called)}"
        for key, member in value.items()
    )


def _checks_text(value: Any, called: Called) -> str:
    """“all of: exit_code is 0 (Required, Hold: ask a person)”."""
    for kind, template in GROUPS.items():
        if isinstance(value, Mapping) and isinstance(value.get(kind), list):
            return people_text(
                _(template, checks=", ".join(_checks_text(check, called) for check in value[kind]))
            )
    if not isinstance(value, Mapping):
        return jsontext.dumps(value)
    said_of = {key: value_words(CHECK.fields.get(key), member, called) for key, member in value.items()}
    test = " ".join(said_of[key] for key in ("field", "operator", "value") if key in said_of)
    more = ", ".join(said_of[key] for key in ("label", "severity", "action") if key in said_of)
    return f"{test} ({more})" if more else test


def _guarantee_words_or_empty(value: Mapping[str, Any], called: Called) -> str:
    """A guarantee by what it promises; "" where it cannot be read."""
    problems = Problems()
    guarantee = GUARANTEE.read(Reader(value, "", problems), NOWHERE)
    promises = any(getattr(guarantee, form) is not None for form in FORMS)
    return f"“{people_text(guarantees.guarantee_sentence(guarantee, called))}”" if promises else ""


def requirement_words(name: str) -> str:
    """Return a requirement of a forward move in words; a `metadata:<name>` by its name."""
    phrase = WORDS_OF[Preconditions].get(name)
    return phrase if phrase else name.removeprefix(METADATA)


def field_label(field: Field | None, key: str) -> str:
    """Return the label of the field in the inspector; a field that it does not display by its key, with
    spaces."""
    return field.label if field and field.label else key.replace("_", " ")
