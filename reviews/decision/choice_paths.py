"""Paths of the choices at a gate, on the drawing of the line, by the same `decide` that names the buttons."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.models import GateVisit
from pipelines.queries.versions import parsed_version
from pipelines.routing.analysis.lint.transitions import drawn_edge_key_or_empty
from pipelines.routing.document.line import ParsedLine
from pipelines.web.lines.drawing import STOPPED, DrawnEnding, LineDrawing, drawing_of_version
from pipelines.web.lines.marks import NOT, TAKEN, PlaceMark, TaskPath
from pipelines.web.tasks.task_path import station_edge_names
from reviews.decision.consequences import VoteOption

ENDS = {"completed": "ok", "failed": "danger", "cancelled": TAKEN}
HERE, NEXT, STOPS = "attention", "active", "danger"


@dataclass(frozen=True)
class DrawnChoice:
    """A button, and what it marks on the drawing, as its script reads it."""

    option: VoteOption
    told: str


@dataclass(frozen=True)
class DrawnChoices:
    drawing: LineDrawing
    choices: Sequence[DrawnChoice]

    @property
    def first(self) -> str:
        return self.choices[0].told


def draw_choices_with_consequence_or_none(
    visit: GateVisit, options: Iterable[VoteOption]
) -> DrawnChoices | None:
    """Return the line's drawing with the path of each choice whose consequence is known; None if there is none."""
    pinned = visit.asked_by.pinned
    line = parsed_version(pinned)
    known = [option for option in options if option.answer]
    if not known:
        return None
    rule_id = str(visit.asked_by.answer.get("rule") or "")
    endings = [
        ending
        for option in known
        if (ending := _drawn_ending_without_rule_or_none(visit, option.answer, rule_id))
    ]
    choices = [
        DrawnChoice(option, _drawing_marks_json_text(line, visit, option.answer, rule_id)) for option in known
    ]
    return DrawnChoices(drawing_of_version(pinned, visit.task.project_id, endings), choices)


def _drawn_ending_without_rule_or_none(
    visit: GateVisit, answer: Mapping[str, Any], rule_id: str
) -> DrawnEnding | None:
    """The end of the task where no rule leads there: a gate that ends it names the rule that it stands on."""
    if answer["decision"] != "finish" or _is_led_by_rule_not_gate(answer):
        return None
    return DrawnEnding(visit.asked_by.station, rule_id, answer["end"])


def _drawing_marks_json_text(
    line: ParsedLine, visit: GateVisit, answer: Mapping[str, Any], rule_id: str
) -> str:
    station = visit.asked_by.station
    path = TaskPath()
    path.ways.clear()
    for line_station in line.stations:
        path.places[line_station.key] = PlaceMark()
        path.ways |= dict.fromkeys(station_edge_names(line_station), NOT)
    path.places |= {end.key: PlaceMark() for end in line.ends}
    path.places[station] = PlaceMark(HERE)
    path.gates[rule_id] = PlaceMark(HERE)
    rule = str(answer.get("rule") or "")
    if answer["decision"] == "move":
        again = [station] == list(answer["to"])
        for key in answer["to"]:
            path.places[key] = PlaceMark(NEXT, "runs again" if again else "next")
            # To an origin no edge leads that names it: the rule's own does.
            edge = drawn_edge_key_or_empty(line, station, answer["by"], rule, key) or (
                rule if answer["by"] == "rule" else ""
            )
            if edge:
                path.ways[edge] = TAKEN
    elif answer["decision"] == "finish":
        path.places[answer["end"]] = PlaceMark(ENDS.get(answer["kind"], TAKEN), "the task ends")
        path.ways[rule if _is_led_by_rule_not_gate(answer) else f"{station}{STOPPED}"] = TAKEN
    else:
        path.places[station] = PlaceMark(STOPS if answer["decision"] == "stuck" else HERE, "stays here")
    return json.dumps(path.to_dict())


def _is_led_by_rule_not_gate(answer: Mapping[str, Any]) -> bool:
    return bool(answer.get("rule")) and answer["by"] != "gate"
