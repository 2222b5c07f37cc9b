"""A difference in sentences for people: "Outcomes of Security such as {…} went to Triage by rule 2; now they …"."""

from __future__ import annotations

import json
from typing import Any

from pipelines.routing.analysis.difference.change import Change
from pipelines.routing.analysis.difference.effects import Pair
from pipelines.routing.analysis.difference.samples import Sample
from pipelines.routing.analysis.difference.structure import Structural
from pipelines.routing.document.gates import JUMP
from pipelines.routing.document.model import Line
from pipelines.routing.document.rules import BLOCKED, ORIGIN

MAX_SHOWN = 200
PAST, NOW = 0, 1


def of_change(pair: Pair, change: Change) -> str:
    """One sentence with the sample, or one that says what is not known."""
    station = _station(pair.new, change.station)
    if change.sample is None:
        return f"Not known of {station}: {_taken_by(pair, change)}: {change.why}."
    return of_sample(pair, change.sample)


def of_sample(pair: Pair, sample: Sample) -> str:
    given = sample.situation
    station = _station(pair.new, given["station"])
    shown = brief(given["outcome"])
    when = _circumstances(pair, given.get("facts", {}))
    past, now = went(pair, sample)
    return f"Outcomes of {station} such as {shown}{when} {past}; now they {now}."


def went(pair: Pair, sample: Sample) -> tuple[str, str]:
    """What the old version did with the sample, and what the new one does."""
    station = sample.situation["station"]
    return _went(pair.old, station, sample.old, PAST), _went(pair.new, station, sample.new, NOW)


def place_of(pair: Pair, key: str) -> str:
    """The name of a station, gate or end of either version; "" for the line itself."""
    for line in (pair.new, pair.old):
        if key in line.stations_by_key:
            return _station(line, key)
        if key in line.gates_by_key:
            return _gate(line, key)
    return key


def brief(value: Any) -> str:
    """Like {result: failure, output: {high: 1}}: JSON whose plain keys and words need no quotes."""
    text = _plain(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_word(key)}: {_plain(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return _word(value) if isinstance(value, str) else json.dumps(value, default=str)


def _word(text: str) -> str:
    plain = text.replace("_", "a").replace("-", "a").isalnum() and text.isascii() and not text[:1].isdigit()
    return text if plain and text not in ("true", "false", "null") else json.dumps(text, ensure_ascii=False)


def _taken_by(pair: Pair, change: Change) -> str:
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
        where = f"{('ran', 'run')[tense]} {_station(line, station)} again"
    else:
        where = f"{verb} to {_places(line, decision['to'])}"
    carried = [f"with feedback “{decision['feedback']}”"] if decision["feedback"] is not None else []
    variables = decision["variables"]
    carried += (
        [f"with {', '.join(f'{key} = {_plain(value)}' for key, value in variables.items())}"]
        if variables
        else []
    )
    return " ".join([where + _by(line, decision), *carried])


def _finish(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    error = f" with {decision['error']}" if decision["error"] else ""
    return f"{('ended', 'end')[tense]} as {_place(line, decision['end'])}{error}{_by(line, decision)}"


def _wait(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    rule = _by(line, decision)
    if decision["gates"]:
        gates = " and ".join(_gate(line, key) for key in decision["gates"])
        if not decision["to"]:
            return f"{('waited', 'wait')[tense]} for {gates}{rule}"
        return f"{('went', 'go')[tense]} to {_places(line, decision['to'])}{rule} after {gates}"
    if decision["missing"]:
        return f"{('were', 'are')[tense]} held{rule}: missing {', '.join(decision['missing'])}"
    if decision["evaluation"]:
        return f"{('waited', 'wait')[tense]} for a person to answer {_asked(decision['evaluation'])}"
    return f"{('stayed', 'stay')[tense]} at {_station(line, station)}, blocked{rule}"


def _ask(line: Line, station: str, decision: dict[str, Any], tense: int) -> str:
    return f"{('asked', 'ask')[tense]} {_asked(decision['evaluation'])} first"


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


def _asked(evaluation: dict[str, Any]) -> str:
    kind, payload = next(iter(evaluation.items()))
    return f"“{payload['question']}”" if kind == "agentic" else f"the hook {' '.join(payload['argv'])}"


def _by(line: Line, decision: dict[str, Any]) -> str:
    rule = decision.get("rule")
    if rule and rule in line.rules_by_id:
        station, found = line.rules_by_id[rule]
        return f" by rule {station.rules.index(found) + 1}"
    by = decision.get("by")
    return {"policy": " by the policy", "signal": " by a signal", "gate": " by a gate"}.get(by or "", "")


# Facts that the sample needs


def _circumstances(pair: Pair, facts: dict[str, Any]) -> str:
    said = [*_words_said(pair, facts), *_counted(pair, facts), *_answered(facts)]
    if facts.get("open_escalations"):
        said.append("while an escalation is open")
    if facts.get("origin"):
        said.append(f"of tasks that came from {_station(pair.new, facts['origin'])}")
    if facts.get("context"):
        said.append(f"with {brief(facts['context'])} in the context")
    return f" ({', '.join(said)})" if said else ""


def _words_said(pair: Pair, facts: dict[str, Any]) -> list[str]:
    said = []
    for key, word in facts.get("gates", {}).items():
        gate = _gate(pair.new if key in pair.new.gates_by_key else pair.old, key)
        said.append(f"{gate}: {word['decision'].replace('_', ' ')}")
    return said


def _counted(pair: Pair, facts: dict[str, Any]) -> list[str]:
    said = [f"rule {rule} taken {_times(count)}" for rule, count in facts.get("rules", {}).items()]
    said += [
        f"{_place(pair.new, key)} entered {_times(count)}" for key, count in facts.get("visits", {}).items()
    ]
    said += [f"{edge} taken {_times(count)}" for edge, count in facts.get("edges", {}).items()]
    reworks = facts.get("signal_reworks")
    return [*said, f"reworked {_times(reworks)}"] if reworks else said


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _answered(facts: dict[str, Any]) -> list[str]:
    found = []
    for answer in facts.get("answers", ()):
        asked = {key: answer[key] for key in ("agentic", "hook") if key in answer}
        found.append(f"{_asked(asked)}: {answer['answer']}")
    return found


# Names


def _places(line: Line, keys: list[str]) -> str:
    return " and ".join(_place(line, key) for key in keys)


def _place(line: Line, key: str) -> str:
    if key in line.stations_by_key:
        return _station(line, key)
    if key in line.ends_by_key:
        return line.end(key).label or key
    return {ORIGIN: "where they came from", BLOCKED: "blocked"}.get(key, key)


def _station(line: Line, key: str) -> str:
    found = line.stations_by_key.get(key)
    return found.name if found else key


def _gate(line: Line, key: str) -> str:
    if key == JUMP:
        return "the review of the jump"
    found = line.gates_by_key.get(key)
    return found.name if found else key


# What is no region


def of_structural(pair: Pair, found: Structural) -> str:
    head = _STRUCTURE[found.what](pair, found) + "."
    return f"{head} {of_sample(pair, found.sample)}" if found.sample else head


def _of_station(pair: Pair, found: Structural) -> str:
    if found.new is None:
        return f"Station {found.old} ({found.key}) is gone; tasks that stand there have no place in the new version"
    return f"Station {found.new} ({found.key}) is new"


def _of_station_gate(pair: Pair, found: Structural) -> str:
    old = _gate(pair.old, found.old) if found.old else "no gate"
    new = _gate(pair.new, found.new) if found.new else "no gate"
    name = _station(pair.new, found.key)
    if old == new:
        return f"The gate {new} of station {name} is defined otherwise"
    return f"Station {name} had {old} before its rules; now it has {new}"


def _of_end(pair: Pair, found: Structural) -> str:
    if found.new is None:
        return f"End {found.key} is gone"
    if found.old is None:
        return f"End {found.key} ({found.new}) is new"
    return f"End {found.key} was {found.old}; now it is {found.new}"


def _of_approval(pair: Pair, found: Structural) -> str:
    parts = [key for key in found.new if found.old[key] != found.new[key]]
    changed = "; ".join(f"{key} was {_plain(found.old[key])}, now {_plain(found.new[key])}" for key in parts)
    return f"Gate {_gate(pair.new, found.key)} asks otherwise: {changed}"


def _of_order(pair: Pair, found: Structural) -> str:
    names = [", ".join(_station(pair.new, key) for key in keys) for keys in (found.old, found.new)]
    return f"The order of the stations was {names[0]}; now it is {names[1]}"


def _knob(words: str) -> Any:
    return lambda pair, found: f"{words} was {_plain(found.old)}; now it is {_plain(found.new)}"


def _limit(words: str) -> Any:
    def of(pair: Pair, found: Structural) -> str:
        old, new = ("none" if value is None else _plain(value) for value in (found.old, found.new))
        return f"{words} {_station(pair.new, found.key)}: was {old}, now {new}"

    return of


_STRUCTURE: dict[str, Any] = {
    "start": lambda pair, found: (
        f"New tasks started at {_station(pair.old, found.old)}; now they start at {_station(pair.new, found.new)}"
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
