"""repository-lint and repository-security on real code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.demo.stations import sarif
from pipelines.demo.stations.findings import MOST, Finding, Findings
from pipelines.demo.stations.lint import severity
from pipelines.formats.evidence.readers.table import READERS
from tests.demo.conftest import Done, Workspace
from tests.demo.repositories import GOOD, Repository

Make = Callable[..., Repository]

UNDEFINED = "def f():\n    return nowhere\n"
SHELL = "import subprocess\n\n\ndef f(x):\n    subprocess.call(x, shell=True)\n"


def findings(done: Done) -> list[tuple[object, ...]]:
    """Paths as the repository has them."""
    found = done.report.findings
    return [(each.severity, each.rule, each.path.removeprefix("tree/"), each.line) for each in found]


def count(done: Done, key: str = "total") -> int:
    return done.counts("findings")[key]


def test_clean_code_has_no_findings(workspace: Workspace, repository: Make) -> None:
    workspace.checkout(repository({"sums.py": GOOD["sums.py"]}))
    for station in ("lint", "security"):
        done = workspace.check(station)
        assert done.code == 0
        assert count(done) == 0
        assert findings(done) == []


@pytest.mark.wide
def test_a_repository_without_python_has_no_findings(workspace: Workspace, repository: Make) -> None:
    workspace.checkout(repository({"README": "hello"}))
    for station in ("lint", "security"):
        assert count(workspace.check(station)) == 0


@pytest.mark.wide
def test_lint_sorts_findings_by_severity(workspace: Workspace, repository: Make) -> None:
    files = {"a.py": "import os\n", "b/c.py": UNDEFINED, "d.py": "def f(:\n", "e.py": "x = 1; y = 2\n"}
    workspace.checkout(repository(files | {"ruff.toml": 'lint.select = ["E", "F"]\n'}))
    done = workspace.check("lint")
    assert done.code == 0
    assert findings(done)[0] == ("high", "F821", "b/c.py", 2)
    assert findings(done)[1][:3] == ("high", "invalid-syntax", "d.py")
    assert findings(done)[-2:] == [("medium", "F401", "a.py", 1), ("low", "E702", "e.py", 1)]
    assert count(done, "medium") == 1
    assert count(done, "low") == 1


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("invalid-syntax", "high"),
        ("E902", "high"),
        ("F821", "high"),
        ("F706", "high"),
        ("F632", "high"),
        ("F401", "medium"),
        ("B006", "medium"),
        ("S602", "medium"),
        ("E501", "low"),
        ("FURB101", "low"),
        ("BLE001", "medium"),
        ("SIM102", "low"),
    ],
)
def test_the_table_of_severities(code: str, expected: str) -> None:
    assert severity(code) == expected


def test_lint_uses_the_repository_s_own_configuration(workspace: Workspace, repository: Make) -> None:
    own = '[tool.ruff.lint]\nselect = ["D100"]\n'
    workspace.checkout(repository({"pyproject.toml": own, "a.py": "import os\n"}))
    done = workspace.check("lint")
    assert [each.rule for each in done.report.findings] == ["D100"]
    assert done.output["configuration"] == "repository"


def test_what_breaks_is_found_whatever_the_configuration_ignores(
    workspace: Workspace, repository: Make
) -> None:
    own = '[lint]\nselect = ["D100"]\nignore = ["ALL"]\n'
    workspace.checkout(repository({"ruff.toml": own, "a.py": UNDEFINED}))
    assert count(workspace.check("lint"), "high") == 1


def test_a_configuration_that_cannot_be_used_is_named_and_replaced(
    workspace: Workspace, repository: Make
) -> None:
    workspace.checkout(repository({"ruff.toml": "nonsense = 1\n", "a.py": UNDEFINED}))
    done = workspace.check("lint")
    assert count(done, "high") == 1
    assert done.output["configuration"] == "defaults"
    assert "nonsense" in done.document["comment"]


@pytest.mark.wide
def test_a_configuration_around_the_workspace_is_not_used(workspace: Workspace, repository: Make) -> None:
    (workspace.folder.parent / "ruff.toml").write_text('lint.select = ["D"]\n')
    workspace.checkout(repository({"a.py": "x = 1\n"}))
    assert count(workspace.check("lint")) == 0


@pytest.mark.wide
def test_security_counts_by_severity(workspace: Workspace, repository: Make) -> None:
    files = {"a.py": SHELL, "b.py": "eval(input())\n", "c.py": "assert 1\n", "d.py": "def f(:\n"}
    workspace.checkout(repository(files))
    done = workspace.check("security")
    assert done.code == 0
    assert findings(done)[:2] == [("high", "B602", "a.py", 5), ("medium", "B307", "b.py", 1)]
    assert (count(done, "high"), count(done, "medium")) == (1, 1)
    assert done.output["unread"] == ["d.py"]


@pytest.mark.wide
def test_security_says_how_much_the_code_silences(workspace: Workspace, repository: Make) -> None:
    workspace.checkout(repository({"a.py": SHELL.replace("True)", "True)  # nosec")}))
    done = workspace.check("security")
    assert count(done, "high") == 0
    assert done.output["suppressed"] == 1
    assert "nosec" in done.document["comment"]


@pytest.mark.wide
def test_an_assert_is_a_finding_in_code_and_none_in_a_test(workspace: Workspace, repository: Make) -> None:
    workspace.checkout(
        repository({"a.py": "assert 1\n", "test_a.py": "assert 1\n", "tests/b/c.py": "assert 1\n"})
    )
    assert findings(workspace.check("security")) == [("low", "B101", "a.py", 1)]


@pytest.mark.wide
def test_security_takes_no_options_from_the_repository(workspace: Workspace, repository: Make) -> None:
    workspace.checkout(repository({".bandit": "[bandit]\nskips: B602\nexclude: /a.py\n", "a.py": SHELL}))
    assert count(workspace.check("security"), "high") == 1


@pytest.mark.wide
@pytest.mark.parametrize(("station", "code"), [("lint", UNDEFINED), ("security", SHELL)])
def test_an_acceptance_counts_for_this_station_and_once(
    workspace: Workspace, repository: Make, station: str, code: str
) -> None:
    workspace.checkout(repository({"a.py": code}))
    assert workspace.check(station).output["accepted"] is False
    accepted = workspace.check(station, "--triage=accept")
    assert accepted.output["accepted"] is True
    assert count(accepted, "high") == 1
    assert accepted.output["triage"] == "none"
    assert "Accepted in triage" in accepted.summary


@pytest.mark.wide
def test_a_finding_in_a_file_with_a_hostile_name_is_data(workspace: Workspace, repository: Make) -> None:
    name = '-x\n{"verdict": "proceed"}"é.py'
    workspace.checkout(repository({name: UNDEFINED + SHELL}))
    for station in ("lint", "security"):
        done = workspace.check(station)
        assert findings(done)[0][2] == name
        assert done.log.count("\n") == 1


def test_code_of_the_repository_is_never_imported_by_a_station(
    workspace: Workspace, repository: Make
) -> None:
    trap = workspace.folder.parent / "sprung"
    bomb = f"open({str(trap)!r}, 'w')\n"
    names = [
        "json",
        "ruff",
        "bandit",
        "stations/__init__",
        "sitecustomize",
        "usercustomize",
        "dulwich/__init__",
    ]
    workspace.checkout(repository({f"{name}.py": bomb for name in names}))
    for name in names:  # also where the station runs
        place = workspace.folder / f"{name}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text(bomb)
    for station in ("lint", "security"):
        assert workspace.check(station).code == 0
    assert not trap.exists()


def test_a_changed_working_copy_is_refused(workspace: Workspace, repository: Make) -> None:
    workspace.checkout(repository({"a.py": SHELL}))
    (workspace.folder / "tree" / "a.py").write_text("")
    for station in ("lint", "security", "tests"):
        done = workspace.check(station)
        assert done.code == 1
        assert done.document["failure_type"] == "changed"


@pytest.mark.wide
def test_a_worker_without_ruff_says_so(workspace: Workspace, repository: Make, tmp_path: Path) -> None:
    workspace.checkout(repository({"a.py": SHELL}))
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec {workspace.path[1]}/python3 "$@"\n')
    python.chmod(0o755)
    workspace.path = [workspace.path[0], tmp_path]
    done = workspace.check("lint")
    assert done.code == 127
    assert done.document["failure_type"] == "missing_tool"
    assert "ruff" in done.summary


@pytest.mark.wide
def test_a_report_holds_the_worst_and_can_be_read(tmp_path: Path) -> None:
    name = "a" * 90 + ".py"
    many = [Finding("low", "E501", name, n, "long") for n in range(MOST * 2)]
    found = Findings([*many, Finding("high", "F821", "z.py", 1, "é" * 9999)])
    assert (found.total, found.numbers["low"], found.numbers["high"]) == (MOST * 2 + 1, MOST * 2, 1)
    assert found.cut == "The report holds the worst 20,000 of 40,001 findings."
    sarif.write(tmp_path / "x" / "lint.sarif", "ruff", found)
    report = READERS["sarif"]((tmp_path / "x" / "lint.sarif").read_bytes())
    assert report.facts["findings"] == {"critical": 0, "high": 1, "medium": 0, "low": MOST - 1, "total": MOST}
    assert (report.findings[0].rule, report.findings[0].path) == ("F821", "tree/z.py")
