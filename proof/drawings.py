"""Measure how lines are drawn: the shipped ones, those of other systems' documents, and lines made at random.

    python -m proof.drawings [FOLDER ...] [--random 2000] [--part 1/8]      FOLDER: with documents of other systems

A part of several measures its share of the random lines and, but for the first, nothing else. Prints what crosses the
main way, which edges are too long, gates drawn twice at a station, words covered, words without a place, how many lines
of up to eight stations stand in one row at 80 % or nearer, how many edges are named in a pill because they would cross
the main way or be too long, and crossings, beside those of ELK without our options. The exit code is 1 where one of the
first four is not 0."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from config.setup.steps import ROOT
from gateline.commands.import_ import find_documents
from pipelines.formats import native
from pipelines.formats.foreign import document_import
from pipelines.lines.demo import example
from pipelines.lines.starters.catalogue import STARTERS
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import read_line
from pipelines.web.lines.drawing import picture_of
from tests.pages.test_drawing_equality_browser import drawn_lines

NOUGHT = {
    "crossingMain": "cross the main way",
    "tooLong": "too long",
    "gatesTwice": "gates twice",
    "covered": "covered",
}
SMALL, NEAR = 8, 0.8
EXAMPLES = 8
Named = tuple[str, dict[str, Any]]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--random", type=int, default=2000)
    parser.add_argument("--part", type=share, default=(1, 1), metavar="NUMBER/OF")
    options = parser.parse_args(arguments)
    part, parts = options.part
    groups: dict[str, Iterable[Named]] = {"random": islice(at_random(options.random), part - 1, None, parts)}
    if part == 1:
        others = (line for folder in options.folders for line in imported(folder))
        groups = {"shipped": shipped(), "imported": others, **groups}
    with tempfile.TemporaryDirectory(prefix="gl-drawings-") as folder:
        program = bundled("proof/drawings.ts", Path(folder))
        faulty = [report(name, measured(program, lines)) for name, lines in groups.items()]
    return int(any(faulty))


def share(text: str) -> tuple[int, int]:
    """Return the number of a part and how many there are. :raises ValueError: it is not among them"""
    part, parts = map(int, text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError(text)
    return part, parts


def bundled(source: str, folder: Path) -> Path:
    """Return a program for Node, written into the folder."""
    program = folder / "drawings.mjs"
    bundle = ("npx", "rolldown", source, "--platform", "node", "--format", "esm", "--file", str(program))
    subprocess.run(bundle, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return program


def shipped() -> list[Named]:
    return [
        *((starter.key, starter.line.to_document()) for starter in STARTERS),
        *((key, dict(native.loads(example.example_line_text(key, "")))) for key in example.KEYS),
    ]


def drawn_data(document: dict[str, Any]) -> dict[str, Any]:
    """Return what the canvas draws of it. :raises DocumentError: it is no line that can be read"""
    return picture_of(read_line(document, keep_faulty_rules=True)).given


def imported(folder: Path) -> Iterator[Named]:
    for name, files in find_documents(folder):
        try:
            yield name, document_import.import_files(files).document
        except DocumentError as error:
            print(f"{name}: {error.problems[0].message}", file=sys.stderr)


def at_random(count: int) -> Iterator[Named]:
    lines = list(drawn_lines(count + len(STARTERS)))[len(STARTERS) :]
    yield from ((f"random {seed}", line) for seed, line in enumerate(lines))


def measured(program: Path, lines: Iterable[Named]) -> Iterator[dict[str, Any]]:
    """Yield the figures of each line that can be read, with its `name`."""
    command = ["node", str(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for name, document in lines:
            try:
                given = drawn_data(document)
            except DocumentError as error:
                print(f"{name}: {error.problems[0].message}", file=sys.stderr)
                continue
            print(json.dumps(given), file=process.stdin, flush=True)
            answer = process.stdout.readline()
            if not answer:
                raise SystemExit(f"{name}: cannot be drawn")
            yield {"name": name, **json.loads(answer)}


def report(group: str, drawings: Iterable[dict[str, Any]]) -> bool:
    """Print the figures of a group; return whether one of those that have to be 0 is not."""
    rows = list(drawings)
    small = [row for row in rows if row["stations"] <= SMALL]
    near = [row for row in small if row["rows"] == 1 and row["zoom"] >= NEAR]
    totals = {key: sum(len(row[key]) for row in rows) for key in NOUGHT}
    words = ", ".join(f"{totals[key]} {text}" for key, text in NOUGHT.items())
    ours, theirs = (sum(row[key] for row in rows) for key in ("crossings", "crossingsOfElk"))
    stubs = sum(row["stubs"] for row in rows)
    print(f"{group}: {len(rows)} lines, {words}; {stubs} edges named in a pill instead")
    print(
        f"  words without a place: {sum(row['unsaid'] for row in rows)} of {sum(row['sayable'] for row in rows)}"
    )
    print(f"  in one row at {NEAR:.0%}: {len(near)} of {len(small)} of up to {SMALL} stations")
    print(f"  crossings: {ours}, of ELK alone {theirs}")
    faults = [(row["name"], fault) for row in rows for key in NOUGHT for fault in row[key]]
    for name, fault in faults[:EXAMPLES]:
        print(f"  {name}: {fault}")
    for row in sorted(small, key=lambda row: float(row["zoom"]))[:EXAMPLES]:
        if row not in near:
            print(f"  {row['name']}: {row['stations']} stations, {row['rows']} rows, {row['zoom']:.0%}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
