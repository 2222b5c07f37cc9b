"""“Inbox”: everything for which a person must act, each with its own verb, in place and over the API."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines import engine
from pipelines.models import Membership, Task, Token, User
from pipelines.work.scheduler import timers
from reviews.inbox.item import Act, Mine
from reviews.inbox.kinds import KINDS, OfferedItem, needs
from tests.factories import World, station
from tests.reviews.conftest import gated
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db
QUESTION = {"agentic": {"question": "Good enough?"}, "answer": "yes"}


def test_the_handbook_has_each_kind_by_the_name_of_its_tab() -> None:
    handbook = (Path(__file__).parents[2] / "docs" / "watching.md").read_text(encoding="utf-8")
    table = handbook.partition("| kind | what it is | what you do there |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([^|-][^|]*) \|", table, re.MULTILINE)
    assert rows == [str(kind.label) for kind in KINDS]


def gate(world: World) -> Task:
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task)
    return task


def evaluation(world: World) -> Task:
    rule = {"id": "good", "when": QUESTION, "to": "ship"}
    line = {"key": "asked", "flags": {"agentic_conditions": True}}
    task = world.start(world.line(stations=[station("write", rule), "ship"], **line))
    world.report(task)
    return task


def question(world: World) -> Task:
    task = world.start(world.line(stations=["sort", "ship"], key="asks"))
    asked = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which colour?"}}
    world.report(task, {"result": "success", "signals": [asked]})
    return task


def blocked(world: World) -> Task:
    rule = {"id": "on", "when": {"result": "success"}, "to": "ship"}
    task = world.start(world.line(stations=[station("pack", rule), "ship"], key="blocks"))
    world.report(task, {"result": "blocked", "summary": "The van is full.", "blockers": ["A flat tyre"]})
    return task


def stuck(world: World) -> Task:
    rule = {"id": "on", "when": {"eval": {"op": "equals", "value": "never"}}, "to": "ship"}
    line = {"key": "sticks", "policy": {"no_match": "stuck"}}
    task = world.start(world.line(stations=[station("weigh", rule), "ship"], **line))
    world.report(task)
    return task


def approval(world: World) -> Task:
    tools = station(
        "call", kind="tools", work={"calls": [{"tool": "list"}], "tools": [{"name": "list", "argv": ["ls"]}]}
    )
    task = world.start(world.line(stations=[tools, "ship"], key="calls"))
    asked = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "May these calls be run?"}}
    world.report(task, {"result": "blocked", "signals": [asked]})
    return task


def missing(world: World) -> Task:
    needs = ["metadata:AI-Usage", "metadata:risk"]
    risk = {"key": "risk", "type": "choice", "label": "Risk tier", "choices": ["low", "high"]}
    first = station("code", {"id": "on", "to": "ship"}, requires=needs)
    task = world.start(world.line(stations=[first, "ship"], key="misses", inputs=[risk]))
    world.report(task)
    return task


def escalation(world: World) -> Task:
    rule = {"id": "on", "when": {"eval": {"op": "equals", "value": "never"}}, "to": "ship"}
    line = {"key": "escalates", "policy": {"no_match": "escalate"}}
    task = world.start(world.line(stations=[station("weigh", rule), "ship"], **line))
    world.report(task)
    return task


def manual(world: World) -> Task:
    return world.start(world.line(stations=[station("unpack", kind="manual")], key="byhand"))


def held(world: World) -> Task:
    task = world.start(world.line(stations=["wait", "ship"], key="holds"))
    token = world.token(task)
    engine.hold(token.pk, user=world.operator, token_version=token.version, reason="Lunch")
    return task


def in_vain(world: World) -> Task:
    """It waits for a task that was cancelled."""
    version = world.line(stations=["wait"], key="waits")
    other = world.start(version)
    task = world.start(version, depends_on=[other.name])
    engine.cancel(other.pk, actor=engine.ENGINE)
    timers.run_due()
    return task


SAYS: dict[str, tuple[Callable[[World], Task], str, list[str]]] = {
    "gate": (gate, "sent the task to this review", ["review"]),
    "question": (question, "Which colour?", ["answer", "cancel"]),
    "approval": (approval, "May these calls be run?", ["approve", "deny", "cancel"]),
    "blocked": (blocked, "The van is full.", ["answer", "retry", "cancel"]),
    "stuck": (stuck, "No rule of weigh took this outcome.", ["retry", "draw", "migrate", "cancel"]),
    "manual": (manual, "Manual station.", ["complete"]),
    "held": (held, "holds this task: Lunch", ["release", "cancel"]),
    "missing": (missing, "Missing: ", ["supply", "look", "retry", "cancel"]),
}


def found(user: User) -> list[OfferedItem]:
    return needs(Mine(user))


def page(user: User, **filters: str) -> str:
    return as_(user).get(reverse("needs-me"), filters).content.decode()


def act(user: User, one: OfferedItem, verb: str, *, htmx: bool = True, **said: Any) -> Any:
    headers = {"HX-Request": "true"} if htmx else {}
    body = {"verb": verb, "token_version": one.need.version, **said}
    return as_(user).post(reverse("need-act", args=[one.need.kind, one.need.key]), body, headers=headers)


@pytest.mark.smoke(2)
@pytest.mark.parametrize("kind", SAYS)
def test_each_kind_says_what_is_asked_and_offers_its_verbs(world: World, kind: str) -> None:
    make, sentence, verbs = SAYS[kind]
    task = make(world)
    (one,) = found(world.admin)
    assert (one.need.kind, one.need.task) == (kind, task)
    assert sentence in one.need.sentence.text
    assert [verb.key for verb in one.verbs] == verbs
    shown = page(world.admin)
    assert task.title in shown and (kind != "blocked" or "A flat tyre" in shown)
    for verb in one.verbs:
        assert verb.label in shown


def test_only_who_may_act_is_asked(world: World) -> None:
    for make, _, _ in SAYS.values():
        make(world)
    kinds = {
        role: {one.need.kind for one in found(world.person(role))}
        for role in ("viewer", "operator", "reviewer")
    }
    work = set(SAYS) - {"gate"}
    assert kinds == {"viewer": set(), "operator": work, "reviewer": {*work, "gate"}}
    assert found(world.stranger) == []
    # Changing the line is for who designs.
    stuck_one = next(one for one in found(world.operator) if one.need.kind == "stuck")
    assert [verb.key for verb in stuck_one.verbs] == ["retry", "cancel"]


@pytest.mark.wide
def test_the_number_of_queries_does_not_grow_with_the_items(world: World) -> None:
    def asked() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            found(world.admin)
        return len(queries)

    for make in (*(make for make, _, _ in SAYS.values()), escalation):
        make(world)
    found(world.admin)  # versions are parsed once per process
    before = asked()
    for make in [*(make for make, _, _ in SAYS.values()), escalation] * 2:
        make(world)
    found(world.admin)
    assert len(found(world.admin)) == 3 * (len(SAYS) + 1)
    assert asked() == before <= 25


def test_a_question_is_answered_in_place(world: World) -> None:
    task = question(world)
    (one,) = found(world.operator)
    answer = act(world.operator, one, "answer", text="Blue")
    assert answer.status_code == 200
    assert "Answered" in answer.content.decode()
    assert answer.headers["HX-Trigger"] == "gl:inbox"
    assert world.job(task).feedback == "Blue"
    assert found(world.operator) == []


def test_a_blank_answer_is_said_in_place_and_keeps_the_form_open(world: World) -> None:
    question(world)
    (one,) = found(world.operator)
    answer = act(world.operator, one, "answer", text="  ")
    shown = answer.content.decode()
    assert answer.status_code == 422
    assert f'id="need-{one.need.id}"' in shown
    assert "<details" in shown and " open>" in shown


def test_who_comes_second_is_told_so_and_keeps_the_text(world: World) -> None:
    question(world)
    (one,) = found(world.operator)
    act(world.operator, one, "answer", text="Blue")
    answer = act(world.admin, one, "answer", text="Green, after much thought")
    shown = answer.content.decode()
    assert answer.status_code == 409
    assert answer.headers["HX-Retarget"] == f"#need-{one.need.id}"
    assert "Somebody was faster" in shown
    assert "Green, after much thought" in shown


def test_a_stale_page_decides_nothing(world: World) -> None:
    task = question(world)
    (one,) = found(world.operator)
    answer = act(world.operator, one, "answer", text="Blue", token_version=one.need.version - 1)
    assert answer.status_code == 409
    assert "Blue" in answer.content.decode()
    assert world.status(task) == "blocked"


def test_calls_of_tools_are_approved_or_denied_in_one_word(world: World) -> None:
    first, second = approval(world), approval(world)
    one, two = found(world.operator)
    assert act(world.operator, one, "approve").status_code == 200
    assert act(world.operator, two, "deny", reason="ok, but not now").status_code == 200
    assert [world.job(task).feedback for task in (first, second)] == ["approve", "Denied: ok, but not now"]


def test_a_stuck_task_is_retried_or_cancelled_with_a_reason(world: World) -> None:
    first, second = stuck(world), stuck(world)
    one, two = found(world.operator)
    assert act(world.operator, one, "retry").status_code == 422
    assert act(world.operator, one, "retry", reason="Again").status_code == 200
    assert act(world.operator, two, "cancel", reason="Not wanted").status_code == 200
    assert [world.status(first), world.status(second)] == ["queued", "cancelled"]


def test_what_somebody_holds_is_released(world: World) -> None:
    task = held(world)
    (one,) = found(world.operator)
    assert act(world.operator, one, "release").status_code == 200
    assert world.status(task) == "queued"


def test_what_waits_in_vain_is_released_or_cancelled(world: World) -> None:
    task = in_vain(world)
    (one,) = found(world.operator)
    assert [verb.key for verb in one.verbs] == ["release", "cancel"]
    assert act(world.operator, one, "release").status_code == 200
    assert world.status(task) == "queued"


@pytest.mark.wide
def test_missing_metadata_is_filled_in_and_the_task_goes_on_by_itself(world: World) -> None:
    task = missing(world)
    (one,) = found(world.operator)
    assert "Risk tier" in page(world.operator)
    wrong: dict[str, Any] = {"metadata.AI-Usage": "Wrote the tests", "metadata.risk": "huge"}
    refused = act(world.operator, one, "supply", **wrong)
    shown = refused.content.decode()
    assert (refused.status_code, world.status(task)) == (422, "held")
    assert "has to be one of: low, high" in shown and "Wrote the tests" in shown
    assert act(world.operator, one, "supply", **{"metadata.risk": " "}).status_code == 422
    assert act(world.operator, one, "supply", **{"metadata.AI-Usage": "Wrote the tests"}).status_code == 200
    (left,) = found(world.operator)
    assert [each.key for each in left.need.about["metadata"]] == ["risk"]
    assert act(world.operator, left, "supply", **{"metadata.risk": "low"}).status_code == 200
    task.refresh_from_db()
    assert (world.at(task), task.inputs, task.context) == (
        ["ship"],
        {"risk": "low"},
        {"AI-Usage": "Wrote the tests"},
    )


def test_a_verb_that_is_not_offered_does_nothing(world: World) -> None:
    task = stuck(world)
    (one,) = found(world.operator)
    for verb in ("release", "draw", "", "x"):
        assert act(world.operator, one, verb, reason="x").status_code == 422
    assert world.status(task) == "stuck"


def test_without_scripts_a_form_leads_back_to_the_page(world: World) -> None:
    question(world)
    (one,) = found(world.operator)
    assert act(world.operator, one, "answer", htmx=False, text="").status_code == 422
    answer = act(world.operator, one, "answer", htmx=False, text="Blue")
    assert answer.headers["Location"] == reverse("needs-me")


def test_what_one_may_not_act_on_is_forbidden_and_what_one_may_not_see_is_not_there(world: World) -> None:
    task = question(world)
    (one,) = found(world.operator)
    assert act(world.viewer, one, "answer", text="x").status_code == 403
    assert act(world.stranger, one, "answer", text="x").status_code == 404
    client = as_(world.operator)
    for kind, key in (("question", "x"), ("question", "9" * 30), ("gate", "7"), ("nothing", "1")):
        assert client.post(reverse("need-act", args=[kind, key])).status_code == 404
    assert world.status(task) == "blocked"


@pytest.mark.wide
def test_the_page_is_narrowed_by_kind_and_project(world: World) -> None:
    question(world), stuck(world)
    assert "Which colour?" in page(world.operator, kind="question")
    assert "No rule of weigh" not in page(world.operator, kind="question")
    assert "No items of this kind." in page(world.operator, kind="gate")
    assert "Which colour?" in page(world.operator, project="acme/app", kind="nonsense")
    assert "Which colour?" in page(world.operator, project="someone/else")


def test_the_empty_page_says_what_runs(world: World) -> None:
    world.start(world.line())
    shown = page(world.operator)
    assert "Nothing needs you." in shown
    assert "1 task is queued or running." in shown
    Membership.objects.all().delete()
    assert "Nothing needs you." in page(world.operator)


def test_the_number_in_the_sidebar_is_that_of_the_items(world: World) -> None:
    question(world), stuck(world)
    assert as_(world.operator).get(reverse("needs-count")).content.strip() == b"2"
    assert as_(world.viewer).get(reverse("needs-count")).content.strip() == b""


def test_text_of_agents_is_shown_as_text(world: World) -> None:
    rule = {"id": "on", "when": {"result": "success"}, "to": "ship"}
    task = world.start(world.line(stations=[station("pack", rule), "ship"]))
    world.report(task, {"result": "blocked", "summary": "<script>x</script>"})
    assert "<script>x" not in page(world.operator)


def test_who_is_not_of_the_role_is_not_asked_about_an_escalation(world: World) -> None:
    task = escalation(world)
    assert [one.need.kind for one in found(world.operator)] == []
    (one,) = found(world.admin)
    assert (one.need.kind, one.need.task) == ("escalation", task)
    assert act(world.operator, one, "resolve", word="cancel", reason="x").status_code == 409
    assert act(world.admin, one, "resolve", word="cancel", reason="Not wanted").status_code == 200
    assert world.status(task) == "cancelled"


# Over the API


def api(world: World, user: User, *scopes: str, **filters: str) -> Any:
    _, secret = world.token_of(user, *scopes)
    return Client().get("/api/needs", filters, headers={"Authorization": f"Bearer {secret}"})


@pytest.mark.wide
def test_the_api_gives_the_same_items(world: World) -> None:
    for make, _, _ in SAYS.values():
        make(world)
    answer = api(world, world.admin)
    assert [each["id"] for each in answer.json()] == [one.need.id for one in found(world.admin)]
    one = next(each for each in answer.json() if each["kind"] == "stuck")
    assert one["error"] == "NoValidTransition"
    assert one["remedy"]
    assert [verb["key"] for verb in one["verbs"]] == SAYS["stuck"][2]
    assert [each["kind"] for each in api(world, world.admin, kind="gate").json()] == ["gate"]
    assert api(world, world.admin, project="someone/else").json() == []


def test_the_api_refuses_an_unknown_kind_and_a_token_that_may_not_read(world: World) -> None:
    assert api(world, world.admin, kind="x").status_code == 400
    assert api(world, world.admin, "submit").status_code == 403


def test_every_act_of_the_table_has_its_form(world: World) -> None:
    for kind in KINDS:
        for verb in kind.verbs:
            assert not isinstance(verb, Act) or {"reason", "text", "answer", "token_version"} & set(
                verb.form.base_fields
            )


def test_a_token_that_is_gone_is_no_item(world: World) -> None:
    task = stuck(world)
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="x")
    assert Token.objects.filter(task=task).exists()
    assert found(world.operator) == []
