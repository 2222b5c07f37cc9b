"""repository-mend and the hook security-gate, as a worker runs them."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.demo.conftest import BIN, VENV, Workspace
from tests.waiting import LONG

UNUSED = "import os\n\nx = 1\n"


def test_a_first_run_changes_nothing(workspace: Workspace) -> None:
    (workspace.folder / "a.py").write_text(UNUSED)
    assert workspace.run("repository-mend", stdin="Look after it.").output == {"mended": []}
    assert (workspace.folder / "a.py").read_text() == UNUSED


def test_it_mends_what_the_feedback_names_and_nothing_else(workspace: Workspace) -> None:
    (workspace.folder / "a.py").write_text(UNUSED)
    (workspace.folder / "b.py").write_text("import sys, os\n\nprint(sys, os)\n")
    feedback = "Go.\n\nFEEDBACK FROM PREVIOUS EVALUATION:\nF401 [*] `os` imported but unused\n --> a.py:1:8\n"
    done = workspace.run("repository-mend", stdin=feedback)
    assert (done.code, done.output) == (0, {"mended": ["F401"]})
    assert "import os" not in (workspace.folder / "a.py").read_text()
    assert (workspace.folder / "b.py").read_text() == "import sys, os\n\nprint(sys, os)\n"


def test_a_worker_without_ruff_says_so(workspace: Workspace) -> None:
    python = workspace.folder / "python3"
    python.symlink_to(VENV / "python3")
    workspace.path = [BIN, workspace.folder]
    done = workspace.run("repository-mend", stdin="FEEDBACK FROM PREVIOUS EVALUATION:\nF401 x")
    assert (done.code, done.document["failure_type"]) == (127, "missing_tool")
    assert "ruff" in done.summary


@pytest.mark.parametrize(
    ("output", "code"),
    [({"risks": "some are left"}, 1), ({"risks": "none is left"}, 0), ({}, 0), ("text", 0), (None, 0)],
)
def test_the_hook_blocks_as_long_as_risks_are_left(output: object, code: int) -> None:
    done = subprocess.run(
        ["security-gate"],
        input=json.dumps({"result": "success", "output": output}),
        env={"PATH": os.pathsep.join(map(str, (BIN, VENV, *os.get_exec_path())))},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert ("Risks are left." in done.stderr) == bool(code)
