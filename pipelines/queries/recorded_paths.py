"""Paths that recorded outputs of a station had, each with one of its values: what a condition may look at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pipelines.models import Job, Line, Purpose, Task

TASKS = 40
"""The latest tasks of the line that are looked at."""
JOBS = 20
DEEP = 4
MOST = 60
WIDE = 40
"""Members of one object, and paths of one output."""
LONGEST = 40
# Not $, which permits the end of a line behind it
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def recorded_output_examples(line: Line, station: str) -> list[tuple[str, str]]:
    """(path, example) of the latest outputs, the latest first; each path once. Large outputs are looked at in part."""
    tasks = Task.objects.filter(line=line).order_by("-id").values("id")[:TASKS]
    outputs = (
        Job.objects.filter(
            task_id__in=tasks,
            station=station,
            purpose=Purpose.STATION,
            state=Job.State.DONE,
            outcome__has_key="output",
        )
        .order_by("-id")
        .values_list("outcome__output", flat=True)[:JOBS]
    )
    examples: dict[str, str] = {}
    for output in outputs:
        for path, example in _paths_of_output(output):
            # The newest output comes first: its example stays
            examples.setdefault(path, example)
    return list(examples.items())[:MOST]


def _paths_of_output(output: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(output, dict):
        yield "$", _example_text(output)
        return
    for key, value in list(output.items())[:WIDE]:
        yield from _path_and_paths_below(key if _is_plain_key(key) else f"$[{json.dumps(key)}]", value, DEEP)


def _is_plain_key(key: str) -> bool:
    return bool(PLAIN.match(key))


def _path_and_paths_below(path: str, value: Any, left: int) -> Iterator[tuple[str, str]]:
    yield path, _example_text(value)
    if left == 0:
        return
    if isinstance(value, dict):
        for key, member in list(value.items())[:WIDE]:
            yield from _path_and_paths_below(_member_path(path, key), member, left - 1)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        rooted = path if path.startswith("$") else f"$.{path}"
        for key, member in list(value[0].items())[:WIDE]:
            yield from _path_and_paths_below(_member_path(f"{rooted}[*]", key), member, left - 1)


def _member_path(path: str, key: str) -> str:
    if _is_plain_key(key):
        return f"{path}.{key}"
    rooted = path if path.startswith("$") else f"$.{path}"
    return f"{rooted}[{json.dumps(key)}]"


def _example_text(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(list(value)[:3])}{', …' if len(value) > 3 else ''}}}"[:LONGEST]
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
