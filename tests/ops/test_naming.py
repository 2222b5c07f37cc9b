"""The budget of names and docstrings (`config/setup/naming.py`) counts, refuses more, and falls with less."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from config.setup import naming

CODE = '''"""Of the large ones."""

class Whole:
    """A sum."""

    def add(self, given, rule):
        """Add one."""
        found_rules = [each for each in given]
        self.rule = rule
'''
SCRIPT = "/** Whether it is open. */\nconst shown = 1;\nlet keptRows = [];\nconst rows = [];\n"
COUNTS = {
    "Python: class names": 1,
    "Python: docstrings": 1,
    "Python: names": 2,
    "Python: names in part": 1,
    "TypeScript: doc comments": 1,
    "TypeScript: names": 1,
    "TypeScript: names in part": 1,
}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"pipelines/sums.py": CODE, "static/sums.ts": SCRIPT}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(naming, "ROOT", tmp_path)
    monkeypatch.setattr(naming, "BUDGET", tmp_path / "budget.json")
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def budget(house: Path, **changed: int) -> None:
    (house / "budget.json").write_text(json.dumps(COUNTS | changed))


def test_it_passes_what_is_within_the_budget(house: Path) -> None:
    budget(house)
    assert naming.main() == 0


def test_it_refuses_more_and_names_the_line(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    budget(house, **{"Python: names": 1})
    assert naming.main() == 1
    assert "pipelines/sums.py:6 given" in capsys.readouterr().out
    assert json.loads((house / "budget.json").read_text())["Python: names"] == 1


def test_it_lowers_the_budget(house: Path) -> None:
    budget(house, **{"TypeScript: names": 7})
    assert naming.main() == 0
    assert json.loads((house / "budget.json").read_text()) == COUNTS


def test_it_refuses_a_budget_that_nobody_lowered_in_ci(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    budget(house, **{"TypeScript: names": 7})
    assert naming.main() == 1
