"""`make check`: everything that needs no database. All checks run, also after one that failed."""

from __future__ import annotations

import subprocess
import time

from config.setup.front_end import node_environment
from config.setup.packages import PYTHON, VENV
from config.setup.steps import ROOT, print_at_once

BIN = VENV / "bin"
# `drawn`: the same examples in every run, here too.
WITHOUT_DJANGO = (
    *("-p", "no:django", "-p", "tests.fixtures.drawn"),
    *("--confcutdir=tests/routing", "-W", "ignore::pytest.PytestConfigWarning"),
)
CHECKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("format", (str(BIN / "ruff"), "format", "--check", ".")),
    ("lint", (str(BIN / "ruff"), "check", ".")),
    ("templates: format", (str(BIN / "djangofmt"), "--check", "--quiet", "templates")),
    ("templates: lint", (str(BIN / "djangofmt"), "check", "templates")),
    ("types", (str(PYTHON), "-m", "mypy")),
    ("import layers", (str(BIN / "lint-imports"),)),
    ("names and docstrings", (str(PYTHON), "-m", "config.setup.naming")),
    ("front end: types, format, lint, design tokens", ("npm", "run", "--silent", "check")),
    ("front end: unit tests", ("npm", "test", "--silent")),
    ("unit tests", (str(PYTHON), "-m", "pytest", "-q", *WITHOUT_DJANGO, "tests/routing")),
)


def run_quality_checks() -> int:
    """0 if every check passed."""
    env, failed = node_environment(), []
    for name, command in CHECKS:
        begin = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        print_at_once(
            f"{'failed' if done.returncode else 'passed'}  {name} ({time.monotonic() - begin:.1f} s)"
        )
        if done.returncode:
            print_at_once(f"{done.stdout}{done.stderr}")
            failed.append(name)
    print_at_once(f"Failed: {', '.join(failed)}" if failed else "All checks passed.")
    return 1 if failed else 0
