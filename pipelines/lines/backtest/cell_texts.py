"""Texts of a cell of the result for people: stations, ends, gates and rules by name, where machines have
keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pipelines.models.gates import Word
from pipelines.routing.analysis.redecide.effects import DecidedEffect
from pipelines.routing.analysis.redecide.verdict import Redecision, Verdict
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.errors import error_words
from pipelines.routing.sentences.names import edge_name, gate_name, rule_name, station_name, target_name


def cell_words(station: str, redecision: Redecision, old: ParsedLine, new: ParsedLine) -> dict[str, Any]:
    """`then` by the names of the version under which it was decided, `now` by those of the version that is tried."""
    return {
        "station": station_name(old, station),
        "then": _effect(old, redecision.then),
        "now": _effect(new, redecision.now) if redecision.now else None,
        "message": _message(station, redecision, old, new),
    }


def _effect(line: ParsedLine, effect: DecidedEffect) -> dict[str, Any]:
    """`rule`: its number at its station and its label; "" where no rule decided, or the line does not have it.
    `detail`: why it is stuck; "" of other effects."""
    name = gate_name if effect.kind == "review" else target_name
    rule = ""
    if effect.rule in line.rules_by_id:
        station, matched_rule = line.rules_by_id[effect.rule]
        number = str(1 + station.rules.index(matched_rule))
        rule = f"{number} · {matched_rule.label}" if matched_rule.label else number
    detail = error_words(effect.detail) if effect.kind == "stuck" else ""
    return {"to": [name(line, key) for key in effect.to], "rule": rule, "detail": detail}


def _message(station: str, redecision: Redecision, old: ParsedLine, new: ParsedLine) -> str:
    template = MESSAGES.get(redecision.reason or redecision.verdict)
    if template is None:
        return redecision.message
    about = redecision.about
    return template % {
        "station": station_name(old, station),
        "asked": _gates(new, redecision.asked),
        "skipped": _gates(old, redecision.skipped),
        "gates": _gates(old, about.get("gates", ())),
        "assumed": _gates(new, about.get("assumed", ())),
        "word": WORDS.get(about.get("word", ""), about.get("word", "")),
        "origin": station_name(old, about.get("origin", "")),
        "field": _field(new, about.get("field", "")),
        "counters": ", ".join(_counter(new, *counter) for counter in about.get("counters", ())),
    }


def _gates(line: ParsedLine, keys: Iterable[str]) -> str:
    return ", ".join(gate_name(line, key) for key in keys)


def _field(line: ParsedLine, path: str) -> str:
    """Return the name of what a check reads: an input by its label; another field as the check names it."""
    family, _dot, name = path.partition(".")
    labels = {input_field.key: input_field.label for input_field in line.inputs}
    if family == "gates":
        return gate_name(line, name)
    return labels.get(name) or name if family == "input" else name or path


def _counter(line: ParsedLine, kind: str, name: str) -> str:
    """“Build → Test”, “Build, rule 2”."""
    if kind == "edges":
        return edge_name(line, name)
    if name not in line.rules_by_id:
        return name
    station, _rule = line.rules_by_id[name]
    return f"{station.name}, {rule_name(line, name)}"


WORDS = dict(Word.choices)
MESSAGES = {
    Verdict.NEWLY_REQUIRED: "Somebody is asked at %(asked)s, which nobody was then.",
    Verdict.NEWLY_SKIPPED: "Nobody is asked at %(skipped)s any more.",
    "other_gates": "The same way, but other people are asked: %(asked)s instead of %(skipped)s.",
    "not_asked": (
        "An evaluation was asked at %(station)s then. Now it is decided without one: compare the rules of %(station)s."
    ),
    "station_gone": (
        "This version has no station %(station)s. Add it again, or choose where its tasks go when you publish."
    ),
    "origin_gone": (
        "It came to %(station)s from %(origin)s, which this version does not have. Add it again, or name a target "
        "in the rule that leads back."
    ),
    "word_does_not_fit": (
        "What was said at the gates of %(station)s does not fit this version. Simulate %(station)s with an answer "
        "that it offers."
    ),
    "word_refused": (
        "What was said at %(gates)s would be refused now. Look at what it offers and how often it can send back."
    ),
    "nobody_has_spoken": (
        "%(gates)s decided it then. Now %(assumed)s is asked, where nobody has spoken: simulate both answers."
    ),
    "not_answered": (
        "At %(station)s it depends on an evaluation that was not asked then: simulate its answers."
    ),
    "other_approval": (
        "“%(word)s” was said at %(gates)s when other people could decide there. Simulate the answer, or keep who "
        "decides."
    ),
    "word_not_offered": (
        "“%(word)s” was said at %(gates)s, which does not offer it any more. Offer it again, or simulate another "
        "answer."
    ),
    "field_not_recorded": (
        "A check at %(station)s reads %(field)s, which the version of that time did not have. Choose a later date "
        "under “Decided since”."
    ),
    "other_stations_not_recorded": (
        "What decides at %(station)s reads other stations, which was not kept then. Choose a later date under "
        "“Decided since”."
    ),
    "cost_not_recorded": (
        "At %(station)s it depends on what the task had cost, which was not counted then. Choose a later date under "
        "“Decided since”."
    ),
    "counter_not_recorded": (
        "It depends on how often %(counters)s was taken, which was counted under a key that is gone. Give it the "
        "key that it had."
    ),
}
"""By verdict or reason: what is so, where, and what can be done. `found.message` says the same with keys."""
