"""Escalation rules of a document (law §8)."""

from __future__ import annotations

from pipelines.routing.basics.problems import join
from pipelines.routing.document.escalations import ACTIONS, LONGEST, EscalationRule
from pipelines.routing.document.reading.names import note_twins
from pipelines.routing.document.reading.reader import Reader, expected, quote


def read_escalations(reader: Reader) -> tuple[EscalationRule, ...]:
    rules = reader.each("escalations", _rule)
    note_twins(reader, "escalations", [rule.trigger for rule in rules if rule.trigger], "the trigger")
    return rules


def _rule(reader: Reader) -> EscalationRule:
    rule = EscalationRule(
        trigger=reader.text("trigger", required=True, longest=LONGEST),
        role=reader.text("role", required=True, longest=LONGEST),
        sla=reader.duration("sla"),
        on_breach=_actions(reader, "on_breach"),
        notify=reader.texts("notify"),
        at_once=_actions(reader, "at_once"),
    )
    if rule.on_breach and rule.sla is None:
        reader.note("on_breach", "is never done without a time to answer", "say sla, such as 4h")
    reader.done()
    return rule


def _actions(reader: Reader, key: str) -> tuple[str, ...]:
    given = reader.texts(key)
    for index, action in enumerate(given):
        if action not in ACTIONS:
            path = join(reader.at(key), index)
            reader.problems.note(path, f"{quote(action)} is not known", expected(action, ACTIONS))
    note_twins(reader, key, given, "the action")
    return tuple(action for action in given if action in ACTIONS)
