"""An agent that somebody is signed in with on the runner: its sign-in is lent to the station, and nothing of it leaves
the machine (docs/agents.md)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.lines.publishing import PublishRefused
from pipelines.models import Job, Snapshot, Task, Token, Worker
from pipelines.queries.runners import runners as listed
from pipelines.queries.unoffered import without_a_worker
from pipelines.routing.document.agents import PRESETS, TABLE
from pipelines.runner.options import WrongOptions, options
from pipelines.web.setup.agents import choices
from pipelines.work.agents.signed_in import folders, lend, take_back, tokens
from tests.factories import World
from tests.fixtures.site import Site
from tests.vault.conftest import Put, key_file, put
from tests.waiting import until
from tests.work.agents.test_recordings import RECORDINGS
from tests.work.driving import Bench, done, drive, outcome_of, text_of
from tests.work.runners.far import FarAway
from tests.work.runners.running import runner

__all__ = ["key_file", "put"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
TOKEN = "sk-test-oat01-canary-of-the-subscription"
RENEWED = "sk-test-oat01-canary-that-was-renewed"
SIGN_IN = {"claudeAiOauth": {"accessToken": TOKEN, "subscriptionType": "max", "scopes": ["user:inference"]}}
# Reads its sign-in as the real one does, and tells it to whoever may listen.
CLAUDE = f"""#!{sys.executable} -IS
import json, os, sys
place = os.path.join(os.environ["HOME"], ".claude", ".credentials.json")
said = json.load(open(place))["claudeAiOauth"]["accessToken"]
print("signed in with", said, "mode", oct(os.stat(place).st_mode & 0o777), flush=True)
print("keys", sorted(name for name in os.environ if "ANTHROPIC" in name), flush=True)
with open(os.path.join(os.environ["HOME"], "transcript.jsonl"), "w") as file:
    file.write("the token is " + said)
WAY
print(open({str(RECORDINGS / "claude-ok.jsonl")!r}).read().replace("made.txt", said))
"""
QUIET = "open('made.txt', 'w').write('made')"
# Renews its sign-in in place, as programs do, and leaves a link behind for the next visit to follow.
RENEWS = f"""
open(place, "w").write(json.dumps({{"claudeAiOauth": {{"accessToken": {RENEWED!r}}}}}))
open('made.txt', 'w').write('made')
"""
LEAKS = "open('made.txt', 'w').write(said)"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Of the user of the runner."""
    made = tmp_path / "user"
    (made / ".claude").mkdir(parents=True)
    (made / ".claude" / ".credentials.json").write_text(json.dumps(SIGN_IN))
    return made


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "bin").mkdir()
    program(tmp_path, QUIET)
    return str(tmp_path / "bin")


def program(tmp_path: Path, way: str) -> None:
    place = tmp_path / "bin" / "claude"
    place.write_text(CLAUDE.replace("WAY", way))
    place.chmod(0o755)


def started(world: World, **work: Any) -> Task:
    told = {"agent": "claude", "prompt": "Do it.", "network": "open", "sign_in": "runner", **work}
    stations = [
        {"key": "implement", "work": {"kind": "agent", **told}, "rules": [{"id": "r", "to": "completed"}]}
    ]
    return world.start(world.line(stations=stations))


def lent(home: Path, path: str) -> dict[str, Any]:
    return {
        "signed_in": folders(["claude"], {}, home),
        "station_path": (path, *os.environ["PATH"].split(os.pathsep)),
    }


def found_in(folder: Path, *but: Path) -> list[Path]:
    """Files that hold a token, or its name."""
    files = [each for each in folder.rglob("*") if each.is_file() and not any(map(each.is_relative_to, but))]
    return [each for each in files if any(word.encode() in each.read_bytes() for word in (TOKEN, RENEWED))]


def test_a_station_is_signed_in_by_its_runner_and_nothing_of_it_is_kept(
    world: World, bench: Bench, home: Path, path: str, put: Put, tmp_path: Path
) -> None:
    put(world.project, "ANTHROPIC_API_KEY", "sk-a-stored-key-of-the-project", by=world.admin)
    task = started(world)
    drive(bench, task, **lent(home, path))
    assert world.status(task) == "completed", outcome_of(task, "implement")
    text = text_of(done(task, "implement"))
    assert "signed in with ••• mode 0o600" in text and "keys []" in text
    assert TOKEN not in json.dumps(outcome_of(task, "implement"))
    assert [each["path"] for each in Snapshot.objects.get().manifest] == ["made.txt"]
    assert found_in(tmp_path, home) == []


def test_a_sign_in_in_a_file_of_the_change_is_withheld(
    world: World, bench: Bench, home: Path, path: str, tmp_path: Path
) -> None:
    program(tmp_path, LEAKS)
    task = started(world)
    drive(bench, task, **lent(home, path))
    assert outcome_of(task, "implement")["failure_type"] == "secret_in_file"
    assert found_in(tmp_path, home) == [] and not Snapshot.objects.exists()


def test_only_who_says_so_takes_its_jobs_over_http(
    world: World, home: Path, path: str, tmp_path: Path
) -> None:
    Worker.objects.all().delete()
    plain = FarAway(tmp_path / "plain", world.runner()[1])
    far = FarAway(tmp_path / "far", world.runner()[1], config=lent(home, path))
    task = started(world)
    plain.work()
    assert world.status(task) == "queued"
    last = {job.token_id: job for job in Job.objects.filter(task=task)}
    why = without_a_worker(task, last)[Token.objects.get(task=task).pk]
    assert "signed in with Claude Code" in str(why.text) and "--signed-in claude" in str(why.remedy)
    far.work()
    assert world.status(task) == "completed", outcome_of(task, "implement")
    assert "signed in with •••" in text_of(done(task, "implement"))
    shown = [row.agents for row in listed(world.project, done(task, "implement").ended_at)]
    assert sorted(shown) == [[], ["Claude Code (signed in)"]]
    assert found_in(tmp_path, home) == []
    workers = list(Worker.objects.filter(name="far"))
    shown_at_setup = {each.key: each for each in choices(world.project, workers, {})}
    assert shown_at_setup["claude"].signed_in == ["far"] and not shown_at_setup["claude"].lacks_key
    assert shown_at_setup["codex"].lacks_key


@pytest.mark.wide
def test_what_the_program_renewed_is_gone_too(
    world: World, bench: Bench, home: Path, path: str, tmp_path: Path
) -> None:
    program(tmp_path, RENEWS)
    task = started(world)
    drive(bench, task, **lent(home, path))
    assert world.status(task) == "completed"
    assert found_in(tmp_path, home, tmp_path / "bin") == []
    assert json.loads((home / ".claude" / ".credentials.json").read_text()) == SIGN_IN, (
        "nor is the user's own touched"
    )


def test_what_an_earlier_visit_left_is_not_followed(home: Path, tmp_path: Path) -> None:
    """Else an agent that once made its folder a link would have the sign-in put where it is stored."""
    preset, place, elsewhere = PRESETS["claude"], tmp_path / "home", tmp_path / "workspace"
    elsewhere.mkdir()
    place.mkdir()
    (place / ".claude").symlink_to(elsewhere)
    lend(preset, home / ".claude", place)
    assert list(elsewhere.iterdir()) == [] and (place / ".claude" / ".credentials.json").is_file()
    (place / ".claude" / ".credentials.json").unlink()
    (place / ".claude" / ".credentials.json").symlink_to(elsewhere / "stolen")
    lend(preset, home / ".claude", place)
    assert list(elsewhere.iterdir()) == []
    take_back(preset, place, tokens(preset, home / ".claude"))
    assert found_in(tmp_path, home) == []


def test_a_runner_that_is_not_signed_in_does_not_start_as_one(home: Path) -> None:
    words = ["--server", "https://gateline.example.com", "--signed-in"]
    env = {"GATELINE_TOKEN": "gl_x", "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    assert options([*words, "claude"], env).signed_in == {"claude": (home / ".claude").resolve()}
    for word, why in (
        (f"codex={home}", "Codex is not signed in here"),
        ("aider", "no agent that somebody can be signed in with"),
        ("nobody", "no agent that somebody can be signed in with"),
    ):
        with pytest.raises(WrongOptions, match=why):
            options([*words, word], env)


@pytest.mark.parametrize("preset", [each for each in TABLE if each.sign_in], ids=lambda each: each.key)
def test_each_agent_finds_its_files_where_it_looks(preset: Any, tmp_path: Path) -> None:
    way = preset.sign_in
    for name in way.files:
        (tmp_path / way.folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / way.folder / name).write_text(json.dumps({"token": TOKEN}))
    found = folders([preset.key], {}, tmp_path)[preset.key]
    place = tmp_path / "visit"
    place.mkdir()
    lend(preset, found, place)
    assert [(place / way.folder / name).is_file() for name in way.files] == [True] * len(way.files)
    assert tokens(preset, found) == (TOKEN,)


def test_an_agent_without_a_sign_in_is_not_published_with_one(world: World) -> None:
    with pytest.raises(PublishRefused) as refused:
        started(world, agent="aider")
    assert "nobody can be signed in with Aider" in str(refused.value.findings)


@pytest.mark.wide
def test_a_process_elsewhere_lends_what_its_user_signed_in_with(
    site: Site, world: World, home: Path, path: str, tmp_path: Path
) -> None:
    task = started(world)
    env = {"HOME": str(home), "GATELINE_STATION_PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    with runner(site.url, world.runner()[1], tmp_path / "far", "--signed-in", "claude", env=env) as far:
        until(lambda: world.status(task) == "completed", lambda: far.log.read_text()[-3000:])
        assert "signed in with •••" in text_of(done(task, "implement"))
    assert found_in(tmp_path, home) == []
