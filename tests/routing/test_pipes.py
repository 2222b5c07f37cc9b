"""What the command line prints into a pipe that nobody reads any more, and what the README says that it prints."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = "pipelines/lines/demo/lines/repository-check.yaml"
SITUATION = '{"station": "lint", "outcome": {"result": "success"}}\n'
UNPUBLISHABLE = """
gateline: 1
key: x
stations:
  - key: a
    rules: [{id: ask, when: {agentic: {question: Good?}, answer: "yes"}, to: completed}]
"""
COMMANDS = {
    "decide": ([LINE], SITUATION),
    "join": ([LINE], "{}\n"),
    "check": (["-"], UNPUBLISHABLE),
    "lint": ([LINE], ""),
    "diff": ([LINE, LINE], ""),
    "generate": ([LINE], ""),
    "simulate": ([LINE, "-"], "[{key: one, name: One, steps: []}]\n"),
    "schema": ([], ""),
}


@pytest.mark.smoke(1)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_ends_quietly_when_nobody_reads_on(command: str) -> None:
    arguments, given = COMMANDS[command]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.routing", command, *arguments],
        input=given.encode(),
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        check=False,
    )
    os.close(writing)
    assert (done.stderr, done.returncode) == (b"", -signal.SIGPIPE)


def test_the_readme_says_what_the_example_of_decide_prints() -> None:
    text = (ROOT / "README.md").read_text()
    found = re.search(
        r"echo '(\{.*\})' \|\n +\S+ -m pipelines\.routing decide (\S+)\n```\n(.*?)```\n(.*?)```", text, re.S
    )
    assert found
    given, line, _words, printed = found.groups()
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.routing", "decide", line],
        input=given,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout.startswith(printed.strip())


def test_no_scenarios_show_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "none.yaml"
    empty.write_text("[]\n")
    command = [sys.executable, "-m", "pipelines.routing", "simulate", LINE, str(empty)]
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert told.returncode == 2
    assert "there are no scenarios" in told.stderr
    as_json = subprocess.run([*command, "--json"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert '"holds": false' in as_json.stdout


def test_a_scenario_for_each_rule_is_generated_and_walked(tmp_path: Path) -> None:
    line, tests = tmp_path / "line.yaml", tmp_path / "tests.yaml"
    line.write_text(
        "key: x\nstations:\n  - key: a\n    work: {kind: noop}\n    rules:\n"
        "      - {id: on, when: {result: success}, to: completed}\n"
        "      - {id: never, when: {all: [{result: success}, {result: failure}]}, to: failed}\n"
    )
    tool = [sys.executable, "-m", "pipelines.routing"]
    made = subprocess.run(
        [*tool, "generate", str(line)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert made.stderr.startswith("1 scenario generated.\nnone for ")
    tests.write_text(made.stdout)
    walk = [*tool, "simulate", str(line), str(tests), "--min-coverage"]
    assert subprocess.run([*walk, "50"], capture_output=True, cwd=ROOT, check=False).returncode == 0
    few = subprocess.run([*walk, "60"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (few.returncode, "50.0% of the rules are taken, fewer than 60%" in few.stderr) == (1, True)
