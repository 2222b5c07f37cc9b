"""What `make bench` and `proof/proof.md` name can be started: an import of a bench that is gone is found here, not by
who measures next."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

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
