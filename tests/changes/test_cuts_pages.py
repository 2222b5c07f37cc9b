"""What a review does not show it counts, names and leads to (law §6)."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.urls import reverse

from pipelines.models import Event, LineVersion
from reviews.mail.review_mail import compose_mail
from reviews.models import Mail
from tests.changes.leaving import leave
from tests.changes.test_changes_pages import FIRST, page, send_back
from tests.changes.test_evidence_pages import start
from tests.factories import World
from tests.formats.evidence.test_readers import RUN
from tests.reviews.conftest import gated
from tests.reviews.test_pages import as_, decision

pytestmark = pytest.mark.django_db


@pytest.fixture
def line(world: World) -> LineVersion:
    return world.line(**gated(offers=["approve", "send_back", "reject"]))


def text(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def links(page: str) -> list[str]:
    return [html.unescape(address) for address in re.findall(r'href="(\?[^"]+|/[^"]+)"', page)]


def test_each_of_many_files_is_reached_by_folder_by_search_and_by_the_next_part(
    world: World, line: LineVersion
) -> None:
    task = world.start(line)
    files = {f"part{n % 3}/inner/file{n:04}.py": b"a = %d\n" % n for n in range(1_200)}
    leave(world, task, files)
    shown = page(world.reviewer, task, world)
    assert "1–400 of 1200 are shown." in text(shown) and "1 of 1200 opened" in text(shown)
    client, seen, address = as_(world.reviewer), set(re.findall(r"file\d{4}\.py", shown)), shown
    while more := [each for each in links(address) if "listed=" in each and "file=" not in each]:
        address = client.get(more[0]).content.decode()
        seen |= set(re.findall(r"file\d{4}\.py", address))
    assert len(seen) == 1_200
    below = client.get(next(each for each in links(shown) if "under=part1" in each)).content.decode()
    assert "part1/ 400 files" in text(below) and "file0000.py" not in below and "file0001.py" in below
    found = page(world.reviewer, task, world, find="FILE0777")
    assert "1 file " in text(found) and "a = 777" in text(found)
    assert "No changed file matches." in page(world.reviewer, task, world, find="nowhere")


def test_a_file_is_read_to_its_end_part_by_part(world: World, line: LineVersion) -> None:
    task = world.start(line)
    leave(world, task, {"long.txt": b"".join(b"row %d\n" % n for n in range(9_000))})
    folded = page(world.reviewer, task, world)
    assert "A large change." in folded
    assert "Approve without opening 1 of 1 changed file" in text(folded)
    shown, client, rows = page(world.reviewer, task, world, unfold="1"), as_(world.reviewer), set()
    for first, last in ((1, 4_000), (4_001, 8_000), (8_001, 9_000)):
        assert f"{first}–{last} of 9000 are shown." in text(shown)
        rows |= set(re.findall(r"row (\d+)", shown))
        if last < 9_000:
            assert "without opening" in text(shown)
            shown = client.get(next(each for each in links(shown) if "rows=" in each)).content.decode()
    assert len(rows) == 9_000
    assert "without opening" not in text(shown)


def test_what_stands_far_to_the_right_is_told_and_shown(world: World, line: LineVersion) -> None:
    task = world.start(line)
    leave(world, task, {"wide.py": b"a = 1" + b" " * 5_000 + b"; steal()\n"})
    shown = page(world.reviewer, task, world)
    assert "steal()" not in shown and "1 line is longer than 1,000 characters, and cut." in text(shown)
    whole = as_(world.reviewer).get(next(each for each in links(shown) if "long=1" in each)).content.decode()
    assert "steal()" in whole and "and cut." not in whole


def test_an_approval_ticks_how_many_files_were_not_opened(world: World, line: LineVersion) -> None:
    task = world.start(line)
    leave(world, task, {**FIRST, "pic.bin": b"\0" * 10})
    visit, client = world.visit(task), as_(world.reviewer)
    assert "Approve without opening 3 of 4 changed files" in text(page(client, task, world))
    assert "Approve without opening 2 of 4 changed files" in text(
        page(client, task, world, file="app/views.py")
    )
    # Of a file that no page shows only its mark says that it was looked at.
    assert "2 of 4 changed files" in text(page(client, task, world, file="pic.bin"))
    at = reverse("gate-decide", args=[visit.pk])
    refused = client.post(at, decision(visit, "approve", reason="Fine."))
    assert refused.status_code == 400 and "Tick this, or open the files." in refused.content.decode()
    assert "Fine." in refused.content.decode()
    assert client.post(at, {**decision(visit, "approve"), "unopened": "on"}).status_code == 302
    assert Event.objects.get(task=task, kind="gate.voted").data["unopened"] == 2
    history = as_(world.viewer).get(reverse("gate-history", args=[visit.pk])).json()
    assert [
        event.get("unopened") for event in history["rounds"][0]["events"] if "voted" in event["kind"]
    ] == [2]


def test_what_changed_since_a_round_says_nothing_of_what_was_not_opened_then(
    world: World, line: LineVersion
) -> None:
    """The next round begins with what is new of a file, and the rest of it stands in no line of that."""
    task, client = world.start(line), as_(world.reviewer)
    lines = [b"row %d\n" % n for n in range(40)]
    long = b"".join([b"steal()\n", *lines])
    leave(world, task, {"a.py": b"a = 1\n", "b.py": long})
    assert "Approve without opening 1 of 2 changed files" in text(page(client, task, world))
    send_back(client, world, task, "Say more.")
    leave(world, task, {"a.py": b"a = 1\n", "b.py": long + b"# more\n"})
    shown = page(client, task, world)
    assert "# more" in shown and "steal()" not in shown
    assert "Approve without opening 1 of 2 changed files" in text(page(client, task, world))
    whole = page(client, task, world, range="start", file="b.py")
    assert "steal()" in whole and "without opening" not in text(whole)
    send_back(client, world, task, "Say it better.")
    leave(world, task, {"a.py": b"a = 1\n", "b.py": long + b"# best\n"})
    assert "without opening" not in text(page(client, task, world)), "all of it was shown in the two"


def test_who_opened_everything_is_asked_nothing_and_a_rejection_never(
    world: World, line: LineVersion
) -> None:
    task = world.start(line)
    leave(world, task, FIRST)
    client, visit = as_(world.reviewer), world.visit(task)
    for path in FIRST:
        shown = page(client, task, world, file=path)
    assert "without opening" not in shown
    assert client.post(reverse("gate-decide", args=[visit.pk]), decision(visit, "approve")).status_code == 302
    assert "unopened" not in Event.objects.get(task=task, kind="gate.voted").data
    other = world.start(line)
    leave(world, other, FIRST)
    at = reverse("gate-decide", args=[world.visit(other).pk])
    answer = client.post(at, decision(world.visit(other), "reject", reason="No."))
    assert answer.status_code == 302


def test_more_than_a_person_can_read_is_told_at_the_gate(world: World, line: LineVersion) -> None:
    task = world.start(line)
    leave(world, task, {f"vendor/{n}.js": b"x;" * 3_000 for n in range(1_001)})
    shown = text(page(world.reviewer, task, world))
    assert "No person can read all of this." in shown and "1001 files" in shown
    small = world.start(line)
    leave(world, small, FIRST)
    assert "No person can read" not in page(world.reviewer, small, world)


def test_findings_are_counted_searched_and_read_to_the_last(world: World, line: LineVersion) -> None:
    results = [{**RUN["results"][0], "message": {"text": f"finding {n}!"}} for n in range(450)]  # type: ignore[index]
    sarif = json.dumps({"runs": [{**RUN, "results": results}]}).encode()
    task = start(world, line, {"report__sarif": sarif})
    shown = page(world.reviewer, task, world, show="findings")
    assert "Findings 450" in text(shown) and "1–200 of 450 are shown." in text(shown)
    seen, client = set(re.findall(r"finding \d+!", shown)), as_(world.reviewer)
    address = reverse("gate-visit", args=[world.visit(task).pk])
    while more := [each for each in links(shown) if each.startswith("?") and "findings=" in each]:
        shown = client.get(address + more[0]).content.decode()
        seen |= set(re.findall(r"finding \d+!", shown))
    assert len(seen) == 450
    found = page(world.reviewer, task, world, show="findings", found="finding 449!")
    assert "finding 449!" in found and "finding 44!" not in found
    many = [{**RUN["results"][0], "message": {"text": f"finding {n}!"}} for n in range(700)]  # type: ignore[index]
    task = start(world, line, {"report__sarif": json.dumps({"runs": [{**RUN, "results": many}]}).encode()})
    shown = page(world.reviewer, task, world, show="findings")
    assert "1–200 of 700 are shown." in text(shown) and "Download report.sarif" in text(shown)


def test_tables_and_notes_say_what_they_leave_out(world: World, line: LineVersion) -> None:
    table = b"a,b\n" + b"".join(b"%d,1\n" % n for n in range(900))
    files = {"sizes__csv": table, "notes__md": b"n" * 200_100, "wide__csv": b",".join([b"c"] * 50) + b"\n1\n"}
    shown = text(page(world.reviewer, start(world, line, files), world, show="findings"))
    assert "1–200 of 900 are shown. Download sizes.csv" in shown
    assert "100 bytes more are not shown. Download notes.md" in shown.replace("\xa0", " ")
    assert "10 more columns are not shown. Download wide.csv" in shown


def test_an_output_and_a_summary_say_how_much_is_left(world: World, line: LineVersion) -> None:
    task = world.start(line)
    world.report(task, {"result": "success", "summary": "s" * 2_000, "output": {"plan": "p" * 200_050}})
    shown = text(page(world.reviewer, task, world, show="output"))
    assert "50 more characters are not shown. Whole output" in shown
    assert "… (1000 more characters)" in shown, "the path shows a thousand characters of a summary"


def test_a_mail_says_how_much_of_a_summary_it_leaves_out(world: World, line: LineVersion) -> None:
    task = world.start(line)
    world.report(task, {"result": "success", "summary": "s" * 700})
    mail = Mail.objects.filter(visit=world.visit(task), kind=Mail.MailKind.ASKED).first()
    assert mail is not None
    message = compose_mail(mail)
    assert "… (100 more characters)" in message.body
    assert "… (100 more characters)" in str(message.alternatives[0][0])
