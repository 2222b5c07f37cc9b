"""Where work may jump, as drawn lines have it under both revisions: decided, simulated, proved and linted alike."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.visits import max_entries_by_station
from pipelines.routing.decide.branch_joins.reachability import next_stations_by_station, reachable_stations
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import Finish, Move
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.guarantees.ways_out import ways_out_by_station
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import start_task
from pipelines.routing.simulate.walk_steps import take_step
from tests.routing.interpreter import decide as second_reading

Json = dict[str, Any]
ENDS = ("completed", "failed", "cancelled", "shipped")


def drawn(seed: int) -> tuple[Json, int]:
    """A document, and the revision under which it is read."""
    draw = Random(f"jumps {seed}")
    keys = [f"s{n}" for n in range(draw.randint(2, 5))]
    document: Json = {
        "gateline": 1,
        "key": "jumps",
        "preset": draw.choice(["alp", "flux", "contenox", "vibe-factory"]),
        "stations": [
            {"key": key, "work": {"kind": "manual"}, "rules": [{"id": f"to-{key}", "to": draw.choice(keys)}]}
            for key in keys
        ],
        "ends": [{"key": "shipped", "kind": "completed"}],
    }
    said = draw.choice(["", "all", [], draw.sample([*keys, *ENDS], 2)])
    return (document if said == "" else {**document, "jumps": said}), draw.choice([2, 3, 3])


def allowed(document: Json, revision: int) -> set[str]:
    """ "`jumps` is a list of stations and ends, or `all`; absent means none; the preset `flux` says `all`"; under
    revision 2 a line that says nothing allows all of them."""
    silent = "all" if document["preset"] == "flux" or revision == 2 else []
    said = document.get("jumps", silent)
    return {*(each["key"] for each in document["stations"]), *ENDS} if said == "all" else set(said)


def jump(place: str) -> Json:
    meta = {"targetState": place}
    return {"result": "success", "signals": [{"verdict": "hold", "reason": "already_complete", "meta": meta}]}


def simulated(line: ParsedLine, place: str) -> bool:
    start = start_task(line, ScenarioScript("w", "w"))
    decision = take_step(line, start, ScenarioStep("outcome", outcome=jump(place))).decision
    return isinstance(decision, Move | Finish)


@pytest.mark.parametrize("block", range(4))
def test_all_read_alike_where_work_may_jump(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        document, revision = drawn(seed)
        line, may = read_line(document, revision=revision), allowed(document, revision)
        places = [*line.stations_by_key, *line.ends_by_key, "nowhere"]
        situations = {place: {"station": line.start, "outcome": jump(place)} for place in places}
        decided = {
            place
            for place, situation in situations.items()
            if isinstance(decide(line, read_situation(situation)), Move | Finish)
        }
        assert decided == may, (seed, revision)
        assert {place for place in places if simulated(line, place)} == may, (seed, revision)
        assert {
            way.target for way in ways_out_by_station(LintSubject(line))[line.start] if way.by == "jump"
        } == may
        stations = may & {*line.stations_by_key}
        assert stations <= LintSubject(line).keys_reached_from_start and stations <= {
            key for key, most in max_entries_by_station(LintSubject(line)).items() if most
        }
        if revision == 3:
            second = {p for p, s in situations.items() if second_reading(document, s)["decision"] != "wait"}
            assert second == may, seed
            assert stations <= reachable_stations(next_stations_by_station(line), [line.start])
