"""Each script of the demo's rehearsal lines: played through the engine, and walked by the simulation as well."""

from __future__ import annotations

import pytest

from pipelines.demo import example
from pipelines.formats import native
from pipelines.formats.scenarios import load_scripts
from pipelines.lines.dry_run import rehearse
from pipelines.management.commands.rehearse import subject
from pipelines.models import Project, Task, User
from pipelines.routing.analysis.lint.run import lint
from pipelines.routing.simulate.run import run
from pipelines.routing.simulate.script import AFTER, Script

LINES = {key: example.LINES / f"{key}.yaml" for key in example.REHEARSED}


def scripts(key: str) -> tuple[Script, ...]:
    return load_scripts((example.SCRIPTS / f"{key}.yaml").read_bytes())


@pytest.mark.smoke(1)
@pytest.mark.django_db
@pytest.mark.parametrize("key", LINES)
def test_each_script_meets_what_it_expects_and_leaves_nothing(key: str) -> None:
    with subject(str(LINES[key]), "") as version:
        told = [rehearse(version, script) for script in scripts(key)]
        assert not Task.objects.exists()
    assert {each.script.scenario.key: [str(f) for f in each.failures] for each in told if not each.met} == {}
    assert len(told) >= 2
    assert {each.status for each in told} > {"completed"}, "a good way, and one that fails"
    assert not Project.objects.exists() and not User.objects.exists()


@pytest.mark.parametrize("key", LINES)
def test_the_simulation_walks_the_same_scripts(key: str) -> None:
    line = native.read(LINES[key].read_bytes())
    for script in scripts(key):
        if script.agents or any(played.kind == AFTER for played in script.played):
            continue
        result = run(line, script.scenario)
        assert result.holds, (script.scenario.key, [str(each) for each in result.failures])


@pytest.mark.django_db
def test_what_is_not_answered_in_time_is_breached_and_then_resolved() -> None:
    with subject(str(LINES["aeef-delivery"]), "") as version:
        told = {
            script.scenario.key: rehearse(version, script)
            for script in scripts("aeef-delivery")
            if script.scenario.key in ("rework-limit", "escalated")
        }
    limit, escalated = told["rework-limit"].steps, told["escalated"].steps
    assert "escalation.breached" in limit[9].why
    assert limit[10].who == "stage-owner as stage-owner"
    assert limit[10].why.endswith("told: The story was split; try it once more.")
    assert escalated[9].why == "move rule testing-pass, waits at release"
    assert escalated[7].why == "wait rule security-pass no_open_escalation"
    assert escalated[8].who == "development-manager as Development Manager"
    assert "gate.overdue" in escalated[14].why and "escalation.opened" in escalated[14].why


@pytest.mark.parametrize("key", LINES)
def test_the_lint_finds_no_error(key: str) -> None:
    found = lint(native.read(LINES[key].read_bytes()))
    assert [str(each) for each in found if each.severity == "error"] == []
