"""What else has to be so for a sample of a difference: votes, counts, answers, where tasks came from."""

from __future__ import annotations

from typing import Any

from pipelines.routing.document.gates import JUMP
from pipelines.routing.document.model import Line
from pipelines.routing.document.rules import BLOCKED, ORIGIN
from pipelines.routing.sentences.names import gate_name, station_name
from pipelines.routing.sentences.values import brief


def circumstances(old: Line, new: Line, facts: dict[str, Any]) -> str:
    said = [*_words_said(old, new, facts), *_counted(new, facts), *_answered(facts)]
    if facts.get("open_escalations"):
        said.append("while an escalation is open")
    if facts.get("origin"):
        said.append(f"of tasks that came from {station_name(new, facts['origin'])}")
    if facts.get("context"):
        said.append(f"with {brief(facts['context'])} in the context")
    return f" ({', '.join(said)})" if said else ""


def _words_said(old: Line, new: Line, facts: dict[str, Any]) -> list[str]:
    said = []
    for key, word in facts.get("gates", {}).items():
        gate = gate_of(new if key in new.gates_by_key else old, key)
        said.append(f"{gate}: {word['decision'].replace('_', ' ')}")
    return said


def _counted(line: Line, facts: dict[str, Any]) -> list[str]:
    said = [f"rule {rule} taken {_times(count)}" for rule, count in facts.get("rules", {}).items()]
    said += [f"{place(line, key)} entered {_times(count)}" for key, count in facts.get("visits", {}).items()]
    said += [f"{edge} taken {_times(count)}" for edge, count in facts.get("edges", {}).items()]
    reworks = facts.get("signal_reworks")
    return [*said, f"reworked {_times(reworks)}"] if reworks else said


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _answered(facts: dict[str, Any]) -> list[str]:
    found = []
    for answer in facts.get("answers", ()):
        evaluation = {key: answer[key] for key in ("agentic", "hook") if key in answer}
        found.append(f"{asked(evaluation)}: {answer['answer']}")
    return found


def asked(evaluation: dict[str, Any]) -> str:
    kind, payload = next(iter(evaluation.items()))
    return f"“{payload['question']}”" if kind == "agentic" else f"the hook {' '.join(payload['argv'])}"


def places(line: Line, keys: list[str]) -> str:
    return " and ".join(place(line, key) for key in keys)


def place(line: Line, key: str) -> str:
    """Where tasks go, in a sentence about all of them: an end by its label, as the log has it."""
    if key in line.ends_by_key and key not in line.stations_by_key:
        return line.end(key).label or key
    return {ORIGIN: "where they came from", BLOCKED: "blocked"}.get(key) or station_name(line, key)


def gate_of(line: Line, key: str) -> str:
    """Within a sentence."""
    return "the review of the jump" if key == JUMP else gate_name(line, key)
