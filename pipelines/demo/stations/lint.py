"""repository-lint: ruff, with the repository's own configuration. Ruff reads the code; it never runs it."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import archive, sarif, tree
from .findings import Finding, Findings, acceptance
from .process import capture, environment
from .report import KEPT, Report, StationError, arguments, replace, say
from .text import clip, one_line

# What breaks when the code runs, whatever style its authors prefer: always looked for, always high.
BREAKS = ("E9", "F63", "F7", "F82")
HIGH = re.compile(r"invalid-syntax|(E9|F63|F7|F82)\d*")
REPORT = KEPT / "lint.sarif"
MEDIUM = re.compile(r"(F|B|S|PLE|ASYNC|BLE)\d+")


def main() -> Report:
    given = arguments(
        "Check the style and the plain mistakes of the checked-out code with ruff.",
        tree={"required": True},
        triage={"default": "none"},
        limit={"type": float, "default": 600.0},
    )
    tree.checked(given.tree)
    with tempfile.TemporaryDirectory(dir=".", prefix=".lint-") as folder:
        output = Path(folder) / "findings"
        note = ruff(output, given.limit)
        with output.open(encoding="utf-8", errors="backslashreplace") as lines:
            found = Findings(findings(lines))
    sarif.write(REPORT, "ruff", found)
    accepted = acceptance(given.triage, found.numbers["high"])
    spoken = " Accepted in triage." if accepted["accepted"] else ""
    return Report(
        f"Lint: {found.words()}.{spoken}",
        output={**accepted, "configuration": "defaults" if note else "repository"},
        comment=" ".join(filter(None, (note, found.cut))),
        artifacts=[archive.artifact(REPORT, sarif.MEDIA_TYPE)],
    )


def ruff(output: Path, limit: float) -> str:
    """Run ruff; a note if the repository's configuration could not be used.

    A `ruff.toml` above the tree keeps ruff from taking the configuration of whatever folder the workspace lies in.
    """
    replace(Path("ruff.toml"), b"")
    wrong = check(output, limit)
    if not wrong:
        return ""
    say(f"The repository's configuration of ruff cannot be used: {clip(one_line(wrong))}")
    if still_wrong := check(output, limit, "--isolated"):
        raise StationError(f"ruff could not run: {clip(one_line(still_wrong))}", "tool", 2)
    return f"The repository's configuration of ruff cannot be used, so its defaults were: {clip(one_line(wrong))}"


def check(output: Path, limit: float, *more: str) -> str:
    """Empty if ruff could read everything it needs, else what it says."""
    argv = [
        *("ruff", "check", "--no-cache", "--exit-zero", "--force-exclude", "--no-fix"),
        *("--output-format=json-lines", f"--extend-select={','.join(BREAKS)}"),
        *more,
    ]
    code, _, errors = capture(
        [*argv, "--", "."],
        cwd=tree.TREE,
        env=environment(HOME=str(output.parent.absolute())),
        limit=limit,
        output=output,
    )
    return errors or f"exit code {code}" if code else ""


def findings(lines: Iterator[str]) -> Iterator[Finding]:
    top = str(tree.TREE.absolute()) + "/"
    for line in lines:
        found = json.loads(line)
        code = found["code"] or "invalid-syntax"
        place = found["location"] or {"row": 0}
        yield Finding(
            severity(code), code, found["filename"].removeprefix(top), place["row"], found["message"]
        )


def severity(code: str) -> str:
    """high: it fails when it runs. medium: probably a mistake. low: style."""
    if HIGH.fullmatch(code):
        return "high"
    return "medium" if MEDIUM.fullmatch(code) else "low"
