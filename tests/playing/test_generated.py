"""Each scenario that Gateline generates can be played: what the simulation says of it, the real engine does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.formats import native
from pipelines.formats.scenarios import dumps
from pipelines.lines.demo import example
from pipelines.lines.starters.catalogue import LINES as STARTERS_AT
from pipelines.lines.starters.catalogue import STARTERS
from pipelines.models import Blob, Handoff, Upload
from pipelines.routing.document.line import read_line
from pipelines.routing.simulate import candidates
from pipelines.routing.simulate.scenario_generation import BOUND, generate_scenarios
from tests.factories import World, document, station
from tests.playing.play import PlayedScript, load, play, published

pytestmark = pytest.mark.django_db

FILES = {path.stem: path for path in sorted(example.LINES.glob("*.yaml"))}
FILES |= {each.key: STARTERS_AT / f"{each.key}.yaml" for each in STARTERS}
LONG = "aeef-delivery"
"""Its scenarios are many and long: all of them are played under `make soak`, the longest of the first always."""


def played(path: Path, *, bound: int = BOUND, longest: bool = False) -> list[PlayedScript]:
    made = list(
        generate_scenarios(native.read_text(path.read_bytes(), keep_faulty_rules=True), bound=bound).scenarios
    )
    if longest:
        made = [max(made, key=lambda each: len(each.steps))]
    with published(path.read_text(encoding="utf-8")) as version:
        return [play(version, script) for script in load(dumps(made))]


def faults(told: list[PlayedScript]) -> dict[str, Any]:
    return {
        each.script.scenario.key: list(map(str, each.failures)) or each.unplayable
        for each in told
        if not each.met
    }


@pytest.mark.smoke(1)
@pytest.mark.parametrize("key", [key for key in FILES if key != LONG])
def test_every_line_that_is_shipped_goes_as_generated(key: str) -> None:
    told = played(FILES[key])
    assert faults(told) == {}
    assert len(told) >= 2


@pytest.mark.wide
def test_the_longest_of_a_line_with_handoffs_and_metadata_is_played() -> None:
    (told,) = played(FILES[LONG], bound=3_000, longest=True)
    assert faults([told]) == {}
    assert len(told.path) > 5


@pytest.mark.soak
def test_all_of_a_line_with_handoffs_and_metadata_are_played() -> None:
    told = played(FILES[LONG])
    assert faults(told) == {}
    assert len(told) > 20


# What a line asks for beside what its rules read

MADE: dict[str, Any] = {
    "inputs": [
        {"key": "plan", "type": "file", "required": True},
        {"key": "kind", "type": "choice", "choices": ["new", "old"], "required": True},
    ],
    "stations": [
        station(
            "build",
            {"id": "on", "when": {"output": {"path": "$.fit", "op": "equals", "value": "no"}}, "to": "ship"},
            work={
                "kind": "manual",
                "form": [
                    {"key": "fit", "type": "choice", "choices": ["yes", "no"], "required": True},
                    {"key": "proof", "type": "file", "required": True},
                    {"key": "count", "type": "number", "default": 3},
                ],
            },
            requires=["handoff", "metadata:kind", "metadata:Ticket"],
            handoff={
                "type": "object",
                "required": ["summary", "risk", "steps", "who"],
                "properties": {
                    "summary": {"type": "string", "minLength": 20},
                    "risk": {"enum": ["low", "high"]},
                    "steps": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/step"}},
                    "who": {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string"}]},
                },
                "$defs": {
                    "step": {"type": "object", "required": ["done"], "properties": {"done": {"const": True}}}
                },
            },
        ),
        "ship",
    ],
}


def generated(world: World, line: dict[str, Any], script: str = "") -> list[PlayedScript]:
    version = world.line(**line)
    made = script or dumps(generate_scenarios(read_line(document(**line))).scenarios)
    return [play(version, each) for each in load(made)]


def test_files_forms_metadata_and_a_handoff_by_its_own_schema_are_given_and_do_not_stay(world: World) -> None:
    (told,) = generated(world, MADE)
    assert faults([told]) == {}
    assert (told.path, told.rules) == (["build", "ship"], ["on"])
    assert not (Blob.objects.exists() or Upload.objects.exists() or Handoff.objects.exists())


WITHHELD = """
key: held
steps:
  - {{outcome: {{result: success, output: {{fit: "no", proof: {file}}}}}, missing: [{missing}]}}
  {then}
expect: {{status: {status}}}
"""


@pytest.mark.parametrize("missing", ["handoff", '"metadata:Ticket"'])
def test_what_the_script_calls_missing_holds_the_task_until_it_is_there(world: World, missing: str) -> None:
    file = json.dumps(dict(candidates.FILE))
    for then, status in (("", "held"), ("- {reconsider: true}", "queued")):
        script = WITHHELD.format(file=file, missing=missing, then=then, status=status)
        (told,) = generated(world, {**MADE, "key": f"made-{status}"}, script)
        assert faults([told]) == {}


SECRET: dict[str, Any] = {
    "key": "locked",
    "inputs": [{"key": "token", "type": "secret", "label": "Access token", "required": True}],
    "stations": [station("build", {"id": "on", "when": {"result": "success"}, "to": "ship"}), "ship"],
}
NUMBER = {"type": "string", "pattern": "^B-[0-9]+$"}
PATTERN: dict[str, Any] = {
    "key": "numbered",
    "stations": [
        station(
            "build",
            {"id": "on", "when": {"result": "success"}, "to": "ship"},
            requires=["handoff"],
            handoff={
                "type": "object",
                "required": ["n"],
                "properties": {"n": {"type": "string", "pattern": "^B-[0-9]+$"}},
            },
        ),
        "ship",
    ],
}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (SECRET, "the input Access token is a secret that has to be given"),
        (PATTERN, "build needs a handoff, and none could be made up that fits its schema"),
    ],
)
def test_what_nobody_can_play_is_said_and_is_no_failure(
    world: World, line: dict[str, Any], says: str
) -> None:
    told = generated(world, line)
    assert told
    assert all(each.unplayable.startswith(says) and not each.met and not each.failures for each in told)


def test_a_script_that_gives_such_a_handoff_is_played(world: World) -> None:
    (told,) = generated(
        world,
        PATTERN,
        "{key: own, steps: [{outcome: {result: success, handoff: {n: B-1}}}], expect: {path: [build, ship]}}",
    )
    assert faults([told]) == {}
