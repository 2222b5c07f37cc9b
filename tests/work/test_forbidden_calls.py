"""A runner in a container that forbids system calls says at its start which, and what stations miss: a real process
under a filter as a container puts it over one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.work.processes import landlock
from pipelines.work.processes.landlock_hosts import PIDFD_GETFD

pytestmark = pytest.mark.isolation
# landlock_create_ruleset, the same on both machines
CREATE_RULESET = 444
UNDER_FILTER = """
import os, sys
sys.path[0] = os.getcwd()
from pipelines.work.processes import call_filter as calls, landlock
landlock.prctl(38, 1)  # no_new_privs: else a filter takes root
numbers, known = [int(word) for word in sys.argv[1].split(",")], calls.machine_call_numbers()
steps = [(calls.LOAD, 0, 0, calls.NUMBER), (calls.EQUAL, 0, 4, known.clone), (calls.LOAD, 0, 0, calls.ARGUMENTS[0]),
    (calls.ANY_BIT, 0, 1, calls.NAMESPACES), calls.FORBIDDEN, calls.PASSED]
steps += [step for number in (known.unshare, *numbers) for step in ((calls.EQUAL, 0, 1, number), calls.FORBIDDEN)]
calls.install_filter((*steps, (calls.EQUAL, 0, 1, calls.CLONE3), calls.ABSENT, calls.PASSED))
os.execv(sys.executable, [sys.executable, "-m", "pipelines.work.program", *sys.argv[2:]])
"""
HOSTS_ARE_MISSED = "stations with a list of hosts, such as those of coding agents, do not start here."
ALL_IS_MISSED = "nothing keeps stations apart, or to a list of hosts."


def start_messages(state: Path, *forbidden: int) -> str:
    """What a runner says at its start where these calls, and namespaces, are forbidden."""
    numbers = ",".join(str(number) for number in (forbidden or (0xFFFF,)))
    words = ["--server", "http://127.0.0.1:9", "--once", "--wait", "0", "--state", str(state)]
    with subprocess.Popen(
        [sys.executable, "-c", UNDER_FILTER, numbers, *words],
        env={**os.environ, "GATELINE_TOKEN": "gl_nobody"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as runner:
        assert runner.stdout is not None
        lines = []
        # It speaks to its server once it has said what it misses; the server is not there.
        for line in runner.stdout:
            lines.append(line)
            if "server_away" in line:
                break
        runner.kill()
    return "".join(lines)


@pytest.fixture(autouse=True)
def _landlock() -> None:
    if landlock.landlock_version_or_zero() < 4:
        pytest.skip("Landlock with TCP does not work on this machine")


def test_a_runner_says_which_call_its_container_forbids(tmp_path: Path) -> None:
    said = start_messages(tmp_path, PIDFD_GETFD)
    assert f"forbids user namespaces and pidfd_getfd: {HOSTS_ARE_MISSED}" in said, said


def test_a_runner_says_it_where_nothing_isolates(tmp_path: Path) -> None:
    said = start_messages(tmp_path, CREATE_RULESET)
    assert f"forbids user namespaces and Landlock with TCP (Linux 6.7): {ALL_IS_MISSED}" in said, said


def test_a_runner_says_nothing_where_the_rest_suffices(tmp_path: Path) -> None:
    assert "forbids" not in start_messages(tmp_path)
