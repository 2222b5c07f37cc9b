"""A copy of `pipelines/routing` with its tests, in which mutmut may do what it likes; the tree stays as it is.

The copy holds what those tests need and no more: they know neither Django nor a database.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = {
    "pipelines/__init__.py": "",
    "pipelines/routing": "",
    "pipelines/formats": "",
    "pipelines/lines/demo": "",
    "tests/__init__.py": "",
    "tests/routing": "",
    "proof/mutation/quick_first.py": "quick_first.py",
    "docs": "",
}
"""What is copied, and where to, if that is another place."""

OPTIONS = (
    "--noconftest",
    "-pno:cacheprovider",
    "-phypothesispytest",
    "--hypothesis-seed=0",
    "-pquick_first",
    # It takes longer than all that a mutant needs.
    "--deselect=tests/routing/simulate/test_generate.py::test_every_live_rule_of_fifty_stations_is_covered",
    # They measure time, of which a mutant beside others has less, and less still while calls are counted.
    "--deselect=tests/routing/test_bounds.py",
    "--deselect=tests/routing/difference/test_words.py::test_two_hundred_stations_take_no_longer_than_what_differs",
    # They spend all the work that a station is allowed, which takes minutes while calls are counted.
    "--deselect=tests/routing/lint/test_station_analysis.py::test_a_large_station_is_bounded_and_what_is_not_known_says_so",
    "--deselect=tests/routing/lint/test_station_analysis.py"
    "::test_what_deciding_costs_counts_too_where_many_paths_have_to_be_walked",
    # mutmut itself imports sockets.
    "--deselect=tests/routing/test_decision_tool.py::test_routing_and_formats_need_no_django_and_no_clock",
)

SETTINGS = """\
[tool.mutmut]
source_paths = ["pipelines/"]
only_mutate = ["pipelines/routing/*"]
also_copy = ["docs", "quick_first.py"]
# Each mutant in a process that has run no test: caches of an unmutated run would hide what it changes.
process_isolation = "forkserver"
# Twice what the tests took when they were counted, and forty seconds: an endless loop ends, a busy machine does not.
timeout_multiplier = 2.0
timeout_constant = 20.0
pytest_add_cli_args_test_selection = ["tests/routing"]
pytest_add_cli_args = [{options}]

[tool.pytest.ini_options]
addopts = ["--strict-markers", "-m", "not soak"]
markers = ["soak: minutes"]
pythonpath = ["."]
"""

ONE_SMALL_MODULE = "pipelines.routing.basics.bounds.*"
"""Tried first, for its by-products: mutmut writes all mutants, and which tests reach which function."""


class Workshop:
    """mutmut in a copy of the sources. Raises `Unusable` where it cannot work, with what it said."""

    def __init__(self, home: Path, processes: int = 1) -> None:
        self.home, self.processes = home, processes
        for name, elsewhere in COPIED.items():
            source, target = ROOT / name, home / (elsewhere or name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        (home / "pyproject.toml").write_text(SETTINGS.format(options=json.dumps(OPTIONS)[1:-1]))

    def mutants(self) -> list[str]:
        self._run_unmutated()
        self.try_out([ONE_SMALL_MODULE])
        return sorted(self.verdicts())

    def try_out(self, mutants: Sequence[str]) -> None:
        """Run the tests that reach them against each of these, for `verdicts`."""
        self._mutmut("run", "--max-children", str(self.processes), *mutants)

    def verdicts(self) -> dict[str, str]:
        """Of every mutant: `killed`, `survived`, `timeout`, `no tests`, `not checked` …"""
        told = self._mutmut("results", "--all", "true")
        return dict(re.findall(r"^\s+(\S+): (.+)$", told, re.MULTILINE))

    def difference(self, mutant: str) -> str:
        """A unified diff of the function, its lines counted from the function's first."""
        return self._mutmut("show", mutant)

    def _run_unmutated(self) -> None:
        """mutmut would say only that they fail, not which."""
        done = self._run(sys.executable, "-m", "pytest", "-q", "-x", "tests/routing", *OPTIONS)
        if done.returncode:
            raise Unusable(f"The tests fail without any mutation; repair them first.\n{done.stdout[-4000:]}")

    def _mutmut(self, *words: str) -> str:
        done = self._run(str(Path(sys.executable).with_name("mutmut")), *words)
        if done.returncode:
            raise Unusable(f"mutmut {words[0]} failed:\n{_lasting(done.stdout)}\n{done.stderr[-4000:]}")
        return done.stdout

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(
            command, cwd=self.home, env=environment, capture_output=True, text=True, check=False
        )


def _lasting(text: str) -> str:
    """Without the lines that a spinner wrote over."""
    return "\n".join(line for line in text.splitlines() if line[:1] not in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[-4000:]


class Unusable(Exception):
    """mutmut could not do its work, most often because a test fails without any mutation."""
