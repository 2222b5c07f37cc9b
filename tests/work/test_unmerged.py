"""A retry from the first station begins at the base; what completed with a change that was merged nowhere says so."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.lines import publishing
from pipelines.lines.starters.catalogue import BY_KEY
from pipelines.lines.starters.commands import StationCommands
from pipelines.models import Task
from pipelines.queries import line_stats, medians
from pipelines.queries.home import read_home
from pipelines.web.setup import templates
from reviews.models import Notification
from reviews.notifications.kinds.ended import COMPLETED
from tests.api.conftest import Apis, api
from tests.factories import World, station
from tests.pages.conftest import at, client_of, text
from tests.work.driving import Bench, command, outcome_of
from tests.work.remotes import RemoteRepository, connect, remote
from tests.work.repository_lines import GATE, to
from tests.work.repository_lines import run as run_line
from tests.work.test_template_lines import begun, run

__all__ = ["api"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
FIXABLE = b"import os\nx = 1\n"
TEST = b"from app import x\n\ndef test_x():\n    assert x == 2\n"
FORMATTED = TEST.replace(b"\n\n", b"\n\n\n")
PROGRAMS = (str(Path(sys.executable).parent), *os.get_exec_path())


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(tmp_path / "origin.git", {"ruff.toml": b"", "app.py": FIXABLE, "test_app.py": TEST})
    connect(world.project, made)
    return made


def retried(world: World, task: Task, station: str) -> Task:
    """By the form of the task's page."""
    names = [task.project.owner.key, task.project.key, task.name]
    answer = client_of(world.operator).post(
        reverse("task-retry-ended", args=names), {"station": station, "reason": "Again."}
    )
    assert answer.status_code == 302, answer.content[-500:]
    return Task.objects.get(follows=task)


def started_with(world: World, origin: RemoteRepository, *commands: str) -> Task:
    """A task of a line like the template *Fix lint findings*, with these commands."""
    starter, typed = BY_KEY["fix-lint-findings"], StationCommands.from_typed_texts(*commands)
    line = templates.create_line(world.project, starter, "codemod", world.admin, typed)
    version = publishing.publish_draft(line, user=world.admin, based_on=1)
    return world.start(version, title="Do it", inputs={"repository": str(origin.path)})


def test_a_retry_at_fix_fixes_again_and_is_never_nothing_to_fix(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = begun(world, origin, "fix-lint-findings")
    run(bench, task, PROGRAMS)
    task.refresh_from_db()
    assert task.status == "failed", "its test fails"
    again = retried(world, task, "fix")
    # Meanwhile somebody mended the test; the retry begins at what the branch has now.
    origin.add(
        {"ruff.toml": b"", "app.py": FIXABLE, "test_app.py": TEST.replace(b"2", b"1")}, "Mend the test"
    )
    run(bench, again, PROGRAMS)
    again.refresh_from_db()
    assert outcome_of(again, "fix")["facts"]["git"]["files_changed"] == 2, outcome_of(again, "fix")
    assert (again.status, again.end) == ("awaiting_review", "")
    review = text(client_of(world.reviewer).get(f"/inbox/{world.visit(again).pk}/"))
    assert "2 findings of ruff before, 2 of them fixed." in review and ">0 findings</b>" in review
    assert "Approve → Merge to main" in review and "Merge: Merge into main" in " ".join(review.split())
    assert "app, from main" in review, "the branch is named, also where the line leaves it open"
    assert "sent the task to this review." in review and "to this review (" not in review
    lint = again.jobs.get(station="lint")
    assert f"?tab=log&amp;job={lint.pk}#panel" in review, "each command leads to its own log"
    world.vote(again)
    run(bench, again, PROGRAMS)
    again.refresh_from_db()
    assert (again.status, again.end) == ("completed", "merged")
    assert b"import os" not in origin.files()["app.py"]


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("test", "ended"),
    [
        (FORMATTED.replace(b"2", b"1"), ("completed", "nothing-to-merge")),
        (b"", ("completed", "nothing-to-merge")),
        (FORMATTED, ("failed", "failed")),
    ],
)
def test_a_clean_repository_is_linted_and_tested_and_asks_nobody(
    world: World, bench: Bench, origin: RemoteRepository, test: bytes, ended: tuple[str, str]
) -> None:
    """The first task on somebody's own repository tries the commands that were proposed."""
    head = origin.add({"ruff.toml": b"", "app.py": b"x = 1\n", "test_app.py": test}, "Clean")
    task = begun(world, origin, "fix-lint-findings")
    run(bench, task, PROGRAMS)
    task.refresh_from_db()
    assert (task.status, task.end) == ended
    assert list(task.jobs.order_by("pk").values_list("station", flat=True)) == ["fix", "lint", "tests"]
    assert origin.head() == head and not task.gate_visits.exists()
    page = text(client_of(world.operator).get(at(world, "task", task.name)))
    assert "Nothing to fix" in page and "counts as failure" not in page
    if ended[0] == "completed":
        assert "Nothing to merge" in page


def test_what_tests_without_a_report_passed_is_sent_back_by_people_alone(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    passing = "printf 'ok  \tshop\t0.1s\\n'"
    passes, fails = (started_with(world, origin, "true", tests) for tests in (passing, "false"))
    for task in (passes, fails):
        run(bench, task, PROGRAMS)
    assert world.status(fails) == "failed" and not fails.jobs.filter(station="fix", visit__gt=1).exists()
    review = text(client_of(world.reviewer).get(f"/inbox/{world.visit(passes).pk}/"))
    assert "Send back → Fix" in review and "is not offered here" not in review
    assert re.search(r'<b>1 package passed</b> <span class="muted" title="[^"]*">from the log</span>', review)
    page = text(client_of(world.operator).get(at(world, "task", passes.name)))
    assert "1 package passed" in page and "printed by Tests" in page
    world.vote(passes, "rework", reason="Not like this.")
    run(bench, passes, PROGRAMS)
    assert world.status(passes) == "awaiting_review"
    assert [job.station for job in passes.jobs.order_by("pk")] == ["fix", "lint", "tests"] * 2


UNDEFINED = b"x = 1\n\n\ndef unused():\n    return missing\n"
REPORT = "ruff check --exit-zero --no-cache --output-format=sarif --output-file=lint.sarif ."


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("lint", "code", "left", "words"),
    [
        ("ruff check --no-cache .", UNDEFINED, True, ["Lint failed", "app.py:5:12: F821"]),
        (REPORT, UNDEFINED, True, ["still has 1 finding", "?tab=artifacts#panel"]),
        ("ruff check --no-cache .", b"x = 1\n", False, []),
        (REPORT, b"x = 1\n", False, []),
    ],
)
def test_what_lint_still_finds_where_nothing_was_fixed_is_said_and_is_no_plain_success(
    world: World, bench: Bench, origin: RemoteRepository, lint: str, code: bytes, left: bool, words: list[str]
) -> None:
    """No fixer of ruff invents a name."""
    test = FORMATTED.replace(b"2", b"1")
    origin.add({"ruff.toml": b"output-format = 'concise'\n", "app.py": code, "test_app.py": test})
    task = started_with(world, origin, lint, "python3 -B -m pytest -q -p no:cacheprovider")
    run(bench, task, PROGRAMS)
    task.refresh_from_db()
    assert (task.status, task.end) == ("completed", "findings-left" if left else "nothing-to-merge")
    page = text(client_of(world.operator).get(at(world, "task", task.name)))
    assert ("Nothing was merged, and problems are left" in page) is left
    assert all(word in page for word in words)
    row = Notification.objects.get(kind="completed", task=task)
    assert ("problems are left: Lint" in COMPLETED.says(row).text) is left


def test_a_retry_at_a_later_station_goes_on_with_what_was_left(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = begun(world, origin, "fix-lint-findings")
    run(bench, task, PROGRAMS)
    again = retried(world, task, "tests")
    run(bench, again, PROGRAMS)
    assert outcome_of(again, "tests")["facts"]["git"]["files_changed"] == 2


def test_what_completed_unmerged_says_so_and_no_figure_counts_it(
    world: World, bench: Bench, origin: RemoteRepository, api: Apis
) -> None:
    aside = to("completed", id="aside", gates=["review"], when={"eval": {"op": "equals", "value": "aside"}})
    program = (
        "import json, os; open('app.py', 'a').write('y = 2');"
        "json.dump({'eval': 'aside'}, open(os.environ['GATELINE_RESULT'], 'w'))"
    )
    version = world.line(
        stations=[
            command("fix", program, aside, to("merge", gates=["review"]), result_document="optional"),
            station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
        ],
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
    )
    task = world.start(version)
    run_line(bench, task)
    visit = world.visit(task)
    world.vote(task)
    task.refresh_from_db()
    assert task.status == "completed", outcome_of(task, "fix")
    names = [task.project.owner.key, task.project.key]
    reader = client_of(world.admin)
    page = reader.get(reverse("task", args=[*names, task.name])).content.decode()
    assert "The change is not merged" in page
    assert "Not merged" in reader.get(reverse("gate-visit", args=[visit.pk])).content.decode()
    table = reader.get(reverse("line-tasks", args=[*names, task.line.key])).content.decode()
    assert "Completed, not merged" in table
    board = reader.get(reverse("line-live", args=[*names, task.line.key])).content.decode()
    assert "Not merged" in board
    answer = api.as_(world.operator, "read").get(f"/stages/{task.line.key}/tasks/{task.name}")
    assert answer.json()["unmerged"] is True, answer.content
    row = Notification.objects.get(kind="completed", task=task)
    assert "its change is not merged" in COMPLETED.says(row).text
    now = timezone.now()
    assert read_home([task.project], [], now).today.completed == 0
    assert (line_stats.line_stats(task.line_id).ended, line_stats.line_stats(task.line_id).completed) == (
        1,
        0,
    )
    assert medians.median_seconds_of_line_or_none(task.line_id) is None
