"""What one page costs: time on the wall, processor time of Python and PostgreSQL, its statements and their plans."""

from __future__ import annotations

import json
import os
import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection

GROWS = {"reviews_askedplace", "reviews_mail", "reviews_notification"} | {
    f"pipelines_{name}"
    for name in ("gatevisit", "vote", "task", "tasktext", "token", "job", "decision", "event")
}
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Cost:
    """Milliseconds. `python`, `postgres`: processor time of a request in this process, in the median and at p95, and
    in its connection's."""

    p50: float
    p95: float
    python: float
    python95: float
    postgres: float
    sql: float
    statements: int
    kilobytes: float


class _Clock:
    """Adds up the time that statements take."""

    def __init__(self) -> None:
        self.seconds, self.count = 0.0, 0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            self.seconds += time.perf_counter() - began
            self.count += 1


def cost(act: Callable[[], bytes], rounds: int) -> Cost:
    answer = act()
    took: list[float] = []
    busy: list[float] = []
    clock, backend = _Clock(), _backend()
    served = _processor(backend)
    with connection.execute_wrapper(clock):
        for _round in range(rounds):
            began, computed = time.perf_counter(), time.process_time()
            act()
            busy.append((time.process_time() - computed) * 1000)
            took.append((time.perf_counter() - began) * 1000)
    served = _processor(backend) - served
    return Cost(
        *_usual_and_most(took),
        *_usual_and_most(busy),
        *(round(each * 1000 / rounds, 1) for each in (served, clock.seconds)),
        clock.count // rounds,
        round(len(answer) / 1000, 1),
    )


def _usual_and_most(found: list[float]) -> tuple[float, float]:
    """The median and p95."""
    found.sort()
    return round(statistics.median(found), 1), round(found[max(0, int(len(found) * 0.95 + 0.5) - 1)], 1)


def yardstick() -> float:
    """Processor milliseconds of work that is always the same: where it takes twice as long, so does everything."""
    took = []
    for _round in range(5):
        began = time.process_time()
        "".join(f"{number}:{{}}".format(str(number).upper()) for number in range(50_000))
        took.append((time.process_time() - began) * 1000)
    return round(min(took), 1)


def _backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [[pid]] = cursor.fetchall()
    return int(pid)


def _processor(pid: int) -> float:
    """Seconds that this process has computed; 0 where the system does not tell."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(told[11]) + int(told[12])) / TICKS


# Plans


@contextmanager
def _explained(found: list[tuple[str, Any]]) -> Iterator[None]:
    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not many and sql.lstrip().upper().startswith(("SELECT", "WITH")):
            with connection.connection.cursor() as cursor:
                cursor.execute("EXPLAIN (FORMAT JSON) " + sql, params)
                [[plan]] = cursor.fetchall()
            found.append((sql, (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield


def plans(act: Callable[[], bytes]) -> tuple[str, list[str]]:
    """The plans of its statements that read a table that grows, as short text; and those that read one from end to
    end."""
    found: list[tuple[str, Any]] = []
    with _explained(found):
        act()
    shown, scans = [], []
    for sql, plan in found:
        tables = set(_tables(plan)) & GROWS
        if tables:
            lines = list(_lines(plan))
            shown.append(f"{_short(sql)}\n" + "\n".join(lines))
            scans += [f"{table}: {_short(sql)}" for table in _sequential(plan)]
    return "\n\n".join(dict.fromkeys(shown)) + "\n", scans


def _short(sql: str) -> str:
    """One line: what is selected is left out."""
    text = " ".join(sql.split()).replace('"', "")
    text = re.sub(r"^SELECT (DISTINCT )?pipelines_\w+\.id.*? FROM ", r"SELECT \1… FROM ", text)
    return text if len(text) <= 200 else text[:200] + " …"


def _tables(node: dict[str, Any]) -> Iterator[str]:
    if name := node.get("Relation Name"):
        yield name
    for child in node.get("Plans", ()):
        yield from _tables(child)


def _sequential(node: dict[str, Any]) -> Iterator[str]:
    if node.get("Node Type") == "Seq Scan" and node.get("Relation Name") in GROWS:
        yield node["Relation Name"]
    for child in node.get("Plans", ()):
        yield from _sequential(child)


def _lines(node: dict[str, Any], depth: int = 1) -> Iterator[str]:
    on = " ".join(filter(None, (node.get("Relation Name"), node.get("Index Name"))))
    yield "  " * depth + f"{node['Node Type']} {on}".rstrip() + f" ({node['Plan Rows']} rows)"
    for child in node.get("Plans", ()):
        yield from _lines(child, depth + 1)
