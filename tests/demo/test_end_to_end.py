"""The demo's lines with everything real: database, worker process, station programs, isolation where there is any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from pipelines import engine
from pipelines.lines import publishing
from pipelines.lines.demo import lint_example
from pipelines.models import ENDED, Artifact, GateVisit, Job, Line, Status, Task, Token, User
from pipelines.models import Repository as ConnectedRepository
from pipelines.work import logs
from pipelines.work.storage import artifact_storage
from tests import waiting
from tests.factories import make_user
from tests.fixtures.site import environment, manage, stop
from tests.work.remotes import RemoteRepository

RESTS = (*ENDED, Status.AWAITING_REVIEW, Status.BLOCKED, Status.HELD, Status.STUCK)


@pytest.fixture
def root() -> Iterator[Path]:
    """A listed root; not below /tmp, where an isolated station sees a folder of its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def admin(transactional_db: None) -> User:
    user = make_user("admin", is_superuser=True)
    call_command("load_demo", verbosity=0)
    return user


@pytest.fixture
def start_worker(admin: User, root: Path, tmp_path: Path, settings: Any) -> Iterator[Callable[..., None]]:
    """Start a worker process that may read repositories below `root`."""
    settings.REPOSITORY_ROOTS = [root]
    started: list[subprocess.Popen[bytes]] = []

    def start(**more: str) -> None:
        env = environment(GATELINE_REPOSITORY_ROOTS=str(root), **more)
        started.append(manage("worker", log=tmp_path / "worker.log", env=env))

    yield start
    for process in started:
        stop(process)


def submit(user: User, line: str, **inputs: str) -> Task:
    version = Line.objects.get(key=line, project__key="app").live
    return engine.submit(version, actor=engine.Actor.person(user), title="Check it", inputs=inputs)


def until(task: Task, done: Callable[[Task], bool], log: Path) -> None:
    def there() -> bool:
        task.refresh_from_db()
        return done(task)

    waiting.until(there, lambda: f"{task.status}\n{log.read_text()[-3000:]}")


def at_rest(task: Task, log: Path) -> None:
    until(task, lambda found: found.status in RESTS or waits_for_a_person(found), log)


def waits_for_a_person(task: Task) -> bool:
    return Job.objects.filter(task=task, kind="manual").exclude(state=Job.State.DONE).exists()


def path_of(task: Task) -> list[str]:
    return list(Job.objects.filter(task=task).order_by("pk").values_list("station", flat=True))


def approve(task: Task, user: User) -> None:
    visit = GateVisit.objects.get(task=task, state=GateVisit.State.OPEN)
    shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    engine.vote(visit, user=user, word="approve", **shown)


def complete(task: Task, user: User, station: str, **output: str) -> None:
    job = Job.objects.get(task=task, station=station, purpose="station", state=Job.State.RUNNING)
    version = Token.objects.get(pk=job.token_id).version
    engine.complete_manual_job(
        job.pk, user=user, token_version=version, outcome={"result": "success", "output": output}
    )


def facts_of(task: Task, station: str) -> dict[str, Any]:
    job = Job.objects.filter(task=task, station=station).latest("pk")
    facts: dict[str, Any] = job.outcome["facts"]
    return facts


@pytest.fixture
def basket(admin: User, root: Path) -> RemoteRepository:
    """The repository of the demo, below the listed root."""
    origin = RemoteRepository(Path(lint_example.ensure_repository_and_return_folder(root / "basket.git")))
    connected = ConnectedRepository.objects.get(name="basket")
    connected.address = str(origin.path)
    connected.save()
    return origin


@pytest.mark.wide
def test_a_branch_is_checked_approved_and_merged(
    admin: User, start_worker: Callable[..., None], basket: RemoteRepository, tmp_path: Path
) -> None:
    log, base = tmp_path / "worker.log", basket.head()
    start_worker()
    task = submit(admin, "repository-check", repository=str(basket.path), branch="discount")
    at_rest(task, log)
    jobs = Job.objects.filter(task=task)
    assert task.status == Status.AWAITING_REVIEW, [
        (job.outcome, "".join(logs.read_log_text(job, 1))) for job in jobs
    ]
    assert path_of(task) == ["lint", "tests", "security"]
    assert facts_of(task, "lint")["findings"]["total"] == 0
    tests = facts_of(task, "tests")
    assert (tests["tests"]["passed"], tests["tests"]["failed"]) == (4, 0)
    assert tests["git"]["paths"] == ["basket/discount.py", "tests/test_discount.py"]
    assert facts_of(task, "security")["findings"]["total"] == 1, "the lot is told to the reviewer"
    approve(task, admin)
    until(task, lambda row: row.status in ENDED, log)
    assert (task.status, task.end) == (Status.COMPLETED, "delivered")
    landed = basket.commit()
    assert landed.tree.decode() == tests["git"]["tree"] and landed.parents[0].decode() == base
    reports = set(Artifact.objects.filter(task=task).values_list("name", flat=True))
    assert {"lint.sarif", "tests.xml", "security.sarif"} <= reports
    again = submit(admin, "repository-check", repository=str(basket.path), branch="")
    at_rest(again, log)
    approve(again, admin)
    until(again, lambda row: row.status in ENDED, log)
    assert (again.status, again.end) == (Status.COMPLETED, "checked-only"), "nothing is left to merge"


@pytest.mark.wide
def test_lint_findings_are_fixed_approved_and_merged(
    admin: User, start_worker: Callable[..., None], basket: RemoteRepository, tmp_path: Path
) -> None:
    """Merge exactly the tree that was approved."""
    origin, base = basket, basket.head()
    start_worker()
    task = submit(admin, "fix-lint-findings", repository=str(origin.path))
    at_rest(task, tmp_path / "worker.log")
    fixed = Job.objects.get(task=task, station="fix")
    assert task.status == Status.AWAITING_REVIEW, [fixed.outcome, "".join(logs.read_log_text(fixed, 1))]
    assert fixed.outcome["facts"]["git"]["paths"] == [
        "basket/prices.py",
        "basket/receipt.py",
        "tests/test_basket.py",
    ]
    assert fixed.outcome["facts"]["git"]["sensitive"] == ["tests/test_basket.py"]
    assert facts_of(task, "lint")["findings"]["total"] == 0
    tests = facts_of(task, "tests")
    assert (tests["tests"]["passed"], tests["tests"]["failed"]) == (2, 0)
    assert tests["git"]["tree"] == fixed.outcome["facts"]["git"]["tree"], "reports are no part of the change"
    approve(task, admin)
    until(task, lambda found: found.status in ENDED, tmp_path / "worker.log")
    assert (task.status, task.end) == (Status.COMPLETED, "merged")
    landed = origin.commit()
    assert landed.tree.decode() == fixed.outcome["facts"]["git"]["tree"]
    assert landed.parents[0].decode() == base and f"Task: {task.name}" in landed.message.decode()
    again = submit(admin, "fix-lint-findings", repository=str(origin.path))
    until(again, lambda found: found.status in ENDED, tmp_path / "worker.log")
    assert again.end == "nothing-to-merge"


@pytest.mark.wide
def test_what_would_break_goes_to_triage_and_back(
    admin: User, start_worker: Callable[..., None], basket: RemoteRepository, tmp_path: Path
) -> None:
    log = tmp_path / "worker.log"
    basket.add({**basket.files("discount"), "basket/lost.py": b"print(nowhere)\n"}, branch="discount")
    start_worker()
    task = submit(admin, "repository-check", repository=str(basket.path), branch="discount")
    at_rest(task, log)
    assert path_of(task) == ["lint", "triage"]
    complete(task, admin, "triage", triage="again", note="Seen")
    until(task, lambda row: path_of(row)[-1] == "triage" and len(path_of(row)) > 2, log)
    assert path_of(task) == ["lint", "triage", "lint", "triage"]
    complete(task, admin, "triage", triage="drop", note="")
    assert Task.objects.get(pk=task.pk).status == Status.CANCELLED


@pytest.mark.wide
def test_a_suite_without_its_dependencies_goes_to_triage_with_what_it_lacks(
    admin: User, start_worker: Callable[..., None], basket: RemoteRepository, tmp_path: Path
) -> None:
    lacking = {"tests/test_more.py": b"import nowhere_to_be_found\n"}
    basket.add({**basket.files("discount"), **lacking}, branch="discount")
    start_worker()
    task = submit(admin, "repository-check", repository=str(basket.path), branch="discount")
    at_rest(task, tmp_path / "worker.log")
    assert path_of(task) == ["lint", "tests", "triage"]
    assert "nowhere_to_be_found" in "".join(
        logs.read_log_text(Job.objects.get(task=task, station="tests"), 1)
    )


@pytest.mark.wide
def test_the_code_review_runs_its_hook_on_the_demo_worker(
    admin: User, start_worker: Callable[..., None], tmp_path: Path
) -> None:
    log = tmp_path / "worker.log"
    start_worker()
    task = submit(admin, "alp-code-review")
    complete(task, admin, "intake")
    complete(task, admin, "architecture")
    complete(task, admin, "security", risks="some are left")
    stations = Job.objects.filter(task=task, purpose="station", station="security")
    until(task, lambda row: stations.count() == 2, log)
    assert "Risks are left." in stations.latest("pk").feedback
    complete(task, admin, "security", risks="none is left")
    until(task, lambda row: Job.objects.filter(task=row, station="synthesis").exists(), log)
    complete(task, admin, "synthesis")
    until(task, lambda row: row.status == Status.BLOCKED, log)
    token = Token.objects.get(task=task)
    engine.answer_blocked_token(token.pk, user=admin, token_version=token.version, fact="yes")
    until(task, lambda row: row.status == Status.AWAITING_REVIEW, log)
    approve(task, admin)
    complete(task, admin, "deliver")
    until(task, lambda row: row.status in ENDED, log)
    assert task.status == Status.COMPLETED


@pytest.mark.wide
def test_without_an_agent_the_agent_line_goes_through_by_a_script_that_says_so(
    admin: User, start_worker: Callable[..., None], tmp_path: Path
) -> None:
    log = tmp_path / "worker.log"
    start_worker()
    task = submit(admin, "agent-line", goal="A bird house")
    at_rest(task, log)
    assert task.status == Status.AWAITING_REVIEW
    approve(task, admin)
    until(task, lambda row: row.status in ENDED, log)
    with artifact_storage().open(Artifact.objects.get(task=task, name="report.md").blob.name) as document:
        text = os.fsdecode(document.read())
    assert "Written by a script" in text and "AGENT_COMMAND" in text


@pytest.mark.wide
def test_the_agent_line_goes_through_to_a_document(
    admin: User, start_worker: Callable[..., None], tmp_path: Path
) -> None:
    log = tmp_path / "worker.log"
    echo = "import sys; print(sys.stdin.read().upper()[:400])"
    start_worker(AGENT_COMMAND=f'{sys.executable} -c "{echo}"')
    task = submit(admin, "agent-line", goal="A bird house")
    at_rest(task, log)
    assert (task.status, path_of(task)) == (
        Status.AWAITING_REVIEW,
        ["architecture", "security", "synthesis"],
    )
    approve(task, admin)
    until(task, lambda found: found.status in ENDED, log)
    stored = Artifact.objects.get(task=task, name="report.md")
    with artifact_storage().open(stored.blob.name) as document:
        assert "A BIRD HOUSE" in os.fsdecode(document.read())


def with_mending(line: Line) -> dict[str, Any]:
    """Add a station before lint whose work a hook judges: ruff, on the workspace."""
    hook = {"hook": {"argv": ["ruff", "check", "--isolated", "--no-cache", "basket"], "timeout": "60s"}}
    again = {"id": "mend-again", "when": {**hook, "answer": "block"}, "to": "mend", "feedback": True}
    mend = {
        "key": "mend",
        "name": "Mend",
        "work": {"kind": "command", "argv": ["repository-mend"], "prompt": "Look after the code."},
        "rules": [
            {**again, "max_retries": 2, "on_exhausted": "stuck"},
            {"id": "mended", "when": {"result": "success"}, "to": "lint"},
        ],
    }
    document: dict[str, Any] = json.loads(json.dumps(line.draft))
    document["stations"].insert(0, mend)
    return {**document, "start": "mend", "flags": {**document.get("flags", {}), "agentic_conditions": True}}


@pytest.mark.wide
def test_A28_a_finding_is_told_to_the_next_run_which_mends_it(
    admin: User, start_worker: Callable[..., None], basket: RemoteRepository, tmp_path: Path
) -> None:
    log, line = tmp_path / "worker.log", Line.objects.get(key="repository-check", project__key="app")
    drafted = publishing.save_draft(line, with_mending(line), admin, line.draft_number)
    publishing.publish_draft(drafted, user=admin, based_on=drafted.draft_number)
    start_worker()
    task = submit(admin, "repository-check", repository=str(basket.path), branch="discount")
    at_rest(task, log)
    work = Job.objects.filter(task=task, purpose="station").order_by("pk")
    assert [job.station for job in work] == ["mend", "mend", "lint", "tests", "security"]
    first, second = work.filter(station="mend")
    hooks = Job.objects.filter(task=task, purpose="evaluation").order_by("pk")
    assert [job.outcome["eval"] for job in hooks] == ["block", "pass"]
    assert "F401" in hooks[0].outcome["feedback"]
    assert first.outcome["output"]["mended"] == []
    assert "F401" in second.outcome["output"]["mended"]
    assert second.feedback == hooks[0].outcome["feedback"]
    assert task.status == Status.AWAITING_REVIEW
