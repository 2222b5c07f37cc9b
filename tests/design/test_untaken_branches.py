"""The list of branches that no test renders names branches, and a whole run says what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures import branches
from tests.fixtures.site import ROOT

# In CI nothing takes lines out of the list.
CI = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {"CI": "true"}


def _listed() -> list[str]:
    return branches.UNTAKEN.read_text("utf-8").splitlines()


def test_each_line_of_the_list_names_a_branch_that_is_there() -> None:
    names = set()
    for template in {line.partition(" | ")[0] for line in _listed()}:
        names |= {f"{template} | never rendered", *(name for _branch, name in branches.branches(template))}
    assert [line for line in _listed() if line.removesuffix(branches.VARIES) not in names] == []


def test_the_list_names_each_branch_once() -> None:
    names = [line.removesuffix(branches.VARIES) for line in _listed()]
    assert len(set(names)) == len(names)


@pytest.fixture
def one_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A template whose branches count alone; nothing is listed."""
    template = next(line for line in _listed() if line.endswith("| true")).partition(" | ")[0]
    path = tmp_path / "templates" / template
    path.parent.mkdir(parents=True)
    path.touch()
    (tmp_path / "list").write_text("")
    monkeypatch.setattr(branches, "TEMPLATES", tmp_path / "templates")
    monkeypatch.setattr(branches, "UNTAKEN", tmp_path / "list")
    monkeypatch.setattr(branches, "RENDERED", set())
    monkeypatch.setattr(branches, "TAKEN", set())
    return template


def test_a_template_that_no_test_renders_is_named(one_template: str) -> None:
    assert branches.faults() == ([f"{one_template} | never rendered"], [])


def test_a_branch_that_no_test_takes_is_named_until_it_is_listed(one_template: str) -> None:
    branches.RENDERED.add(one_template)
    (first, missing), *taken = branches.branches(one_template)
    branches.TAKEN.update(branch for branch, _name in taken)
    assert branches.faults() == ([missing], [])
    branches.UNTAKEN.write_text(f"{missing}{branches.VARIES}\n")
    assert branches.faults() == ([], [])
    branches.UNTAKEN.write_text(f"{missing}\n")
    branches.TAKEN.add(first)
    assert branches.faults() == ([], [missing])


RUNS = f"""
import pytest
words = ["-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-m"]
print([int(pytest.main([*words, marks])) for marks in {[branches.QUICK, branches.ALL]!r}])
"""


def test_a_run_of_all_tests_fails_by_what_the_list_lacks_and_a_quick_one_tells_it(tmp_path: Path) -> None:
    """Of a suite of one test, which renders nothing; both in one process, for it takes seconds to load."""
    (tmp_path / "test_it.py").write_text("def test_it() -> None:\n    pass\n")
    plugins = "['tests.fixtures.names', 'tests.fixtures.look_ups', 'tests.fixtures.branches']"
    (tmp_path / "conftest.py").write_text(f"pytest_plugins = {plugins}\n")
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\ntestpaths = .\npythonpath = {ROOT}\nDJANGO_SETTINGS_MODULE = tests.settings\n"
        "markers =\n  soak: all\n  wide: all\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", RUNS], cwd=tmp_path, env=CI, capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[-1] == "[0, 1]", ended.stdout + ended.stderr
    assert ended.stdout.count("No test renders these branches of templates.") == 2, ended.stdout
