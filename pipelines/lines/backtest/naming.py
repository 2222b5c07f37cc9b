"""What a cell of the result says to people: stations, ends, gates and rules by name, where machines have keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.analysis.redecide.effects import DecidedEffect
from pipelines.routing.analysis.redecide.verdict import Redecided, Verdict
from pipelines.routing.document.line import Line
from pipelines.routing.sentences.names import gate_name, station_name, target_name


def cell_words(station: str, found: Redecided, old: Line, new: Line) -> dict[str, Any]:
    """`then` by the names of the version under which it was decided, `now` by those of the version that is tried."""
    return {
        "station": station_name(old, station),
        "then": _effect(old, found.then),
        "now": _effect(new, found.now) if found.now else None,
        "message": _message(station, found, old, new),
    }


def _effect(line: Line, effect: DecidedEffect) -> dict[str, Any]:
    """`rule`: its number at its station and its label; "" where no rule decided, or the line does not have it."""
    name = gate_name if effect.kind == "review" else target_name
    rule = ""
    if effect.rule in line.rules_by_id:
        station, taken = line.rules_by_id[effect.rule]
        number = str(1 + station.rules.index(taken))
        rule = f"{number} · {taken.label}" if taken.label else number
    return {"to": [name(line, key) for key in effect.to], "rule": rule}


def _message(station: str, found: Redecided, old: Line, new: Line) -> str:
    said = MESSAGES.get(found.reason or found.verdict)
    if said is None:
        return found.message
    return said() % {
        "station": station_name(old, station),
        "asked": _gates(new, found.asked),
        "skipped": _gates(old, found.skipped),
    }


def _gates(line: Line, keys: Iterable[str]) -> str:
    return ", ".join(gate_name(line, key) for key in keys)


MESSAGES = {
    Verdict.NEWLY_REQUIRED: lambda: _("Somebody is asked at %(asked)s, which nobody was then."),
    Verdict.NEWLY_SKIPPED: lambda: _("Nobody is asked at %(skipped)s any more."),
    "other_gates": lambda: _("The same way, but other people are asked: %(asked)s instead of %(skipped)s."),
    "station_gone": lambda: _("This version has no station %(station)s."),
    "origin_gone": lambda: _("It came from a station that this version does not have."),
    "word_refused": lambda: _("What was said at its gates would be refused now."),
    "nobody_has_spoken": lambda: _("A gate decided it then; now another is asked, where nobody has spoken."),
    "other_approval": lambda: _("It was said at a gate under another approval policy."),
    "word_not_offered": lambda: _("It was said at a gate that does not offer this word any more."),
    "counter_not_recorded": lambda: _(
        "It depends on how often something was taken that was counted under a name that is gone."
    ),
}
"""By verdict or reason: those whose sentence for machines has keys. The others are said as they are."""
