"""Scripts: a scenario with who plays it, and time that passes."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import Malformed
from tests.playing.script import AFTER, ScriptedPerson, ScriptStep, read_script, read_scripts

OUTCOME = {"at": "a", "outcome": {"result": "success"}}


def script(**said: Any) -> dict[str, Any]:
    return {"key": "one", "steps": [OUTCOME], **said}


def test_a_scenario_as_it_is_is_a_script() -> None:
    (found,) = read_scripts(script())
    (step,) = found.played
    assert (step.kind, step.by, step.at, step.seconds) == ("outcome", "", "a", 0)
    assert (found.people, found.agents, found.scenario.key) == ({}, {}, "one")
    assert found.scenario.steps == (step.step,)


def test_it_says_who_plays_and_that_time_passes() -> None:
    people = {"ann": "reviewer", "bob": {"groups": ["security"]}, "eve": {"role": "admin"}}
    agents = {"dev": "suspended", "qa": None}
    found = read_script(
        script(people=people, agents=agents, steps=[{**OUTCOME, "by": "ann"}, {"after": "2h", "by": "bob"}])
    )
    assert found.people == {
        "ann": ScriptedPerson(("reviewer",)),
        "bob": ScriptedPerson(("operator",), ("security",)),
        "eve": ScriptedPerson(("admin",)),
    }
    assert found.agents == {"dev": "suspended", "qa": "available"}
    assert [each.by for each in found.played] == ["ann", "bob"]
    assert found.played[1] == ScriptStep(AFTER, "bob", seconds=7200)
    assert len(found.scenario.steps) == 1


WRONG: list[tuple[Any, str]] = [
    ([], "has to be a script, or a list of them"),
    ([1], "[0]: has to be an object"),
    ([script(), script()], "[1].key: the key one appears twice"),
    (script(people={"ann": {"rang": "x"}}), "people.ann.rang: unknown key"),
    (script(people={"ann": {"roles": "x"}}), "people.ann.roles: has to be a list"),
    (script(people={"ann": {"groups": [1]}}), "people.ann.groups[0]: has to be a text"),
    (script(agents={"dev": "gone"}), "agents.dev: has to be one of available, busy"),
    (script(steps=[5]), "steps[0]: has to be an object"),
    (script(steps=[{"after": "2h", "at": "a"}]), "steps[0].at: unknown key"),
    (script(steps=[{"after": "soon"}]), "steps[0].after: a duration is"),
    (script(steps=[{**OUTCOME, "by": 5}]), "steps[0].by: has to be a text"),
]


@pytest.mark.parametrize(("given", "told"), WRONG)
def test_what_cannot_be_read_is_told_with_its_place(given: Any, told: str) -> None:
    with pytest.raises(Malformed) as refused:
        read_scripts(given)
    assert str(refused.value).startswith(told)
