"""Parts of a line as names within a sentence: the key or id for machines, the name for people."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.routing.basics.wording import PartName, joined_wording
from pipelines.routing.document.algebra import Condition
from pipelines.routing.document.gates import JUMP
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import BLOCKED, ORIGIN, Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.sentences.conditions import condition_words
from pipelines.routing.sentences.decisions import policy_words
from pipelines.routing.sentences.errors import error_words
from pipelines.routing.sentences.escalations import role_words, trigger_words
from pipelines.routing.sentences.names import edge_name, end_name, gate_name, station_name, target_name


def station_part_name(line: ParsedLine, key: str) -> PartName:
    return PartName(key, lambda: station_name(line, key))


def station_part_names(line: ParsedLine, keys: Sequence[str]) -> PartName:
    return joined_wording((station_part_name(line, key) for key in keys), ", ")


def target_part_name(line: ParsedLine, key: str) -> PartName:
    """Return the target of a rule or a policy: a station, an end, a symbol."""
    return PartName(key, lambda: target_name(line, key))


def place_name_for_sentence(line: ParsedLine, key: str) -> PartName:
    """Return the destination of tasks, in a sentence about all of them. Machines have the label of an end, as
    the log has it."""
    if key in line.ends_by_key and key not in line.stations_by_key:
        return PartName(line.end(key).label or key, lambda: end_name(line, key))
    if key in PLACES and key not in line.stations_by_key:
        machine, people = PLACES[key]
        return PartName(machine, people)
    return PartName(station_name(line, key), lambda: station_name(line, key))


PLACES = {
    ORIGIN: ("where they came from", lambda: "where they came from"),
    BLOCKED: ("blocked", lambda: "blocked"),
}


def policy_option_text(line: ParsedLine, key: str) -> PartName:
    """A value of a policy, as what happens then."""
    return PartName(key, lambda: policy_words(line, key))


def edge_part_name(line: ParsedLine, text: str) -> PartName:
    """“a->b”, “Build → Test”."""
    return PartName(text, lambda: edge_name(line, text))


def gate_part_name(line: ParsedLine, key: str) -> PartName:
    return PartName(key, lambda: "the review of a jump" if key == JUMP else gate_name(line, key))


def gate_name_even_for_machines(line: ParsedLine, key: str) -> PartName:
    """Machines have its name, too."""
    name = "the review of the jump" if key == JUMP else gate_name(line, key)
    return PartName(name, lambda: "the review of the jump" if key == JUMP else name)


def gate_part_names(line: ParsedLine, keys: Sequence[str]) -> PartName:
    return joined_wording((gate_part_name(line, key) for key in keys), ", ")


def rule_phrase(line: ParsedLine, key: str) -> PartName:
    """Return the rule as a phrase, after the word: “rule broken”, “rule 2 of Lint”."""
    return PartName(key, lambda: _rule_phrase(line, key))


def _rule_phrase(line: ParsedLine, key: str) -> str:
    station_and_rule = line.rules_by_id.get(key)
    return f"{_rule_number(*station_and_rule)} of {station_and_rule[0].name}" if station_and_rule else key


def rules_phrase(line: ParsedLine, keys: Sequence[str]) -> PartName:
    """Return the rules of one station: “high, low”, “rules 1, 3 of Lint”."""
    return PartName(", ".join(keys), lambda: _rules_phrase(line, keys))


def _rules_phrase(line: ParsedLine, keys: Sequence[str]) -> str:
    station_rules = [line.rules_by_id[key] for key in keys if key in line.rules_by_id]
    if len(station_rules) != len(keys):
        return ", ".join(keys)
    numbers = ", ".join(str(_rule_number(*pair)) for pair in station_rules)
    template = (
        "rule %(numbers)s of %(station)s" if len(station_rules) == 1 else "rules %(numbers)s of %(station)s"
    )
    return template % {"numbers": numbers, "station": station_rules[0][0].name}


def _rule_number(of: Station, rule: Rule) -> int:
    return of.rules.index(rule) + 1


def condition_text(rule_condition: Condition) -> str:
    return condition_words(rule_condition)


def trigger_part_name(word: str) -> PartName:
    """Return the reason of an escalation."""
    return PartName(word, lambda: f"“{trigger_words(word)}”")


def decision_part_name(word: str) -> PartName:
    """Return a person's decision at a gate."""
    return PartName(word.replace("_", " "), DECISIONS.get(word, lambda: word))


DECISIONS = {
    "approve": lambda: "approve",
    "send_back": lambda: "send back",
    "reject": lambda: "reject",
    "rework": lambda: "rework",
    "abort": lambda: "abort",
}


def unquoted_trigger(word: str) -> PartName:
    return PartName(word, lambda: trigger_words(word))


def role_part_name(word: str) -> PartName:
    """Return who answers."""
    return PartName(word, lambda: role_words(word))


def error_part_name(name: str) -> PartName:
    """Return why a task is stuck or has failed."""
    return PartName(name, lambda: error_words(name))
