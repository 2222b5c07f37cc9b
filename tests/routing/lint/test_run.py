"""All checks together, their order and pages, and the two commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.routing import __main__ as tool
from pipelines.routing.analysis.lint.run import CHECKS, lint_line
from tests.routing.lint.support import DOCS, examples
from tests.routing.support import ruled

BAD = (
    "key: example\nstations:\n  - key: a\n    rules:\n"
    "      - {id: x, to: completed}\n      - {id: y, to: completed}\n"
)
GOOD = "key: example\nstations:\n  - key: a\n    rules:\n      - {id: x, to: completed}\n"


def test_every_check_has_a_page_a_file_and_tests_of_its_name() -> None:
    ids = {each.ID for each in CHECKS}
    assert {page.stem for page in DOCS.glob("*.md")} - {"README"} == ids
    names = {check.replace("-", "_") for check in ids}
    here = Path(__file__).parent
    assert {path.stem for path in here.glob("test_*.py")} - {"test_run", "test_station_analysis"} == {
        f"test_{n}" for n in names
    }
    checks = here.parents[2] / "pipelines" / "routing" / "analysis" / "lint" / "checks"
    assert {path.stem for path in checks.glob("*.py")} - {"__init__"} == names


@pytest.mark.smoke(1000)
@pytest.mark.parametrize("check", [each.ID for each in CHECKS])
def test_the_good_example_of_a_page_has_no_error_at_all(check: str) -> None:
    assert [str(f) for f in lint_line(examples(check)[1]) if f.severity == "error"] == []


def test_errors_come_first() -> None:
    severities = [finding.severity for finding in lint_line(ruled({}, {}, {"when": {"result": []}}))]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)


def test_the_tool_says_what_it_found_where_and_fails_on_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "line.yaml").write_text(BAD)
    assert tool.main(["lint", str(tmp_path / "line.yaml")]) == 1
    assert capsys.readouterr().out.startswith("6:9: error: Rule y can never be taken: x takes all")
    (tmp_path / "line.yaml").write_text(GOOD)
    assert tool.main(["lint", str(tmp_path / "line.yaml")]) == 0
    assert capsys.readouterr().out == "Nothing found.\n"
    assert tool.main(["lint", str(tmp_path / "none.yaml")]) == 2
