"""Answers of a back-test: its progress, what became of each task, and the counts with samples at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipelines.lines.backtest.recorded_decisions import RecordedRow
from pipelines.models.gates import Word
from pipelines.queries import versions
from pipelines.routing.analysis.redecide.decided_effect import DecidedEffect
from pipelines.routing.analysis.redecide.verdict import WORST_LAST, Redecision, Verdict
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.errors import error_words
from pipelines.routing.sentences.names import edge_name, gate_name, rule_name, station_name, target_name

MOST_CELLS = 200
SAMPLES = 5


def count_of_every_verdict(counts: Mapping[Verdict, int]) -> dict[str, int]:
    """Every verdict in one order, those that did not come up too."""
    return {verdict.value: counts.get(verdict, 0) for verdict in WORST_LAST}


@dataclass(frozen=True)
class Progress:
    """`done` of `total` decisions, of `tasks` tasks so far."""

    done: int
    total: int
    tasks: int
    counts: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        counts = dict(self.counts)
        return {
            "type": "progress",
            "done": self.done,
            "total": self.total,
            "tasks": self.tasks,
            "counts": counts,
        }


@dataclass(frozen=True)
class SampleDecision:
    """Sample decision that stands for a cell. `after`: this task had gone elsewhere before, so that it might
    never have come here."""

    task: str
    at: datetime
    decision: str
    after: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "at": self.at.isoformat(),
            "decision": self.decision,
            "after_divergence": self.after,
        }


@dataclass
class ResultCell:
    """Decisions that come out alike: at one station, from one effect to another. `words`: see `naming`, by the version
    of the first of them."""

    station: str
    first: Redecision
    words: Mapping[str, Any]
    count: int = 0
    samples: list[SampleDecision] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "station": self.station,
            **redecision_dict(self.first),
            "words": dict(self.words),
            "count": self.count,
            "samples": [sample.to_dict() for sample in self.samples],
        }


def redecision_dict(redecision: Redecision) -> dict[str, Any]:
    return {
        "verdict": redecision.verdict.value,
        "then": redecision.then.to_dict(),
        "now": redecision.now.to_dict() if redecision.now else None,
        "newly_asked": list(redecision.asked),
        "newly_skipped": list(redecision.skipped),
        "reason": redecision.reason,
        "message": redecision.message,
    }


@dataclass
class BacktestTask:
    """Result of one task: the worst of its verdicts, how often each came up, and its first divergence, which
    is the first decision that is not the same. `after`: how many decisions come after the first different
    one."""

    task: str
    verdict: Verdict = Verdict.SAME
    counts: Counter[Verdict] = field(default_factory=Counter)
    first: Redecision | None = None
    station: str = ""
    at: datetime | None = None
    after: int = 0

    def add_and_tell_if_after_divergence(self, row: RecordedRow, redecision: Redecision) -> bool:
        """Answers whether the decision comes after a divergence."""
        # Before this one is counted: a divergence does not come after itself.
        after = self.counts[Verdict.DIFFERENT] > 0
        self.after += after
        self.counts[redecision.verdict] += 1
        self.verdict = max(self.verdict, redecision.verdict, key=WORST_LAST.index)
        if self.first is None and redecision.verdict != Verdict.SAME:
            self.first, self.station, self.at = redecision, row.station, row.at
        return after

    def to_dict(self) -> dict[str, Any]:
        first = self.first and {
            "station": self.station,
            "at": self.at.isoformat() if self.at else None,
            **redecision_dict(self.first),
        }
        return {
            "type": "task",
            "task": self.task,
            "verdict": self.verdict.value,
            "decisions": self.counts.total(),
            "counts": count_of_every_verdict(self.counts),
            "after_divergence": self.after,
            "first": first,
        }


@dataclass
class BacktestResult:
    """`decisions` and `tasks`: how many got each verdict. `cells`: everything but `same`, most frequent first within
    the worst verdict; beyond MOST_CELLS kinds only `more_cells` decisions are counted. `limited`: there are more.
    `earlier`: how many were recorded under an earlier revision of the law than the one that all are decided by now."""

    against: str
    line: ParsedLine
    """The version that is tried."""
    decisions: Counter[Verdict] = field(default_factory=Counter)
    tasks: Counter[Verdict] = field(default_factory=Counter)
    after: int = 0
    cells: dict[tuple[Any, ...], ResultCell] = field(default_factory=dict)
    more_cells: int = 0
    limited: bool = False
    earlier: int = 0

    def add_redecision(self, row: RecordedRow, redecision: Redecision, task: str, after: bool) -> None:
        self.decisions[redecision.verdict] += 1
        self.earlier += row.revision < self.line.revision
        self.after += after
        if redecision.verdict == Verdict.SAME:
            return
        cell = self._get_or_create_cell_within_limit(row, redecision)
        if cell is None:
            self.more_cells += 1
            return
        cell.count += 1
        # One sample of each task: a task that goes in a circle would fill them all.
        if len(cell.samples) < SAMPLES and all(sample.task != task for sample in cell.samples):
            cell.samples.append(SampleDecision(task, row.at, str(row.id), after))

    def _get_or_create_cell_within_limit(self, row: RecordedRow, redecision: Redecision) -> ResultCell | None:
        key = (
            row.station,
            redecision.verdict,
            redecision.then,
            redecision.now,
            redecision.asked,
            redecision.skipped,
            redecision.message,
        )
        if key not in self.cells:
            # The rest is counted, and not listed: a page can show only so many
            if len(self.cells) >= MOST_CELLS:
                return None
            words = effects_in_words(
                row.station, redecision, versions.parsed_line_by_version_id(row.pinned_id), self.line
            )
            self.cells[key] = ResultCell(row.station, redecision, words)
        return self.cells[key]

    @property
    def decided_count(self) -> int:
        return self.decisions.total()

    def to_dict(self) -> dict[str, Any]:
        worst_first = sorted(
            self.cells.values(), key=lambda cell: (-WORST_LAST.index(cell.first.verdict), -cell.count)
        )
        return {
            "type": "result",
            "against": self.against,
            "revision": self.line.revision,
            "of_earlier_revisions": self.earlier,
            "decisions": {"total": self.decided_count, **count_of_every_verdict(self.decisions)},
            "tasks": {"total": self.tasks.total(), **count_of_every_verdict(self.tasks)},
            "after_divergence": self.after,
            "cells": [cell.to_dict() for cell in worst_first],
            "more_cells": self.more_cells,
            "limited": self.limited,
        }


# Texts of a cell of the result for people: stations, ends, gates and rules by name, where machines have keys.


def effects_in_words(
    station: str, redecision: Redecision, old: ParsedLine, new: ParsedLine
) -> dict[str, Any]:
    """`then` by the names of the version under which it was decided, `now` by those of the version that is tried."""
    return {
        "station": station_name(old, station),
        "then": _effect_fields(old, redecision.then),
        "now": _effect_fields(new, redecision.now) if redecision.now else None,
        "message": _verdict_message(station, redecision, old, new),
    }


def _effect_fields(line: ParsedLine, effect: DecidedEffect) -> dict[str, Any]:
    """`rule`: its number at its station and its label; "" where no rule decided, or the line does not have it.
    `detail`: why it is stuck; "" of other effects."""
    name = gate_name if effect.kind == "review" else target_name
    rule = ""
    if effect.rule in line.rules_by_id:
        station, matched_rule = line.rules_by_id[effect.rule]
        number = str(1 + station.rules.index(matched_rule))
        rule = f"{number} · {matched_rule.label}" if matched_rule.label else number
    detail = error_words(effect.detail) if effect.kind == "stuck" else ""
    return {"to": [name(line, key) for key in effect.to], "rule": rule, "detail": detail}


def _verdict_message(station: str, redecision: Redecision, old: ParsedLine, new: ParsedLine) -> str:
    template = MESSAGES.get(redecision.reason or redecision.verdict)
    if template is None:
        return redecision.message
    about = redecision.about
    return template % {
        "station": station_name(old, station),
        "asked": _gate_names(new, redecision.asked),
        "skipped": _gate_names(old, redecision.skipped),
        "gates": _gate_names(old, about.get("gates", ())),
        "assumed": _gate_names(new, about.get("assumed", ())),
        "word": WORDS.get(about.get("word", ""), about.get("word", "")),
        "origin": station_name(old, about.get("origin", "")),
        "field": _field_name(new, about.get("field", "")),
        "counters": ", ".join(_counter_name(new, *counter) for counter in about.get("counters", ())),
    }


def _gate_names(line: ParsedLine, keys: Iterable[str]) -> str:
    return ", ".join(gate_name(line, key) for key in keys)


def _field_name(line: ParsedLine, path: str) -> str:
    """Return the name of what a check reads: an input by its label; another field as the check names it."""
    family, _dot, name = path.partition(".")
    labels = {input_field.key: input_field.label for input_field in line.inputs}
    if family == "gates":
        return gate_name(line, name)
    return labels.get(name) or name if family == "input" else name or path


def _counter_name(line: ParsedLine, kind: str, name: str) -> str:
    """“Build → Test”, “Build, rule 2”."""
    if kind == "edges":
        return edge_name(line, name)
    if name not in line.rules_by_id:
        return name
    station, _rule = line.rules_by_id[name]
    return f"{station.name}, {rule_name(line, name)}"


WORDS = dict(Word.choices)
MESSAGES = {
    Verdict.NEWLY_REQUIRED: "Somebody is asked at %(asked)s, which nobody was then.",
    Verdict.NEWLY_SKIPPED: "Nobody is asked at %(skipped)s any more.",
    "other_gates": "The same way, but other people are asked: %(asked)s instead of %(skipped)s.",
    "not_asked": (
        "An evaluation was asked at %(station)s then. Now it is decided without one: compare the rules of %(station)s."
    ),
    "station_gone": (
        "This version has no station %(station)s. Add it again, or choose where its tasks go when you publish."
    ),
    "origin_gone": (
        "It came to %(station)s from %(origin)s, which this version does not have. Add it again, or name a target "
        "in the rule that leads back."
    ),
    "word_does_not_fit": (
        "What was said at the gates of %(station)s does not fit this version. Simulate %(station)s with an answer "
        "that it offers."
    ),
    "word_refused": (
        "What was said at %(gates)s would be refused now. Look at what it offers and how often it can send back."
    ),
    "nobody_has_spoken": (
        "%(gates)s decided it then. Now %(assumed)s is asked, where nobody has spoken: simulate both answers."
    ),
    "not_answered": (
        "At %(station)s it depends on an evaluation that was not asked then: simulate its answers."
    ),
    "other_approval": (
        "“%(word)s” was said at %(gates)s when other people could decide there. Simulate the answer, or keep who "
        "decides."
    ),
    "word_not_offered": (
        "“%(word)s” was said at %(gates)s, which does not offer it any more. Offer it again, or simulate another "
        "answer."
    ),
    "field_not_recorded": (
        "A check at %(station)s reads %(field)s, which the version of that time did not have. Choose a later date "
        "under “Decided since”."
    ),
    "other_stations_not_recorded": (
        "What decides at %(station)s reads other stations, which was not kept then. Choose a later date under "
        "“Decided since”."
    ),
    "cost_not_recorded": (
        "At %(station)s it depends on what the task had cost, which was not counted then. Choose a later date under "
        "“Decided since”."
    ),
    "counter_not_recorded": (
        "It depends on how often %(counters)s was taken, which was counted under a key that is gone. Give it the "
        "key that it had."
    ),
}
"""By verdict or reason: what is so, where, and what can be done. `found.message` says the same with keys."""
