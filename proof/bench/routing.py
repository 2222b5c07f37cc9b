"""How long the analysis of a line takes as it grows, and one decision beside a hand-written chain of `if`.

    python -m proof.bench.routing [--sizes 10 100 1000] [--rounds 2000]

Lint: lines of 10, 100 and 1,000 stations with five rules each, once of the kind that people write and once of the kind
that is hard (nested conditions, patterns, rules that are dead only together). Each line is linted in a process of its
own, so nothing is remembered. Decision: twenty rules, one situation for each of them; the chain answers the same, and
so do json-logic and zen-engine in the environment of the contenders. And a decision over as many rules as `--sizes`
says, with the bytes of its trace as it is stored. Each growth has its exponent."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.analysis.redecide.stored_trace import compact_entries
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.basics.values import json_number_or_none
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import ParsedLine, read_line
from proof.bench.contenders.environment import ROOT, python
from proof.bench.rig import Json, exponent, keep
from proof.bench.timing import microseconds


def output(path: str, op: str, value: Any) -> Json:
    return {"output": {"path": path, "op": op, "value": value}}


def evaluated(op: str, value: Any) -> Json:
    return {"eval": {"op": op, "value": value}}


def plain(index: int) -> list[Json]:
    """Five conditions as people write them."""
    return [
        {"all": [{"result": "success"}, output("$.high", "gt", index % 7)]},
        evaluated("starts_with", f"retry-{index % 13}"),
        {"failure_type": ["flaky", f"infra-{index % 5}"]},
        {"result": "success"},
        {"not": {"result": "success"}},
    ]


def hard(index: int) -> list[Json]:
    """Five conditions over the same places: nested, with patterns, the fourth dead by the first three together."""
    code = f"E{index % 97}"
    return [
        {
            "any": [
                output("code", "matches", f"^{code}[0-9]*$"),
                output("code", "matches", r"(?i)fatal|panic"),
            ]
        },
        {
            "all": [
                output("score", "gte", index % 50),
                {"not": {"any": [output("tags", "contains", "skip"), output("code", "starts_with", code)]}},
            ]
        },
        {"any": [output("score", "lt", index % 50), {"not": output("score", "type", "number")}]},
        {
            "all": [
                output("score", "type", "number"),
                output("code", "equals", f"{code}1"),
                {"any": [{"result": "success"}, {"verdict": "fail"}]},
            ]
        },
        {"not": {"all": [output("tags", "contains", "skip"), evaluated("contains", "x")]}},
    ]


def line_of(conditions: Callable[[int], list[Json]], count: int) -> ParsedLine:
    stations = []
    for at in range(count):
        after = f"s{at + 1}" if at + 1 < count else "completed"
        targets = [f"s{max(at - 1, 0)}", f"s{at}", "failed", after, after]
        rules = [
            {"id": f"s{at}-r{number}", "when": when, "to": to, "max_retries": 2}
            for number, (when, to) in enumerate(zip(conditions(at), targets, strict=True), 1)
        ]
        stations.append({"key": f"s{at}", "rules": rules})
    return read_line({"gateline": 1, "key": "line", "stations": stations})


MIXES: dict[str, Callable[[int], list[Json]]] = {"plain": plain, "hard": hard}


def lint_once(mix: str, count: int) -> Json:
    line = line_of(MIXES[mix], count)
    began = time.process_time()
    found = lint_line(line)
    took = time.process_time() - began
    dead, undecided = (sum(f.check == check for f in found) for check in ("dead-rule", "undecided"))
    return {
        "mix": mix,
        "stations": count,
        "rules": 5 * count,
        "cpu seconds": round(took, 3),
        "dead": dead,
        "undecided": undecided,
    }


def linted(sizes: list[int]) -> list[Json]:
    """Each in a process of its own; `growth`: how many times longer than the size before, and larger it is."""
    measured: list[Json] = []
    for mix in MIXES:
        before: Json | None = None
        for count in sizes:
            command = [sys.executable, "-m", "proof.bench.routing", "--lint", mix, str(count)]
            one: Json = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            if before is not None:
                one["times the stations"] = count / before["stations"]
                one["times as long"] = round(one["cpu seconds"] / before["cpu seconds"], 2)
            measured.append(one)
            before = one
    return measured


RULES: list[tuple[str, Json]] = [
    ("r1", {"all": [{"result": "failure"}, {"failure_type": "license"}]}),
    ("r2", {"failure_type": ["infra", "flaky"]}),
    ("r3", {"verdict": "blocked"}),
    ("r4", {"all": [{"result": "success"}, output("$.high", "gt", 0)]}),
    ("r5", output("$.summary.coverage", "lt", 50)),
    ("r6", evaluated("starts_with", "retry")),
    ("r7", evaluated("range", "200,299")),
    ("r8", output("branch", "matches", "^release/[0-9]+$")),
    ("r9", output("labels", "contains", "urgent")),
    ("r10", {"edge": {"from": "work", "to": "fix", "at_least": 3}}),
    ("r11", output("kind", "in", ["docs", "chore"])),
    ("r12", {"all": [output("size", "gte", 1000), {"not": output("approved", "equals", True)}]}),
    ("r13", {"any": [output("$.risk", "equals", "high"), output("$.risk", "equals", "critical")]}),
    ("r14", output("owner.team", "equals", "payments")),
    ("r15", evaluated("ends_with", "?")),
    ("r16", output("$.files[0]", "ends_with", ".sql")),
    ("r17", output("version", "type", "string")),
    ("r18", {"all": [{"result": "cancelled"}, {"verdict": "fail"}]}),
    ("r19", {"not": {"result": "success"}}),
    ("r20", {"always": True}),
]
OUTCOMES: list[Json] = [
    {"result": "failure", "failure_type": "license"},
    {"result": "failure", "failure_type": "flaky"},
    {"result": "blocked"},
    {"result": "success", "output": {"high": 3}},
    {"result": "success", "output": {"high": 0, "summary": {"coverage": 41.5}}},
    {"result": "success", "eval": "retry later"},
    {"result": "success", "eval": "204"},
    {"result": "success", "output": {"branch": "release/12"}},
    {"result": "success", "output": {"labels": ["ui", "urgent"]}},
    {"result": "success"},
    {"result": "success", "output": {"kind": "docs"}},
    {"result": "success", "output": {"size": 1200}},
    {"result": "success", "output": {"risk": "critical"}},
    {"result": "success", "output": {"owner": {"team": "payments"}}},
    {"result": "success", "eval": "is it?"},
    {"result": "success", "output": {"files": ["a.sql"]}},
    {"result": "success", "output": {"version": "1.2"}},
    {"result": "cancelled"},
    {"result": "failure"},
    {"result": "success", "output": {"high": 0, "branch": "main", "size": 10, "risk": "low"}},
]
RELEASE = re.compile("^release/[0-9]+$")


def chain(outcome: Mapping[str, Any], edges: Mapping[str, int]) -> str:  # noqa: C901
    """The same twenty rules by hand, with their care for what is missing or of another type."""
    result = outcome["result"]
    verdict = outcome.get("verdict") or {"success": "pass", "blocked": "blocked"}.get(result, "fail")
    said = outcome.get("eval") or {"success": "ok", "failure": "error"}.get(result, result)
    failure = outcome.get("failure_type")
    found = outcome.get("output")
    data = found if isinstance(found, dict) else {}
    if result == "failure" and failure == "license":
        return "r1"
    if failure in ("infra", "flaky"):
        return "r2"
    if verdict == "blocked":
        return "r3"
    high = data.get("high")
    if result == "success" and is_number(high) and high > 0:
        return "r4"
    summary = data.get("summary")
    coverage = summary.get("coverage") if isinstance(summary, dict) else None
    if is_number(coverage) and coverage < 50:
        return "r5"
    if said.startswith("retry"):
        return "r6"
    if 200 <= number_of(said) <= 299:
        return "r7"
    branch = data.get("branch")
    if isinstance(branch, str) and RELEASE.search(branch):
        return "r8"
    labels = data.get("labels")
    if isinstance(labels, (list, str)) and "urgent" in labels:
        return "r9"
    if edges.get("work->fix", 0) >= 3:
        return "r10"
    if data.get("kind") in ("docs", "chore"):
        return "r11"
    size = data.get("size")
    if is_number(size) and size >= 1000 and data.get("approved") is not True:
        return "r12"
    if data.get("risk") in ("high", "critical"):
        return "r13"
    owner = data.get("owner")
    if isinstance(owner, dict) and owner.get("team") == "payments":
        return "r14"
    if said.endswith("?"):
        return "r15"
    files = data.get("files")
    if isinstance(files, list) and files and isinstance(files[0], str) and files[0].endswith(".sql"):
        return "r16"
    if isinstance(data.get("version"), str):
        return "r17"
    if result == "cancelled" and verdict == "fail":
        return "r18"
    return "r19" if result != "success" else "r20"


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number_of(said: str) -> float:
    try:
        return float(said)
    except ValueError:
        return float("nan")


def decided(rounds: int) -> Json:
    rules = [{"id": name, "when": when, "to": "fix"} for name, when in RULES]
    line = read_line(
        {"gateline": 1, "key": "line", "stations": [{"key": "work", "rules": rules}, {"key": "fix"}]}
    )
    told = [
        {"station": "work", "outcome": outcome, "facts": {"edges": {"work->fix": 3 if at == 9 else 0}}}
        for at, outcome in enumerate(OUTCOMES)
    ]
    situations = [read_situation(each) for each in told]
    for (name, _), situation, each in zip(RULES, situations, told, strict=True):
        assert decide(line, situation).to_dict()["rule"] == name
        assert chain(each["outcome"], each["facts"]["edges"]) == name
    rows = []
    for situation, each in zip(situations, told, strict=True):
        edges, outcome = each["facts"]["edges"], each["outcome"]
        ours = microseconds(lambda s=situation: decide(line, s), rounds)  # type: ignore[misc]
        read = microseconds(lambda e=each: decide(line, read_situation(e)), rounds)  # type: ignore[misc]
        hand = microseconds(lambda o=outcome, e=edges: chain(o, e), rounds)  # type: ignore[misc]
        rows.append({"decide": ours, "read and decide": read, "chain": hand})
    for contender, took in contenders(rounds).items():
        for row, one in zip(rows, took, strict=True):
            row[contender] = one
    return {"twentieth rule taken": _shown(rows[-1]), "mean of all twenty": _shown(_mean(rows))}


def contenders(rounds: int) -> dict[str, list[float]]:
    """Microseconds of others, for each of the situations."""
    told = [as_told(outcome, 3 if at == 9 else 0) for at, outcome in enumerate(OUTCOMES)]
    command = [python(), "-m", "proof.bench.contenders.decisions", str(rounds)]
    done = subprocess.run(command, cwd=ROOT, input=json.dumps(told), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def as_told(outcome: Json, edges: int) -> Json:
    """What follows from an outcome filled in, as the others want it."""
    derived = derived_outcome(read_outcome(outcome))
    number = json_number_or_none(derived.eval)
    return {
        "result": derived.result,
        "verdict": derived.verdict,
        "eval": derived.eval,
        "number": None if number is None else float(number),
        "failure_type": outcome.get("failure_type"),
        "output": outcome.get("output", {}),
        "edges": {"work->fix": edges},
    }


def by_rules(sizes: list[int], rounds: int) -> list[Json]:
    """A station of so many rules of which the last one is taken: the decision, and its trace as it is stored."""
    found = []
    for count in sizes:
        rules = [
            {"id": f"r{at}", "when": output("score", "gt", 1000 + at), "to": "fix"} for at in range(count - 1)
        ]
        rules.append({"id": "last", "when": {"always": True}, "to": "fix"})
        line = read_line(
            {"gateline": 1, "key": "line", "stations": [{"key": "work", "rules": rules}, {"key": "fix"}]}
        )
        said = {"station": "work", "outcome": {"result": "success", "output": {"score": 7}}, "facts": {}}
        situation = read_situation(said)
        took = microseconds(lambda s=situation, at=line: decide(at, s), max(rounds // count, 5))  # type: ignore[misc]
        trace = json.dumps(compact_entries(decide(line, situation, clock=time.perf_counter).trace))
        found.append({"rules": count, "decide µs": round(took, 1), "bytes of the trace": len(trace)})
    return found


def slopes(lint_rows: list[Json], rule_rows: list[Json]) -> Json:
    found = {
        f"lint, {mix}: stations": exponent(
            (each["stations"], each["cpu seconds"]) for each in lint_rows if each["mix"] == mix
        )
        for mix in MIXES
    }
    for what in ("decide µs", "bytes of the trace"):
        found[f"{what}: rules"] = exponent((each["rules"], each[what]) for each in rule_rows)
    return found


def _mean(rows: list[Json]) -> Json:
    return {key: statistics.mean(row[key] for row in rows) for key in rows[0]}


def _shown(row: Json) -> Json:
    shown = {f"{key} µs": round(took, 2) for key, took in row.items()}
    return {**shown, "ratio": round(row["decide"] / row["chain"], 1)}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--lint", nargs=2, metavar=("MIX", "STATIONS"), help="one line, in this process")
    given, _ = parser.parse_known_args()
    if given.lint:
        print(json.dumps(lint_once(given.lint[0], int(given.lint[1]))))
        return 0
    lint_rows, rule_rows = linted(given.sizes), by_rules(given.sizes, given.rounds)
    answer = {
        "lint": lint_rows,
        "a decision over 20 rules": decided(given.rounds),
        "a decision over many": rule_rows,
        "exponents": slopes(lint_rows, rule_rows),
    }
    keep("routing", answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
