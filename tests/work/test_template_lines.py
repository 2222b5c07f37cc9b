"""The templates that work in a repository, really run: their programs, their gates, and what lands. The agent with a
model is a script that writes what Claude Code writes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.lines import publishing
from pipelines.lines.starters.catalogue import BY_KEY
from pipelines.models import Decision, Job, Task, Token, VisitCommit
from tests.factories import World
from tests.pages.conftest import client_of
from tests.work.driving import Bench, drive_token, outcome_of
from tests.work.remotes import RemoteRepository, connect, remote

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
wide = pytest.mark.wide
MAKEFILE = b"""test:
\t@test ! -e broken
audit:
\t@true
update:
\t@echo 'app==2' > requirements.txt
prepare-release:
\t@echo 2.4.0 > VERSION
publish:
\t@echo "published $(VERSION)"
"""
FILES = {"Makefile": MAKEFILE, "requirements.txt": b"app==1\n", "app.py": b"x = 1\n"}
CLAUDE = f"""#!{sys.executable} -IS
import json, sys
told = sys.stdin.read()
def show(kind, **more): print(json.dumps({{"type": kind, "session_id": "s1", **more}}), flush=True)
show("system", subtype="init")
if "Carry out this plan" in told or "--resume" in sys.argv:
    open("app.py", "a").write("y = 2\\n")
    said = "I changed app.py. I created docs/limits.md." if "once" not in told else "I changed app.py."
elif "Read what this branch changes" in told:
    said = 'Read.\\n\\n```json\\n{{"findings": "None"}}\\n```'
else:
    said = 'Planned.\\n\\n```json\\n{{"plan": "Append y."}}\\n```'
show("result", subtype="success", is_error=False, result=said, total_cost_usd=0.01, usage={{}})
"""


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(tmp_path / "origin.git", FILES)
    connect(world.project, made)
    return made


@pytest.fixture
def programs(tmp_path: Path) -> tuple[str, ...]:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text(CLAUDE)
    (folder / "claude").chmod(0o755)
    return (str(folder), *os.get_exec_path())


def begun(world: World, origin: RemoteRepository, key: str, **inputs: str) -> Task:
    starter = BY_KEY[key]
    line = publishing.create_line(world.project, key, starter.line.name, starter.text, world.admin)
    version = publishing.publish_draft(line, user=world.admin, based_on=1)
    return world.start(version, title="Do it", inputs={"repository": str(origin.path), **inputs})


def run(bench: Bench, task: Task, programs: tuple[str, ...]) -> None:
    """Until everything rests."""
    while True:
        waiting = Job.objects.filter(task=task, state=Job.State.QUEUED).values_list("token_id", flat=True)
        tokens = list(Token.objects.filter(pk__in=waiting, ended_at=None, status="queued"))
        if not tokens:
            return
        for token in tokens:
            roots = (str(bench.base.parent),)
            drive_token(bench, token.pk, repository_roots=roots, station_path=programs)


@pytest.mark.wide
def test_a_request_is_merged_as_approved_also_where_the_base_moved(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...]
) -> None:
    task = begun(world, origin, "request-to-merged-change", request="Add y, once.")
    run(bench, task, programs)
    planned = outcome_of(task, "plan")
    assert (planned["output"], planned["summary"]) == ({"plan": "Append y."}, "Planned."), "said once"
    world.vote(task)
    run(bench, task, programs)
    assert world.status(task) == "awaiting_review" and world.visit(task).gate == "code-review"
    origin.add({**FILES, "other.py": b"z = 3\n"}, "Meanwhile")
    shown = client_of(world.reviewer).get(f"/inbox/{world.visit(task).pk}/").content.decode()
    assert shown.index("What ran") < shown.index('id="changes"'), "what was tested stands above the diff"
    assert "make test" in shown and "make audit" in shown and shown.count("Passed, exit code 0") == 2
    world.vote(task)
    run(bench, task, programs)
    assert world.status(task) == "awaiting_review", "what was pushed is checked and approved again"
    assert Job.objects.filter(task=task, station="tests").count() == 2
    approved = VisitCommit.objects.filter(task=task).latest("job_id").tree
    world.vote(task)
    run(bench, task, programs)
    assert world.status(task) == "completed", outcome_of(task, "merge", 2)
    assert origin.commit().tree.decode() == approved
    assert origin.files() == {**FILES, "app.py": b"x = 1\ny = 2\n", "other.py": b"z = 3\n"}


@pytest.mark.wide
@pytest.mark.parametrize(
    ("key", "inputs", "at", "checked"),
    [
        ("dependency-update", {}, "update", "tests"),
        pytest.param("request-to-merged-change", {"request": "Add y."}, "implement", "security", marks=wide),
        pytest.param("release", {"version": "2.4.0"}, "prepare", "tests", marks=wide),
        pytest.param("review-branch", {"branch": "feature"}, "tests", "tests", marks=wide),
    ],
)
def test_what_somebody_pushes_is_checked_and_reviewed_and_nothing_else_lands(
    world: World,
    bench: Bench,
    origin: RemoteRepository,
    programs: tuple[str, ...],
    key: str,
    inputs: dict[str, str],
    at: str,
    checked: str,
) -> None:
    origin.branch("feature")
    origin.add({**FILES, "app.py": b"x = 3\n"}, branch="feature")
    people = world.reviewers(3)
    task = begun(world, origin, key, **inputs)
    run(bench, task, programs)
    if key == "request-to-merged-change":
        world.vote(task)
        run(bench, task, programs)
    first = world.visit(task)
    theirs = {**FILES, "theirs.txt": b"1\n"}
    pushed_by_hand(world, origin, task, theirs)
    approve(world, task, people)
    run(bench, task, programs)
    visits = Job.objects.filter(task=task, station=at).count()
    taken = [outcome_of(task, at, each + 1) for each in range(visits)]
    assert "pushed" in [each.get("eval") for each in taken]
    looked = Job.objects.filter(task=task, station=checked)
    assert len([each for each in looked if (each.outcome or {}).get("eval") != "pushed"]) == 2
    again = world.visit(task)
    assert (world.status(task), again.gate) == ("awaiting_review", first.gate) and again.pk != first.pk
    assert key != "request-to-merged-change" or _failed_checks(task) == []
    approve(world, task, people)
    run(bench, task, programs)
    assert world.status(task) == "completed"
    assert origin.files() == theirs


def test_an_update_lands_without_another_question_on_a_branch_that_moved(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...]
) -> None:
    task = begun(world, origin, "dependency-update")
    run(bench, task, programs)
    world.vote(task)
    origin.add({**FILES, "other.py": b"z = 3\n"}, "Meanwhile")
    run(bench, task, programs)
    assert (world.status(task), task.gate_visits.count()) == ("completed", 1)
    assert Job.objects.filter(task=task, station="tests").count() == 2
    assert origin.files() == {**FILES, "requirements.txt": b"app==2\n", "other.py": b"z = 3\n"}


def approve(world: World, task: Task, people: list[Any]) -> None:
    visit = world.visit(task)
    asked = (2 if visit.gate == "release-approval" else 1) + len(visit.producers)
    for person in people[:asked]:
        world.vote(task, by=person)


def pushed_by_hand(world: World, origin: RemoteRepository, task: Task, files: dict[str, bytes]) -> None:
    base = f"/api/owners/acme/projects/{world.project.key}/stages/{task.line.key}/tasks/{task.name}"
    branch = client_of(world.operator).get(f"{base}/branch").json()["branch"]
    origin.branch(branch)
    origin.add(files, "By hand", branch=branch)


@pytest.mark.wide
def test_a_claim_that_is_contradicted_is_a_failed_check_of_the_gate(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...]
) -> None:
    task = begun(world, origin, "request-to-merged-change", request="Add y.")
    run(bench, task, programs)
    world.vote(task)
    run(bench, task, programs)
    lies = outcome_of(task, "implement")["facts"]["claims"]["contradicted"]
    assert [each["text"] for each in lies] == ["I created docs/limits.md."]
    assert _failed_checks(task) == ["What the agent claims holds"]
    world.vote(task, "rework", reason="Do it once.")
    run(bench, task, programs)
    assert outcome_of(task, "implement", 2)["facts"]["claims"]["contradicted"] == []
    assert world.status(task) == "awaiting_review" and _failed_checks(task) == []


@pytest.mark.wide
def test_findings_of_a_repository_without_tests_go_to_the_review(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    origin.add({"ruff.toml": b"", "app.py": b"import os\nx = 1\n"}, "Nothing tests it")
    task = begun(world, origin, "fix-lint-findings")
    run(bench, task, (str(Path(sys.executable).parent), *os.get_exec_path()))
    tests = outcome_of(task, "tests")
    assert (tests["exit_code"], tests["facts"]["tests"]["suites"]) == (5, 0)
    assert world.status(task) == "awaiting_review" and world.visit(task).gate == "code-review"
    assert _failed_checks(task) == []
    trace = Decision.objects.filter(task=task).latest("at").trace
    assert "tested" in str(trace)
    world.vote(task)
    run(bench, task, tuple(os.get_exec_path()))
    assert origin.files()["app.py"] == b"x = 1\n"


def _failed_checks(task: Task) -> list[str]:
    """Of the gate that is open, as the trace of the decision has them."""
    trace = Decision.objects.filter(task=task).latest("at").trace
    found = [each for entry in trace for each in entry.get("saw") or () if "passed" in each]
    assert found, "the checks of a gate are always looked at"
    return [each["label"] for each in found if not each["passed"]]


@pytest.mark.wide
@pytest.mark.parametrize(
    ("key", "inputs", "landed"),
    [
        ("dependency-update", {}, {"requirements.txt": b"app==2\n"}),
        ("release", {"version": "2.4.0"}, {"VERSION": b"2.4.0\n"}),
        ("review-branch", {"branch": "feature"}, {"app.py": b"x = 3\n"}),
    ],
)
def test_a_template_really_runs_and_merges(
    world: World,
    bench: Bench,
    origin: RemoteRepository,
    programs: tuple[str, ...],
    key: str,
    inputs: dict[str, str],
    landed: dict[str, bytes],
) -> None:
    origin.branch("feature")
    origin.add({**FILES, "app.py": b"x = 3\n"}, branch="feature")
    people = world.reviewers(3)
    task = begun(world, origin, key, **inputs)
    run(bench, task, programs)
    assert world.status(task) == "awaiting_review", [
        outcome_of(task, job.station) for job in task.jobs.exclude(outcome=None)
    ]
    assert key != "review-branch" or _failed_checks(task) == []
    approve(world, task, people)
    run(bench, task, programs)
    assert world.status(task) == "completed"
    assert origin.files() == {**FILES, **landed}


@pytest.mark.wide
def test_an_update_of_nothing_and_one_that_breaks_end_by_themselves(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...]
) -> None:
    head = origin.add({**FILES, "requirements.txt": b"app==2\n"})
    task = begun(world, origin, "dependency-update")
    run(bench, task, programs)
    assert (world.status(task), origin.head()) == ("completed", head)
    head = origin.add({**FILES, "broken": b""})
    version = task.pinned
    task = world.start(version, title="Again", inputs={"repository": str(origin.path)})
    run(bench, task, programs)
    assert (world.status(task), origin.head()) == ("failed", head)
