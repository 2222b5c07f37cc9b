"""Impact of a migration on a position, in one sentence (docs/versions.md, Impact)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences import decisions
from pipelines.routing.sentences.names import gate_name, station_name


class DecisionRecord(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


class PredictedEffect(Protocol):
    """Effect on a position, as `analysis.migration_impact` predicts it."""

    @property
    def effect(self) -> str: ...
    @property
    def how(self) -> str: ...
    @property
    def station(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def gates(self) -> Sequence[str]: ...
    @property
    def next_gone(self) -> Sequence[str]: ...
    @property
    def decision(self) -> DecisionRecord | None: ...


class MigratedPosition(Protocol):
    """A token, as it stands before."""

    @property
    def station(self) -> str: ...
    @property
    def status(self) -> str: ...


LABELS = {
    "stuck": "Would get stuck",
    "approve_again": "Must be approved again",
    "moves": "Moves",
    "stays": "Stays",
}


def effect_label(effect: str) -> str:
    return LABELS[effect]


def impact_sentence(
    effect: PredictedEffect,
    token: MigratedPosition,
    judge: ParsedLine,
    line: ParsedLine,
    number: int,
    status: str,
) -> str:
    """`judge`: the version that judges it until now; `line`: the new one, with its number, 0 for a draft. `status`: the
    name of the one that it gets."""
    words = {
        "station": station_name(judge, token.station),
        "new": station_name(line, effect.station),
        "version": f"v{number}" if number else "the draft",
        "gates": ", ".join(gate_name(line, key) for key in effect.gates),
        "status": status,
    }
    match effect.how:
        case "refuse":
            return "{station} is gone in {version}: map it to another station.".format(**words)
        case "keep":
            return _keep_sentence(effect, token, judge, words)
        case "pin":
            return "Its job at {station} has not begun; it starts under {version}.".format(**words)
        case "carry":
            return "Its job at {station} has not begun; it starts at {new} instead.".format(**words)
        case "again":
            return _redecision_text_or_empty(effect, line, words)
        case "ended":
            return "Ends with the whole task: another branch aborts it."
        case "there":
            return "Already on {version}.".format(**words)
    return "Waits at {new} as before; what comes next follows {version}.".format(**words)


def _keep_sentence(
    effect: PredictedEffect, token: MigratedPosition, judge: ParsedLine, words: dict[str, str]
) -> str:
    if token.status == "running":
        template = (
            "Its work at %(station)s finishes under the version it started with; "
            "after that it follows %(version)s."
        )
    else:
        template = "A person's word is not overruled: it follows %(version)s from its next move on."
    if not effect.next_gone:
        return template % words
    gone = ", ".join(station_name(judge, key) for key in effect.next_gone)
    warning = f"If that leads to {gone}, which is gone, it gets stuck; a mapping helps."
    return f"{template % words} {warning}"


def _redecision_text_or_empty(effect: PredictedEffect, line: ParsedLine, words: dict[str, str]) -> str:
    why = (
        decisions.decision_sentence(line, effect.station, effect.decision.to_dict())
        if effect.decision
        else ""
    )
    if effect.effect == "moves":
        return why
    if effect.effect == "approve_again":
        return f"{why} It must be approved there anew: earlier votes do not count."
    if effect.effect == "stays" and effect.gates:
        return "Waits at {new} as before: {gates} asks the same in a new round, and no vote is lost.".format(
            **words
        )
    if effect.effect == "stays":
        return f"Decided again, it waits as before. {why}"
    if effect.status == "held" and effect.gates:
        return "It is held: people rejected just this at {gates}.".format(**words)
    return "Its status becomes {status}. {why}".format(**words, why=why)
