"""A protected repository takes nothing by a line that asks only its author, however that line comes to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from pipelines.models import Line, Repository, Task
from tests.factories import World, make_member
from tests.pages.conftest import client_of
from tests.reviews import test_bans as bans
from tests.reviews.test_channels import Chat, chat  # noqa: F401 a fixture
from tests.work.driving import Bench, command
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import GATE, origin, run, to
from tests.work.siege import EASY, MORE, Siege, besieged, draft, publish, publish_draft, start

__all__ = ["origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


@pytest.fixture
def siege(world: World, origin: RemoteRepository, chat: Chat) -> Siege:  # noqa: F811
    return besieged(world, origin, chat)


# Ways around what the line asks


def test_a_line_that_asks_only_its_author_is_not_published(siege: Siege) -> None:
    siege.protect()
    answer = publish(siege, siege.line())
    assert answer.status_code == 409
    assert "Code review may pass without any" in answer.content.decode()
    unguarded = siege.line()
    unguarded["stations"][1]["work"] = {"kind": "deliver", "to": "push"}
    unguarded["stations"][0]["rules"][0].pop("gates")
    assert publish(siege, unguarded).status_code == 409
    asking = siege.line(approval={"who": [{"role": "reviewer", "count": 1}]})
    assert publish(siege, asking).status_code == 201


# Ways to make an easy line live: each leaves the draft that is then published


def by_import(siege: Siege) -> Line:
    """A file in the place of the draft, as `gateline publish FILE` sends it."""
    return draft(siege, siege.line())


def by_restoring(siege: Siege) -> Line:
    """The version of before the protection, on the page of versions."""
    line = Line.objects.get(key="line")
    names = ["acme", siege.world.project.key, "line"]
    said = {"source": "1", "based_on": str(line.draft_number)}
    assert client_of(siege.mallory).post(reverse("line-restore", args=names), said).status_code == 302
    return Line.objects.get(key="line")


def by_a_copy(siege: Siege) -> Line:
    """Another line of the project, with the draft of this one."""
    easy = draft(siege, siege.line())
    to_project = {"owner": "acme", "project": siege.world.project.key}
    made = siege.as_(siege.mallory).post(f"/lines/{easy.key}/duplicate", to_project)
    assert made.status_code == 201, made.content
    return Line.objects.get(key=made.json()["key"])


def by_a_second_line(siege: Siege) -> Line:
    return draft(siege, siege.line() | {"key": "second"})


EASY_LINES = (by_import, by_restoring, by_a_copy, by_a_second_line)


@pytest.mark.smoke(2)
@pytest.mark.parametrize("way", EASY_LINES, ids=lambda way: way.__name__)
def test_no_easy_line_becomes_live(siege: Siege, way: Callable[[Siege], Line]) -> None:
    assert publish(siege, siege.line()).status_code == 201, "open without the protection"
    strict = siege.line(approval={"who": [{"role": "reviewer", "count": 1}]})
    assert publish(siege, strict).status_code == 201
    siege.protect()
    line = way(siege)
    answer = publish_draft(siege, line)
    assert answer.status_code == 409 and "without" in answer.content.decode(), answer.content
    live = Line.objects.get(pk=line.pk).live
    assert live is None or live.number == 2
    page = reverse("line-publish", args=["acme", siege.world.project.key, line.key])
    said = {"based_on": str(line.draft_number), "live": str(live.number if live else 0)}
    assert client_of(siege.mallory).post(page, said).status_code == 422


def test_a_line_published_before_starts_nothing(siege: Siege) -> None:
    by_name, by_input = siege.line(), siege.line() | {"key": "second"}
    by_input["inputs"] = [{"key": "where", "type": "repository", "required": True}]
    by_input["workspace"] = {"git": {"repository": "input.where"}}
    for document in (by_name, by_input):
        published = publish(siege, document)
        assert published.status_code == 201, published.content
    siege.protect()
    refused = start(siege)
    assert refused.status_code == 400 and "app is protected" in refused.content.decode()
    for where in ("app", str(siege.origin.path)):
        refused = start(siege, "second", inputs={"where": where})
        assert refused.status_code == 400, refused.content
        assert "inputs.where" in refused.content.decode()
    assert not Task.objects.exists()


def test_a_push_without_a_gate_is_held_back(siege: Siege, bench: Bench) -> None:
    document = siege.line()
    document["stations"][0]["rules"][0].pop("gates")
    document["stations"][1]["work"] = {"kind": "deliver", "to": "push"}
    task = siege.world.start(siege.world.line(document), by=siege.mallory)
    siege.protect()
    run(bench, task)
    assert "app is protected" in task.jobs.get(station="merge").outcome["summary"]
    assert siege.origin.head(f"gateline/{task.name}") == ""


@pytest.mark.smoke(1)
@pytest.mark.parametrize("protected", [True, False])
def test_a_request_pushes_to_no_branch_that_was_there(siege: Siege, bench: Bench, protected: bool) -> None:
    """Its first attempt takes the branch over, as if somebody had pushed there; the second would push to it."""
    siege.origin.branch("release")
    siege.origin.add({"app.py": b"x = 1\n", "old.txt": b""}, branch="release")
    Repository.objects.update(host="github", page="https://github.com/team/app")
    document = siege.line()
    document["workspace"]["git"]["branch"] = "release"
    document["stations"][0]["rules"][0].pop("gates")
    document["stations"][1]["work"] = {"kind": "deliver", "to": "request"}
    pushed = {"eval": {"op": "equals", "value": "pushed"}}
    document["stations"][0]["rules"].insert(0, {"id": "more", "to": "polish", "when": pushed})
    document["stations"].append(command("polish", MORE, to("merge", id="polished")))
    task = siege.world.start(siege.world.line(document), by=siege.mallory)
    if protected:
        siege.protect(host="github", page="https://github.com/team/app")
    before = siege.origin.head("release")
    for _attempt in range(3):
        run(bench, task)
    assert (siege.origin.head("release") == before) is protected


def test_an_approval_of_other_files_and_one_person_twice_do_not_count(siege: Siege, bench: Bench) -> None:
    """Bob approves at two gates, between which the files change."""
    document = siege.line()
    asked = {"who": [{"user": siege.bob.username}]}
    document["stations"][0]["rules"][0]["to"] = "polish"
    document["stations"].insert(1, command("polish", MORE, to("merge", id="polished", gates=["mine"])))
    document["gates"] = [{**GATE, "approval": asked}, {**GATE, "key": "mine", "approval": EASY}]
    document["stations"][2]["work"]["gate"] = "mine"
    task = siege.world.start(siege.world.line(document), by=siege.mallory)
    siege.protect(approvals=2)
    run(bench, task)
    assert bans.by_page(siege, siege.visit(task), siege.bob) in (200, 302)
    run(bench, task)
    assert bans.by_page(siege, siege.visit(task), siege.mallory) in (200, 302)
    run(bench, task)
    assert "Missing: 0 of 2 approvals" in task.jobs.get(station="merge").outcome["summary"]
    assert not siege.landed


def test_migrating_a_task_to_an_easier_version_lands_nothing(siege: Siege, bench: Bench) -> None:
    asking = siege.world.line(siege.line(approval={"who": [{"role": "reviewer", "count": 1}]}))
    task = siege.world.start(asking, by=siege.mallory)
    siege.world.line(siege.line())
    siege.protect()
    who, path = siege.as_(siege.mallory), "/lines/line"
    seen = who.get(path + "/impact?to=2").json()
    moved = who.post(path + "/migrations", {"to": 2, "digest": seen["digest"], "reason": "Easier."})
    assert moved.status_code == 201, moved.content
    run(bench, task)
    task.refresh_from_db()
    assert task.pinned.number == 2
    assert bans.by_page(siege, siege.visit(task), siege.mallory) in (200, 302)
    run(bench, task)
    assert not siege.landed


def migrated(siege: Siege, bench: Bench, **gate: Any) -> Task:
    """A task of a version of one person, migrated to one of two. The former delivers nothing and so is published alone;
    its gate asks whoever wrote it."""
    siege.protect(approvals=0, four_eyes=True)
    ann = make_member(siege.world.project, ["designer"], "ann", execute=True)
    asking = siege.line(**gate)
    assert publish(siege, asking).status_code == 202
    row = Line.objects.get(key="line")
    confirmed = siege.as_(ann).post("/lines/line/publish", {"draft": row.draft_number})
    assert confirmed.status_code == 201, confirmed.content
    easier = siege.line()
    easier["stations"][1] = command("merge", MORE, to("completed"))
    alone = publish(siege, easier)
    assert alone.status_code == 201, alone.content
    begun = start(siege)
    assert begun.status_code == 201, begun.content
    task = Task.objects.get()
    run(bench, task)
    assert bans.by_page(siege, siege.visit(task), siege.mallory) in (200, 302)
    task.refresh_from_db()
    who, path = siege.as_(siege.mallory), "/lines/line"
    seen = who.get(path + "/impact?to=1").json()
    moved = who.post(path + "/migrations", {"to": 1, "digest": seen["digest"], "reason": "Land."})
    assert moved.status_code == 201, moved.content
    run(bench, task)
    task.refresh_from_db()
    assert task.pinned.number == 1
    return task


def refused(siege: Siege, task: Task) -> bool:
    summary = task.jobs.filter(station="merge").latest("pk").outcome["summary"]
    return not siege.landed and "only by versions that two people published" in summary


def test_a_task_that_ran_by_a_version_of_one_person_lands_nothing_by_one_of_two(
    siege: Siege, bench: Bench
) -> None:
    assert refused(siege, migrated(siege, bench, approval={"who": [{"role": "reviewer", "count": 3}]}))


@pytest.mark.wide
def test_nor_does_its_retry_from_a_later_station(siege: Siege, bench: Bench) -> None:
    """It begins with the files of the task that it repeats, and is itself migrated from nothing."""
    task = migrated(siege, bench)
    assert refused(siege, task)
    path = f"/stages/line/tasks/{task.name}/retry"
    answer = siege.as_(siege.mallory).post(path, {"station": "fix", "reason": "Again."})
    assert answer.status_code == 200, answer.content
    retry = Task.objects.latest("pk")
    assert (retry.follows_id, retry.pinned.number) == (task.pk, 1)
    run(bench, retry)
    assert bans.by_page(siege, siege.visit(retry), siege.mallory) in (200, 302)
    run(bench, retry)
    assert refused(siege, retry)
