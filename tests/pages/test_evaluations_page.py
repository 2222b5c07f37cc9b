"""The pages and the API of evaluations: what they offer and show, and that nobody of another owner is told of any."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.models import Delivery, Job, Line, LineEvaluation, Membership, StationTrial, Task, VisitCommit
from tests.factories import World, document, make_worker, station
from tests.pages.conftest import at, client_of, door, text
from tests.work.driving import command

pytestmark = [pytest.mark.django_db, pytest.mark.broken]
AGENT = {"agent": "claude", "prompt": "Do it", "network": "open"}


def line_of(world: World) -> Line:
    Membership.objects.filter(user=world.admin).update(execute=True)
    to_check = {"id": "made", "to": "check"}
    stations = [
        station("write", to_check, kind="agent", name="Write", work=AGENT),
        command("check", "pass", name="Check"),
    ]
    line: Line = world.line(document(stations=stations)).line
    draft: dict[str, Any] = {
        **line.draft,
        "stations": [dict(line.draft["stations"][0]), line.draft["stations"][1]],
    }
    draft["stations"][0]["work"] = {**draft["stations"][0]["work"], "prompt": "Do it well"}
    Line.objects.filter(pk=line.pk).update(draft=draft)
    line.refresh_from_db()
    return line


def accepted(world: World, line: Line, title: str = "Add y") -> Task:
    """A task as it is after its merge."""
    task, now = world.start(line.live, title=title), timezone.now()
    tests = {"passed": 3, "failed": 0, "skipped": 0}
    for key, outcome in (
        ("write", {"result": "success", "facts": {"usage": {"cost_usd": 0.02, "tokens_in": 1}}}),
        ("check", {"result": "success", "facts": {"tests": tests}}),
    ):
        job, _ = Job.objects.update_or_create(
            task=task,
            station=key,
            visit=1,
            defaults={
                "token": task.tokens.get(),
                "pinned": line.live,
                "kind": "agent" if key == "write" else "command",
                "state": "done",
                "outcome": outcome,
                "result": "success",
                "started_at": now,
                "created_at": now,
                "ended_at": now,
            },
        )
        VisitCommit.objects.create(
            job=job, task=task, repository_name="app", branch="b", base_branch="main", base="1" * 40,
            head="2" * 40, tree="3" * 40, created_at=now,
        )  # fmt: skip
    Delivery.objects.create(
        job=job, task=task, repository_name="app", to="merge", branch="main", base="1" * 40, tree="3" * 40,
        commit="4" * 40, cleared_at=now, landed_at=now,
    )  # fmt: skip
    Task.objects.filter(pk=task.pk).update(status="completed", ended_at=now)
    return task


def evaluated(world: World, line: Line, *tasks: Task) -> LineEvaluation:
    """One whose runs have ended: the first the same, the others with another change that fails its tests."""
    now = timezone.now()
    evaluation = LineEvaluation.objects.create(
        line=line, station="write", check_station="check", document=line.draft, cost_limit=Decimal(5),
        by=world.admin, created_at=now,
    )  # fmt: skip
    for number, task in enumerate(tasks):
        StationTrial.objects.create(
            line=line,
            station="write",
            document={},
            evaluation=evaluation,
            source=task.jobs.get(station="write").pk,
            by=world.admin,
            state="done",
            outcome={"result": "success", "facts": {"usage": {"cost_usd": 0.05, "tokens_in": 1}}},
            check_outcome={"result": "failure" if number else "success"},
            comparison={
                "seconds": 61,
                "tree": "5" * 40,
                "files": number,
                "added": number,
                "removed": 2 * number,
            },
            difference="--- a (accepted)\n+++ a (evaluated)\n@@ -1 +1 @@\n-<b>old\n+new\n" if number else "",
            log="0.1\tI changed <i>it\n",
            created_at=now,
            ended_at=now,
        )
    return evaluation


def shown(client: Client, address: str) -> str:
    return " ".join(text(client.get(address)).split())


def test_the_page_offers_what_the_draft_changes_and_the_tests_of_the_line(world: World) -> None:
    line = line_of(world)
    address = at(world, "line-evaluations", line.key)
    assert "No accepted tasks yet" in shown(client_of(world.admin), address)
    accepted(world, line)
    page = shown(client_of(world.admin), address)
    Line.objects.filter(pk=line.pk).update(draft={"stations": 1})
    assert "not a valid line yet" in shown(client_of(world.admin), address)
    assert 'value="write" selected> Write (changed in the draft)' in page
    assert 'value="check" selected> Check' in page
    assert "Start evaluation" not in shown(client_of(world.viewer), address)


def test_a_started_evaluation_runs_and_is_stopped_by_whoever_may_publish(world: World) -> None:
    line = line_of(world)
    accepted(world, line)
    make_worker()
    client, address = client_of(world.admin), at(world, "line-evaluations", line.key)
    form = {"station": "write", "check": "check", "last": "10", "cost_limit": "2.50"}
    for wrong in (
        {"cost_limit": "x"},
        {"cost_limit": "NaN"},
        {"cost_limit": "1e99"},
        {"last": ""},
        {"station": "?"},
    ):
        refused = client.post(address, form | wrong)
        assert refused.status_code == 409 and "Not started" in refused.content.decode(), wrong
    started = client.post(address, form)
    assert started.status_code == 302, text(started)
    page = shown(client, started.headers["Location"])
    assert "Running" in page and "hx-get" in page and "Cost limit $2.50" in page and "Stop evaluation" in page
    assert "Stop evaluation" not in shown(client_of(world.viewer), started.headers["Location"])
    assert client_of(world.viewer).post(f"{started.headers['Location']}stop/").status_code == 403
    client.post(f"{started.headers['Location']}stop/")
    page = shown(client, started.headers["Location"])
    assert "Stopped." in page and "hx-get" not in page.split("Then and now")[0].split("evaluation-rows")[1]


def test_the_table_says_then_and_now_with_sums_and_the_difference(world: World) -> None:
    line = line_of(world)
    tasks = [accepted(world, line, title=f"Add {name} ‮") for name in ("x", "y")]
    evaluation = evaluated(world, line, *tasks)
    client = client_of(world.viewer)
    address = at(world, "line-evaluation", line.key, evaluation.pk)
    page = shown(client, address)
    for said in (
        "2 of 2 compared, 1 the same as accepted",
        "Same files",
        "1 file differs",
        "+1 −2",
        "Check failed",
        "3 tests passed, 0 failed",
        "$0.02 → $0.05",
        "$0.04 → $0.10",
        "2 min 2 s",
    ):
        assert said in page, said
    assert "‮" not in page
    run = evaluation.trials.latest("pk").pk
    detail = shown(client, f"{address}?run={run}")
    assert "&lt;b&gt;old" in detail and 'class="diff-removed"' in detail and "&lt;i&gt;it" in detail
    for run_id in ("0", "x", "9" * 30, str(10**18)):
        assert client.get(address, {"run": run_id}).status_code == 404


def test_the_api_gives_the_figures_of_the_page(world: World) -> None:
    line = line_of(world)
    evaluation = evaluated(world, line, accepted(world, line))
    make_worker()
    client = client_of(world.admin)
    address = door(world, "/evaluations", line.key)
    listed = client.get(address).json()
    assert [(row["id"], row["station"], row["check"]) for row in listed] == [
        (evaluation.pk, "write", "check")
    ]
    result = client.get(f"{address}/{evaluation.pk}").json()
    assert (result["state"], result["compared"], result["same"]) == ("finished", 1, 1)
    (row,) = result["tasks"]
    assert (row["same"], row["runs"], row["before"]["cost_usd"], row["after"]["cost_usd"]) == (
        True,
        1,
        "0.02",
        "0.05",
    )
    assert (row["before"]["tests"]["passed"], row["after"]["check_result"]) == (3, "success")
    made = client.post(address, {"station": "write", "cost_limit": "1"}, content_type="application/json")
    assert made.status_code == 201 and made.json()["state"] == "running", made.json()
    again = client.post(address, {"station": "write", "cost_limit": "1"}, content_type="application/json")
    assert again.status_code == 409
    stopped = client.post(f"{address}/{made.json()['id']}/stop").json()
    assert (stopped["state"], [row["why"] for row in stopped["tasks"]]) == ("stopped", ["Stopped."])
    for wrong in (
        {},
        {"station": "write", "cost_limit": "NaN"},
        {"station": "write", "cost_limit": "1", "last": 0},
    ):
        assert client.post(address, wrong, content_type="application/json").status_code == 400, wrong
    for number in (0, 2**63, evaluation.pk + 1000):
        assert client.get(f"{address}/{number}").status_code == 404


def test_a_stranger_is_told_nothing(world: World) -> None:
    line = line_of(world)
    evaluation = evaluated(world, line, accepted(world, line))
    client = client_of(world.stranger)
    for address in (
        at(world, "line-evaluations", line.key),
        at(world, "line-evaluation", line.key, evaluation.pk),
    ):
        assert client.get(address).status_code == 404
    assert client.post(at(world, "line-evaluation-stop", line.key, evaluation.pk)).status_code == 404
