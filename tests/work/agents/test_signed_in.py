"""An agent that somebody is signed in with on the runner: its sign-in is lent to the station, and nothing of it leaves
the machine (docs/agents.md)."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.lines.publishing import PublishRefused
from pipelines.models import Job, Snapshot, Task, Token, Worker
from pipelines.queries.runners import runner_rows as listed
from pipelines.queries.unclaimable_jobs import unclaimed_sentence_by_token_id
from pipelines.routing.document.agents import PRESETS, TABLE
from pipelines.web.setup.agents import agent_choices
from pipelines.work.agents.lent_sign_in import LentSignIn, is_renewal
from pipelines.work.agents.sign_in import (
    lend_sign_in_files,
    remove_lent_sign_in,
    sign_in_folders,
    sign_in_tokens,
)
from pipelines.work.program.options import WrongOptions, parsed_options
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
SIGN_IN: dict[str, Any] = {
    "claudeAiOauth": {"accessToken": TOKEN, "subscriptionType": "max", "scopes": ["user:inference"]}
}
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
# Renews its sign-in in place, as programs do, and prints the new token before and after.
RENEWS = f"""
renewed = json.loads(open(place).read())
renewed["claudeAiOauth"] |= {{"accessToken": {RENEWED!r}, "expiresAt": 2000}}
print("gets", {RENEWED!r}, flush=True)
open(place, "w").write(json.dumps(renewed))
print("has", {RENEWED!r}, flush=True)
open(os.path.join(os.environ["HOME"], "renewed.txt"), "w").write({RENEWED!r})
open('made.txt', 'w').write('made')
said = {RENEWED!r}
"""
LEAKS = "open('made.txt', 'w').write(said)"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Of the user of the runner."""
    made = tmp_path / "user"
    (made / ".claude").mkdir(parents=True)
    (made / ".claude" / ".credentials.json").write_text(json.dumps(SIGN_IN))
    (made / ".claude" / ".credentials.json").chmod(0o600)
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
        "signed_in": sign_in_folders(["claude"], {}, home),
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


@pytest.mark.wide
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
    why = unclaimed_sentence_by_token_id(task, last)[Token.objects.get(task=task).pk]
    assert "signed in with Claude Code" in str(why.text) and "--signed-in claude" in str(why.remedy)
    far.work()
    assert world.status(task) == "completed", outcome_of(task, "implement")
    assert "signed in with •••" in text_of(done(task, "implement"))
    shown = [row.agent_labels for row in listed(world.project, done(task, "implement").ended_at)]
    assert sorted(shown) == [[], ["Claude Code (signed in)"]]
    assert found_in(tmp_path, home) == []
    workers = list(Worker.objects.filter(name="far"))
    shown_at_setup = {each.key: each for each in agent_choices(world.project, workers, {})}
    assert shown_at_setup["claude"].signed_in == ["far"] and not shown_at_setup["claude"].lacks_key
    assert shown_at_setup["codex"].lacks_key


def test_what_the_program_renewed_is_hidden_and_the_next_visit_has_it(
    world: World, bench: Bench, home: Path, path: str, tmp_path: Path
) -> None:
    program(tmp_path, RENEWS)
    task = started(world)
    drive(bench, task, **lent(home, path))
    assert world.status(task) == "completed", outcome_of(task, "implement")
    text = text_of(done(task, "implement"))
    assert "gets •••" in text and "has •••" in text and RENEWED not in text
    assert "Claude Code renewed its sign-in. The next visit gets the new one." in text
    assert RENEWED not in json.dumps(outcome_of(task, "implement"))
    assert found_in(tmp_path, home, tmp_path / "bin") == []
    own = home / ".claude" / ".credentials.json"
    renewed = {**SIGN_IN["claudeAiOauth"], "accessToken": RENEWED, "expiresAt": 2000}
    assert json.loads(own.read_text()) == {"claudeAiOauth": renewed}
    assert [each.name for each in own.parent.iterdir()] == [own.name] and own.stat().st_mode & 0o777 == 0o600
    program(tmp_path, LEAKS)
    leaks = started(world)
    drive(bench, leaks, **lent(home, path))
    assert outcome_of(leaks, "implement")["failure_type"] == "secret_in_file", (
        "the new one is guarded as the old one"
    )


def claims(**said: str) -> str:
    """A token that says whose it is (RFC 7519)."""
    body = base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
    return f"eyJhbGciOiJub25lIn0.{body}.signature"


OWN: dict[str, Any] = {
    "tokens": {"access_token": TOKEN, "account_id": "0b8f6a52-5a1f-4e52-9c7e-1d1f0f5f7a11"},
    "at": 1000,
    "on": True,
}


@pytest.mark.parametrize(
    ("after", "renews"),
    [
        ({**OWN, "tokens": {**OWN["tokens"], "access_token": RENEWED}, "at": 2000}, True),
        ({**OWN, "expires": 5}, True),
        ({**OWN, "tokens": {**OWN["tokens"], "account_id": "7c1d2a52-5a1f-4e52-9c7e-1d1f0f5f7a99"}}, False),
        ({**OWN, "tokens": {"access_token": RENEWED}}, False),
        ({**OWN, "tokens": {**OWN["tokens"], "access_token": "https://elsewhere.example.com/token"}}, False),
        ({**OWN, "helper": "/bin/a-program-that-is-run-for-keys"}, False),
        ({**OWN, "hooks": {"start": ["sh"]}}, False),
        ({**OWN, "on": False}, False),
        ("nothing of it", False),
    ],
)
def test_only_a_renewal_is_carried_back(after: Any, renews: bool) -> None:
    assert is_renewal(json.dumps(OWN).encode(), json.dumps(after).encode()) is renews


def test_a_token_of_somebody_else_is_no_renewal() -> None:
    def document(**said: str) -> bytes:
        return json.dumps({"id_token": claims(iss="https://a.example", **said)}).encode()

    assert is_renewal(document(sub="ann", jti="1"), document(sub="ann", jti="2"))
    assert not is_renewal(document(sub="ann"), document(sub="mallory"))
    assert not is_renewal(document(sub="ann"), json.dumps({"id_token": RENEWED}).encode())


def test_what_was_renewed_on_the_machine_meanwhile_is_kept(home: Path, tmp_path: Path) -> None:
    own, place = home / ".claude" / ".credentials.json", tmp_path / "visit"
    place.mkdir()
    visits = [
        LentSignIn(PRESETS["claude"], home / ".claude", place / name) for name in ("one", "two", "three")
    ]
    for number, visit in enumerate(visits):
        visit.home.mkdir()
        visit.lend()
        copy = visit.home / ".claude" / ".credentials.json"
        if number < 2:
            copy.write_text(copy.read_text().replace(TOKEN, f"{RENEWED}-{number}"))
        else:
            copy.unlink()
            copy.symlink_to(own)
    assert "The next visit gets the new one" in visits[0].remove_lent_sign_in()
    assert "that one was kept" in visits[1].remove_lent_sign_in()
    assert visits[2].remove_lent_sign_in() == "", "a link is nobody's renewal"
    assert f"{RENEWED}-0" in own.read_text() and found_in(place) == []


def test_what_an_earlier_visit_left_is_not_followed(home: Path, tmp_path: Path) -> None:
    """Else an agent that once made its folder a link would have the sign-in put where it is stored."""
    preset, place, elsewhere = PRESETS["claude"], tmp_path / "home", tmp_path / "workspace"
    elsewhere.mkdir()
    place.mkdir()
    (place / ".claude").symlink_to(elsewhere)
    lend_sign_in_files(preset, home / ".claude", place)
    assert list(elsewhere.iterdir()) == [] and (place / ".claude" / ".credentials.json").is_file()
    (place / ".claude" / ".credentials.json").unlink()
    (place / ".claude" / ".credentials.json").symlink_to(elsewhere / "stolen")
    lend_sign_in_files(preset, home / ".claude", place)
    assert list(elsewhere.iterdir()) == []
    remove_lent_sign_in(preset, place, sign_in_tokens(preset, home / ".claude"))
    assert found_in(tmp_path, home) == []


def test_a_home_that_is_nested_deeper_than_it_is_looked_through_goes_whole(
    home: Path, tmp_path: Path
) -> None:
    preset, place = PRESETS["claude"], tmp_path / "home"
    place.mkdir()
    lend_sign_in_files(preset, home / ".claude", place)
    here = os.open(place, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    remove_lent_sign_in(preset, place, sign_in_tokens(preset, home / ".claude"))
    assert list(place.iterdir()) == []


def test_a_runner_that_is_not_signed_in_does_not_start_as_one(home: Path) -> None:
    words = ["--server", "https://gateline.example.com", "--signed-in"]
    env = {"GATELINE_TOKEN": "gl_x", "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    assert parsed_options([*words, "claude"], env).signed_in == {"claude": (home / ".claude").resolve()}
    for word, why in (
        (f"codex={home}", "Codex is not signed in here"),
        ("aider", "no agent that somebody can be signed in with"),
        ("nobody", "no agent that somebody can be signed in with"),
    ):
        with pytest.raises(WrongOptions, match=why):
            parsed_options([*words, word], env)


@pytest.mark.parametrize("preset", [each for each in TABLE if each.sign_in], ids=lambda each: each.key)
def test_each_agent_finds_its_files_where_it_looks(preset: Any, tmp_path: Path) -> None:
    way = preset.sign_in
    for name in way.files:
        (tmp_path / way.folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / way.folder / name).write_text(json.dumps({"token": TOKEN}))
    found = sign_in_folders([preset.key], {}, tmp_path)[preset.key]
    place = tmp_path / "visit"
    place.mkdir()
    lend_sign_in_files(preset, found, place)
    assert [(place / way.folder / name).is_file() for name in way.files] == [True] * len(way.files)
    assert sign_in_tokens(preset, found) == (TOKEN,)


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
