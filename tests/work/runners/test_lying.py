"""A runner that lies: the server believes nothing of what it says, and changes nothing for who has no lease (law §15,
proof/proof.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.models import ApiToken, Artifact, Job, LogChunk, Snapshot, Task, VisitCommit
from pipelines.people import runners
from pipelines.work import storage
from pipelines.work.transport.http.wire_format import PROTOCOL
from pipelines.work.workspaces import DEEPEST, manifest_digest
from tests.factories import World, make_project
from tests.pages.conftest import at, client_of
from tests.work.driving import Bench, command, done, drive, outcome_of, text_of
from tests.work.remotes import RemoteRepository, connect, remote
from tests.work.runners.far import FACTS, FarAway

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
FIX = "open('app.py', 'w').write('x = 2\\n'); open('new.txt', 'w').write('new\\n')"
REPORT = "<testsuite tests='2' failures='1'><testcase name='a'/><testcase name='b'><failure/></testcase></testsuite>"
TEST = f"open('junit.xml', 'w').write({REPORT!r})"
TO_END = {"id": "end", "to": "completed"}


@pytest.fixture(autouse=True)
def near(settings: Any, tmp_path: Path) -> None:
    """The server's own folders."""
    settings.REPOSITORY_ROOTS = [tmp_path]
    settings.WORKSPACES_DIR = tmp_path / "server"


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(tmp_path / "origin.git", {"app.py": b"x = 1\n", "doc/a.md": b"a\n"})
    connect(world.project, made)
    return made


@pytest.fixture
def far(world: World, tmp_path: Path) -> FarAway:
    return FarAway(tmp_path / "far", world.runner()[1])


def in_repository(world: World, *stations: dict[str, Any]) -> Task:
    line = world.line(stations=list(stations), workspace={"git": {"repository": "app"}})
    return world.start(line, title="Fix the answer")


def test_an_honest_runner_commits_like_a_worker(
    world: World, bench: Bench, far: FarAway, origin: RemoteRepository
) -> None:
    task = in_repository(
        world,
        command("fix", FIX, {"id": "on", "to": "check"}),
        command("check", "assert open('app.py').read() == 'x = 2\\n'", TO_END),
    )
    far.work()
    assert world.status(task) == "completed", text_of(done(task, "fix"))
    facts = outcome_of(task, "fix")["facts"]["git"]
    assert (facts["files_changed"], facts["insertions"], facts["deletions"]) == (2, 2, 1)
    assert facts["base"] == origin.head() and facts["commits"] == 1
    assert facts["source"]["observed_by"] == "server" != facts["source"]["tree"]
    assert VisitCommit.objects.get(job=done(task, "fix")).tree == facts["tree"]
    checked = outcome_of(task, "check")["facts"]["git"]
    assert checked["tree"] == facts["tree"] == checked["source"]["before"]


def said(what: str, change: Callable[[dict[str, Any]], None]) -> Callable[[str, Any], Any]:
    def lie(path: str, document: Any) -> Any:
        if path.endswith(f"/{what}"):
            change(document)
        return document

    return lie


def _shows_another_file(left: dict[str, Any]) -> None:
    """The files that people are shown are the old ones, the commit has the new."""
    workspace = left["workspace"]
    entries = [each for each in workspace["manifest"] if each["path"] != "new.txt"]
    left["workspace"] = {"manifest": entries, "digest": manifest_digest(tuple(entries))}


def _another_head(left: dict[str, Any]) -> None:
    left["git"]["head"] = left["git"]["base"]


def _another_base(left: dict[str, Any]) -> None:
    left["git"]["base"] = left["git"]["head"]


def _another_branch(left: dict[str, Any]) -> None:
    left["git"]["branch"] = "main"


def _no_objects(left: dict[str, Any]) -> None:
    left["git"]["pack"] = ""


def _files_without_a_commit(left: dict[str, Any]) -> None:
    left["git"] = None


def _an_unsent_file(left: dict[str, Any]) -> None:
    left["artifacts"] = [
        {"name": "stolen", "digest": hashlib.sha256(b"of another task").hexdigest(), "size": 1}
    ]


def _out_of_the_folder(left: dict[str, Any]) -> None:
    entries = [*left["workspace"]["manifest"], {"path": "../../etc/passwd", "link": "x"}]
    left["workspace"] = {"manifest": entries, "digest": manifest_digest(tuple(entries))}


def _a_size_that_is_none(left: dict[str, Any]) -> None:
    entries = [
        {**each, "size": each["size"] + 1} if "size" in each else each
        for each in left["workspace"]["manifest"]
    ]
    left["workspace"] = {"manifest": entries, "digest": manifest_digest(tuple(entries))}


LIES = (
    _shows_another_file,
    _another_head,
    _another_base,
    _another_branch,
    _no_objects,
    _files_without_a_commit,
    _an_unsent_file,
    _out_of_the_folder,
    _a_size_that_is_none,
)


@pytest.mark.smoke(3)
@pytest.mark.parametrize("change", LIES, ids=[each.__name__.strip("_") for each in LIES])
def test_a_lie_about_what_was_left_is_not_stored(
    world: World, far: FarAway, origin: RemoteRepository, change: Callable[[dict[str, Any]], None]
) -> None:
    storage.record_blobs({hashlib.sha256(b"of another task").hexdigest(): (1, "elsewhere")}, timezone.now())
    task = in_repository(world, command("fix", FIX, TO_END))
    far.lie = said("store", change)
    far.work()
    outcome = outcome_of(task, "fix")
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "not_stored"), outcome
    assert (
        not VisitCommit.objects.exists() and not Snapshot.objects.exists() and not Artifact.objects.exists()
    )
    assert "git" not in outcome.get("facts", {})


def test_forged_counts_are_counted_again(world: World, far: FarAway, origin: RemoteRepository) -> None:
    artifacts = [{"path": "junit.xml", "kind": "junit"}]
    task = in_repository(world, command("test", TEST, TO_END, artifacts=artifacts))

    def forge(report: dict[str, Any]) -> None:
        report["outcome"]["facts"] = {
            "tests": {"passed": 500, "failed": 0},
            "git": {"files_changed": 0, "tree": "1" * 40},
            "coverage": {"lines": 100},
            "usage": {"tokens_in": 5, "source": {"observed_by": "server"}},
        }
        report["outcome"]["artifacts"] = [{"name": "gone.txt", "digest": "0" * 64, "size": 1}]

    far.lie = said("report", forge)
    far.work()
    facts = outcome_of(task, "test")["facts"]
    assert (facts["tests"]["passed"], facts["tests"]["failed"]) == (1, 1)
    assert facts["tests"]["source"]["observed_by"] == facts["git"]["source"]["observed_by"] == "server"
    assert facts["git"]["tree"] == VisitCommit.objects.get().tree and "coverage" not in facts
    assert facts["usage"]["source"]["observed_by"] == f"worker:{far.id}"
    assert [each["name"] for each in outcome_of(task, "test")["artifacts"]] == ["junit.xml"]


@pytest.mark.parametrize("usage", [{"cost_usd": -1000}, {"tokens_in": -5, "cost_usd": -0.01}])
def test_a_cost_below_zero_pays_for_nothing_that_comes_after(
    world: World, far: FarAway, usage: dict[str, float]
) -> None:
    line = world.line(stations=[command("spend", "pass", TO_END)])
    task = world.start(line)

    def forge(report: dict[str, Any]) -> None:
        report["outcome"]["facts"] = {"usage": usage}

    far.lie = said("report", forge)
    far.work()
    job = Job.objects.get(task=task)
    assert job.outcome is None and world.status(task) != "completed", "the report is refused"
    shown = client_of(world.viewer).get(at(world, "task", task.name)).content.decode()
    events = " ".join(str(event.data) for event in task.events.all())
    assert not any(number in shown + events for number in ("-1000", "-0.01", "tokens_in': -5"))


def test_a_result_without_what_it_needs_is_none(world: World, far: FarAway) -> None:
    """The runner skips what it should store and says all is well."""
    line = world.line(stations=[command("make", "open('a.txt', 'w')", TO_END, artifacts=[{"path": "a.txt"}])])
    task = world.start(line)

    def drop(left: dict[str, Any]) -> None:
        left["artifacts"] = []

    far.lie = said("store", drop)
    far.work()
    assert (
        Job.objects.get(task=task).outcome["artifacts"] == []
        if "artifacts" in outcome_of(task, "make")
        else True
    )
    trace = task.events.filter(kind="job.reported").get()
    assert trace.data["outcome"]["result"] == "failure"


# By hand


@pytest.fixture
def held(world: World, far: FarAway) -> tuple[Job, str]:
    """A job that the runner has, and its lease."""
    task = world.start(world.line(stations=[command("build", "pass", TO_END)]))
    assert far.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    job = task.jobs.get()
    started = far.call(f"/jobs/{job.pk}/claim").json()["started"]
    return job, started["lease"]


def report(far: FarAway, job: Job, lease: str, attempt: int = 1, **outcome: Any) -> dict[str, Any]:
    answer = far.call(
        f"/jobs/{job.pk}/report", {"attempt": attempt, "outcome": outcome, "go_on": True}, lease
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_doubled_report_moves_once(world: World, far: FarAway, held: tuple[Job, str]) -> None:
    job, lease = held
    answers = [report(far, job, lease, result="success")["status"] for _ in range(3)]
    assert answers == ["accepted", "repeated", "repeated"]
    assert report(far, job, lease, result="failure")["status"] == "conflict"
    assert world.kinds(job.task).count("job.reported") == 1


def test_a_runner_that_starts_again_has_lost_an_attempt(far: FarAway, held: tuple[Job, str]) -> None:
    job, lease = held
    assert far.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    job.refresh_from_db()
    assert (job.state, job.attempt, job.lease_key) == ("queued", 2, None)
    assert far.call("/leases", {}).json()["held"] == {}
    assert report(far, job, lease, result="success")["status"] == "ignored"


def test_nothing_changes_once_the_lease_is_lost(world: World, far: FarAway, held: tuple[Job, str]) -> None:
    job, lease = held
    world.expire(job.task)
    assert engine.expire_lease(job.pk, 1, Job.objects.get(pk=job.pk).lease_key) == "requeued"  # type: ignore[arg-type]
    digest = hashlib.sha256(b"x").hexdigest()
    calls = {
        "log": {"text": "0.1\tlate\n"},
        "material": {},
        "before": {},
        "wanted": {"files": {digest: 1}},
        "store": {"artifacts": [], "workspace": None, "git": None},
        "give-back": {"attempt": 1},
    }
    assert {
        what: far.call(f"/jobs/{job.pk}/{what}", said, lease).status_code for what, said in calls.items()
    } == dict.fromkeys(calls, 409)
    assert far.call(f"/jobs/{job.pk}/files/{digest}", b"x", lease, "PUT").status_code == 409
    assert report(far, job, lease, result="success")["status"] == "ignored"
    assert "job.ignored" in world.kinds(job.task) and world.status(job.task) == "queued"
    assert not LogChunk.objects.exists()


def test_a_job_of_another_project_is_nobodys(world: World, far: FarAway, held: tuple[Job, str]) -> None:
    other = World(make_project("foreign"), world.worker)
    task = other.start(other.line(stations=[command("build", "pass", TO_END)]))
    job, lease = task.jobs.get(), held[1]
    assert far.call("/waiting", {"room": {"drive": 9}}).json()["jobs"] == []
    assert far.call(f"/jobs/{job.pk}/claim").json() == {"started": None}
    for what in ("material", "log", "store", "report", "give-back"):
        document = {"text": "0.1\tx\n", "attempt": 1, "outcome": {"result": "success"}}
        assert far.call(f"/jobs/{job.pk}/{what}", document, lease).status_code == 404, what
    assert far.call(f"/jobs/{2**62}/material", {}, lease).status_code == 404
    assert other.status(task) == "queued"


def test_another_projects_token_does_not_speak_for_a_runner(
    world: World, far: FarAway, held: tuple[Job, str]
) -> None:
    job, lease = held
    stranger = FarAway(far.home, world.runner(project=make_project("foreign"))[1], id=far.id)
    assert stranger.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 404
    assert stranger.call("/leases", {}).status_code == 404
    assert stranger.call(f"/jobs/{job.pk}/report", {"attempt": 1, "outcome": {}}, lease).status_code == 404


def test_a_token_that_is_expired_or_revoked_opens_nothing(
    world: World, far: FarAway, held: tuple[Job, str]
) -> None:
    job, lease = held
    token = ApiToken.objects.get(kind="runner")
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert far.call("/leases", {}).status_code == 401
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
    runners.revoke_runner_and_requeue_jobs(token, world.admin, timezone.now())
    assert far.call(f"/jobs/{job.pk}/report", {"attempt": 1, "outcome": {}}, lease).status_code == 401
    job.refresh_from_db()
    assert (job.state, job.attempt, job.lease_key) == ("queued", 1, None)


def test_a_file_is_what_its_digest_says(far: FarAway, held: tuple[Job, str]) -> None:
    job, lease = held
    good = hashlib.sha256(b"good").hexdigest()
    for digest, data, status in (
        (good, b"evil", 400),
        ("../../x", b"x", 404),
        ("A" * 64, b"x", 400),
        (good, b"good", 204),
    ):
        assert far.call(f"/jobs/{job.pk}/files/{digest}", data, lease, "PUT").status_code == status, digest
    with storage.artifact_storage().open(storage.storage_names_by_digest([good])[good], "rb") as file:
        assert BytesIO(file.read()).getvalue() == b"good"


def test_a_name_of_a_file_opens_it_for_its_lease_alone(
    world: World, bench: Bench, far: FarAway, held: tuple[Job, str]
) -> None:
    task = world.start(
        world.line(
            key="two",
            stations=[
                command("a", "open('kept.txt', 'w').write('kept')", {"id": "on", "to": "b"}),
                command("b", "pass", TO_END, labels=["here"]),
            ],
        )
    )
    drive(bench, task)
    world_runner = FarAway(far.home, world.runner("here")[1])
    assert world_runner.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    job = task.jobs.get(station="b")
    lease = world_runner.call(f"/jobs/{job.pk}/claim").json()["started"]["lease"]
    material = world_runner.call(f"/jobs/{job.pk}/material", {}, lease).json()
    name = next(iter(material["before"]["stored"].values()))
    assert world_runner.call(f"/files/{name}", method="GET").content == b"kept"
    assert far.call(f"/files/{name}", method="GET").status_code == 409
    assert world_runner.call(f"/files/{name}x", method="GET").status_code == 404
    assert report(world_runner, job, lease, result="success")["status"] == "accepted"
    assert world_runner.call(f"/files/{name}", method="GET").status_code == 409


MALFORMED: tuple[tuple[str, Any], ...] = (
    ("report", b"{"),
    ("report", b"[]"),
    ("report", {"attempt": True, "outcome": {}}),
    ("report", {"attempt": 1, "outcome": "x"}),
    ("report", b'{"attempt": 1, "outcome": {"output": NaN}}'),
    ("store", b"[" * 100_000),
    ("wanted", {"files": {"x": -1}}),
    ("wanted", {"files": []}),
    ("log", {"text": "no time\n"}),
    ("log", {"text": "0.1\thalf a line"}),
    ("log", {"text": 7}),
    ("give-back", {"attempt": 0}),
)


@pytest.mark.smoke(4)
@pytest.mark.parametrize(("what", "document"), MALFORMED)
def test_what_is_malformed_is_refused_in_words(
    far: FarAway, held: tuple[Job, str], what: str, document: Any
) -> None:
    answer = far.call(f"/jobs/{held[0].pk}/{what}", document, held[1])
    assert answer.status_code == 400, answer.text
    assert answer.json()["detail"]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (["d"] * (DEEPEST + 2), f"more than {DEEPEST} folders"),
        pytest.param(["d" * 256], "a name of more than 255 bytes", marks=pytest.mark.wide),
    ],
)
def test_no_folder_comes_that_another_machine_cannot_lay_out(
    far: FarAway, held: tuple[Job, str], parts: list[str], words: str
) -> None:
    paths = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    entries = tuple({"path": path, "mode": 0o755, "folder": True} for path in paths)
    left = {"workspace": {"manifest": entries, "digest": manifest_digest(entries)}}
    answer = far.call(f"/jobs/{held[0].pk}/store", left, held[1])
    assert (answer.status_code, words in answer.json()["detail"]) == (422, True), answer.text
    assert not Snapshot.objects.exists()


@pytest.mark.smoke(4)
@pytest.mark.parametrize(
    "left",
    [
        {"artifacts": 7},
        {"artifacts": [{"name": "a", "digest": "0" * 64}]},
        {"workspace": {"manifest": [{"path": "a", "mode": 0o4755, "folder": True}], "digest": ""}},
        {"workspace": {"manifest": [{"path": "a/b", "link": "x"}], "digest": ""}},
        {"workspace": {"manifest": [{"path": "/a", "link": "x"}], "digest": ""}},
        {"workspace": {"manifest": [{"path": "a", "link": "x"}] * 2, "digest": ""}},
        {"workspace": {"manifest": "x", "digest": ""}},
        {"workspace": {"manifest": [{"path": "a", "link": "x"}], "digest": "1" * 64}},
        {"workspace": []},
        {"git": {"head": "x"}},
        {"git": 7},
    ],
)
def test_what_no_station_can_leave_is_refused_in_words(
    far: FarAway, held: tuple[Job, str], left: dict[str, Any]
) -> None:
    answer = far.call(f"/jobs/{held[0].pk}/store", left, held[1])
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"] and not Snapshot.objects.exists()
