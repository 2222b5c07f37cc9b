"""The progress of a task in one small row: the main path of its line, the completed part, and where the task
is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipelines.models import Status, Task, Token
from pipelines.queries import versions
from pipelines.routing.document.line import ParsedLine, Rule, Station
from pipelines.routing.sentences.names import end_name, gate_name

MOST = 9
STEP = 26
WELL = 1_000
"""What a way to a completed end is worth beyond its length."""


@dataclass(frozen=True, slots=True)
class StripStep:
    """`state`: done, here or ahead. `x`: where its middle is."""

    shape: str
    name: str
    state: str
    x: int


@dataclass(frozen=True, slots=True)
class PathStrip:
    """Section of a task's way. `before` and `after`: whether there is more of it. `place` and `count` say
    where the task is; 0: beside it."""

    steps: Sequence[StripStep]
    before: bool
    after: bool
    place: int
    count: int

    @property
    def width(self) -> int:
        return STEP * len(self.steps)


@dataclass(frozen=True, slots=True)
class MainPathStep:
    """`shape`: station, gate or end. `gates`: the keys of stacked gates."""

    shape: str
    key: str
    name: str
    gates: tuple[str, ...] = ()


@lru_cache(maxsize=512)
def _version_main_path(version_id: int) -> tuple[MainPathStep, ...]:
    """Return the main way of a version, which never changes."""
    return main_path(versions.parsed_line_by_version_id(version_id))


def main_path(line: ParsedLine) -> tuple[MainPathStep, ...]:
    """Return the longest path from the start to a completed end (if none, to anywhere), in the order of the
    stations. Of equal paths the first in rule order."""
    best: dict[str, tuple[int, tuple[MainPathStep, ...]]] = {}
    # From the last one: what leads back is not worked out yet, so no loop is followed.
    for station in reversed(line.stations):
        own = MainPathStep("station", station.key, station.name)
        ways = [(0, ()), *_worths_and_onward_paths(line, station, best)]
        worth, rest = max(ways, key=lambda way: way[0])
        best[station.key] = (worth + 1, (own, *rest))
    start = line.start or (line.stations[0].key if line.stations else "")
    return best[start][1] if start in best else ()


def _worths_and_onward_paths(
    line: ParsedLine, station: Station, best: dict[str, tuple[int, tuple[MainPathStep, ...]]]
) -> Iterator[tuple[int, tuple[MainPathStep, ...]]]:
    """`best`: of the stations behind this one."""
    for rule in station.rules:
        gates = _gate_steps(line, rule)
        for target in rule.to:
            if onward_path := _worth_and_path_of_target_or_none(line, target, best):
                yield onward_path[0] + len(gates), (*gates, *onward_path[1])
    if not station.rules and line.policy.no_rules != "refuse":
        after = line.next_station_or_none(station.key) if line.policy.no_rules == "advance" else None
        if onward_path := _worth_and_path_of_target_or_none(line, after.key if after else "completed", best):
            yield onward_path


def _gate_steps(line: ParsedLine, rule: Rule) -> tuple[MainPathStep, ...]:
    """Return one hexagon for the rule, however many gates stand in it."""
    if not rule.gates:
        return ()
    return (MainPathStep("gate", rule.gates[0], gate_name(line, rule.gates[0]), rule.gates),)


def _worth_and_path_of_target_or_none(
    line: ParsedLine, target: str, best: dict[str, tuple[int, tuple[MainPathStep, ...]]]
) -> tuple[int, tuple[MainPathStep, ...]] | None:
    if target in line.ends_by_key:
        worth = WELL if line.end(target).kind == "completed" else 0
        return worth + 1, (MainPathStep("end", target, end_name(line, target)),)
    return best.get(target)


def task_path_strip(task: Task, tokens: Sequence[Token]) -> PathStrip:
    """`tokens`: its living positions."""
    way = _version_main_path(task.pinned_id)
    gate_keys = {key for token in tokens for key in token.wait.get("gates", ()) if _awaits_review(token)}
    stations = {token.station for token in tokens if not _awaits_review(token)}
    states = _step_states(task, way, gate_keys, stations)
    here = next((n for n in reversed(range(len(way))) if states[n] == "here"), None)
    done = max((n for n, state in enumerate(states) if state == "done"), default=0)
    # The place of the task in the middle, as far as both ends of the way allow
    start = max(0, min((done if here is None else here) - MOST // 2, len(way) - MOST))
    steps = [
        StripStep(step.shape, step.name, states[n], STEP * (n - start) + STEP // 2)
        for n, step in enumerate(way)
        if start <= n < start + MOST
    ]
    return PathStrip(steps, start > 0, start + MOST < len(way), 0 if here is None else here + 1, len(way))


def _awaits_review(token: Token) -> bool:
    return token.status == Status.AWAITING_REVIEW


def _step_states(
    task: Task, way: Sequence[MainPathStep], gate_keys: set[str], stations: set[str]
) -> list[str]:
    """Return the state of each step, computed from the end: a gate is passed when a later step was reached."""
    states: list[str] = []
    reached = False
    # A gate leaves no visit: that it was passed shows only in what comes behind it
    for step in reversed(way):
        here = bool(gate_keys & set(step.gates)) if step.shape == "gate" else step.key in stations
        done = bool(task.visits.get(step.key)) if step.shape == "station" else task.end == step.key
        passed = reached if step.shape == "gate" else done
        states.append("here" if here else "done" if passed else "ahead")
        reached = reached or here or done
    return states[::-1]
