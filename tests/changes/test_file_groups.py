"""A change of many files: the odd one first, files with the same edit as one group, opened where its edit was shown."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines.models import LineVersion
from tests.changes.leaving import leave
from tests.changes.test_changes_pages import page
from tests.changes.test_cuts_pages import links, text
from tests.factories import World
from tests.reviews.conftest import gated
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db
ODD = "app/s05/part137.py"
RENAMED = b"from app import max_rate\n\n\ndef run():\n    return 1\n"


def sweep(number: int, odd: str = ODD) -> dict[str, bytes]:
    """Files that are all alike, and one that does something else besides."""
    files = {f"app/s{part % 12:02}/part{part:03}.py": RENAMED for part in range(number)}
    return {**files, odd: RENAMED.replace(b"return 1", b"return steal()")}


@pytest.fixture
def line(world: World) -> LineVersion:
    return world.line(**gated(offers=["approve", "send_back", "reject"]))


def listed(shown: str) -> list[str]:
    """Names in the list of files, in its order."""
    return [
        " ".join(name.split()) for name in re.findall(r'<span class="changed-name">([^<]*)</span>', shown)
    ]


def test_the_odd_file_of_three_hundred_is_read_first(world: World, line: LineVersion) -> None:
    task = world.start(line)
    leave(world, task, sweep(300))
    shown = page(world.reviewer, task, world)
    assert listed(shown) == ["part137.py", "299 files with the same edit"]
    assert "return steal()" in shown and "299 of 300 files not opened" in text(shown)


def test_a_group_shows_its_edit_once_and_counts_as_opened_by_that(world: World, line: LineVersion) -> None:
    task, client = world.start(line), as_(world.reviewer)
    leave(world, task, sweep(300))
    shown = page(client, task, world)
    [after] = [link for link in links(shown) if "group=1" in link and "#" not in link][:1]
    shown = client.get(after).content.decode()
    assert "Shown once, as in" in shown and shown.count('class="diff-added"') == 5
    assert "part000.py" in shown and "part299.py" in shown, "its files stand below it"
    shown = page(client, task, world)
    assert "files not opened" not in text(shown) and "300 of 300 opened" in text(shown)
    assert "not opened" in page(world.admin, task, world), "another reader has opened nothing"


def test_a_group_whose_edit_is_folded_counts_as_nothing_opened(world: World, line: LineVersion) -> None:
    task, client = world.start(line), as_(world.reviewer)
    leave(world, task, {f"out/part{part}.lock": b"# a\n" for part in range(30)})
    shown = text(page(client, task, world, group="1"))
    assert "Written by a program." in shown and "30 of 30 files not opened" in shown
    assert "not opened" not in text(page(client, task, world, group="1", unfold="1"))


def test_a_file_of_a_group_is_read_alone_and_leads_back(world: World, line: LineVersion) -> None:
    task, client = world.start(line), as_(world.reviewer)
    leave(world, task, sweep(40, "app/s05/part017.py"))
    shown = page(client, task, world, file="app/s01/part025.py")
    assert "Shown once" not in shown and "1 of 40 opened" in text(shown)
    assert "39 files with the same edit" in listed(shown) and "part001.py" in listed(shown)


def test_what_checks_the_rest_is_a_group_of_its_own(world: World, line: LineVersion) -> None:
    task = world.start(line)
    files = {f"app/part{part}.py": RENAMED for part in range(15)}
    leave(world, task, {**files, **{f"tests/test_{part}.py": RENAMED for part in range(10)}})
    shown = page(world.reviewer, task, world)
    assert [name for name in listed(shown) if "same edit" in name] == [
        "10 files with the same edit",
        "15 files with the same edit",
    ]


def test_a_file_that_can_be_executed_since_or_was_moved_is_in_no_group(
    world: World, line: LineVersion
) -> None:
    task, client = world.start(line), as_(world.reviewer)
    before = {f"app/part{part:02}.py": b"a = %d\nlimit = 1\n" % part for part in range(30)}
    leave(world, task, before)
    page(client, task, world)
    world.vote(task, "send_back", by=world.reviewer, reason="Rename it.")
    after = {path: data.replace(b"limit", b"rate") for path, data in before.items()}
    after["moved/part07.py"] = after.pop("app/part07.py")
    leave(world, task, after)
    shown = page(client, task, world)
    assert listed(shown)[:2] == ["part07.py", "29 files with the same edit"]


def test_without_groups_rare_shapes_come_first_and_then_the_largest(world: World, line: LineVersion) -> None:
    task = world.start(line)
    files = {f"app/part{part:02}.py": b"a = %d\n" % part for part in range(30)}
    files |= {"app/part40.py": b"b = 1\nc = 2\n", "app/part41.py": b"d = 1\ne = 2\nf = 3\n"}
    leave(world, task, {**files, "Makefile": b"check:\n"})
    names = listed(page(world.reviewer, task, world))
    assert names[:4] == ["Makefile", "part41.py", "part40.py", "part00.py"]


def test_few_files_stand_by_their_folders_without_groups(world: World, line: LineVersion) -> None:
    task = world.start(line)
    leave(world, task, {f"app/s{part % 2}/part{part}.py": RENAMED for part in range(8)})
    names = listed(page(world.reviewer, task, world))
    assert names == [f"part{part}.py" for part in (0, 2, 4, 6, 1, 3, 5, 7)]


def test_the_filter_narrows_the_list_and_leaves_what_is_read(world: World, line: LineVersion) -> None:
    task, client = world.start(line), as_(world.reviewer)
    leave(world, task, sweep(300))
    shown = page(client, task, world, find="S03", file=ODD)
    assert listed(shown) == ["25 files with the same edit"] and "return steal()" in shown
    assert "25 files" in text(shown) and "1 of 300 opened" in text(shown)
    after = [link for link in links(shown) if "group=1" in link and "find=S03" in link]
    assert "25 files with the same edit" in client.get(after[0]).content.decode()
    assert "26 of 300 opened" in text(page(client, task, world)), "the others were not shown"


def test_a_group_costs_as_many_statements_as_a_file(world: World, line: LineVersion) -> None:
    counts = []
    for number in (30, 600):
        task, client = world.start(line), as_(world.reviewer)
        leave(world, task, sweep(number, "app/s05/part017.py"))
        page(client, task, world)
        with CaptureQueriesContext(connection) as queries:
            assert "Shown once" in page(client, task, world, file="app/s00/part000.py", group="1")
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_task_page_groups_its_files_too(world: World, line: LineVersion) -> None:
    task = world.start(line)
    leave(world, task, sweep(300))
    address = reverse("task", args=[task.project.owner.key, task.project.key, task.name])
    shown = as_(world.viewer).get(address, {"tab": "changes"}).content.decode()
    assert listed(shown) == ["part137.py", "299 files with the same edit"]
