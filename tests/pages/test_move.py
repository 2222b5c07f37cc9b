"""Moving a task by hand on its page: the dialog, its plan, and what the plan asks to be confirmed (law §17)."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from pipelines.models import Task
from tests.engine.test_move import PROMISE, gated, protected
from tests.factories import World, make_member, station
from tests.pages.conftest import As, at, client_of, text

pytestmark = pytest.mark.django_db


def plan(client: Client, world: World, task: Task, to: str = "", version: int | None = None) -> str:
    """Return what the dialog says of a move to that place."""
    token = world.token(task)
    shown = {"token_version": token.version if version is None else version, "to": to}
    return text(client.get(at(world, "task-move-plan", task.name, token.pk), shown))


def move(client: Client, world: World, task: Task, to: str, **more: object) -> int:
    token = world.token(task)
    answer = client.post(
        at(world, "task-move", task.name, token.pk), {"token_version": token.version, "to": to, **more}
    )
    return answer.status_code


def test_the_dialog_has_each_place_and_the_plan_says_what_happens(world: World, signed_in: As) -> None:
    task = gated(world)
    world.vote(task, "approve")
    client = signed_in(world.operator)
    dialog = text(client.get(at(world, "task", task.name))).partition(f'id="move-{world.token(task).pk}"')[2]
    options = re.findall(r"<option[^>]*value=\"([^\"]*)\"", dialog.partition("</dialog>")[0])
    assert options == ["", "ship"], "nobody skips what people are asked"
    again = plan(client, world, task)
    assert "The review at Review is closed. 1 vote no longer counts." in again
    assert "build starts." in again and "From there it goes to ship." in again
    assert world.status(task) == "awaiting_review"
    assert move(client, world, task, "ship", reason="It is fine") == 302
    page = text(client.get(at(world, "task", task.name)))
    assert "Moved by hand" in page and "It is fine" in page


def test_a_plan_of_what_runs_skips_and_ends(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=[station("build", limits={"cost_usd": 2.5}), "ship"]))
    world.started(task)
    client = signed_in(world.operator)
    assert "It costs up to $2.50 more; $0.00 so far." in plan(client, world, task)
    said = plan(client, world, task, "ship")
    assert "Running work at build is stopped." in said and "ship starts." in said
    assert move(client, world, task, "ship") == 302
    assert "It ends: Completed." in plan(client, world, task, "@success")
    assert move(client, world, task, "@success") == 302
    assert world.status(task) == "completed"


def test_a_plan_of_what_changed_or_is_no_station_says_so(world: World, signed_in: As) -> None:
    task = gated(world)
    client, shown = signed_in(world.operator), world.token(task).version
    assert "banner-attention" in plan(client, world, task, "nowhere")
    assert "banner-attention" in plan(client, world, task, version=shown + 1)
    assert "banner-attention" in plan(client, world, task, version=-1)
    assert move(client, world, task, "nowhere") == 422


@pytest.mark.parametrize("made", ["guarantee", "protection"])
def test_what_breaks_is_confirmed_by_an_administrator_with_a_reason(
    world: World, signed_in: As, made: str
) -> None:
    task, to, name = (
        (gated(world, guarantees=[PROMISE]), "ship", "reviewed")
        if made == "guarantee"
        else (protected(world), "merge", "protection")
    )
    operator, admin = signed_in(world.operator), client_of(world.admin)
    told = plan(operator, world, task, to)
    assert "This breaks a promise of the line or its repository." in told and "Nothing reaches" in told
    assert 'name="accepts"' not in told and "Only an administrator" in told
    assert move(operator, world, task, to, accepts=name, reason="Now") == 403
    told = plan(admin, world, task, to)
    assert f'value="{name}"' in told
    assert move(admin, world, task, to, reason="Now") == 422
    assert move(admin, world, task, to, accepts=name) == 422
    assert world.status(task) == "awaiting_review"
    assert move(admin, world, task, to, accepts=name, reason="Now") == 302
    assert world.at(task) == [to]


def test_in_the_dialog_of_a_board_what_is_refused_is_said_beside_the_plan(
    world: World, signed_in: As
) -> None:
    task = gated(world, guarantees=[PROMISE])
    token, admin = world.token(task), signed_in(world.admin)
    address = at(world, "task-move", task.name, token.pk)
    dialog = text(admin.get(address, {"to": "ship"}))
    assert f"Move {task.name} from build" in dialog and 'value="ship" selected' in dialog
    assert "is no station of the version" in text(admin.get(address, {"to": "nowhere"}))
    sent = {"token_version": token.version, "to": "ship"}
    refused = admin.post(f"{address}?fragment=plan", sent)
    assert refused.status_code == 200
    said = text(refused)
    assert "Confirm what this move breaks" in said and 'name="accepts"' in said
    operator = client_of(world.operator)
    accepted = {**sent, "accepts": "reviewed", "reason": "Now"}
    assert "Only an administrator" in text(operator.post(f"{address}?fragment=plan", accepted))
    assert "Reload the page" in text(operator.post(f"{address}?fragment=plan", {"token_version": "x"}))
    assert world.status(task) == "awaiting_review"
    moved = admin.post(f"{address}?fragment=plan", accepted)
    assert (moved.status_code, world.at(task)) == (204, ["ship"])
    assert f"{task.name} moved to ship." in moved["HX-Trigger"]
    late = text(operator.post(f"{address}?fragment=plan", sent))
    assert f"{world.admin}: build → ship." in late and "Nothing was moved by you" in late
    world.report(task)
    assert "Nothing was moved by you" in text(operator.get(address)), "it has ended"


def test_a_card_of_the_board_leads_to_the_dialog_that_repairs(world: World, signed_in: As) -> None:
    never = {"id": "never", "when": {"result": ["success"]}, "to": "completed"}
    task = world.start(world.line(stations=[station("build", never)], policy={"on_failure": "stuck"}))
    world.report(task, {"result": "failure"})
    client = signed_in(world.operator)
    board = text(client.get(at(world, "line-live", "line")))
    anchor = f"open=move-{world.token(task).pk}"
    assert f"{at(world, 'task', task.name)}#{anchor}" in board
    page = text(client.get(at(world, "task", task.name)))
    assert "data-by-address" in page.partition(f'id="{anchor.partition("=")[2]}"')[2].partition(">")[0]


def test_who_only_looks_has_neither_dialog_nor_plan(world: World, signed_in: As) -> None:
    task = gated(world)
    viewer = make_member(world.project, "viewer")
    client, token = signed_in(viewer), world.token(task)
    assert f"move-{token.pk}" not in text(client.get(at(world, "task", task.name)))
    shown = {"token_version": token.version, "to": "ship"}
    assert client.get(at(world, "task-move-plan", task.name, token.pk), shown).status_code == 403
    assert move(client, world, task, "ship") == 403
