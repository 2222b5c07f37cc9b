"""How long the canvas waits for findings: a line of 200 stations and 1,000 rules, saved through the real door.

    python -m proof.bench.editor_findings [--stations 200] [--saves 40]

Cold: the first save in a process that has seen nothing. Warm: saves that each change one rule of one station, another
one every time, as somebody does who draws. Once with rules as people write them, once with hard ones (nested, with
patterns, one in five dead). A save answers with findings, remedies, where every rule stands and what goes elsewhere.
The time is that of the whole request, the database included; on a busy machine the time on a core says more. The
server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import sys
import time
from typing import Any

from proof.bench.rig import Json, database, keep
from proof.bench.routing import MIXES, line_of

TARGET = 0.5
"""Seconds in which findings have to be back after an edit."""


def edited(document: Json, number: int) -> Json:
    """One rule of one station leads elsewhere, and takes the place of its neighbour."""
    changed = copy.deepcopy(document)
    stations = changed["stations"]
    rules = stations[(number * 7) % len(stations)]["rules"]
    rules[0], rules[1] = rules[1], {**rules[0], "to": "failed"}
    return changed


class Door:
    """One line and the person who draws it."""

    def __init__(self, world: Any, mix: str, stations: int) -> None:
        from django.test import Client  # noqa: PLC0415  # after `database`
        from django.urls import reverse  # noqa: PLC0415  # after `database`

        from pipelines.lines.publishing import create_line  # noqa: PLC0415  # after `database`

        self.document = {**line_of(MIXES[mix], stations).to_document(), "key": mix}
        self.line = create_line(world.project, mix, mix.title(), self.document, world.admin)
        self.url = reverse("api-1:line-draft", args=[world.project.owner.key, world.project.key, mix])
        self.client = Client(headers={"host": "localhost"})
        world.admin.set_password("correct horse battery")
        world.admin.save()
        self.client.force_login(world.admin)
        self.number = self.line.draft_number
        self.bytes = 0

    def save(self, document: Json) -> tuple[float, float]:
        """Seconds of one save, and those of them in which this process had a core."""
        body = json.dumps({"based_on": self.number, "base": self.document, "document": document})
        began = time.perf_counter(), time.process_time()
        answer = self.client.patch(self.url, body, content_type="application/json")
        took = time.perf_counter() - began[0], time.process_time() - began[1]
        if answer.status_code != 200:
            raise SystemExit(f"{answer.status_code}: {answer.content[:300]!r}")
        self.number, self.document, self.bytes = answer.json()["number"], document, len(answer.content)
        return took


def measured(world: Any, mix: str, stations: int, saves: int) -> Json:
    door = Door(world, mix, stations)
    cold = door.save(edited(door.document, 0))
    each = [door.save(edited(door.document, number)) for number in range(1, saves + 1)]
    warm, cpu = sorted(wall for wall, _ in each), sorted(used for _, used in each)
    return {
        "mix": mix,
        "stations": stations,
        "rules": 5 * stations,
        "cold seconds": round(cold[0], 3),
        "cold cpu": round(cold[1], 3),
        "warm median": round(statistics.median(warm), 3),
        "warm p95": round(warm[int(len(warm) * 0.95) - 1], 3),
        "warm worst": round(warm[-1], 3),
        "warm cpu median": round(statistics.median(cpu), 3),
        "warm cpu p95": round(cpu[int(len(cpu) * 0.95) - 1], 3),
        "answer kB": door.bytes // 1024,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stations", type=int, default=200)
    parser.add_argument("--saves", type=int, default=40)
    given, _ = parser.parse_known_args()
    with database():
        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        world = make_world()
        load = os.getloadavg()[0]
        found = [measured(world, mix, given.stations, given.saves) for mix in MIXES]
    keep("editor_findings", {"load before": round(load, 1), "saves": found})
    return 0 if all(each["warm p95"] < TARGET for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
