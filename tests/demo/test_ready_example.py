"""The ready example: this project's own checkout goes through the line without a person before the gate."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from pipelines.demo.stations.plugins import plain
from tests.demo.conftest import Workspace
from tests.waiting import LONG

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def declared() -> dict[str, list[str]]:
    document: Any = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found: dict[str, list[str]] = document["tool"]["gateline"]["repository-check"]
    return found


def locked(name: str) -> set[str]:
    return {
        plain(found) for found in re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / name).read_text(), re.MULTILINE)
    }


@pytest.mark.wide
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this copy of the project was not cloned")
def test_the_project_passes_its_own_check(workspace: Workspace) -> None:
    workspace.roots = ROOT
    assert workspace.checkout(ROOT).code == 0
    for station in ("lint", "tests", "security"):
        done = workspace.check(station)
        assert done.code == 0, done.log
        assert done.report.facts.get("findings", {}).get("high", 0) == 0, done.report.findings[:5]
    assert workspace.deliver().code == 0


@pytest.mark.wide
def test_its_tests_need_only_what_a_plain_set_up_installs(declared: dict[str, list[str]]) -> None:
    absent = locked("requirements-dev.lock") - locked("requirements.lock")
    modules = [
        name for name, by in packages_distributions().items() if {plain(found) for found in by} <= absent
    ]
    assert "hypothesis" in modules
    program = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({modules!r}))\n"
        "import pytest\n"
        f"sys.exit(pytest.main({['-q', '-pno:cacheprovider', *declared['options'], *declared['tests']]!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_it_does_not_run_its_whole_suite_inside_itself(declared: dict[str, list[str]]) -> None:
    assert declared["tests"]
    assert all(path.startswith("tests/routing/") for path in declared["tests"])
