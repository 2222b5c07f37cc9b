"""How long a review of a large change takes: comparing 2,000 files of 200,000 lines, and the file that is read; storing
it after a real station in a repository, and the page of the review in Chromium, whose bytes are counted.

    python -m proof.bench.changes [--files 2000] [--lines 100]

Half of the files are changed in three places, a quarter is new, a quarter is in another folder. `first_screen`: from
the click to the first paint, when nobody has looked yet and again. The last row is a hostile pair of texts, made to be
slow."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from pipelines.formats.evidence.trees.text_diff import diff_hunks, file_side_of_bytes, text_diff_or_none
from pipelines.formats.evidence.trees.tree_diff import file_changes, pair_renames
from proof.bench.rig import Json, browser, database, keep

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


def timed(into: Json, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(work)
    async def wrapped(*given: Any, **more: Any) -> Any:
        began = time.perf_counter()
        try:
            return await work(*given, **more)
        finally:
            into[name] = round(time.perf_counter() - began, 2)

    return wrapped


def task_of(folder: Path, old: list[dict[str, Any]], new: list[dict[str, Any]], took: Json) -> Any:
    """A world with a task in review, whose station changed the files; and how long the worker took."""
    from pipelines.work.transport.local.transport import LocalTransport  # noqa: PLC0415  # after `database`
    from pipelines.work.worker import repository  # noqa: PLC0415  # after `database`
    from tests.factories import make_world, station  # noqa: PLC0415  # after `database`
    from tests.work import driving, remotes  # noqa: PLC0415  # after `database`

    for place, name, key in (
        (repository, "prepare_workspace_files", "laying_out_seconds"),
        (repository, "commit_and_add_facts", "committing_seconds"),
        (LocalTransport, "store", "storing_seconds"),
    ):
        setattr(place, name, timed(took, key, getattr(place, name)))
    origin = remotes.remote(folder / "it.git", {each["path"]: STORED[each["digest"]] for each in old})
    for each in new:
        place = folder / "new" / each["path"]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(STORED[each["digest"]])
    program = f"import shutil; shutil.rmtree('src'); shutil.copytree({str(folder / 'new/src')!r}, 'src')"
    world = make_world()
    remotes.allow(world.project.owner, origin.path)
    remotes.connect(world.project, origin)
    version = world.line(
        stations=[
            driving.command("change", program, {"id": "on", "to": "end", "gates": ["review"]}),
            station("end", {"id": "done", "to": "completed"}),
        ],
        gates=[{"key": "review", "name": "Review"}],
        workspace={"git": {"repository": "app"}},
    )
    task = world.start(version)
    driving.drive(driving.Bench(folder / "workspaces"), task, repository_roots=(str(folder),))
    return world, world.visit(task)


def page(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Json:
    """Storing the change, and its review in a browser."""
    took: Json = {}
    folder = Path(tempfile.mkdtemp(prefix="gl-bench-files-"))
    try:
        with database() as home:
            world, visit = task_of(folder, old, new, took)
            with browser("changes", home, world.reviewer) as (tab, address):
                url = f"{address}/inbox/{visit.pk}/"
                for name in ("first_screen_seconds", "first_screen_again_seconds"):
                    answer = tab.goto(url, wait_until="load")
                    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                    took[name] = round(tab.evaluate(paint) / 1000, 2)
                assert answer.status == 200, answer.status
                text = answer.body()
                took["page_kilobytes"] = round(len(text) / 1024)
                took["page_kilobytes_packed"] = round(len(gzip.compress(text)) / 1024)
                took["page_elements"] = tab.evaluate("document.querySelectorAll('*').length")
                if where := os.environ.get("PICTURE"):
                    tab.screenshot(path=where)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return took


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
        changes = pair_renames(file_changes(old, new), lambda each: STORED[each["digest"]])
        names.append(time.perf_counter() - began)
        began = time.perf_counter()
        added = removed = 0
        for each in changes:
            sides = [
                file_side_of_bytes(STORED[one["digest"]] if one else None) for one in (each.old, each.new)
            ]
            found = text_diff_or_none(sides[0], sides[1])
            if found:
                added, removed = added + found.added_line_count, removed + found.removed_line_count
        counts.append(time.perf_counter() - began)
        began = time.perf_counter()
        one = next(each for each in changes if each.old and each.new and each.change == "modified")
        sides = [file_side_of_bytes(STORED[each["digest"]]) for each in (one.old, one.new) if each]
        shown = text_diff_or_none(sides[0], sides[1])
        assert shown and diff_hunks(shown)
        first.append(time.perf_counter() - began)
    began = time.perf_counter()
    text_diff_or_none(file_side_of_bytes(b"a\nb\n" * 9_900), file_side_of_bytes(b"b\na\na\n" * 6_600))
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
        **page(old, new),
    }
    keep("changes", figures)


if __name__ == "__main__":
    main()
