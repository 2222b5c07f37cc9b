"""The suite itself: a run in which a process dies comes to its end, and says where."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from config.setup.main import ENDS, SHARED
from tests.fixtures.site import ROOT
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


def test_a_process_that_dies_ends_the_run_which_names_its_test(tmp_path: Path) -> None:
    """With another process in its place the run waited for ever: nine files, so that each had finished one before."""
    for name in "abcdefgh":
        (tmp_path / f"test_{name}.py").write_text(QUICK)
    (tmp_path / "test_z.py").write_text(DIES)
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\npytest_plugins = ['tests.fixtures.hang']\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:django",
            *SHARED,
            *ENDS,
            ".",
        ],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "crashed while running 'test_z.py::test_dies_once'" in ended.stdout
    assert re.search(r"Stacks of gw\d.*in test_dies_once", ended.stdout, re.DOTALL), ended.stdout
