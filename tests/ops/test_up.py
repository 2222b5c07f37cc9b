"""`make run` after set-up: one command, one line, nothing left behind."""

from __future__ import annotations

import http.client
import http.cookiejar
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from config.embedded import layout
from config.setup import front_end
from pipelines.lines.demo import example
from tests.fixtures.site import free_port
from tests.ops.conftest import open_folder
from tests.ops.processes import ROOT, clean_environment, descendants, end_helper_of, on_linux
from tests.waiting import LONG, until

LINK = re.compile(r"http://127\.0\.0\.1:\d+/sign-in/[\w-]+/")


class Up:
    """`manage.py up` on a state folder of its own."""

    def __init__(self, home: Path, port: int, **more: str) -> None:
        self.home, self.port = home, port
        self.log = home.parent / f"up-{port}.log"
        self.environment = clean_environment(
            GATELINE_HOME=str(home), XDG_STATE_HOME=str(home.parent / "user"), PORT=str(port), **more
        )
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--port", str(port)],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(lambda: "Gateline runs at" in self.said() or self.process.poll() is not None, "the line")
        assert self.process.poll() is None, self.said()

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def line(self) -> str:
        return next(line for line in self.said().splitlines() if "Gateline runs at" in line)

    def health(self) -> tuple[int, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        return answer.status, json.load(answer)

    def manage(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return self.run(self.environment | more, *words)

    def run(self, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def end_helper(self) -> None:
        """End the process that said the line, which loads every page afterwards to look for faults: for tests that look
        at something else."""
        end_helper_of(self.process.pid)

    def interrupt(self) -> None:
        """As a terminal's Ctrl-C: to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(LONG)


class Visitor:
    """A browser without scripts: cookies and forms."""

    def __init__(self) -> None:
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def get(self, address: str) -> tuple[int, str, str]:
        return self._open(urllib.request.Request(address))

    def press(self, address: str, **fields: str) -> tuple[int, str, str]:
        """Posts the one form of the page at this address."""
        page = self.get(address)[2]
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        fields |= {"csrfmiddlewaretoken": token[1]} if token else {}
        return self._open(urllib.request.Request(address, data=urllib.parse.urlencode(fields).encode()))

    def _open(self, request: urllib.request.Request) -> tuple[int, str, str]:
        try:
            with self.opener.open(request, timeout=LONG) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, request.full_url, error.read().decode()

    def signed_in(self) -> bool:
        return any(cookie.name == "gateline_session" for cookie in self.jar)


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with open_folder() as folder:
        front_end.ensure_drawings()
        home = folder / "state" / "workspaces" / "homes" / "7.agent"
        home.mkdir(parents=True)
        (home / "session").write_text("goes on")
        running = Up(folder / "state", free_port())
        yield running
        if running.process.poll() is None:
            running.interrupt()


# They tell one story, in order, on one installation.
pytestmark = on_linux


def test_the_first_start_prints_one_line_with_a_sign_in_link(up: Up) -> None:
    assert up.said().count("Gateline runs at") == 1
    assert LINK.search(up.line()) and f":{up.port}/" in up.line()


def test_each_step_of_the_first_start_says_its_seconds(up: Up) -> None:
    steps = re.findall(r"(?m)^([A-Z][a-z ]+): \d+ s$", up.said())
    assert steps == ["Database and demo", "Web and worker"]


def test_the_first_start_says_at_once_what_it_does_and_nothing_for_programmers(up: Up) -> None:
    assert up.said().splitlines()[0] == "Database and demo …", "before anything is loaded"
    assert "worker_ready" not in up.said()


def test_healthz_says_that_everything_works(up: Up) -> None:
    assert up.health() == (
        200,
        {"status": "ok", "database": "ok", "worker": "ok", "space": "ok", "channel_layer": "ok"},
    )


def test_workspaces_of_an_earlier_version_leave_the_state_folder(up: Up) -> None:
    folder = Path(json.loads((up.home / "workspaces.json").read_text())["folder"])
    assert folder.parent == up.home.parent / "user" / "gateline"
    assert (folder / "homes" / "7.agent" / "session").read_text() == "goes on"
    assert not (up.home / "workspaces").exists() and "Moved the workspaces" in up.said()
    working = [path.name for path in folder.iterdir() if (path / "lock").exists()]
    assert len(working) == 1, "the worker works there"


def test_the_start_logs_no_error(up: Up) -> None:
    assert not re.findall(
        r"(?i)^.*\[(?:error|critical).*$|Traceback|Service Unavailable", up.said(), re.MULTILINE
    )


@pytest.mark.wide
def test_other_commands_name_the_port_at_which_it_runs(up: Up) -> None:
    """As in another shell: nothing in its environment says which port that is."""
    elsewhere = {name: value for name, value in up.environment.items() if name != "PORT"}
    printed = up.run(elsewhere, "sign_in_link")
    assert LINK.fullmatch(printed.stdout.strip()) and f":{up.port}/" in printed.stdout
    said = up.run(
        elsewhere,
        "shell",
        "-c",
        "from pipelines.queries.addresses import absolute_url; print(absolute_url('home'))",
    )
    assert f"http://127.0.0.1:{up.port}/" in said.stdout
    # What is said aloud counts more.
    assert ":8123/" in up.run(elsewhere | {"PORT": "8123"}, "sign_in_link").stdout


@pytest.mark.wide
def test_a_member_and_a_token_are_made_from_the_shell(up: Up) -> None:
    made = up.manage("create_member", "mia", "--project", "demo/app", "--role", "reviewer")
    assert made.returncode == 0, made.stderr
    token = up.manage("create_token", "mia", "--project", "demo/app", "--scope", "read")
    secret = token.stdout.splitlines()[-1]
    assert re.fullmatch(r"gl_[\w-]{40,}", secret), token.stdout + token.stderr
    connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=20)
    path = "/api/owners/demo/projects/app/lines"
    connection.request("GET", path, headers={"Authorization": f"Bearer {secret}"})
    answer = connection.getresponse()
    assert (answer.status, bool(json.load(answer))) == (200, True)


def test_looking_at_the_link_does_not_use_it_and_pressing_its_button_does_once(up: Up) -> None:
    link = LINK.search(up.line())
    assert link
    scanner = Visitor()
    assert [scanner.get(link[0])[0] for _ in range(3)] == [200, 200, 200]
    assert not scanner.signed_in()
    person = Visitor()
    status, landed, _ = person.press(link[0])
    assert status == 200 and landed.endswith("/sign-in/password/") and person.signed_in()
    late = Visitor()
    assert late.press(link[0])[0] == 410 and not late.signed_in()


@pytest.mark.wide
def test_another_link_can_be_printed_here_but_not_with_a_database_of_ones_own(up: Up) -> None:
    printed = up.manage("sign_in_link", "--port", str(up.port))
    assert printed.returncode == 0 and LINK.fullmatch(printed.stdout.strip())
    assert Visitor().press(printed.stdout.strip())[1].endswith("/sign-in/password/")
    nobody = up.manage("sign_in_link", "nobody")
    assert nobody.returncode != 0 and "no active user" in nobody.stderr
    foreign = up.manage("sign_in_link", DATABASE_URL=layout.connection_url(up.home))
    assert foreign.returncode != 0 and "DATABASE_URL" in foreign.stderr


@pytest.mark.wide
def test_a_link_is_refused_behind_a_proxy(up: Up) -> None:
    link = up.manage("sign_in_link", "--port", str(up.port)).stdout.strip()
    request = urllib.request.Request(link, headers={"X-Forwarded-For": "203.0.113.9"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=LONG)
    assert refused.value.code == 403


@pytest.mark.wide
def test_a_link_is_refused_after_ten_minutes(up: Up) -> None:
    link = up.manage("sign_in_link", "--port", str(up.port)).stdout.strip()
    with psycopg.connect(layout.connection_url(up.home)) as database:
        database.execute("UPDATE pipelines_signinlink SET expires_at = now() - interval '1 second'")
    assert Visitor().press(link)[0] == 410


def test_the_administrator_may_do_everything_in_the_demo(up: Up) -> None:
    with psycopg.connect(layout.connection_url(up.home)) as database:
        rows = database.execute(
            "SELECT username, is_superuser, is_staff, roles::text, execute, password LIKE '!%', email "
            "FROM pipelines_user u JOIN pipelines_membership m ON m.user_id = u.id WHERE username = 'admin'"
        ).fetchall()
        lines = database.execute("SELECT count(*) FROM pipelines_lineversion").fetchone()
    assert rows and set(rows) == {("admin", True, True, "{admin}", True, True, "admin@localhost")}
    assert lines and lines[0] >= 2


DRAWN_NEXT = (
    "SELECT count(*) FROM procrastinate_jobs WHERE queue_name = 'drawings' AND status IN ('todo', 'doing')"
)


def test_the_lines_of_the_demo_are_drawn_without_node(up: Up) -> None:
    """A Node that has drawn stays for ten seconds after its last line."""
    with psycopg.connect(layout.connection_url(up.home), autocommit=True) as database:
        until(lambda: not database.execute(DRAWN_NEXT).fetchone()[0], "the drawings of the lines of the demo")
        nodes = [pid for pid in descendants(up.process.pid) if "drawing.mjs" in _command(pid)]
        [(drawn, missing)] = database.execute(
            "SELECT count(*), count(*) FILTER (WHERE wide = '') FROM pipelines_drawing"
        ).fetchall()
    assert (nodes, missing) == ([], 0)
    assert drawn == 2 * len(example.KEYS)


def test_an_idle_installation_asks_little_and_sleeps_long(up: Up) -> None:
    """Counted from one heartbeat of its worker to another: a slow machine makes none of it more."""
    until(
        lambda: not [pid for pid in _left(up) if "\0announce" in _command(pid)], "the end of what starts it"
    )
    with (
        psycopg.connect(layout.connection_url(up.home), autocommit=True) as database,
        _statements_logged(database),
    ):
        until(lambda: not database.execute(DRAWN_NEXT).fetchone()[0], "the drawings of the lines of the demo")
        heartbeats = _heartbeats(up) + 1
        until(lambda: _heartbeats(up) >= heartbeats, "a heartbeat")
        statements, wakings = len(_statements(up)), _wakings(up)
        until(lambda: _heartbeats(up) > heartbeats, "another heartbeat, a minute later")
        statements, wakings = len(_statements(up)) - statements, _wakings(up) - wakings
    assert 0 < statements <= 12, statements
    assert 0 < wakings <= 150, wakings


@contextmanager
def _statements_logged(database: psycopg.Connection) -> Iterator[None]:
    try:
        for setting in ("log_statement = 'all'", "log_line_prefix = '%a '"):
            database.execute(f"ALTER SYSTEM SET {setting}")
        database.execute("SELECT pg_reload_conf()")
        yield
    finally:
        database.execute("ALTER SYSTEM RESET ALL")
        database.execute("SELECT pg_reload_conf()")


def _statements(up: Up) -> list[str]:
    """The first line of each that the product has sent."""
    lines = layout.recorded_or_planned_layout(up.home).log_file.read_text(errors="replace").splitlines()
    return [line for line in lines if re.match(r"gateline\S* ?\w* LOG:  (statement|execute)", line)]


def _heartbeats(up: Up) -> int:
    return sum("procrastinate_update_heartbeat" in line for line in _statements(up))


def _wakings(up: Up) -> int:
    """How often its processes have gone to sleep and waked again."""
    return sum(
        int(line.split()[1])
        for pid in _left(up)
        for thread in Path(f"/proc/{pid}/task").iterdir()
        for line in (thread / "status").read_text().splitlines()
        if line.startswith("voluntary_ctxt_switches")
    )


@pytest.mark.wide
def test_a_second_start_on_the_same_port_says_so(up: Up) -> None:
    second = up.manage("up", "--port", str(up.port))
    assert second.returncode != 0 and f"Port {up.port} is in use" in second.stderr
    assert "Traceback" not in second.stderr


@pytest.mark.wide
def test_a_killed_database_web_or_worker_comes_back(up: Up) -> None:
    for words in ("postgres\0-D", "manage.py\0web", "manage.py\0worker"):
        doomed = [pid for pid in _left(up) if words in _command(pid)]
        assert doomed, words
        os.kill(doomed[0], signal.SIGKILL)
        until(lambda: _healthy(up), f"health after the kill of {words}")


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def _belongs(pid: int, up: Up) -> bool:
    facts = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
    return str(up.home).encode() in facts


def _healthy(up: Up) -> bool:
    try:
        return up.health()[0] == 200
    except (OSError, http.client.HTTPException, ValueError):
        return False


def test_ctrl_c_leaves_no_process(up: Up) -> None:
    up.interrupt()
    assert not _left(up)


@pytest.mark.wide
def test_a_later_start_keeps_everything(up: Up) -> None:
    again = Up(up.home, free_port())
    assert again.health()[0] == 200
    assert "Database and demo" not in again.said()
    assert again.said().startswith("Web and worker …\nWeb and worker: ")
    with psycopg.connect(layout.connection_url(up.home)) as database:
        database.execute("UPDATE pipelines_user SET password = 'md5$x$y'")
    again.interrupt()
    assert not _left(up)


@pytest.mark.wide
def test_after_the_kill_of_the_whole_tree_the_next_start_recovers(up: Up) -> None:
    doomed = Up(up.home, free_port())
    assert not LINK.search(doomed.line()), "who has a password needs no link"
    for pid in {doomed.process.pid, *_left(up)}:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    doomed.process.wait()
    again = Up(up.home, free_port())
    assert again.health()[0] == 200
    again.interrupt()
    assert not _left(up)


def _left(up: Up) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX" and _belongs(int(entry.name), up):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
