"""Trust levels of agents: the record that supports the next one, who accepts it, and how it falls back (law §15)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.models import Agent, AgentEvent, Delivery, GateVisit, Job, Repository, Task
from reviews.insights import trust
from reviews.models import Notification
from tests.engine.test_sampling import NEVER, asked, change, expected
from tests.engine.test_sampling import line as sampled_line
from tests.factories import World, make_member, make_project, station
from tests.pages.conftest import As, at, text
from tests.pages.insights_data import history_rewritten
from tests.pages.test_sampling_fallback import CONTRADICTED
from tests.pages.test_task_statements import _like, statements

pytestmark = [pytest.mark.django_db, pytest.mark.broken]


def trusted(world: World, **trust_by_station: int) -> Agent:
    """The agent of the operator, 30 days old."""
    return Agent.objects.create(
        project=world.project, key="coder", name="Coder", owner=world.operator, trust=trust_by_station,
        created_at=timezone.now() - timedelta(days=30),
    )  # fmt: skip


def approved_run(world: World) -> GateVisit:
    """A run of the agent whose work was approved at once."""
    behind = {"id": "go", "to": "ship", "gates": ["review"]}
    stations = [station("code", behind, agent="coder"), station("ship", kind="manual")]
    task = world.start(world.line(stations=stations, gates=[{"key": "review"}]))
    world.report(task, station="code")
    world.vote(task)
    return GateVisit.objects.select_related("job", "task").get(task=task)


def repeated(visit: GateVisit, runs: int, days: int) -> None:
    """As if the agent had run so often, each task with an approval like this one, the first so many days ago."""
    first = 10 + Task.objects.count()
    tasks = Task.objects.bulk_create(_like(visit.task, number=first + n) for n in range(runs - 1))
    jobs = Job.objects.bulk_create(
        _like(visit.job, task_id=task.pk, token_id=visit.token_id) for task in tasks
    )
    GateVisit.objects.bulk_create(_like(visit, job=job, task_id=job.task_id) for job in jobs)
    ago = timedelta(days=days)
    with history_rewritten():
        Job.objects.update(created_at=F("created_at") - ago, ended_at=F("ended_at") - ago)
        GateVisit.objects.update(opened_at=F("opened_at") - ago)


def record(world: World) -> trust.TrustRecord:
    [row] = trust.trust_records(world.project, timezone.now())
    return row


@pytest.mark.parametrize(
    ("runs", "days", "answer"),
    [
        (20, 14, trust.OFFERED),
        (19, 14, "Not yet: 19 of 20 runs."),
        (20, 13, "Not yet: 13 of 14 days."),
        (3, 2, "Not yet: 2 of 14 days; 3 of 20 runs."),
    ],
)
def test_level_0_is_left_after_two_weeks_and_twenty_runs(
    world: World, runs: int, days: int, answer: str
) -> None:
    trusted(world)
    repeated(approved_run(world), runs, days)
    row = record(world)
    assert (row.level, row.runs, row.tasks, row.days, row.first, row.approved) == (
        0,
        runs,
        runs,
        days,
        runs,
        runs,
    )
    assert row.answer == answer
    assert row.next_level == (1 if answer == trust.OFFERED else None)


@pytest.mark.parametrize(("runs", "days", "offered"), [(50, 3, True), (4, 28, True), (49, 27, False)])
def test_level_1_is_left_after_four_weeks_or_fifty_runs(
    world: World, runs: int, days: int, offered: bool
) -> None:
    trusted(world, code=1)
    repeated(approved_run(world), runs, days)
    row = record(world)
    assert row.next_level == (2 if offered else None)
    assert offered or row.answer == "Not yet: 27 of 28 days or 49 of 50 runs."


@pytest.mark.parametrize(
    ("level", "refused", "answer"),
    [
        (0, 2, trust.OFFERED),
        (0, 3, "Not yet: 17 of 20 first decisions approved, 90% needed."),
        (1, 1, "Not yet: 1 of 20 tasks with a defect, at most 2 of 50."),
        (
            1,
            2,
            "Not yet: 18 of 20 first decisions approved, 95% needed; 2 of 20 tasks with a defect, at most 2 of 50.",
        ),
    ],
)
def test_first_decisions_and_defects_bound_the_level(
    world: World, level: int, refused: int, answer: str
) -> None:
    trusted(world, code=level)
    repeated(approved_run(world), 20, 28)
    visits = GateVisit.objects.order_by("pk").values_list("pk", flat=True)[:refused]
    with history_rewritten():
        GateVisit.objects.filter(pk__in=list(visits)).update(word="send_back")
    assert record(world).answer == answer


def test_a_reverted_change_holds_the_level(world: World) -> None:
    trusted(world)
    visit = approved_run(world)
    repeated(visit, 20, 20)
    repository = Repository.objects.create(
        project=world.project, name="app", address="/no", connected_at=timezone.now()
    )
    before, after = Job.objects.exclude(task=visit.task).order_by("pk")[:2]
    landed = timezone.now() - timedelta(days=5)
    for number, (job, tree) in enumerate(((before, "one"), (visit.job, "two"), (after, "one"))):
        Delivery.objects.create(
            job=job, task=job.task, repository=repository, repository_name="app", to="merge", branch="main",
            base=f"c{number}", tree=tree, commit=f"c{number + 1}", cleared_at=landed, visit=visit,
            landed_at=landed + timedelta(hours=number),
        )  # fmt: skip
    row = record(world)
    assert (row.reverted, row.next_level, row.answer) == (1, None, "Not yet: 1 reverted.")


@pytest.mark.parametrize("level", [2, 3])
def test_what_no_rule_is_known_for_is_not_proposed(world: World, level: int) -> None:
    trusted(world, code=level)
    repeated(approved_run(world), 60, 25)
    row = record(world)
    assert (row.next_level, row.answer) == (None, trust.BY_HAND.format(level))


def test_work_that_no_gate_decided_about_supports_nothing(world: World) -> None:
    trusted(world)
    repeated(approved_run(world), 20, 20)
    with history_rewritten():
        GateVisit.objects.update(state="closed", word="")
    assert record(world).answer == "Not yet: no gate decided about its work."


def test_an_administrator_accepts_the_next_level_and_counting_begins_anew(
    world: World, signed_in: As
) -> None:
    agent = trusted(world)
    repeated(approved_run(world), 20, 15)
    page = text(signed_in(world.viewer).get(at(world, "insights")))
    assert "May we trust an agent more?" in page and "Raise to level" not in page
    client, raising = signed_in(world.admin), at(world, "trust-raise", agent.pk, "code")
    assert "Raise to level 1" in text(client.get(at(world, "insights")))
    assert signed_in(world.reviewer).post(raising, {"level": "1"}).status_code == 403
    for wrong in ("2", "0", "", "x"):
        assert "Coder stays at level 0" in text(client.post(raising, {"level": wrong}, follow=True))
    assert "Coder has level 1 at code." in text(client.post(raising, {"level": "1"}, follow=True))
    agent.refresh_from_db()
    assert agent.trust == {"code": 1}
    event = AgentEvent.objects.get()
    assert (event.kind, event.actor) == ("raised", f"person:{world.admin.pk}")
    evidence = "20 runs in 15 days, 20 of 20 first decisions approved, 0 tasks with a defect, 0 reverted"
    assert event.data["reason"] == f"Level 0 to 1 at code: {evidence}."
    assert "Trust raised" in text(client.get(at(world, "project-agent", agent.pk)))
    # What was done at level 0 says nothing of level 1
    assert trust.trust_records(world.project, timezone.now()) == []
    again = text(client.post(raising, {"level": "2"}, follow=True))
    assert "Coder has not worked at code since it has its level there." in again


def test_nobody_raises_an_agent_of_another_owner(world: World, signed_in: As) -> None:
    agent = trusted(world)
    repeated(approved_run(world), 20, 15)
    other = make_project("app", "other")
    stranger = make_member(other, "admin", "elsewhere")
    client = signed_in(stranger)
    assert client.post(at(world, "trust-raise", agent.pk, "code"), {"level": "1"}).status_code == 404
    theirs = f"/p/other/app/insights/trust/{agent.pk}/code/"
    assert client.post(theirs, {"level": "1"}).status_code == 404
    assert "Coder" not in text(client.get("/p/other/app/insights/"))
    agent.refresh_from_db()
    assert agent.trust == {}


def test_a_level_is_raised_by_one_and_from_the_one_that_it_has(world: World) -> None:
    agent, actor = trusted(world, code=1), engine.Actor.person(world.admin)
    for level in (1, 3):
        with pytest.raises(Conflict, match="has level 1 at code now"):
            engine.raise_trust_level(agent.pk, "code", level, reason="Because.", actor=actor)


def working_line(world: World, one_in: int, **more: Any) -> Any:
    """A line with a sampled gate behind the work of the agent."""
    behind = {"id": "go", "to": "ship", "gates": ["review"]}
    gate = {"key": "review", "sample": {"one_in": one_in}, **more}
    return world.line(
        stations=[station("build", behind, agent="coder"), station("ship", kind="manual")], gates=[gate]
    )


def test_a_contradicted_claim_lowers_the_level_once_for_its_task(world: World) -> None:
    agent = trusted(world, build=2)
    version = working_line(world, NEVER)
    task = world.start(version)
    assert asked(world, task, CONTRADICTED)
    agent.refresh_from_db()
    assert agent.trust == {"build": 1}
    event = AgentEvent.objects.get()
    reason = f"Level 2 to 1 at build: {task.name} claimed what the facts contradict."
    assert (event.kind, event.actor, event.data["reason"]) == ("lowered", "engine", reason)
    [told] = Notification.objects.filter(kind="trust")
    assert (told.user, told.data["reason"]) == (world.operator, reason)
    world.vote(task, "send_back", reason="Not so")
    assert asked(world, task, CONTRADICTED)
    assert AgentEvent.objects.count() == 1
    other = world.start(version, title="Another")
    assert asked(world, other, CONTRADICTED)
    agent.refresh_from_db()
    assert agent.trust == {"build": 0}
    assert asked(world, world.start(version, title="A third"), CONTRADICTED)
    assert AgentEvent.objects.count() == 2, "nobody falls below level 0"


def test_a_failed_sample_lowers_the_level_of_who_worked_on_it(world: World) -> None:
    agent = trusted(world, build=1)
    version = working_line(world, 3, on_reject="fail", offers=["approve", "reject"])
    task = next(
        row for n in range(99) if expected(version, row := world.start(version, title=f"Change {n}"), 3)
    )
    assert asked(world, task)
    world.vote(task, "reject", reason="Not so")
    agent.refresh_from_db()
    assert agent.trust == {"build": 0}
    assert AgentEvent.objects.get().data["cause"] == "refused"


def test_nothing_is_lowered_where_nothing_went_wrong_or_no_agent_worked(world: World) -> None:
    agent = trusted(world, **{"*": 3})
    version = working_line(world, NEVER)
    assert not asked(world, world.start(version, title="Fine"), change("x"))
    assert asked(world, world.start(sampled_line(world, NEVER), title="Without an agent"), CONTRADICTED)
    agent.refresh_from_db()
    assert agent.trust == {"*": 3} and not AgentEvent.objects.exists()


def test_insights_ask_as_much_however_many_runs_and_events(world: World, signed_in: As) -> None:
    agent = trusted(world, code=1)
    visit = approved_run(world)
    client, address = signed_in(world.admin), at(world, "insights")
    client.get(address)
    before = statements(client, address)
    repeated(visit, 40, 3)
    for number in range(9):
        AgentEvent.objects.create(
            agent=agent, kind="changed", actor="engine", at=timezone.now() - timedelta(days=9),
            data={"trust": {"code": number % 3}},
        )  # fmt: skip
    assert statements(client, address) == before
