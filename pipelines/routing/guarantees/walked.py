"""A walk in words: the stations it goes through, with what is said on the way where that is not simply an outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import joined
from pipelines.routing.decide.decisions import Finish
from pipelines.routing.document.model import Line
from pipelines.routing.sentences.references import gate_by_name, place
from pipelines.routing.simulate.drawn_moves import DrawnMove, drawn_moves
from pipelines.routing.simulate.run import run
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep

RESULTS = {"blocked": _("blocked"), "failure": _("failed"), "cancelled": _("cancelled")}
SIGNALS = {
    "rework": _("signals rework"),
    "proceed": _("signals proceed"),
    "abort": _("signals abort"),
    "hold": _("signals that it is complete"),
}
WORDS = {
    "approve": _("%(gate)s approves"),
    "reject": _("%(gate)s rejects"),
    "send_back": _("%(gate)s sends back"),
    "rework": _("%(gate)s asks for rework"),
    "abort": _("%(gate)s aborts"),
}
MOST = 12
"""Places that are told; of a longer walk the first and the last ones."""


def walked(line: Line, steps: Sequence[ScenarioStep]) -> str:
    """“Build → Review (blocked) → Merge”."""
    if not steps:
        return _("a task begins there")
    told = list(_places(line, steps))
    if len(told) > MOST:
        told = [*told[: MOST // 2], _("…"), *told[-MOST // 2 :]]
    return _("%(path)s", path=joined(told, " → "))


def moves_of_walk(line: Line, steps: Sequence[ScenarioStep]) -> tuple[DrawnMove, ...]:
    """Each move of the walk, once, in order."""
    result = run(line, ScenarioScript("walk", "walk", tuple(steps)))
    return tuple(dict.fromkeys(drawn_moves(line, result.steps)))


def _places(line: Line, steps: Sequence[ScenarioStep]) -> Iterator[object]:
    result = run(line, ScenarioScript("walk", "walk", tuple(steps)))
    remark: list[object] = []
    at: object = place(line, line.start)
    for step, record in zip(steps, result.steps[1:], strict=False):
        remark += _said(line, step)
        targets: list[object] = [place(line, station) for station in record.entered]
        if isinstance(record.decision, Finish):
            targets.append(place(line, record.decision.end))
        if targets:
            yield _with(at, remark)
            at, remark = joined(targets, " + "), []
    yield _with(at, remark)


def _with(at: object, remark: list[object]) -> object:
    return _("%(place)s (%(said)s)", place=at, said=joined(remark, ", ")) if remark else at


def _said(line: Line, step: ScenarioStep) -> Iterator[object]:
    signals = step.outcome.get("signals") or ()
    if signals:
        yield SIGNALS.get(signals[0].get("verdict"), "")
    if signals and signals[0].get("verdict") != "proceed":
        return
    if step.outcome.get("result") in RESULTS:
        yield RESULTS[step.outcome["result"]]
    elif step.outcome.get("verdict") == "fail":
        yield RESULTS["failure"]
    for key, word in step.gates.items():
        said = WORDS[word["decision"]]
        yield _(said, gate=gate_by_name(line, key))
