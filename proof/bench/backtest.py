"""Back-tests: recorded decisions per second, decided again under the version that decided them and under a changed one,
beside plain reading of the same rows in the same run.

    python -m proof.bench.backtest [--decisions 100000] [--tasks 200]

A few hundred tasks go through a line of eight stations by the real engine, gates and loops among it; copies of them,
made by SQL, make the number. The server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from typing import Any

from proof.bench.rig import database, keep

STATIONS = ("analyse", "design", "build", "test", "scan", "document", "package", "deliver")


def rule(name: str, when: dict[str, Any], to: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "when": when, "to": to, **more}


def document(coverage: int = 80) -> dict[str, Any]:
    """Eight stations with five rules each, over outputs, results and edges; two gates; a loop back with a budget."""
    stations = []
    for at, key in enumerate(STATIONS):
        after = STATIONS[at + 1] if at + 1 < len(STATIONS) else "completed"
        back = STATIONS[max(at - 1, 0)]
        low = {"output": {"path": "report.coverage", "op": "lt", "value": coverage}}
        tried = {"edge": {"from": key, "to": back, "at_least": 2}}
        severe = {"output": {"path": "$.findings[*].severity", "op": "equals", "value": "critical"}}
        gates = {"gates": ["review"]} if key in ("design", "package") else {}
        stations.append(
            {
                "key": key,
                "work": {"kind": "noop"},
                "rules": [
                    rule(f"{key}-stop", {"all": [{"result": "success"}, severe]}, "failed"),
                    rule(f"{key}-enough", {"all": [{"result": "success"}, low, tried]}, after, **gates),
                    rule(
                        f"{key}-low",
                        {"all": [{"result": "success"}, low]},
                        back,
                        max_retries=2,
                        on_exhausted="fail",
                    ),
                    rule(f"{key}-ok", {"result": "success"}, after, **gates),
                    rule(f"{key}-again", {"result": "failure"}, key, max_retries=2, on_exhausted="fail"),
                ],
            }
        )
    return {
        "gateline": 1,
        "key": "bench",
        "name": "Bench",
        "stations": stations,
        "gates": [{"key": "review", "name": "Review"}],
    }


def outcome(dice: random.Random) -> dict[str, Any]:
    findings = [
        {"severity": dice.choice(["low", "high"]), "file": f"src/{n}.py", "line": n} for n in range(5)
    ]
    report = {"coverage": dice.randint(70, 100), "tests": dice.randint(50, 500), "passed": True}
    result = "success" if dice.random() < 0.93 else "failure"
    return {
        "result": result,
        "output": {"report": report, "findings": findings},
        "summary": "All done. " * 10,
    }


def recorded(world: Any, tasks: int, dice: random.Random) -> Any:
    """The line with its tasks, as far as each came."""
    version = world.line(document())
    for number in range(tasks):
        task = world.start(version, title=f"Change number {number}")
        while world.status(task) in ("queued", "running", "awaiting_review"):
            if world.status(task) == "awaiting_review":
                world.vote(task)
            else:
                world.report(task, outcome(dice))
    return version


def timed(work: Any) -> tuple[float, float, Any]:
    """Seconds by the clock, seconds of this process's processor time, and what came out."""
    began, worked = time.perf_counter(), time.process_time()
    answer = work()
    return time.perf_counter() - began, time.process_time() - worked, answer


def measure(line: Any, decisions: int) -> dict[str, Any]:
    from pipelines.lines.backtest import Selection, back_test_events, target_of_document  # noqa: PLC0415  # after `database`
    from pipelines.lines.backtest.recorded_decisions import recorded_rows  # noqa: PLC0415  # after `database`

    selection = Selection(limit=decisions)

    def tried(given: dict[str, Any]) -> dict[str, Any]:
        *_, last = back_test_events(line, target_of_document(given), selection)
        return dict(last.to_dict())  # type: ignore[union-attr]

    read, _, count = timed(lambda: sum(1 for _ in recorded_rows(line, selection)))
    found: dict[str, Any] = {
        "decisions": count,
        "plain reading": {"seconds": round(read, 2), "per second": round(count / read)},
    }
    for name, given in (("the same version", document()), ("a changed version", document(coverage=85))):
        seconds, processor, result = timed(lambda given=given: tried(given))  # type: ignore[misc]
        found[name] = {
            "seconds": round(seconds, 2),
            "seconds of processor": round(processor, 2),
            "per second": round(count / seconds),
            "times plain reading": round(seconds / read, 2),
            "verdicts": result["decisions"],
        }
    found["most memory, MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--tasks", type=int, default=200)
    given, _ = parser.parse_known_args()
    with database():
        from pipelines.models import Decision  # noqa: PLC0415  # after `database`
        from tests.backtest.many import copy  # noqa: PLC0415  # after `database`
        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        version = recorded(make_world(), given.tasks, random.Random(1))
        own = Decision.objects.count()
        copy(version.line, -(-given.decisions // own) - 1)
        keep("backtest", {"driven by the engine": own, **measure(version.line, given.decisions)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
