"""The demo's lines with everything real: database, worker process, station programs, isolation where there is any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from pipelines import engine
from pipelines.demo import lint_example
from pipelines.lines import publishing
from pipelines.models import ENDED, Artifact, GateVisit, Job, Line, Status, Task, Token, User
from pipelines.models import Repository as ConnectedRepository
from pipelines.work import logs
from pipelines.work.storage import artifacts
from tests import waiting
from tests.demo.repositories import GOOD, Repository
from tests.factories import make_user
from tests.fixtures.site import environment, manage, stop
from tests.work.remotes import RemoteRepository

RESTS = (*ENDED, Status.AWAITING_REVIEW, Status.BLOCKED, Status.HELD, Status.STUCK)
SHELL = "import subprocess\n\n\ndef f(x):\n    subprocess.call(x, shell=True)\n"


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
    engine.vote(visit.pk, user=user, word="approve", **shown)


def decide_triage(task: Task, user: User, choice: str) -> None:
    job = Job.objects.get(task=task, station="triage", state=Job.State.RUNNING)
    version = Token.objects.get(pk=job.token_id).version
    outcome = {"result": "success", "output": {"triage": choice, "note": "Seen"}}
    engine.complete(job.pk, user=user, token_version=version, outcome=outcome)


def output_of(task: Task, station: str) -> dict[str, Any]:
    job = Job.objects.filter(task=task, station=station).latest("pk")
    found: dict[str, Any] = job.outcome["output"]
    return found


def facts_of(task: Task, station: str) -> dict[str, Any]:
    job = Job.objects.filter(task=task, station=station).latest("pk")
    found: dict[str, Any] = job.outcome["facts"]
    return found


@pytest.mark.wide
def test_a_repository_is_checked_approved_and_delivered(
    admin: User, start_worker: Callable[..., None], root: Path, tmp_path: Path
) -> None:
    made = Repository(root / "sums", GOOD)
    start_worker()
    task = submit(admin, "repository-check", repository=str(made.folder))
    at_rest(task, tmp_path / "worker.log")
    assert task.status == Status.AWAITING_REVIEW
    assert path_of(task) == ["checkout", "lint", "tests", "security"]
    assert facts_of(task, "tests")["tests"]["passed"] == 1
    approve(task, admin)
    until(task, lambda found: found.status in ENDED, tmp_path / "worker.log")
    assert (task.status, task.end) == (Status.COMPLETED, "delivered")
    found = {artifact.name: artifact for artifact in Artifact.objects.filter(task=task)}
    archive = next(name for name in found if name.endswith(".tar.gz"))
    reports = {"lint.sarif", "tests.xml", "security.sarif"}
    assert set(found) == {archive, "MANIFEST.sha256", "summary.md", "summary.json", *reports}
    with artifacts().open(found[archive].blob.name) as stored, tarfile.open(fileobj=stored) as packed:
        assert {name.partition("/")[2] for name in packed.getnames()} == {*GOOD, "MANIFEST.sha256"}


@pytest.mark.wide
def test_lint_findings_are_fixed_approved_and_merged(
    admin: User, start_worker: Callable[..., None], root: Path, tmp_path: Path
) -> None:
    """What lands on the repository is exactly the tree that was approved."""
    origin = RemoteRepository(Path(lint_example.ready(root / "basket.git")))
    base = origin.head()
    ConnectedRepository.objects.filter(name="basket").update(address=str(origin.path))
    start_worker()
    task = submit(admin, "fix-lint-findings", repository=str(origin.path))
    at_rest(task, tmp_path / "worker.log")
    fixed = Job.objects.get(task=task, station="fix")
    assert task.status == Status.AWAITING_REVIEW, [fixed.outcome, "".join(logs.whole(fixed, 1))]
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
    assert again.end == "nothing-to-fix"


@pytest.mark.wide
def test_findings_go_to_triage_and_back(
    admin: User, start_worker: Callable[..., None], root: Path, tmp_path: Path
) -> None:
    log = tmp_path / "worker.log"
    made = Repository(root / "bad", {"a.py": SHELL, "b.py": "print(nowhere)\n"})
    start_worker()
    task = submit(admin, "repository-check", repository=str(made.folder))
    at_rest(task, log)
    assert path_of(task) == ["checkout", "lint", "triage"]
    decide_triage(task, admin, "accept")
    until(task, lambda found: path_of(found)[-1] == "triage" and len(path_of(found)) > 3, log)
    assert path_of(task)[3:] == ["lint", "tests", "security", "triage"]
    assert output_of(task, "tests")["has_tests"] is False
    made.commit({"a.py": "x = 1\n"})
    decide_triage(task, admin, "fixed")
    until(task, lambda found: found.status == Status.AWAITING_REVIEW, log)
    assert path_of(task)[7:] == ["checkout", "lint", "tests", "security"]


@pytest.mark.wide
def test_a_suite_without_its_dependencies_waits_for_an_answer(
    admin: User, start_worker: Callable[..., None], root: Path, tmp_path: Path
) -> None:
    made = Repository(root / "lacking", {"test_a.py": "import nowhere_to_be_found\n"})
    start_worker()
    task = submit(admin, "repository-check", repository=str(made.folder))
    at_rest(task, tmp_path / "worker.log")
    assert task.status == Status.BLOCKED
    assert "nowhere_to_be_found" in Token.objects.get(task=task).wait["question"]


@pytest.mark.wide
def test_a_folder_that_is_no_repository_fails_at_once(
    admin: User, start_worker: Callable[..., None], root: Path, tmp_path: Path
) -> None:
    (root / "plain").mkdir()
    start_worker()
    task = submit(admin, "repository-check", repository=str(root / "plain"))
    at_rest(task, tmp_path / "worker.log")
    assert (task.status, path_of(task)) == (Status.FAILED, ["checkout"])
    assert "not a git repository" in Job.objects.get(task=task).summary


@pytest.mark.wide
def test_the_agent_line_runs_a_program_and_says_when_there_is_none(
    admin: User, start_worker: Callable[..., None], tmp_path: Path
) -> None:
    log = tmp_path / "worker.log"
    start_worker()
    task = submit(admin, "agent-line", goal="A bird house")
    at_rest(task, log)
    assert task.status == Status.BLOCKED
    token = Token.objects.get(task=task)
    assert "AGENT_COMMAND" in token.wait["question"]


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
    with artifacts().open(stored.blob.name) as document:
        assert "A BIRD HOUSE" in os.fsdecode(document.read())


PROMPT = "Look after the checked-out code."
FIXABLE = {**GOOD, "sums.py": "import os\n" + GOOD["sums.py"].partition("\n\n\n")[2]}


def with_mending(line: Line) -> dict[str, Any]:
    """The line with a station between checkout and lint whose work a hook judges: ruff, on the workspace."""
    hook = {"hook": {"argv": ["ruff", "check", "--isolated", "--no-cache", "tree"], "timeout": "60s"}}
    again = {"id": "mend-again", "when": {**hook, "answer": "block"}, "to": "mend", "feedback": True}
    argv = ["repository-mend", "--tree={{context.tree}}"]
    mend = {
        "key": "mend",
        "name": "Mend",
        "work": {"kind": "command", "argv": argv, "prompt": PROMPT},
        "rules": [
            {**again, "max_retries": 2, "on_exhausted": "stuck"},
            {"id": "mended", "when": {"result": "success"}, "to": "lint"},
        ],
    }
    given: dict[str, Any] = json.loads(json.dumps(line.draft))
    stations = {each["key"]: each for each in given["stations"]}
    stations["checkout"]["rules"][-1]["to"] = "mend"
    given["stations"].insert(1, mend)
    return {**given, "flags": {**given.get("flags", {}), "agentic_conditions": True}}


@pytest.mark.wide
def test_A28_a_finding_is_told_to_the_next_run_which_mends_it(
    admin: User, start_worker: Callable[..., None], root: Path, tmp_path: Path
) -> None:
    log, line = tmp_path / "worker.log", Line.objects.get(key="repository-check", project__key="app")
    drafted = publishing.save_draft(line, with_mending(line), admin, line.draft_number)
    publishing.publish(drafted, user=admin, based_on=drafted.draft_number)
    start_worker()
    task = submit(admin, "repository-check", repository=str(Repository(root / "sums", FIXABLE).folder))
    at_rest(task, log)
    work = Job.objects.filter(task=task, purpose="station").order_by("pk")
    assert [job.station for job in work] == ["checkout", "mend", "mend", "lint", "tests", "security"]
    first, second = work.filter(station="mend")
    hooks = Job.objects.filter(task=task, purpose="evaluation").order_by("pk")
    assert [job.outcome["eval"] for job in hooks] == ["block", "pass"]
    assert "F401" in hooks[0].outcome["feedback"]
    assert (first.outcome["output"]["told"], second.outcome["output"]["told"]) == ([], ["F401", "I001"])
    assert "Told of F401, I001." in "".join(logs.whole(second, 1))
    assert second.feedback == hooks[0].outcome["feedback"]
    assert facts_of(task, "lint")["findings"]["total"] == 0
    assert task.status == Status.AWAITING_REVIEW
