"""How long a review of a large change takes: comparing 2,000 files of 200,000 lines, and the file that is read.

    python -m bench.changes [--files 2000] [--lines 100]

Half of the files are changed in three places, a quarter is new, the rest is gone, renamed or written anew. The last row
is a hostile pair of texts, made to be slow."""

from __future__ import annotations

import argparse
import hashlib
import statistics
import time
from typing import Any

from bench.rig import Json, keep
from pipelines.formats.evidence.trees.texts import compare_lines, hunks, side
from pipelines.formats.evidence.trees.trees import compare, with_similar

STORED: dict[str, bytes] = {}


def text(number: int, lines: int, *, changed: bool = False) -> bytes:
    rows = [f"    value_{number}_{at} = compute({at % 17})" for at in range(lines)]
    if changed:
        for at in (lines // 5, lines // 2, lines - 3):
            rows[at] += "  # changed"
        rows.insert(lines // 3, "    # a new line")
    return ("\n".join(rows) + "\n").encode()


def entry(path: str, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    STORED[digest] = data
    return {"path": path, "mode": 0o644, "digest": digest, "size": len(data)}


def trees(files: int, lines: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    old, new = [], []
    for number in range(files):
        path, kind = f"src/part{number % 40}/file{number}.py", number % 8
        before, after = text(number, lines), text(number, lines, changed=True)
        if kind < 6:
            old.append(entry(path, before))
        if kind < 4:
            new.append(entry(path, after))
        elif kind < 6:
            new.append(entry(path.replace("part", "moved"), before))
        else:
            new.append(entry(path, after))
    return old, new


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    old, new = trees(given.files, given.lines)
    names, counts, first = [], [], []
    for _ in range(given.rounds):
        began = time.perf_counter()
        changes = with_similar(compare(old, new), lambda each: STORED[each["digest"]])
        names.append(time.perf_counter() - began)
        began = time.perf_counter()
        added = removed = 0
        for each in changes:
            sides = [side(STORED[one["digest"]] if one else None) for one in (each.old, each.new)]
            found = compare_lines(sides[0], sides[1])
            if found:
                added, removed = added + found.added, removed + found.removed
        counts.append(time.perf_counter() - began)
        began = time.perf_counter()
        one = next(each for each in changes if each.old and each.new and each.change == "modified")
        sides = [side(STORED[each["digest"]]) for each in (one.old, one.new) if each]
        shown = compare_lines(sides[0], sides[1])
        assert shown and hunks(shown)
        first.append(time.perf_counter() - began)
    began = time.perf_counter()
    compare_lines(side(b"a\nb\n" * 9_900), side(b"b\na\na\n" * 6_600))
    hostile = time.perf_counter() - began
    figures: Json = {
        "files": given.files,
        "lines": given.files * given.lines,
        "changed": len(changes),
        "added": added,
        "removed": removed,
        "which_files_seconds": round(statistics.median(names), 3),
        "all_lines_seconds": round(statistics.median(counts), 3),
        "one_file_seconds": round(statistics.median(first), 4),
        "hostile_pair_seconds": round(hostile, 3),
    }
    keep("changes", figures)


if __name__ == "__main__":
    main()
