"""The suite itself: a run in which a process dies, or a test waits for ever, comes to its end, and says where."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import django

from config.setup.main import ENDS, SHARED
from tests.fixtures.site import ROOT, environment, manage
from tests.waiting import LONG

QUICK = """from pathlib import Path

import pytest


@pytest.mark.parametrize("number", range(3))
def test_it(number):
    Path(f"{__file__}.{number}.done").touch()
"""
DIES = """import os
from pathlib import Path

from tests.waiting import until


def test_waits_until_the_others_are_done():
    until(lambda: len(list(Path(__file__).parent.glob("*.done"))) == 24, "the others to be done")


def test_dies_once():
    if not (died := Path(__file__).with_name("died")).exists():
        died.touch()
        os.abort()
"""


WAITS = """from threading import Lock

from greenlet import greenlet


def test_waits_for_ever():
    held = Lock()
    held.acquire()
    greenlet(held.acquire).switch()


def test_goes_on():
    pass
"""
"""As Playwright waits: in a loop beside the test."""
TABLES = """import pytest


@pytest.mark.parametrize("number", range(25))
def test_long(number):
    pass


@pytest.mark.smoke(3)
@pytest.mark.parametrize("number", range(9))
def test_smoke(number):
    pass


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.soak), 2])
def test_soak(number):
    pass


@pytest.mark.wide
@pytest.mark.parametrize("number", range(4))
def test_wide(number):
    pass
"""


def test_a_process_that_dies_ends_the_run_which_names_its_test(tmp_path: Path) -> None:
    """With another process in its place the run waited for ever: nine files, so that each had finished one before."""
    for name in "abcdefgh":
        (tmp_path / f"test_{name}.py").write_text(QUICK)
    (tmp_path / "test_z.py").write_text(DIES)
    ended = run(tmp_path)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "crashed while running 'test_z.py::test_dies_once'" in ended.stdout
    assert re.search(r"Stacks of gw\d.*in test_dies_once", ended.stdout, re.DOTALL), ended.stdout


def test_a_test_that_waits_for_ever_fails_at_its_line_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(WAITS)
    ended = run(tmp_path, "--timeout", "3")
    assert "1 failed, 1 passed" in ended.stdout, ended.stdout + ended.stderr
    assert "test_it.py:9: Failed" in ended.stdout, ended.stdout


def test_a_forked_process_is_told_from_the_others_and_its_end_is_known(tmp_path: Path) -> None:
    """Two of one parent, the first of which is killed (tests/fixtures/loaded.py)."""
    logs = [tmp_path / name for name in ("killed", "version")]
    killed, told = (manage("version", log=log, env=environment()) for log in logs)
    assert killed.poll() is None and killed.pid != told.pid
    killed.kill()
    assert (told.wait(LONG), killed.wait(LONG)) == (0, -signal.SIGKILL)
    assert [log.read_text() for log in logs] == ["", f"{django.get_version()}\n"]


def test_cases_that_are_left_out_are_not_even_made(tmp_path: Path) -> None:
    (tmp_path / "test_tables.py").write_text(TABLES)
    words = ("--collect-only", "-n", "0", "-m")
    ended = run(tmp_path, *words, "not soak and not wide", plugin="tests.fixtures.smoke")
    chosen = {"long": (0, 2, 5, 8, 10, 12, 15, 18, 20, 22), "smoke": (0, 3, 6), "soak": (0, 2)}
    wanted = [f"test_tables.py::test_{name}[{case}]" for name, cases in chosen.items() for case in cases]
    assert re.findall(r"^test_tables.py::.*", ended.stdout, re.MULTILINE) == wanted, ended.stdout
    # Of the table that is wide, one stands for all.
    assert "15/16 tests collected (1 deselected)" in ended.stdout, ended.stdout
    wide = run(tmp_path, *words, "wide", plugin="tests.fixtures.smoke")
    assert "25/41 tests collected (16 deselected)" in wide.stdout, wide.stdout


def run(folder: Path, *more: str, plugin: str = "tests.fixtures.hang") -> subprocess.CompletedProcess[str]:
    """The tests of a folder in several processes, as `make test` runs the suite."""
    (folder / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\npytest_plugins = [{plugin!r}]\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:django",
            # They take longer to load than all of this takes.
            "-p",
            "no:schemathesis",
            "-p",
            "no:hypothesispytest",
            *SHARED,
            *ENDS,
            *more,
            ".",
        ],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
