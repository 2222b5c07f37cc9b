"""The agents of a project: listed for members, changed by admins, each change in the audit."""

from __future__ import annotations

import pytest
from django.urls import reverse

from pipelines import engine
from pipelines.models import Agent, Due
from tests.factories import World, station
from tests.pages.conftest import As, text

pytestmark = pytest.mark.django_db

CONTRACT = {
    "contract_version": "1.0",
    "allowed_inputs": "handoff\nrepository",
    "allowed_outputs": "code",
    "required_checks": "tests",
    "forbidden_actions": "merge to main",
}


def place(world: World, name: str = "project-agents", **more: object) -> str:
    return reverse(name, kwargs={"owner": world.project.owner.key, "project": world.project.key, **more})


def added(world: World, signed_in: As, **more: str) -> Agent:
    given = {"key": "coder", "owner": str(world.operator.pk), **CONTRACT, "trust": "code: 2\n*: 1", **more}
    answer = signed_in(world.admin).post(place(world), given)
    assert answer.status_code == 302, text(answer)
    return Agent.objects.get(project=world.project)


def test_an_admin_adds_an_agent_and_members_see_it(world: World, signed_in: As) -> None:
    coder = added(world, signed_in, capacity="2", valid_until="2999-12-31")
    assert (coder.owner, coder.capacity, coder.allowed_inputs) == (
        world.operator,
        2,
        ["handoff", "repository"],
    )
    assert coder.trust == {"code": 2, "*": 1}
    shown = text(signed_in(world.viewer).get(place(world)))
    assert "coder" in shown and "0 / 2" in shown
    assert "Add an agent" not in shown
    assert [event.kind for event in coder.events.all()] == ["added"]


FAULTS = [
    ({"key": "9x"}, "beginning with a letter"),
    ({"owner": ""}, "Choose who is responsible for it."),
    ({"trust": "code: 4"}, "a level from 0 to 3"),
    ({"capacity": "-1"}, "greater than or equal to 0"),
    ({"name": "\0"}, "Null characters are not allowed"),
]


@pytest.mark.parametrize(("given", "told"), FAULTS)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_is_kept(
    world: World, signed_in: As, given: dict[str, str], told: str
) -> None:
    whole = {"key": "coder", "owner": str(world.operator.pk), **CONTRACT, **given}
    answer = signed_in(world.admin).post(place(world), whole)
    assert answer.status_code == 422
    assert told in text(answer) and "merge to main" in text(answer)
    assert not Agent.objects.exists()


def test_an_owner_is_a_member_and_a_key_stands_once(world: World, signed_in: As) -> None:
    added(world, signed_in)
    client = signed_in(world.admin)
    stranger = client.post(place(world), {"key": "other", "owner": str(world.stranger.pk)})
    twice = client.post(place(world), {"key": "coder", "owner": str(world.operator.pk)})
    assert (stranger.status_code, twice.status_code) == (422, 422)
    assert "An agent with this key already exists." in text(twice)


def test_what_is_changed_stands_in_the_audit_and_wakes_who_waits(world: World, signed_in: As) -> None:
    coder = added(world, signed_in, required_checks="")
    first = station("plan", {"id": "on", "to": "code"}, requires=["agent"])
    task = world.start(world.line(stations=[first, station("code", agent="coder")]))
    world.report(task)
    assert world.status(task) == "held"
    given = {"owner": str(world.operator.pk), **CONTRACT}
    answer = signed_in(world.admin).post(place(world, "project-agent", agent=coder.pk), given)
    assert answer.status_code == 302
    coder.refresh_from_db()
    (changed, _added) = coder.events.all()
    assert (changed.kind, changed.data) == ("changed", {"required_checks": ["tests"], "trust": {}})
    assert engine.fire_due_time_and_return_result(Due.objects.get(task=task).pk) == "fired"
    assert world.at(task) == ["code"]


def test_suspending_says_why_and_restoring_takes_it_back(world: World, signed_in: As) -> None:
    coder, client = added(world, signed_in), signed_in(world.admin)
    client.post(place(world, "agent-suspend", agent=coder.pk), {"reason": ""})
    coder.refresh_from_db()
    assert coder.suspended_at is None
    client.post(place(world, "agent-suspend", agent=coder.pk), {"reason": "It pushed to main."})
    shown = text(client.get(place(world, "project-agent", agent=coder.pk)))
    assert "It pushed to main." in shown
    client.post(place(world, "agent-suspend", agent=coder.pk), {"reason": "Again."})
    assert "already suspended" in text(client.get(place(world, "project-agent", agent=coder.pk)))
    client.post(place(world, "agent-restore", agent=coder.pk))
    coder.refresh_from_db()
    assert coder.suspended_at is None


def test_an_agent_of_another_project_is_not_there(world: World, signed_in: As) -> None:
    coder = added(world, signed_in)
    client = signed_in(world.stranger)
    assert client.get(place(world, "project-agent", agent=coder.pk)).status_code == 404
