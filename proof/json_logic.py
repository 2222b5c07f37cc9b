"""Decide the public suites of JSONLogic here, and say where a line decides otherwise.

    python -m proof.json_logic FOLDER        the folder `suites` of json-logic/compat-tables, fetched by hand

Each comparison of two constants is tried with a variable on either side, too. The exit code is 1 where something is
decided otherwise and the import does not say so, or where the folder holds no rule."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipelines.formats.foreign.import_notes import ImportNotes
from pipelines.formats.foreign.vibe_factory.json_logic import is_json_logic
from pipelines.formats.foreign.vibe_factory.reader import NEVER, transition_condition_or_none
from tests.formats.foreign.test_json_logic import decided, truthy

COMPARISONS = ("==", "===", "!=", "!==", "<", "<=", ">", ">=", "in")


def cases(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file in sorted(folder.rglob("*.json")):
        entries = json.loads(file.read_text("utf-8"))
        yield from (
            (file, case) for case in entries if isinstance(case, dict) and is_json_logic(case.get("rule"))
        )


def tries(case: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Rule and data of the case; and what it compares as variables, since a condition compares no two constants."""
    yield case["rule"], case.get("data")
    [(sign, members)] = case["rule"].items()
    if sign not in COMPARISONS or not isinstance(members, list) or len(members) != 2:
        return
    left, right = members
    if not isinstance(left, dict) and not isinstance(right, dict):
        yield {sign: [{"var": "x"}, right]}, {"x": left}
        yield {sign: [left, {"var": "x"}]}, {"x": right}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    if not folder.is_dir():
        parser.error(f"There is no folder {folder}.")
    counts, silent = Counter[str](), 0
    for file, case in cases(folder):
        for rule, data in tries(case):
            taken, losses = decided(rule, data)
            same = "result" in case and taken is truthy(case["result"])
            never = transition_condition_or_none(rule, "", ImportNotes()) == NEVER
            counts["cannot be said" if never else "as there" if same else "otherwise"] += 1
            if not same and not losses:
                silent += 1
                print(f"{file.name}: in silence {json.dumps(rule)} of {json.dumps(data)}")
    print(f"{counts.total()} tries: {dict(counts)}; {silent} otherwise in silence")
    return 1 if silent or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
