"""*Changes* of a task and of a review, as a server gives them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines.models import LineVersion, Task, User
from reviews.models import Remark
from tests.changes.leaving import leave, manifest_of
from tests.factories import World
from tests.reviews.conftest import gated
from tests.reviews.test_pages import as_, decision

pytestmark = pytest.mark.django_db

FIRST = {
    "app/limit.py": b"def allow(ip):\n    key = ip\n    return count(key) < 3\n",
    "app/views.py": b"a = 1\n",
    "tests/test_limit.py": b"def test_allow(): ...\n",
}
SECOND = {
    **FIRST,
    "app/limit.py": b"# Counts.\ndef allow(ip, email):\n    key = f'{email}:{ip}'\n    return count(key) < 3\n",
}


@pytest.fixture
def line(world: World) -> LineVersion:
    return world.line(**gated(offers=["approve", "send_back", "reject"]))


@pytest.fixture
def reviewed(world: World, line: LineVersion) -> Task:
    task = world.start(line, title="Limit sign-in")
    leave(world, task, FIRST)
    return task


# Its text is escaped, so that it holds no tag.
COLOURED = re.compile(r'<span class="code-[a-z]+">([^<]*)</span>')


def page(user: User | Client, task: Task, world: World, **query: str) -> str:
    """The page, with its code as text without colours."""
    client = user if isinstance(user, Client) else as_(user)
    answer = client.get(reverse("gate-visit", args=[world.visit(task).pk]), query)
    assert answer.status_code == 200
    return COLOURED.sub(r"\1", answer.content.decode())


def comment(client: Client, world: World, task: Task, **said: Any) -> Any:
    asked = {"path": "app/limit.py", "side": "new", "line": "2", "text": "Count by account and IP.", **said}
    return client.post(reverse("gate-remark", args=[world.visit(task).pk]), asked)


def send_back(client: Client, world: World, task: Task, reason: str = "") -> None:
    visit = world.visit(task)
    client.post(reverse("gate-decide", args=[visit.pk]), decision(visit, "send_back", reason=reason))


def test_a_review_opens_with_its_changes(world: World, reviewed: Task) -> None:
    shown = page(world.reviewer, reviewed, world)
    assert "Since start" in shown and "limit.py" in shown and "key = ip" in shown
    assert "Tests" in shown, "a changed test is marked"
    assert "a = 1" not in shown, "one file is read at a time"
    assert "a = 1" in page(world.reviewer, reviewed, world, file="app/views.py")
    assert "diff-split" in page(world.reviewer, reviewed, world, view="split")


@pytest.mark.parametrize("side", ["whatever", "mid", ""])
def test_a_remark_on_a_side_that_there_is_not_is_refused_and_says_so(
    world: World, reviewed: Task, side: str
) -> None:
    client = as_(world.reviewer)
    assert comment(client, world, reviewed, side=side).status_code == 302
    assert "not under review" in page(client, reviewed, world)
    assert not Remark.objects.exists()


def test_the_next_round_shows_what_changed_since_and_what_became_of_a_remark(
    world: World, reviewed: Task
) -> None:
    client = as_(world.reviewer)
    page(client, reviewed, world)
    assert comment(client, world, reviewed).status_code == 302
    assert "1 draft comment" in page(client, reviewed, world)
    assert "Count by account" not in page(world.admin, reviewed, world), "a draft is its author's"
    send_back(client, world, reviewed)
    assert world.job(reviewed).feedback == "app/limit.py:2: Count by account and IP."
    leave(world, reviewed, SECOND)
    shown = page(client, reviewed, world)
    assert "Since you sent it back" in shown and "Since you last looked" not in shown, (
        "both would be the same"
    )
    other = page(world.admin, reviewed, world)
    assert "Since it was sent back" in other and "Sent back by" in other
    assert "Line 2 changed" in shown and "0 of 1 comment checked" in " ".join(shown.split())
    assert "It said:" in shown and "views.py" in shown
    remark = Remark.objects.get()
    act = reverse("gate-remark-act", args=[world.visit(reviewed).pk, remark.pk])
    assert as_(world.admin).post(act, {"action": "resolved"}).status_code == 403
    assert as_(world.reviewer).post(act, {"action": "resolved"}).status_code == 302
    assert "1 of 1 comment checked" in " ".join(page(world.reviewer, reviewed, world).split())


def test_what_comes_back_unchanged_says_so_beside_its_name(world: World, reviewed: Task) -> None:
    client = as_(world.reviewer)
    page(client, reviewed, world)
    send_back(client, world, reviewed, "Count by account.")
    leave(world, reviewed, FIRST)
    shown = page(client, reviewed, world)
    assert "Unchanged since you sent it back" in shown
    assert "Unchanged since it was sent back" in page(world.admin, reviewed, world)
    assert re.search(r"Sent back by [^<]+: Count by account\.", shown), "the row of the list says it, too"
    history = page(client, reviewed, world, show="history")
    assert re.search(r"Sent back by [^<]+:\s*</span>\s*<span[^>]*>Count by account\.", history)
    send_back(as_(world.reviewer), world, reviewed, "Again.")
    leave(world, reviewed, SECOND)
    pill = 'class="pill'
    parts = page(world.reviewer, reviewed, world).partition('class="dossier-head"')[2].partition("<form")[0]
    assert pill in parts and "Unchanged since" not in parts


def test_what_was_asked_for_stands_above_the_changes(world: World, line: LineVersion) -> None:
    task = world.start(line, title="Limit sign-in", description="Five a minute, by <account>.")
    leave(world, task, FIRST)
    asked = page(world.reviewer, task, world).partition("review-asked")[2].partition("</section>")[0]
    assert "Asked for:" in asked and "Five a minute, by &lt;account&gt;." in asked


def test_who_has_decided_elsewhere_comments_on_lines_here(
    world: World, line: LineVersion, reviewed: Task
) -> None:
    client, earlier = as_(world.reviewer), world.start(line, title="Earlier")
    leave(world, earlier, FIRST)
    send_back(client, world, earlier, "Not yet.")
    leave(world, earlier, SECOND)
    for task in (earlier, reviewed):
        assert comment(client, world, task).status_code == 302
        assert "1 draft comment" in page(client, task, world)


def test_a_remark_that_is_not_resolved_is_asked_for_in_the_next_round_again(
    world: World, reviewed: Task
) -> None:
    client = as_(world.reviewer)
    comment(client, world, reviewed)
    send_back(client, world, reviewed)
    leave(world, reviewed, SECOND)
    remark = Remark.objects.get()
    client.post(reverse("gate-remark-act", args=[world.visit(reviewed).pk, remark.pk]), {"action": "open"})
    assert "1 of 1 comment checked" in " ".join(page(client, reviewed, world).split())
    send_back(client, world, reviewed, "Again.")
    leave(world, reviewed, FIRST)
    assert "0 of 1 comment checked" in " ".join(page(client, reviewed, world).split())


@pytest.mark.parametrize(
    "said",
    [
        {"line": "9"},
        {"line": "x"},
        {"path": "nowhere"},
        {"text": " "},
        {"text": "a\x00b"},
        {"side": "old"},
        {"side": "both"},
    ],
)
def test_a_comment_on_nothing_is_refused(world: World, reviewed: Task, said: dict[str, str]) -> None:
    assert comment(as_(world.reviewer), world, reviewed, **said).status_code == 302
    assert not Remark.objects.exists()


def test_only_who_may_decide_comments_and_a_draft_can_be_taken_back(world: World, reviewed: Task) -> None:
    assert comment(as_(world.viewer), world, reviewed).status_code == 403
    client = as_(world.reviewer)
    comment(client, world, reviewed)
    act = reverse("gate-remark-act", args=[world.visit(reviewed).pk, Remark.objects.get().pk])
    as_(world.admin).post(act, {"action": "discard"})
    assert Remark.objects.exists()
    as_(world.reviewer).post(act, {"action": "discard"})
    assert not Remark.objects.exists()


def files_head(reader: Any, task: Task, world: World, **query: str) -> str:
    head = (
        page(reader, task, world, **query)
        .partition('class="changed-files-head"')[2]
        .partition("</summary>")[0]
    )
    return " ".join(head.split())


def test_a_mark_viewed_holds_for_this_content_and_this_reader(world: World, reviewed: Task) -> None:
    client = as_(world.reviewer)
    project = reviewed.project
    at = reverse("task-file-viewed", args=[project.owner.key, project.key, reviewed.name])
    digest = manifest_of(FIRST)[0]["digest"]
    client.post(at, {"path": "app/limit.py", "content": digest, "on": "1", "next": "//evil.example/"})
    assert "1 of 3 opened, 1 viewed" in files_head(client, reviewed, world)
    assert "1 of 3 opened" in (others := files_head(world.admin, reviewed, world)) and "viewed" not in others
    send_back(as_(world.reviewer), world, reviewed, "Again.")
    leave(world, reviewed, SECOND)
    changed = files_head(world.reviewer, reviewed, world, range="start")
    assert "1 of 3 opened" in changed and "viewed" not in changed, "the mark was of another content"


def test_hostile_files_are_shown_as_text_or_not_at_all(world: World, line: LineVersion) -> None:
    files = {
        "a<b>.html": b"<script>alert(1)</script>\n\x1b[31m\xe2\x80\xae\n",
        "big.txt": b"x" * 1_500_000,
        "many.txt": b"ab\n" * 30_000,
        "pic.png": b"\x89PNG\r\n\x1a\nrest",
        "svg.svg": b"<svg onload='alert(1)'/>\n",
        "zero.bin": b"\x00" * 100,
        "package-lock.json": b"{}\n",
    }
    task = world.start(line)
    leave(world, task, files)
    assert "&lt;script&gt;alert(1)" in (shown := page(world.reviewer, task, world))
    assert "\\x1b[31m\\u202e" in shown and "<script>alert" not in shown
    for path in ("big.txt", "many.txt"):
        assert "Too large to compare line by line." in page(world.reviewer, task, world, file=path)
    assert "A binary file." in page(world.reviewer, task, world, file="zero.bin")
    assert "&lt;svg onload" in page(world.reviewer, task, world, file="svg.svg")
    assert "Written by a program." in page(world.reviewer, task, world, file="package-lock.json")
    picture = page(world.reviewer, task, world, file="pic.png")
    entry = next(each for each in manifest_of(files) if each["path"] == "pic.png")
    at = reverse("task-file", args=[task.project.owner.key, task.project.key, task.name, entry["digest"]])
    assert f'src="{at}"' in picture
    answer = as_(world.reviewer).get(at)
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["Content-Security-Policy"] == "sandbox"
    assert as_(world.reviewer).get(at.replace(entry["digest"], "0" * 64)).status_code == 404


@pytest.mark.wide
def test_a_thousand_files_cost_as_many_statements_as_ten(world: World, line: LineVersion) -> None:
    counts = []
    for number in (10, 1000):
        task = world.start(line)
        leave(world, task, {f"src/part{n % 20}/file{n}.py": b"a = %d\n" % n for n in range(number)})
        client = as_(world.reviewer)
        page(client, task, world)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            shown = page(client, task, world)
        counts.append(len(queries))
        assert len(shown) < 700_000
    assert "1–400 of 1000 are shown." in shown
    assert counts[0] == counts[1]


def test_the_files_that_a_line_calls_sensitive_are_marked_and_no_others(world: World) -> None:
    task = world.start(world.line(**gated(), sensitive=["**/views.py"]))
    leave(world, task, FIRST)
    shown = page(world.reviewer, task, world, file="app/views.py")
    assert 'tag-attention">Sensitive' in shown and "Affects checks" in shown
    assert 'tag-attention">Tests' not in shown
    assert "Affects checks" not in page(world.reviewer, task, world, file="tests/test_limit.py")
    at = reverse("task", args=[task.project.owner.key, task.project.key, task.name])
    assert 'tag-attention">Sensitive' in as_(world.viewer).get(at, {"tab": "changes"}).content.decode()


def test_a_task_shows_its_changes_too(world: World, reviewed: Task) -> None:
    client = as_(world.viewer)
    at = reverse("task", args=[reviewed.project.owner.key, reviewed.project.key, reviewed.name])
    shown = client.get(at, {"tab": "changes"}).content.decode()
    assert "key = ip" in shown and "Comment on line" not in shown
    empty = world.start(world.line(key="other", stations=["ship"]))
    shown = client.get(at.replace(reviewed.name, empty.name), {"tab": "changes"}).content.decode()
    assert "No changes" in shown
