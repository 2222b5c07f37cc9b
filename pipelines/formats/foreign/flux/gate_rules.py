"""Gate rules of a stage of Flux as checks of a gate (D15, D18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.import_notes import (
    ImportNotes,
    Json,
    objects_in_list,
    shortened_json,
    text_or_none,
)
from pipelines.routing.basics.values import json_number_or_none
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.decide.check_fields import ALIASES, FAMILIES, SINGLE, USAGE
from pipelines.routing.document.checks import ACTIONS, OPERATORS, SEVERITIES

LOOSE: Final = (
    *(
        "equals",
        "not_equals",
        "in",
        "less_than",
        "greater_than",
        "less_than_or_equal",
        "greater_than_or_equal",
    ),
)
READ_OF_RULE: Final = ("field", "operator", "value", "severity", "onFail", "label")
LOGIC: Final = {"AND": "all", "OR": "any"}


def check_group_or_none(rules: Any, path: str, import_notes: ImportNotes) -> Json | None:
    """A list, all of which have to hold, or `{logic, rules}`."""
    logic = "all"
    if isinstance(rules, Mapping):
        word = LOGIC.get(str(rules.get("logic", "AND")).upper())
        if word is None:
            import_notes.note_fault(f"{path}.logic", "has to be AND or OR")
            return None
        if rules.get("rules") is None:
            import_notes.note_fault(
                f"{path}.rules", "is missing", "a group is {logic: AND or OR, rules: […]}"
            )
            return None
        logic, rules, path = word, rules["rules"], f"{path}.rules"
    members = []
    for at, rule in objects_in_list(import_notes, rules, path):
        check = (
            check_group_or_none(rule, at, import_notes)
            if "logic" in rule
            else _check_document_or_none(rule, at, import_notes)
        )
        if check is not None:
            members.append(check)
    return {logic: members} if members else None


def _check_document_or_none(rule: Mapping[str, Any], at: str, import_notes: ImportNotes) -> Json | None:
    operator, severity = text_or_none(rule.get("operator")), text_or_none(rule.get("severity", "required"))
    if operator not in OPERATORS:
        import_notes.note_fault(
            f"{at}.operator",
            _("%(operator)s is no operator of a gate rule", operator=shortened_json(operator)),
        )
        return None
    if severity not in SEVERITIES:
        import_notes.note_fault(f"{at}.severity", "has to be warn, required or block")
        return None
    action = text_or_none(rule.get("onFail", "hold"))
    if action not in ACTIONS:
        # Real playbooks write a target there (T10).
        import_notes.note_loss(
            f"{at}.onFail",
            _("%(action)s is no action: the task is held for a person", action=shortened_json(action)),
        )
        action = "hold"
    field = str(rule.get("field") or "")
    if not field:
        import_notes.note_fault(f"{at}.field", "is missing")
        return None
    if not _is_known_field(field):
        import_notes.note_loss(f"{at}.field", _("“%(field)s” is looked for in the output", field=field[:80]))
        field = f"output.{field}"
    if unread := [key for key in rule if key not in READ_OF_RULE]:
        message = _("%(keys)s: a check here has no such key, and it is not kept", keys=", ".join(unread)[:80])
        import_notes.note_loss(at, message)
    _report_loose_comparison(rule, str(operator), at, import_notes)
    if text_or_none(rule.get("field")) == "meta.duration_sec":
        import_notes.note_loss(
            f"{at}.field",
            "no result document has this field (it is timing.duration_sec): the rule always fails",
        )
    if field == "run.attempt" and operator == "greater_than":
        import_notes.note_loss(
            f"{at}.operator", "read as it is written, this fails at every attempt up to the number"
        )
    return {
        "field": field,
        "operator": operator,
        **({"value": rule.get("value")} if operator != "exists" else {}),
        "severity": severity,
        "action": action,
        **({"label": str(rule["label"])} if rule.get("label") else {}),
    }


def _report_loose_comparison(
    rule: Mapping[str, Any], operator: str, at: str, import_notes: ImportNotes
) -> None:
    """Name a number that is written as a text: there the two are equal, and have an order."""
    value = rule.get("value")
    members = value if operator == "in" and isinstance(value, list) else [value]
    if operator in LOOSE and any(
        isinstance(text, str) and json_number_or_none(text) is not None for text in members
    ):
        message = "numbers and texts are apart here: 0 is not “0”, and only numbers have an order"
        import_notes.note_loss(f"{at}.value", message)


def _is_known_field(field: str) -> bool:
    family, dot, rest = field.partition(".")
    return field in ALIASES or field in SINGLE or field in USAGE or bool(dot and rest and family in FAMILIES)
