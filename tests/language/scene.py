"""A project in use, whose people, lines and tasks have names that no English text holds."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pipelines.lines import starters
from pipelines.models import GateVisit, Task
from tests.factories import World, station

LINE: dict[str, Any] = {
    "key": "xlin",
    "name": "Xline",
    "description": "Xdescription",
    "inputs": [{"key": "xinp", "type": "text", "label": "Xinput", "required": True}],
    "stations": [
        station(
            "xone",
            {
                "id": "xr1",
                "label": "Xrule",
                "when": {
                    "all": [{"result": "success"}, {"output": {"path": "$.xout", "op": "gt", "value": 3}}]
                },
                "to": "xtwo",
                "gates": ["xgat"],
            },
            {"id": "xr2", "when": {"result": "failure"}, "to": "xone", "max_retries": 2},
            kind="command",
            name="Xone",
            work={"argv": ["true"]},
        ),
        station("xtwo", kind="manual", name="Xtwo", work={"instructions": "Xinstructions"}),
    ],
    "gates": [{"key": "xgat", "name": "Xgate", "mode": "manual"}],
}
DATA = (
    "Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "xlin Xline Xdescription xinp Xinput xone Xrule xr xtwo Xtwo Xone Xinstructions xgat Xgate xout",
    "Xtitle Xsummary Acme app admin operator reviewer machine worker localhost WI example com AM PM",
)
# The trace of a decision is shown as it was stored.
TRACE = ["true false no checks result: success output waits for goes to (by rule)"]


def _parts(line: Any) -> Iterator[Any]:
    yield line
    for each in line["stations"]:
        yield from (each, *each.get("rules", ()))
    yield from (*line.get("gates", ()), *line.get("ends", ()))


# What a page shows beside that comes from no catalogue.
OF_PAGE: dict[str, list[str]] = {
    "task at a gate": TRACE,
    "task at a manual station": TRACE,
    # The check by its id, which is a link to its help page.
    "code": ["no-rule-takes"],
    "problems before publishing": ["no-rule-takes"],
    "account": sorted(zoneinfo.available_timezones()),
    "new line": [
        "my-line My line",
        *(
            str(part.get(key, ""))
            for path in Path(starters.__file__).parent.glob("lines/*.yaml")
            for document in [YAML(typ="safe").load(path.read_text("utf-8"))]
            for part in _parts(document)
            for key in ("key", "name", "description", "label")
        ),
    ],
}


@dataclass(frozen=True)
class Scene:
    world: World
    waiting: Task
    visit: GateVisit
    by_hand: Task

    def line(self, *more: object) -> list[object]:
        return [*self.project(), "xlin", *more]

    def project(self, *more: object) -> list[object]:
        return [self.world.project.owner.key, self.world.project.key, *more]


def make_scene(world: World) -> Scene:
    """One task waits at a gate, one at a manual station; the draft differs from what is live."""
    version = world.line(LINE)
    tasks = []
    for number in (1, 2):
        task = world.start(version, title=f"Xtitle {number}", inputs={"xinp": "Xinput"})
        world.report(task, {"result": "success", "summary": "Xsummary", "output": {"xout": 4}})
        tasks.append(task)
    waiting, by_hand = tasks
    world.vote(by_hand)
    line = version.line
    changed = {
        **LINE,
        "stations": [{**LINE["stations"][0], "rules": LINE["stations"][0]["rules"][1:]}, LINE["stations"][1]],
    }
    line.draft = {"gateline": 1, **changed}
    line.draft_number += 1
    line.save()
    return Scene(world, waiting, world.visit(waiting), by_hand)
