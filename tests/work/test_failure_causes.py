"""The cause of a failed run where people look first: on the task, on its drawing, on the board, and in the mail."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from html import unescape
from pathlib import Path

import pytest

from pipelines.lines import publishing
from pipelines.lines.starters.catalogue import BY_KEY
from pipelines.lines.starters.commands import StationCommands, template_with_commands
from pipelines.models import Repository, Task
from pipelines.queries.failure_causes import first_error_line_and_place
from pipelines.work.handlers.command import module_that_was_not_found_or_empty
from reviews.models import Notification
from reviews.tasks import deliver_notification
from tests.factories import World, station
from tests.fixtures.mailbox import Mailbox
from tests.pages.conftest import at, client_of
from tests.work.driving import Bench, command, drive
from tests.work.remotes import connect, remote
from tests.work.test_template_lines import begun
from tests.work.test_template_lines import run as run_all

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
BROKEN = "print('Weighing the basket'); raise ValueError('the basket is empty')"
AGAIN = {"id": "again", "when": {"result": "failure"}, "to": "check", "max_retries": 2}


def page_of(world: World, task: Task, query: str = "") -> str:
    return unescape(client_of(world.operator).get(at(world, "task", task.name) + query).content.decode())


def run(world: World, bench: Bench, program: str, **rule: str) -> Task:
    line = world.line(key="checks", stations=[command("check", program, AGAIN | rule, name="Check")])
    task = world.start(line, title="Weigh it")
    drive(bench, task)
    return task


def test_a_stuck_task_names_the_error_on_its_page_on_the_drawing_and_on_the_board(
    world: World, bench: Bench
) -> None:
    task = run(world, bench, BROKEN, on_exhausted="stuck")
    assert world.status(task) == "stuck"
    page = page_of(world, task)
    banner = page.partition("Check failed 3 times")[2]
    assert banner.index("ValueError: the basket is empty") < banner.index("Weighing the basket")
    job = task.jobs.latest("pk")
    assert f"?tab=log&job={job.pk}#panel" in banner
    assert banner.index("<details") < banner.index("RetryLimitExceeded"), "the name is a detail"
    assert "ValueError: the basket is empty" in page_of(world, task, f"?tab=log&job={job.pk}"), (
        "the log opens there"
    )
    path = json.loads(re.findall(r'id="task-path"\s+data-told="(.*?)"\s+hidden', page, re.S)[0])
    assert path["places"]["check"]["state"] == "danger"
    assert path["places"]["check"]["words"].startswith("failed 3 times · here for")
    board = client_of(world.operator).get(at(world, "line-live", "checks")).content.decode()
    assert "ValueError: the basket is empty" in board


def test_a_failed_task_names_the_error_and_its_mail_goes_out_at_once(
    world: World, bench: Bench, mailbox: Mailbox
) -> None:
    task = run(world, bench, BROKEN, on_exhausted="fail")
    assert world.status(task) == "failed"
    page = page_of(world, task)
    assert "Check failed 3 times" in page and "ValueError: the basket is empty" in page
    assert page.index("<summary>Details</summary>") < page.index("RetryLimitExceeded")
    path = json.loads(re.findall(r'id="task-path"\s+data-told="(.*?)"\s+hidden', page, re.S)[0])
    assert (path["places"]["check"]["state"], path["places"]["check"]["words"]) == (
        "danger",
        "failed 3 times",
    )
    row = Notification.objects.get(user=task.requester, kind="failed")
    assert row.state == "queued", "told at once, not in a digest"
    deliver_notification(row.pk)
    ((_to, message),) = mailbox.received
    for kind in ("plain", "html"):
        body = message.get_body((kind,))
        assert body is not None
        text = unescape(str(body.get_content()))
        assert "Check failed 3 times" in text
        assert text.index("ValueError: the basket is empty") < text.index("Weighing the basket")


def test_a_run_that_a_signal_ended_says_so(world: World, bench: Bench) -> None:
    task = run(world, bench, "import os; os.kill(os.getpid(), 9)", on_exhausted="fail")
    assert f"It was killed ({signal.SIGKILL.name}), as happens where memory runs out." in page_of(world, task)


def test_retry_and_cancel_ask_no_reason(world: World, bench: Bench) -> None:
    task = run(world, bench, BROKEN, on_exhausted="stuck")
    page = page_of(world, task)
    for dialog in (f"move-{task.tokens.get().pk}", "cancel"):
        form = page.partition(f'id="{dialog}"')[2].partition("</dialog>")[0]
        assert form and "required" not in form
    client, token = client_of(world.operator), task.tokens.get()
    client.post(at(world, "task-move", task.name, token.pk), {"token_version": token.version})
    assert world.status(task) == "queued"
    client.post(at(world, "task-cancel", task.name), {"sure": "yes"})
    assert world.status(task) == "cancelled"
    # Whoever published a mended line retried, and the old version failed again.
    page = client.get(at(world, "task", task.name)).content.decode()
    dialog = " ".join(page.partition('id="retry-ended"')[2].partition("</dialog>")[0].split())
    assert (
        "It runs on version v1 of the line" in dialog and "Follow up takes the version that is live" in dialog
    )
    client.post(at(world, "task-retry-ended", task.name), {"station": "check"})
    assert Task.objects.filter(follows=task).exists()


def test_a_retry_begins_at_the_station_that_failed_unless_another_one_is_chosen(
    world: World, bench: Bench
) -> None:
    onward = {"id": "onward", "when": {"result": "failure"}, "to": "tell"}
    told = {"id": "told", "when": {"result": "success"}, "to": "failed"}
    checks = [
        command("check", "raise SystemExit(1)", onward, name="Check"),
        command("tell", "print(1)", told, name="Tell"),
    ]
    task = world.start(world.line(stations=checks))
    drive(bench, task)
    assert world.status(task) == "failed"
    dialog = page_of(world, task).partition('id="retry-ended"')[2].partition("</dialog>")[0]
    assert re.findall(r'value="(\w+)"\s+selected', dialog) == ["check"], dialog


def test_why_here_says_in_words_what_the_machine_failed_at(world: World) -> None:
    lacking = {"id": "full", "when": {"failure_type": "no_space"}, "to": "failed"}
    task = world.start(world.line(stations=[station("check", lacking, name="Check")]))
    world.report(task, {"result": "failure", "failure_type": "no_space"})
    page = page_of(world, task)
    why = page.partition('id="why"')[2].partition("The whole trace")[0]
    assert "no disk space" in why and "no_space" not in why
    assert "No disk space." in page.partition('id="why"')[0]


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (
            "a\nTraceback (most recent call last):\n  File\n    x\nKeyError: 'a'\nValueError: b",
            "KeyError: 'a'",
        ),
        ("collecting\nE   assert 1 == 2\nFAILED tests/a.py::b", "E   assert 1 == 2"),
        ("ok\nFAILED tests/a.py::b - assert 1\n1 failed", "FAILED tests/a.py::b - assert 1"),
        ("src/a.ts(1,2): error TS2304: no\nx", "src/a.ts(1,2): error TS2304: no"),
        ("main.c:3:1: error: expected ;\nmake: *** [all] Error 1", "main.c:3:1: error: expected ;"),
        ("error[E0425]: cannot find value", "error[E0425]: cannot find value"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("runtime: out of memory", "runtime: out of memory"),
        ("> lint\nsrc/a.ts\n  3:5  error  b is unused  no-x\n2 problems", "3:5  error  b is unused  no-x"),
        ("npm error code ERESOLVE\nnpm error ERESOLVE could not resolve", "npm error code ERESOLVE"),
        ("a.py:1:8: F401 `os` imported but unused\nFound 1 error.", "a.py:1:8: F401 `os` imported but unused"),
        ("# app\n./a.go:3:2: undefined: b", "./a.go:3:2: undefined: b"),
        ("ok 1 - a\nnot ok 2 - b", "not ok 2 - b"),
        ("✔ a (1ms)\n✖ b (2ms)", "✖ b (2ms)"),
        ("Checking...\n[error] a.ts: SyntaxError: no ;", "[error] a.ts: SyntaxError: no ;"),
        (" ERR_PNPM_OUTDATED_LOCKFILE  Cannot install", "ERR_PNPM_OUTDATED_LOCKFILE  Cannot install"),
        ("Oops! Something went wrong! :(\n\nESLint: 9.1.0\n\nESLint found no setting", "ESLint found no setting"),
        ("no error here\n0 errors", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_first_error_of_a_log(log: str, error: str) -> None:
    assert first_error_line_and_place(log.split("\n"))[0] == error


NPM = """
import time
print("> eslint .", flush=True)
print("src/a.ts", flush=True)
print("  3:5  error  'b' is not used  no-unused-vars", flush=True)
print("  9:1  error  Unexpected var       no-var", flush=True)
# Another piece of the log.
time.sleep(1.2)
print("npm notice New major version of npm available! 10.8.2 -> 11.6.2")
print("npm error A complete log of this run can be found in: /home/.npm/_logs/a.log")
for percent in range(90, 100): print(f"{percent}% done")
raise SystemExit(1)
"""


def test_the_lines_are_those_of_the_cause_and_not_the_last_ones(world: World, bench: Bench) -> None:
    task = run(world, bench, NPM, on_exhausted="fail")
    banner = page_of(world, task).partition("Check failed 3 times")[2].partition("Read the log")[0]
    assert banner.count("'b' is not used") == 1, "the error stands there once"
    assert "9:1  error  Unexpected var" in banner
    assert "npm notice" not in banner and "complete log" not in banner and "99%" not in banner


CRASHED = """import sys
print("Oops! Something went wrong! :(\\n\\nESLint: 7.32.0\\n\\nTypeError: prepareStackTrace is not a function")
sys.exit(2)
"""


def test_the_cause_in_events_of_an_agent_is_their_text(
    world: World, bench: Bench, tmp_path: Path, mailbox: Mailbox
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "eslint").write_text(f"#!{sys.executable}\n{CRASHED}")
    (programs / "prettier").write_text(f"#!{sys.executable}\nopen('a.js', 'a').write(';')\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    origin = remote(tmp_path / "origin.git", {"eslint.config.js": b"", ".prettierrc": b"{}", "a.js": b"1"})
    connect(world.project, origin)
    task = begun(world, origin, "fix-lint-findings")
    run_all(bench, task, (str(programs), *os.get_exec_path()))
    assert world.status(task) == "failed"
    banner = page_of(world, task).partition("Fix failed")[2].partition("Read the log")[0]
    assert banner.index("TypeError: prepareStackTrace") < banner.index("Oops! Something went wrong")
    assert '"type"' not in banner and "{" not in banner
    deliver_notification(Notification.objects.get(user=task.requester, kind="failed").pk)
    ((_to, message),) = mailbox.received
    for kind in ("plain", "html"):
        body = message.get_body((kind,))
        assert body is not None
        text = unescape(str(body.get_content()))
        assert text.count("TypeError: prepareStackTrace") == 1 and '"type"' not in text


MISSING = [sys.executable, "-m", "gateline_has_no_such_linter", "."]


def test_a_module_that_is_not_installed_did_not_run(world: World, bench: Bench) -> None:
    """It found nothing: a line whose linter is away must not go on as if its findings were left."""
    line = world.line(
        key="lint", stations=[station("check", kind="command", work={"argv": MISSING}, name="Check")]
    )
    task = world.start(line, title="Lint it")
    drive(bench, task)
    outcome = task.jobs.latest("pk").outcome or {}
    assert (outcome["failure_type"], outcome["exit_code"]) == ("command_not_started", 1)
    assert "the package gateline_has_no_such_linter is not installed there" in outcome["summary"]


@pytest.mark.smoke(1)
@pytest.mark.parametrize("missing", ["lint", "tests"])
def test_a_check_that_cannot_run_stops_the_line_and_leads_to_the_environment(
    world: World, bench: Bench, tmp_path: Path, missing: str
) -> None:
    origin = remote(tmp_path / "app.git", {"app.py": b"import os\n"})
    connect(world.project, origin)
    commands = {"lint": "true", "tests": "true", missing: shlex.join(MISSING)}
    document = template_with_commands(
        BY_KEY["fix-lint-findings"].text,
        StationCommands(**{name: tuple(shlex.split(text)) for name, text in commands.items()}),
    )
    line = publishing.create_line(world.project, "fix-lint-findings", "Fix", document, world.admin)
    version = publishing.publish_draft(line, user=world.admin, based_on=1)
    task = world.start(version, title="Do it", inputs={"repository": str(origin.path)})
    run_all(bench, task, (str(Path(sys.executable).parent), *os.get_exec_path()))
    assert world.status(task) == "failed"
    known = {
        "check": "programs",
        "ok": True,
        "said": "node",
        "warning": "node is 20, and package.json asks for >=24.",
    }
    Repository.objects.update(tested=[known])
    page = unescape(client_of(world.admin).get(at(world, "task", task.name)).content.decode())
    assert "Nothing is installed before a station of" in page
    assert f"?task={task.name}#environment" in page and f"{missing.title()} failed" in page
    assert "At the last test of app: node is 20, and package.json asks for >=24." in page
    assert "Retry repeats the task with the same inputs." in page


def test_a_module_that_runs_and_lacks_another_one_has_run() -> None:
    errors = b"Traceback (most recent call last):\n  ...\nModuleNotFoundError: No module named 'numpy'\n"
    assert module_that_was_not_found_or_empty(["python3", "-m", "flake8"], 1, errors) == ""
    assert (
        module_that_was_not_found_or_empty(
            ["python3", "-m", "flake8"], 1, b"/usr/bin/python3: No module named flake8\n"
        )
        == "flake8"
    )
    assert module_that_was_not_found_or_empty(["python3", "-m", "flake8"], 1, b"a.py:1:1: F401\n") == ""
    assert module_that_was_not_found_or_empty(["ruff", "-m", "flake8"], 1, b"x: No module named flake8") == ""
