"""The result of a back-test as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.routing.analysis.redecide.verdict import WORST_LAST

WORDS = {
    "same": "same",
    "different": "different",
    "gate_newly_required": "gate newly required",
    "gate_newly_skipped": "gate newly skipped",
    "undecidable": "undecidable",
}


def text_of(result: dict[str, Any]) -> str:
    """Of `Result.to_dict()`."""
    return "\n".join([*_counts(result), *_cells(result)])


def _counts(result: dict[str, Any]) -> Iterator[str]:
    decisions, tasks = result["decisions"], result["tasks"]
    against = result["against"]
    name = f"version {against}" if against.isdigit() else f"the {against}"
    if not decisions["total"]:
        yield f"No recorded decisions to try on {name}."
        return
    yield f"Tried on {name}: {decisions['total']:,} decisions of {tasks['total']:,} tasks."
    yield f"Decided under revision {result['revision']} of the law; {_earlier(result)}."
    if result["limited"]:
        yield "There are older ones, which the limit left out."
    yield f"{'':20} {'decisions':>10} {'tasks':>10}"
    for verdict in WORST_LAST:
        yield f"{WORDS[verdict]:20} {decisions[verdict]:>10,} {tasks[verdict]:>10,}"
    if result["after_divergence"]:
        yield f"{result['after_divergence']:,} decisions come after their task had gone elsewhere."


def _earlier(result: dict[str, Any]) -> str:
    count = result["of_earlier_revisions"]
    return f"{count:,} were recorded under an earlier one" if count else "all were recorded under it"


def _cells(result: dict[str, Any]) -> Iterator[str]:
    for cell in result["cells"]:
        then, now = effect(cell["then"]), effect(cell["now"])
        yield ""
        yield f"{WORDS[cell['verdict']]}, {cell['count']:,} at {cell['station']}: {then} → {now}"
        if cell["message"]:
            yield f"  {cell['message']}"
        yield f"  for example {', '.join(sample['task'] for sample in cell['samples'])}"
    if result["more_cells"]:
        yield ""
        yield f"{result['more_cells']:,} more decisions of other kinds."


def effect(said: dict[str, Any] | None) -> str:
    if said is None:
        return "unknown"
    rule = f" by {said['rule']}" if said["rule"] else ""
    where = " + ".join(said["to"]) or {"ask": "an evaluation"}.get(said["kind"], said["kind"])
    detail = f" ({said['detail']})" if said["kind"] in ("stuck", "finish", "held") and said["detail"] else ""
    return f"{where}{detail}{rule}"
