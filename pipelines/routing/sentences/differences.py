"""A difference in sentences for people: "Outcomes of Security such as {…} went to Triage by rule 2; now they …"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pipelines.routing.document.model import Line
from pipelines.routing.sentences.circumstances import asked, circumstances, gate_of, place, places
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.values import brief, plain

PAST, NOW = 0, 1


class VersionPair(Protocol):
    """Two versions of a line."""

    @property
    def old(self) -> Line: ...
    @property
    def new(self) -> Line: ...


class DecidedSample(Protocol):
    """A situation, and what each version decides of it."""

    @property
    def situation(self) -> dict[str, Any]: ...
    @property
    def old(self) -> dict[str, Any]: ...
    @property
    def new(self) -> dict[str, Any]: ...


class RegionChange(Protocol):
    """A region that is decided otherwise: the rules that take it, and a sample."""

    @property
    def station(self) -> str: ...
    @property
    def old(self) -> str | None: ...
    @property
    def new(self) -> str | None: ...
    @property
    def differs_in(self) -> Sequence[str]: ...
    @property
    def sample(self) -> DecidedSample | None: ...
    @property
    def why(self) -> str: ...
    @property
    def after(self) -> tuple[str, str] | None: ...


class DefinitionChange(Protocol):
    """What is defined otherwise and is no region."""

    @property
    def what(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def old(self) -> Any: ...
    @property
    def new(self) -> Any: ...
    @property
    def sample(self) -> DecidedSample | None: ...


def of_change(pair: VersionPair, change: RegionChange) -> str:
    """One sentence with the sample, or one that says what is not known."""
    station = station_name(pair.new, change.station)
    if change.sample is None:
        return f"Not known of {station}: {_taken_by(pair, change)}: {change.why}."
    return of_sample(pair, change.sample)


def of_sample(pair: VersionPair, sample: DecidedSample) -> str:
    given = sample.situation
    station = station_name(pair.new, given["station"])
    shown = brief(given["outcome"])
    when = circumstances(pair.old, pair.new, given.get("facts", {}))
    past, now = went(pair, sample)
    return f"Outcomes of {station} such as {shown}{when} {past}; now they {now}."


def went(pair: VersionPair, sample: DecidedSample) -> tuple[str, str]:
    """What the old version did with the sample, and what the new one does."""
    station = sample.situation["station"]
    return _went(pair.old, station, sample.old, PAST), _went(pair.new, station, sample.new, NOW)


def place_of(pair: VersionPair, key: str) -> str:
    """The name of a station, gate or end of either version; "" for the line itself."""
    for line in (pair.new, pair.old):
        if key in line.stations_by_key:
            return station_name(line, key)
        if key in line.gates_by_key:
            return gate_of(line, key)
    return key


def _taken_by(pair: VersionPair, change: RegionChange) -> str:
    old = f"rule {change.old}" if change.old else "no rule"
    new = f"rule {change.new}" if change.new else "no rule"
    after = f" after rework at a gate of rule {change.after[1]}" if change.after else ""
    return f"outcomes that {old} took and {new} takes now{after} (differs in {', '.join(change.differs_in)})"


# Decisions


def _went(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    return _KINDS[decision["decision"]](line, station, decision, tense)


def _move(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    verb = ("went", "go")[tense]
    if decision["to"] == [station]:
        where = f"{('ran', 'run')[tense]} {station_name(line, station)} again"
    else:
        where = f"{verb} to {places(line, decision['to'])}"
    carried = [f"with feedback “{decision['feedback']}”"] if decision["feedback"] is not None else []
    variables = decision["variables"]
    carried += (
        [f"with {', '.join(f'{key} = {plain(value)}' for key, value in variables.items())}"]
        if variables
        else []
    )
    return " ".join([where + _by(line, decision), *carried])


def _finish(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    error = f" with {decision['error']}" if decision["error"] else ""
    return f"{('ended', 'end')[tense]} as {place(line, decision['end'])}{error}{_by(line, decision)}"


def _wait(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    rule = _by(line, decision)
    if decision["gates"]:
        gates = " and ".join(gate_of(line, key) for key in decision["gates"])
        if not decision["to"]:
            return f"{('waited', 'wait')[tense]} for {gates}{rule}"
        return f"{('went', 'go')[tense]} to {places(line, decision['to'])}{rule} after {gates}"
    if decision["missing"]:
        return f"{('were', 'are')[tense]} held{rule}: missing {', '.join(decision['missing'])}"
    if decision["evaluation"]:
        return f"{('waited', 'wait')[tense]} for a person to answer {asked(decision['evaluation'])}"
    return f"{('stayed', 'stay')[tense]} at {station_name(line, station)}, blocked{rule}"


def _ask(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    return f"{('asked', 'ask')[tense]} {asked(decision['evaluation'])} first"


def _escalate(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    return f"{('were', 'are')[tense]} escalated ({decision['trigger']}){_by(line, decision)}"


def _stuck(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    return f"{('got', 'get')[tense]} stuck with {decision['error']}{_by(line, decision)}"


_KINDS = {
    "move": _move,
    "finish": _finish,
    "wait": _wait,
    "ask": _ask,
    "escalate": _escalate,
    "stuck": _stuck,
}


def _by(line: Line, decision: dict[str, Any]) -> str:
    rule = decision.get("rule")
    if rule and rule in line.rules_by_id:
        station, found = line.rules_by_id[rule]
        return f" by rule {station.rules.index(found) + 1}"
    by = decision.get("by")
    return {"policy": " by the policy", "signal": " by a signal", "gate": " by a gate"}.get(by or "", "")


# What is no region


def of_structural(pair: VersionPair, found: DefinitionChange) -> str:
    head = _STRUCTURE[found.what](pair, found) + "."
    return f"{head} {of_sample(pair, found.sample)}" if found.sample else head


def _of_station(pair: VersionPair, found: DefinitionChange) -> str:
    if found.new is None:
        return f"Station {found.old} ({found.key}) is gone; tasks that stand there have no place in the new version"
    return f"Station {found.new} ({found.key}) is new"


def _of_station_gate(pair: VersionPair, found: DefinitionChange) -> str:
    old = gate_of(pair.old, found.old) if found.old else "no gate"
    new = gate_of(pair.new, found.new) if found.new else "no gate"
    name = station_name(pair.new, found.key)
    if old == new:
        return f"The gate {new} of station {name} is defined otherwise"
    return f"Station {name} had {old} before its rules; now it has {new}"


def _of_end(pair: VersionPair, found: DefinitionChange) -> str:
    if found.new is None:
        return f"End {found.key} is gone"
    if found.old is None:
        return f"End {found.key} ({found.new}) is new"
    return f"End {found.key} was {found.old}; now it is {found.new}"


def _of_approval(pair: VersionPair, found: DefinitionChange) -> str:
    parts = [key for key in found.new if found.old[key] != found.new[key]]
    changed = "; ".join(f"{key} was {plain(found.old[key])}, now {plain(found.new[key])}" for key in parts)
    return f"Gate {gate_of(pair.new, found.key)} asks otherwise: {changed}"


def _of_order(pair: VersionPair, found: DefinitionChange) -> str:
    names = [", ".join(station_name(pair.new, key) for key in keys) for keys in (found.old, found.new)]
    return f"The order of the stations was {names[0]}; now it is {names[1]}"


def _knob(words: str) -> Any:
    return lambda pair, found: f"{words} was {plain(found.old)}; now it is {plain(found.new)}"


def _limit(words: str) -> Any:
    def of(pair: VersionPair, found: DefinitionChange) -> str:
        old, new = ("none" if value is None else plain(value) for value in (found.old, found.new))
        return f"{words} {station_name(pair.new, found.key)}: was {old}, now {new}"

    return of


_STRUCTURE: dict[str, Any] = {
    "start": lambda pair, found: (
        f"New tasks started at {station_name(pair.old, found.old)};"
        f" now they start at {station_name(pair.new, found.new)}"
    ),
    "revisit": _knob("The policy revisit"),
    "visit_cap": _knob("The cap of visits"),
    "on_exhausted": _knob("The policy on_exhausted"),
    "condition_scope": _knob("What conditions read (condition_scope)"),
    "contradiction": _knob("The policy contradiction"),
    "jump_review": _knob("The review of jumps (on a reject)"),
    "order": _of_order,
    "forbidden_parallel": _knob("Pairs that may not run in parallel: it"),
    "budgets": _knob("The budgets of the line: it"),
    "escalations": _knob("Who is told of escalations: it"),
    "station": _of_station,
    "station_gate": _of_station_gate,
    "max_visits": _limit("Entries allowed of"),
    "signal_reworks": _limit("Reworks by signal allowed at"),
    "result_document": _limit("Whether a result document is required of"),
    "failed": _limit("The eval of a failure at"),
    "join": _limit("The join of"),
    "stage": _limit("The stage of"),
    "requires": _limit("What a forward move needs at"),
    "agent": _limit("The agent of"),
    "handoff": _limit("The schema of the handoff of"),
    "approval": _of_approval,
    "end": _of_end,
}
