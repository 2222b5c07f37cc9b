"""What `make bench` and `proof/proof.md` name can be started: an import of a bench that is gone is found here, not by
who measures next."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from proof.bench import __main__ as benches
from proof.bench.__main__ import QUICK
from proof.soak.fleet import ROOT

PROOF = ROOT / "proof"
# These run in the contenders' environment (`proof/bench/contenders/environment.py`), which the tests do not have.
THEIRS = {"dbos_moves.py", "procrastinate_moves.py", "viewflow_moves.py", "decisions.py"}
MODULES = sorted(
    path for path in [*PROOF.glob("*.py"), *(PROOF / "bench").rglob("*.py")] if path.name not in THEIRS
)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PROOF)))
def test_a_bench_finds_what_it_imports(module: Path) -> None:
    importlib.import_module(".".join(module.relative_to(ROOT).with_suffix("").parts))


@pytest.mark.smoke(3)
@pytest.mark.parametrize("name", QUICK)
def test_the_shortest_options_are_those_of_the_measurement(name: str) -> None:
    module = importlib.import_module(f"proof.bench.{name}")
    if module.__spec__ and module.__spec__.submodule_search_locations:
        module = importlib.import_module(f"proof.bench.{name}.__main__")
    source = Path(str(module.__file__)).read_text("utf-8")
    options = [word for word in QUICK[name].split() if word.startswith("--")]
    assert options and all(f'add_argument("{option}"' in source for option in options)


def test_the_table_tells_what_was_met_missed_and_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benches, "RESULTS", tmp_path)
    paces = {benches.ONE: 800, benches.TWO: 1200, "viewflow": 80, "dbos": 120, "pgbench, 8 clients": 2000}
    paces |= {benches.LONE: 60, benches.SIXTEEN: 100}
    medians = {row: {"per second": pace} for row, pace in paces.items()}
    (tmp_path / "contenders.json").write_text(json.dumps({"medians": medians}))
    cost = {"ms of Python": 1.0, "ms of PostgreSQL": 1.0}
    law = {"twelve noop stations": cost, "fork, loop and gate": {**cost, "ms of Python": 1.6}}
    (tmp_path / "law.json").write_text(json.dumps({"an empty database": law}))
    rows = [(name, "--tasks 1", 0, 3.2, 1.0, 0.42) for name in ("contenders", "law", "editor_findings")]
    told = benches.table(rows).splitlines()
    assert [line.split(" | ")[3] for line in told if " | `python" in line] == [
        "no", "yes", "no", "no", "yes", "yes", "–"
    ]  # fmt: skip
    assert "| law | --tasks 1 | well | 3 | 1.0 | 0.42 |" in told
    assert "| editor_findings | --tasks 1 | skipped | 3 | 1.0 | 0.42 |" in told
