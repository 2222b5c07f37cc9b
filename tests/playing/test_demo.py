"""The scenarios of the demo's lines, walked by the simulation and played through the engine; and scripts that say
how agents are and that time passes, which only the engine knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.formats import native
from pipelines.formats import scenarios as texts
from pipelines.lines.demo import example
from pipelines.models import Project, Task, User
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.simulate.run import run_scenario_until_refused
from tests.playing.play import load, play, published
from tests.playing.script import Script

LINES = {key: example.LINES / f"{key}.yaml" for key in example.OF_DIALECTS}
SCRIPTS = Path(__file__).with_name("scripts")
"""Of the same keys as the scenarios."""


def scripts(key: str) -> tuple[Script, ...]:
    """The scenarios of the line and its scripts, each in the place of the scenario of its key."""
    own = SCRIPTS / f"{key}.yaml"
    found = {script.scenario.key: script for script in load((example.SCENARIOS / f"{key}.yaml").read_bytes())}
    found |= {script.scenario.key: script for script in load(own.read_bytes())} if own.exists() else {}
    return tuple(found.values())


@pytest.mark.smoke(1)
@pytest.mark.django_db
@pytest.mark.parametrize("key", LINES)
def test_each_script_meets_what_it_expects_and_leaves_nothing(key: str) -> None:
    with published(LINES[key].read_text(encoding="utf-8")) as version:
        told = [play(version, script) for script in scripts(key)]
        assert not Task.objects.exists()
    assert {each.script.scenario.key: [str(f) for f in each.failures] for each in told if not each.met} == {}
    assert len(told) >= 2
    assert {each.status for each in told} > {"completed"}, "a good way, and one that fails"
    assert not Project.objects.exists() and not User.objects.exists()


@pytest.mark.parametrize("key", LINES)
def test_the_simulation_walks_the_same_scenarios(key: str) -> None:
    line = native.read_text(LINES[key].read_bytes())
    for scenario in texts.loads((example.SCENARIOS / f"{key}.yaml").read_bytes()):
        result = run_scenario_until_refused(line, scenario)
        assert result.holds, (scenario.key, [str(each) for each in result.failures])


@pytest.mark.django_db
def test_what_is_not_answered_in_time_is_breached_and_then_resolved() -> None:
    with published(LINES["aeef-delivery"].read_text(encoding="utf-8")) as version:
        told = {
            script.scenario.key: play(version, script)
            for script in scripts("aeef-delivery")
            if script.scenario.key in ("rework-limit", "escalated")
        }
    limit, escalated = told["rework-limit"].steps, told["escalated"].steps
    assert "escalation.breached" in limit[9].why
    assert limit[10].who.endswith(" as owner:product-agent,scrum-agent")
    assert limit[10].why.endswith("told: The story was split; try it once more.")
    assert escalated[9].why == "move rule testing-pass, waits at release"
    assert escalated[7].why == "wait rule security-pass no_open_escalation"
    assert escalated[8].who == "development-manager as Development Manager"
    assert "gate.overdue" in escalated[14].why and "escalation.opened" in escalated[14].why


@pytest.mark.parametrize("key", LINES)
def test_the_lint_finds_no_error(key: str) -> None:
    found = lint_line(native.read_text(LINES[key].read_bytes()))
    assert [str(each) for each in found if each.severity == "error"] == []
