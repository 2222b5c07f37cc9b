"""A template with the commands of a repository in place of its own. Reports are kept where the command writes one; a
station without a command is left out, and whoever led to it is led on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pipelines.formats import native
from pipelines.routing.document.expected_results import NOTHING
from pipelines.routing.document.kinds.agent import KIND as AGENT
from pipelines.routing.document.kinds.command import KIND as COMMAND
from pipelines.routing.document.line import ParsedLine

STATIONS: Mapping[str, str] = {
    "lint": "lint",
    "tests": "tests",
    "security": "audit",
    "update": "update",
    "prepare": "version",
    "publish": "publish",
}
"""{station of a template: the command of the repository}"""
ITS_WORK = frozenset({"update", "version"})
"""Without these a template that has such a station has nothing to do."""
FACTS: Mapping[str, tuple[str, ...]] = {"lint": ("findings",), "tests": ("tests",)}
"""What of the facts only a report says."""
OTHERS = "stations"
WORDS = {"lint": ("No findings left", "Findings left")}
PASSED = {"fact": {"path": "commands.failed", "op": "equals", "value": 0}}
"""What a report without failures says, by the exit code: a failure is then the word of a person at a gate."""
RAN = {"not": {"failure_type": ["command_not_started", "prepare_failed"]}}
"""What failed without having run found nothing."""


@dataclass(frozen=True)
class StationCommands:
    """Words of each; () where the repository has no such command."""

    lint: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    audit: tuple[str, ...] = ()
    update: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()

    @classmethod
    def from_typed_texts(cls, *typed: str, **by_name: str) -> StationCommands:
        """Raises ValueError where a quotation mark is not closed."""
        words = {name: tuple(shlex.split(text)) for name, text in by_name.items()}
        return cls(*(tuple(shlex.split(text)) for text in typed), **words)

    def missing_commands(self, line: ParsedLine) -> list[str]:
        """Return the commands that are not known and without which this template has nothing to do."""
        names = {
            STATIONS[station.key]
            for station in line.stations
            if station.key in STATIONS and _runs_repository_command(station.kind, station.work)
        }
        return sorted(name for name in names & ITS_WORK if not getattr(self, name))


def report_artifact_of_command_or_none(argv: Sequence[str]) -> dict[str, str] | None:
    """The artifact that a command writes, as its arguments say; None where it writes none."""
    # By its own arguments: the command is the person's, who may have changed it
    options = dict(word.split("=", 1) for word in argv if word.startswith("--") and "=" in word)
    if "--reporters=jest-junit" in argv:
        return {"path": "junit.xml", "kind": "junit"}
    if "--reporter=junit" in argv and "--outputFile" in options:
        return {"path": options["--outputFile"], "kind": "junit"}
    for option in ("--junit-xml", "--junitxml"):
        if option in options:
            return {"path": options[option], "kind": "junit"}
    if "--output-format=sarif" in argv and "--output-file" in options:
        return {"path": options["--output-file"], "kind": "sarif"}
    if "flake8" in argv and "--output-file" in options:
        return {"path": options["--output-file"], "kind": "lint"}
    if "pylint" in argv and "--output" in options:
        return {"path": options["--output"], "kind": "lint"}
    return None


def template_with_commands(text: str, commands: StationCommands) -> dict[str, Any]:
    """The document of a template, with these."""
    document = deepcopy(native.loads(text))
    for key, name in STATIONS.items():
        station = next((station for station in document["stations"] if station["key"] == key), None)
        if station is None or not _runs_repository_command(station["work"].get("kind"), station["work"]):
            continue
        argv = getattr(commands, name)
        # An agent is allowed the command, and calls it itself.
        if argv and station["work"].get("kind") == AGENT.key:
            station["work"]["allow"] = [shlex.join(argv)]
        elif argv:
            _set_command(document, station, argv)
        elif name not in ITS_WORK:
            _leave_out_station(document, station)
    _drop_unobservable_rules(document)
    _drop_rework_offers(document)
    return document


def _runs_repository_command(kind: Any, work: Mapping[str, Any]) -> bool:
    """Return whether a station runs a command of the repository: as its work, or by the agent that is a
    program."""
    return kind == COMMAND.key or (kind == AGENT.key and bool(work.get("allow")))


def _set_command(document: dict[str, Any], station: dict[str, Any], argv: Sequence[str]) -> None:
    station["work"]["argv"] = list(argv)
    if station["key"] not in FACTS:
        return
    report, key = report_artifact_of_command_or_none(argv), station["key"]
    if report:
        station["artifacts"] = [report]
    # Without a report nothing may decide by what only a report says.
    elif station.pop("artifacts", None):
        _drop_report_rules(station)
        _drop_gate_checks_of_unreported_facts(document, key)
        _replace_report_rules(document, key)


def _replace_report_rules(document: dict[str, Any], key: str) -> None:
    """Rules elsewhere that read its report go by whether it passed: of a visit that did not, nothing is observed."""
    failed = {"fact": {"path": f"{OTHERS}.{key}.git.files_changed", "op": "missing"}}
    for rule in _rules_of_stations(document["stations"]):
        alternatives = (rule.get("when") or {}).get("all", ())
        for place, condition in enumerate(alternatives):
            if any(
                _fact_path_or_empty(condition).startswith(f"{OTHERS}.{key}.{fact}.") for fact in FACTS[key]
            ):
                alternatives[place] = failed


def _drop_unobservable_rules(document: dict[str, Any]) -> None:
    """Drop rules that read what a station observes which is left out, and ends to which no other rule leads."""
    # A rule that reads a station which is left out would be a fault of the line
    observed = {f"{OTHERS}.{station['key']}." for station in document["stations"]}
    targets = set()
    for station in document["stations"]:
        blind = [rule for rule in station.get("rules", ()) if not _is_observable(rule.get("when"), observed)]
        for rule in blind:
            station["rules"].remove(rule)
            targets.add(rule["to"])
    others = {target for rule in _rules_of_stations(document["stations"]) for target in _target_keys(rule)}
    document["ends"] = [end for end in document["ends"] if end["key"] not in targets - others]


def _is_observable(when: Any, observed: set[str]) -> bool:
    conditions = (when or {}).get("all", ()) if isinstance(when, dict) else ()
    paths = [
        path for condition in conditions if (path := _fact_path_or_empty(condition)).startswith(f"{OTHERS}.")
    ]
    return all(any(path.startswith(start) for start in observed) for path in paths)


def _fact_path_or_empty(condition: Mapping[str, Any]) -> str:
    fact = condition.get("fact")
    return str(fact.get("path", "")) if isinstance(fact, dict) else ""


def _target_keys(rule: Mapping[str, Any]) -> list[str]:
    return rule["to"] if isinstance(rule["to"], list) else [rule["to"]]


def _drop_report_rules(station: dict[str, Any]) -> None:
    """Its rules go by the exit code alone."""
    facts = FACTS[station["key"]]
    rules = [
        {**rule, "when": _condition_by_exit_code(_condition_without_facts(rule.get("when"), facts), facts)}
        for rule in station["rules"]
    ]
    if any(PASSED in (rule["when"] or {}).get("all", ()) for rule in rules):
        # Of a command the exit code is a fact only where the station says what is expected of it
        station["expects"] = NOTHING
    readable = [rule for rule in rules if not _reads_facts(rule["when"], facts)]
    if words := WORDS.get(station["key"]):
        passed = next(rule for rule in readable if rule.get("when") == {"result": "success"})
        readable = [
            {**passed, "id": "clean", "label": words[0]},
            {**passed, "label": words[1], "when": {"all": [{"result": "failure"}, RAN]}},
        ]
    station["rules"] = readable


def _condition_by_exit_code(when: Any, facts: Sequence[str]) -> Any:
    """Ask the exit code in place of counts that have to be zero."""
    conditions = when.get("all", ()) if isinstance(when, dict) else ()
    left = [condition for condition in conditions if not _requires_zero_count(condition, facts)]
    return {"all": [*left, PASSED]} if len(left) < len(conditions) else when


def _requires_zero_count(condition: Mapping[str, Any], facts: Sequence[str]) -> bool:
    fact = condition.get("fact") or {}
    return _fact_path_or_empty(condition).partition(".")[0] in facts and (fact["op"], fact["value"]) == (
        "equals",
        0,
    )


def _reads_facts(when: Any, facts: Sequence[str]) -> bool:
    if isinstance(when, list):
        return any(_reads_facts(condition, facts) for condition in when)
    if not isinstance(when, dict):
        return False
    return _fact_path_or_empty(when).partition(".")[0] in facts or any(
        _reads_facts(condition, facts) for condition in when.values()
    )


def _condition_without_facts(when: Any, facts: Sequence[str]) -> Any:
    """Drop alternatives that read what no report says any more."""
    if not isinstance(when, dict):
        return when
    if isinstance(when.get("all"), list):
        return {**when, "all": [_condition_without_facts(condition, facts) for condition in when["all"]]}
    alternatives = when.get("any")
    if not isinstance(alternatives, list):
        return when
    left = [condition for condition in alternatives if not _reads_facts(condition, facts)]
    return left[0] if len(left) == 1 else {"any": left} if left else when


def _drop_rework_offers(document: dict[str, Any]) -> None:
    """Offer rework only where a rule leads back: without one the task would fail."""
    for gate in document.get("gates", ()):
        asking = [
            station["rules"]
            for station in document["stations"]
            if any(gate["key"] in rule.get("gates", ()) for rule in station["rules"])
        ]
        # Rework that no rule leads back from would fail the task
        if "offers" in gate and not all(any(map(_does_rule_lead_back, rules)) for rules in asking):
            gate["offers"] = [word for word in gate["offers"] if word != "rework"]


def _does_rule_lead_back(rule: Mapping[str, Any]) -> bool:
    return not rule.get("gates") and not _reads_facts(rule.get("when"), (OTHERS,))


def _drop_gate_checks_of_unreported_facts(document: dict[str, Any], key: str) -> None:
    """Checks of gates that read what no report says any more."""
    starts = tuple(f"facts.{fact}." for fact in FACTS.get(key, ()))
    for gate in document.get("gates", ()) if starts else ():
        for checks in (gate.get("checks") or {}).values():
            checks[:] = [check for check in checks if not check["field"].startswith(starts)]


def _leave_out_station(document: dict[str, Any], station: dict[str, Any]) -> None:
    key, stations = station["key"], document["stations"]
    place = stations.index(station)
    stations.remove(station)
    _drop_gate_checks_of_unreported_facts(document, key)
    for join in [station for station in stations if key in (station.get("join") or {}).get("wait_for", ())]:
        join["join"]["wait_for"].remove(key)
        if len(join["join"]["wait_for"]) == 1:
            _replace_join_of_one_station(stations, join)
        for rule in _rules_of_stations(stations):
            if isinstance(rule["to"], list) and key in rule["to"]:
                left = [target for target in rule["to"] if target != key]
                rule["to"] = left[0] if len(left) == 1 else left
        return
    # Whoever led to the station is led on to where its success leads.
    onward = next(rule for rule in station["rules"] if "success" in _results_that_rule_matches(rule))
    if any(
        rule["to"] == key for other in stations if other["key"] == onward["to"] for rule in other["rules"]
    ):
        # A delivery that led to itself would never take in the base that has moved: a No-op does.
        station.update(name="Take the base in", work={"kind": "noop"})
        stations.insert(place, station)
        return
    if _reads_facts(station["rules"], (OTHERS,)):
        # What other stations observed still decides here.
        _drop_report_rules(station)
        rules = [rule for rule in station["rules"] if "success" in _results_that_rule_matches(rule)]
        station.update(name="Anything changed?", work={"kind": "noop"}, rules=rules)
        stations.insert(place, station)
        return
    for rule in _rules_of_stations(stations):
        if rule["to"] == key:
            rule["to"] = onward["to"]
            # The gate behind the station stays on the way.
            if onward.get("gates"):
                rule["gates"] = [*rule.get("gates", []), *onward["gates"]]
    _drop_unreachable_stations(document)


def _drop_unreachable_stations(document: dict[str, Any]) -> None:
    """Remove the stations to which only a station led that is left out."""
    by_key = {station["key"]: station for station in document["stations"]}
    reached: set[str] = set()
    ahead = [document.get("start") or document["stations"][0]["key"]]
    while ahead:
        key = ahead.pop()
        if key in by_key and key not in reached:
            reached.add(key)
            for rule in by_key[key]["rules"]:
                ahead += _target_keys(rule)
    document["stations"][:] = [station for station in document["stations"] if station["key"] in reached]


def _replace_join_of_one_station(stations: list[dict[str, Any]], join: dict[str, Any]) -> None:
    """Remove a join that waits for a single station; that station gets its rules."""
    last = next(station for station in stations if station["key"] == join["join"]["wait_for"][0])
    last["rules"] = join["rules"]
    stations.remove(join)


def _rules_of_stations(stations: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (rule for station in stations for rule in station["rules"])


def _results_that_rule_matches(rule: Mapping[str, Any]) -> Sequence[str]:
    """Results that a rule takes, of the first of its conditions that names one."""
    when = rule.get("when") or {}
    for condition in (when, *when.get("any", ()), *when.get("all", ())):
        if results := condition.get("result"):
            return [results] if isinstance(results, str) else list(results)
    return ()
