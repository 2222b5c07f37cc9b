"""Lines with a gate at most stations, drawn apart from those of `drawing.py`, and walks through them to the end.

Every station may have a gate of its own, gates stand on rules too, signals and jumps come often, several words are
said at once, and one fork with its join is in a third of the lines.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.guarantees.guarantee_proofs import PROVED, REFUTED, prove_guarantees
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.state import SimulatedTask, StepRefused
from tests.routing.guarantees.agreeing import breaks
from tests.routing.guarantees.histories import Json, Observer

ACTIONS = ("hold", "rework", "abort", "proceed")
TESTED: tuple[Json, ...] = (
    {"result": "success"},
    {"result": "failure"},
    {"verdict": "fail"},
    {"eval": {"op": "equals", "value": "ok"}},
    {"eval": {"op": "equals", "value": "error"}},
    {"result": ["success", "blocked"]},
    {"verdict": "blocked"},
)


class GatedLine:
    def __init__(self, seed: int) -> None:
        self.random = Random(f"gated {seed}")
        self.keys = [f"s{n}" for n in range(self.random.randint(2, 5))]
        self.gates = [f"g{n}" for n in range(self.random.randint(1, 3))]
        self.document = self._line()

    def _line(self) -> Json:
        draw = self.random
        line: Json = {
            "gateline": 1,
            "key": "gated",
            "preset": draw.choice(["alp", "alp", "alp", "flux", "contenox", "vibe-factory", "aeef"]),
            "gates": [self._gate(key) for key in self.gates],
            "stations": [self._station(key) for key in self.keys],
        }
        if draw.random() < 0.4:
            line["jumps"] = draw.choice(["all", [], [draw.choice(self.keys)], ["completed"]])
        if draw.random() < 0.4:
            line["policy"] = {
                "on_failure": draw.choice(["halt", "fallback", "stuck", f"station:{draw.choice(self.keys)}"])
            }
        if len(self.keys) > 3 and draw.random() < 0.35:
            self._fork(line)
        promises = [self._promise() for _ in range(3)]
        line["guarantees"] = [{"id": f"p{n}", **said} for n, said in enumerate(promises)]
        return line

    def _fork(self, line: Json) -> None:
        first, second, meet = self.keys[1], self.keys[2], self.keys[3]
        aggregation = self.random.choice(["all-pass", "any-pass", "none"])
        line["stations"][3]["join"] = {"wait_for": [first, second], "aggregation": aggregation}
        line["stations"][0]["rules"].append({"id": "fork", "to": [first, second]})
        for station in line["stations"][1:3]:
            station["rules"].insert(
                0, {"id": f"{station['key']}-meet", "when": {"result": "success"}, "to": meet}
            )

    def _station(self, key: str) -> Json:
        draw = self.random
        station: Json = {"key": key, "rules": [self._rule(key, n) for n in range(draw.randint(0, 3))]}
        if draw.random() < 0.6:
            station["gate"] = draw.choice(self.gates)
        if draw.random() < 0.5:
            station["limits"] = {"max_visits": draw.randint(1, 3), "max_retries": draw.randint(0, 2)}
        return station

    def _rule(self, key: str, number: int) -> Json:
        draw = self.random
        rule: Json = {
            "id": f"{key}-{number}",
            "to": draw.choice([*self.keys, *self.keys, "completed", "@origin"]),
        }
        if draw.random() < 0.8:
            rule["when"] = draw.choice(TESTED)
        if draw.random() < 0.35:
            rule["gates"] = draw.sample(self.gates, draw.randint(1, min(2, len(self.gates))))
        if draw.random() < 0.25:
            rule["max_retries"] = draw.randint(0, 2)
            rule["on_exhausted"] = draw.choice(["fail", "stuck", {"to": draw.choice(self.keys)}])
        return rule

    def _gate(self, key: str) -> Json:
        draw = self.random
        mode = draw.choice(["manual", "manual", "auto", "checks_then_manual", "skip"])
        gate: Json = {"key": key, "mode": mode}
        if mode != "manual":
            field, value = draw.choice(
                [("eval", "ok"), ("result", "success"), ("exit_code", 0), ("output.n", 1)]
            )
            check = {"field": field, "operator": "equals", "value": value, "action": draw.choice(ACTIONS)}
            gate["checks"] = {draw.choice(["all", "any"]): [check]}
        words = ["send_back", "reject", "rework", "abort"]
        gate["offers"] = ["approve", *draw.sample(words, draw.randint(1, 4))]
        gate["on_reject"] = draw.choice(
            ["fail", "rework", f"route:{draw.choice(self.keys)}", "reviewer_chooses"]
        )
        return gate

    def _promise(self) -> Json:
        draw = self.random
        reach = draw.choice([*self.keys[1:], *self.keys[1:], "completed", "failed", *self.gates])
        form = draw.random()
        if form < 0.6:
            return {"never": {"reach": reach, "without": draw.choice([*self.keys, *self.gates])}}
        if form < 0.75:
            word = draw.choice(["reject", "send_back"])
            return {"after": {"gate": draw.choice(self.gates), "word": word}, "never": {"reach": reach}}
        if form < 0.9:
            return {"at_most": {"visit": draw.choice(self.keys), "times": draw.randint(1, 20)}}
        return {"ends_within": draw.randint(3, 40)}


def outcome(draw: Random, line: ParsedLine) -> Json:
    """Mostly what leads somewhere; each with a signal in a third of all cases."""
    said: Json = draw.choice(
        [
            {"result": "success"},
            {"result": "success"},
            {"exit_code": 0},
            {"exit_code": 1},
            {"verdict": "fail"},
        ]
        + [{"result": "failure", "verdict": "pass"}, {"result": "blocked"}, {"result": "cancelled"}]
        + [{"result": "success", "eval": "error"}, {"result": "success", "blockers": ["so"]}]
    )
    if draw.random() < 0.5:
        said = {**said, "output": {"n": draw.randint(0, 2)}}
    if draw.random() < 0.3:
        seen = draw.choice([{"refused": "No."}, {"unreadable": "line 1"}, {"empty": True}, {"signal": True}])
        said = {**said, "facts": {"output": seen}}
    if draw.random() < 0.35:
        places = [*line.stations_by_key, *line.ends_by_key, "nowhere"]
        complete = {"reason": "already_complete", "meta": {"targetState": draw.choice(places)}}
        verdict = draw.choice(["proceed", "proceed", "rework", "hold", "hold", "abort"])
        said = {**said, "signals": [{"verdict": verdict, **(complete if verdict == "hold" else {})}]}
    return said


def step(draw: Random, line: ParsedLine, walk: SimulatedTask) -> ScenarioStep | None:
    """Of some living position; None where nothing is to be done."""
    living = [each for each in walk.positions if each.is_active]
    position = draw.choice(living)
    at = position.station if len(living) > 1 else None
    if position.status == "queued":
        return ScenarioStep("outcome", at, outcome=outcome(draw, line))
    if position.status != "awaiting_review":
        return None
    words = {}
    for gate in position.wait["gates"]:
        if draw.random() < 0.75:
            word = draw.choice(["approve", "approve", "approve", "reject", "send_back", "rework", "abort"])
            route = (
                {"route": draw.choice([*line.stations_by_key, "fail", "rework"])} if word == "reject" else {}
            )
            words[gate] = {"decision": word, "reason": "So.", **route}
    return ScenarioStep("gates", at, gates=words) if words else None


def walked(line: ParsedLine, said: Json, draw: Random, most: int) -> tuple[int, bool]:
    """How many steps were walked, in as many tasks as it takes, and whether one broke the guarantee."""
    taken = refused = 0
    while taken < most and refused < 40 * most:
        observer = Observer(line, said)
        alive = 0
        while not observer.walk.is_over and taken < most and alive < 60:
            made = step(draw, line, observer.walk)
            try:
                if made is None:
                    raise StepRefused("nothing to be done")
                observer.do(made)
                taken, alive = taken + 1, 0
            except StepRefused:
                alive, refused = alive + 1, refused + 1
            if observer.broken:
                return taken, True
    return taken, False


def hold(seed: int, steps: int, counted: Counter[str]) -> None:
    """Every proof of this line is walked, every refutation replayed."""
    document: dict[str, Any] = GatedLine(seed).document
    line = read_line(document)
    for said, answer in zip(document["guarantees"], prove_guarantees(line), strict=True):
        form = next(key for key in ("after", "never", "at_most", "ends_within") if key in said)
        counted[answer.answer] += 1
        counted[f"{answer.answer} {form}"] += 1
        told = f"seed {seed}: {answer.sentence}: {answer.answer}"
        if answer.answer == PROVED:
            taken, broken = walked(line, said, Random(seed), steps)
            counted["steps"] += taken
            assert not broken, told
        elif answer.answer == REFUTED:
            assert breaks(document, said, answer), told
