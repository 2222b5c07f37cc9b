"""Names and docstrings that are not the field's, counted against a budget that only falls: `make check` runs it.

Counted are variables, parameters and attributes that are called a word of WORDS, or have one as a part; docstrings and
TypeScript's doc comments that begin with a function word; and classes that are no noun of the field. Fewer than the
budget lowers it: the file is written anew, and has to be committed with the change.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from config.setup.steps import ROOT

BUDGET = Path(__file__).with_name("naming_budget.json")
PYTHON_ROOMS = ("config", "gateline", "pipelines", "reviews")
TYPESCRIPT_ROOM = "static"
NOT_OURS = frozenset({"migrations", "node_modules", "dist", "generated", "__pycache__"})
WORDS_TEXT = """
    each found said told asked shown kept named given wanted taken seen held mine lately beside standing whole
    telling heard led met
"""
WORDS = frozenset(WORDS_TEXT.split())
FUNCTION_WORDS_TEXT = """
    of what whether where which who whom whose how when while why that those these from by for in on at to with
    without as if but and or nor all any each both beside behind before after until since one ones
"""
FUNCTION_WORDS = frozenset(FUNCTION_WORDS_TEXT.split())
CLASS_NAMES_TEXT = """
    Ahead Among Apart Around At Back Before Beside Both Cast Earlier Fate Given Gone Happening Heard Here How Just
    Kept Knob Lack Landed Late Lately Leavings Left Meeting Mine Never On One Other Rest Said Sayings Seat Several Shown
    Silence Spread Standings Three Today Together Told Trouble Unsaid Wait Wanted Watchful Way When Who Whole
    Why
"""
CLASS_NAMES = frozenset(CLASS_NAMES_TEXT.split())
DECLARED = re.compile(r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)")
# “keptRows” is kept, Rows; “HTTPError” is HTTP, Error.
PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
EXAMPLES = 20
DOC_COMMENT = re.compile(r"/\*\*[\s*]*([^\s*]+)")


def main() -> int:
    """The exit code: 1 where a count is over its budget, or under it where nobody commits the lower one."""
    counts, places = counts_and_places_of_faulty_names()
    budget: dict[str, int] = json.loads(BUDGET.read_text())
    over = {kind: number for kind, number in counts.items() if number > budget.get(kind, 0)}
    for kind, number in over.items():
        print(
            f"{kind}: {number}, and {budget.get(kind, 0)} are allowed. In the files that were changed last:"
        )
        print("\n".join(f"  {place}" for place in places[kind][:EXAMPLES]))
    if over:
        print("Name a thing by the noun of what it holds, and begin a docstring with a verb or a noun.")
        return 1
    if counts == budget:
        return 0
    if os.environ.get("CI"):
        print(f"Fewer than the budget. Run `make check` and commit {BUDGET.relative_to(ROOT)}.")
        return 1
    BUDGET.write_text(json.dumps(counts, indent=2) + "\n")
    print(f"Lowered {BUDGET.relative_to(ROOT)}: commit it.")
    return 0


def counts_and_places_of_faulty_names() -> tuple[dict[str, int], Mapping[str, list[str]]]:
    """{kind: how many}, and where each of them stands."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, text in _sources(PYTHON_ROOMS, "*.py"):
        for line, kind, name in _faulty_names_of_python(ast.parse(text)):
            places[f"Python: {kind}"].append(f"{path}:{line} {name}")
    for path, text in _sources((TYPESCRIPT_ROOM,), "*.ts*"):
        for line, kind, name in _faulty_names_of_typescript(text):
            places[f"TypeScript: {kind}"].append(f"{path}:{line} {name}")
    return {kind: len(locations) for kind, locations in sorted(places.items())}, places


def _sources(rooms: tuple[str, ...], pattern: str) -> Iterator[tuple[Path, str]]:
    """Our files and their texts, the one that was changed last first."""
    paths = [
        path
        for room in rooms
        for path in (ROOT / room).rglob(pattern)
        if not NOT_OURS.intersection(path.relative_to(ROOT).parts)
    ]
    # What somebody works on stands first among the examples
    for path in sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True):
        yield path.relative_to(ROOT), path.read_text("utf-8")


def _faulty_names_of_python(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.arg(arg=name)
            ):
                yield from _faults_of_name(node.lineno, name, name.split("_"))
            case ast.ClassDef(name=name) if name in CLASS_NAMES:
                yield node.lineno, "class names", name
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            document = (ast.get_docstring(node) or "").split()
            if document and document[0].strip(".,:;`'\"*").lower() in FUNCTION_WORDS:
                yield getattr(node, "lineno", 1), "docstrings", " ".join(document[:5])


def _faulty_names_of_typescript(text: str) -> Iterator[tuple[int, str, str]]:
    for match in DECLARED.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield from _faults_of_name(line, match[1], PARTS.findall(match[1]))
    for match in DOC_COMMENT.finditer(text):
        if match[1].strip(".,:;`'\"").lower() in FUNCTION_WORDS:
            yield text.count("\n", 0, match.start()) + 1, "doc comments", match[1]


def _faults_of_name(line: int, name: str, parts: list[str]) -> Iterator[tuple[int, str, str]]:
    if name.strip("_$").lower() in WORDS:
        yield line, "names", name
    elif WORDS.intersection(part.lower() for part in parts):
        yield line, "names in part", name


if __name__ == "__main__":
    sys.exit(main())
