"""At least nine in ten mutants of `pipelines/routing` are caught by its tests (`make soak`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from proof.mutation.__main__ import ENOUGH, SAMPLE, run
from proof.mutation.report import text
from proof.mutation.sample import commit
from proof.mutation.workshop import ROOT, Workshop


@pytest.mark.soak
def test_nine_in_ten_mutants_of_routing_are_caught(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    result = run(workshop, workshop.mutants(), SAMPLE, commit(ROOT))
    print(text(result))
    assert result.share >= ENOUGH, text(result)
