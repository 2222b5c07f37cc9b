"""What is run on documents that somebody fetched notices what it is for (`proof/README.md`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proof.soak.fleet import ROOT
from tests.dialects import test_imported as own


def run(module: str, folder: Path) -> tuple[int, str]:
    words = [sys.executable, "-m", f"proof.{module}", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("rule", "result", "code", "words"),
    [
        ({"===": [{"var": "x"}, 1]}, True, 0, "{'as there': 1}; 0 otherwise in silence"),
        ({"===": [{"var": "x"}, 1]}, False, 1, "suite.json: in silence"),
        ({"==": [1, 1]}, True, 0, "3 tries"),
        ({"+": [{"var": "x"}, 1]}, 2, 0, "'cannot be said': 1"),
    ],
)
def test_a_suite_of_json_logic_is_compared(
    rule: object, result: object, code: int, words: str, tmp_path: Path
) -> None:
    cases = ["# A heading", {"rule": rule, "data": {"x": 1}, "result": result}]
    (tmp_path / "suite.json").write_text(json.dumps(cases))
    ended, printed = run("json_logic", tmp_path)
    assert ended == code and words in printed, printed


def test_a_folder_without_a_rule_proves_nothing(tmp_path: Path) -> None:
    ended, printed = run("json_logic", tmp_path)
    assert ended == 1 and "0 tries" in printed


def test_documents_are_read_and_written_back(tmp_path: Path) -> None:
    (tmp_path / "flux.yaml").write_text(own.FLUX)
    (tmp_path / "schema.json").write_text('{"stages": 5}')
    ended, printed = run("foreign_documents", tmp_path)
    assert ended == 0 and "read      flux.yaml: Flux" in printed and "1 refused" in printed, printed
    (tmp_path / "flux.yaml").unlink()
    ended, printed = run("foreign_documents", tmp_path)
    assert ended == 1 and "1 refused" in printed, "nothing was read"
