"""Records of gates: whether they may ask less, what asking about a sample would have missed, and gates that fell back
from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.db.models.fields.json import KeyTextTransform

from pipelines.models import Line, LineEvent, Project, SampledDraw
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.sampling import sampling_key
from pipelines.queries.versions import parsed_line_by_version_id
from pipelines.routing.basics.wording import percent_text
from pipelines.routing.decide.sampling import draw_number_of_chain, is_draw_selected
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.sentences.sampling import fallback_cause
from reviews.insights.sample_size import MAX_UNSEEN, RATES, GateEvidence
from reviews.insights.statements import CHAIN_ROOTS, GATE_RECORDS

UNREMARKED = 200
"""So many approvals without a remark, one after the other, and a sample is computed for a gate."""
RECENT_DAYS = 90
"""Days of which decisions are counted for that."""
OFFERED = "Yes: ask about 1 in {}, as its record shows below."
NOT_YET = "Not yet: {} of {} approvals in a row without a comment."
TOO_MANY = (
    "Not yet: with {bad} bad changes among {decisions}, more than {limit:.0f} could pass unseen in 30 days even at"
    " 1 in 2 (up to {unseen:.1f})."
)
MAX_FALLBACKS = 50


@dataclass(frozen=True, slots=True)
class Rate:
    """Back-test of a sampling rate over the newest approvals: what one in `one_in` would have asked about,
    and what of the others was reverted. `questions`, `bound`: changes asked about, and bad ones unseen at most,
    in 30 days; `objection`: which limit the rate breaks, "" where it keeps both."""

    one_in: int
    asked: int
    unseen: int
    reverted: int
    questions: float = 0
    bound: float = 0
    objection: str = ""


@dataclass(frozen=True, slots=True)
class GateRecord:
    """Record of a gate over RECENT_DAYS, and whether it may ask less. `in_a_row`: approvals without a remark up to now;
    `evidence`: what a sample is computed from; `rates`: where one is recommended, all of them beside it."""

    line: Line
    gate: str
    name: str
    decisions: int
    unremarked: int
    in_a_row: int
    answer: str
    evidence: GateEvidence
    rates: Sequence[Rate] = ()

    @property
    def share_text(self) -> str:
        return percent_text(100 * self.evidence.highest_share, 1)

    @property
    def recommended_rate(self) -> Rate | None:
        return next((rate for rate in self.rates if rate.one_in == self.evidence.recommended), None)


def gate_records(project: Project) -> list[GateRecord]:
    """Gates of what is live that asked lately, those with the longest row of approvals first. Three statements."""
    rows = fetch(GATE_RECORDS, {"project": project.pk, "most": UNREMARKED, "days": RECENT_DAYS})
    lines = Line.objects.in_bulk({row[0] for row in rows})
    records, offered = [], []
    for row in rows:
        line_id, key, decisions, unremarked, in_a_row, recent, reverted, _visits, _tasks = row
        gate = _live_gate_or_none(lines[line_id], key)
        if gate is None:
            continue
        # A gate that asked more of late than before will go on so
        pace = max(float(recent), decisions * 30 / RECENT_DAYS)
        evidence = GateEvidence(decisions, decisions - unremarked + reverted, pace)
        answer = reason_not_to_sample(lines[line_id], gate)
        if not answer and in_a_row >= UNREMARKED and evidence.recommended:
            offered.append(row)
        answer = answer or _answer_by_record(evidence, in_a_row)
        records.append(
            GateRecord(lines[line_id], key, gate.name, decisions, unremarked, in_a_row, answer, evidence)
        )
    backtests = _rates_of_gates(project, offered) if offered else {}
    return [
        replace(
            record, rates=_rates_judged_by_record(backtests[record.line.pk, record.gate], record.evidence)
        )
        if (record.line.pk, record.gate) in backtests
        else record
        for record in records
    ]


def _answer_by_record(evidence: GateEvidence, in_a_row: int) -> str:
    if in_a_row < UNREMARKED:
        return NOT_YET.format(in_a_row, UNREMARKED)
    if evidence.recommended:
        return OFFERED.format(evidence.recommended)
    return TOO_MANY.format(
        bad=evidence.bad, decisions=evidence.decisions, limit=MAX_UNSEEN, unseen=evidence.unseen(RATES[0])
    )


def _rates_judged_by_record(rates: Sequence[Rate], evidence: GateEvidence) -> list[Rate]:
    return [
        replace(
            rate,
            questions=evidence.questions(rate.one_in),
            bound=evidence.unseen(rate.one_in),
            objection=evidence.objection(rate.one_in),
        )
        for rate in rates
    ]


def _rates_of_gates(project: Project, rows: Sequence[Any]) -> dict[tuple[int, str], list[Rate]]:
    """Return the back-tests by line and gate; `rows`: those of GATE_RECORDS."""
    visits, tasks = ([entry for row in rows for entry in row[place]] for place in (-2, -1))
    roots: dict[UUID, list[tuple[int, bool]]] = {}
    for visit, root, reverted in fetch(
        CHAIN_ROOTS, {"project": project.pk, "visits": visits, "tasks": tasks}
    ):
        roots.setdefault(visit, []).append((root, reverted))
    key, rates = sampling_key(), {}
    for line_id, gate, *_counts, newest, _tasks in rows:
        about = [root for visit in newest for root in roots.get(visit, ())]
        draws = [
            (draw_number_of_chain(key, f"{line_id}/{gate}", str(root)), reverted) for root, reverted in about
        ]
        rates[line_id, gate] = [_rate_and_missed_reverts_at(one_in, draws) for one_in in RATES]
    return rates


def reason_not_to_sample(line: Line, gate: Gate) -> str:
    """Return why a gate is never offered for sampling, "" where it may be."""
    if not gate.has_people:
        return "Asks people only where a check does not pass."
    if gate.sample is not None:
        return f"Asks about 1 in {gate.sample.one_in} already."
    if gate.key in _keys_of_gates_whose_approval_is_delivered(line):
        return "No: what it approves is delivered, so it is asked every time."
    return ""


@dataclass(frozen=True, slots=True)
class Fallback:
    """A gate that asks about all again since `at`, and why."""

    line: Line
    gate: str
    name: str
    cause: str
    at: datetime


def gates_asking_about_all_again(project: Project) -> list[Fallback]:
    """Gates that ask about all again, the newest first, by one statement."""
    active = SampledDraw.objects.filter(line=OuterRef("line"), gate=OuterRef("gate"), about=SampledDraw.ALL)
    rows = LineEvent.objects.filter(line__project=project, kind=LineEvent.RecordKind.ASKS_ALL)
    rows = (
        rows.annotate(gate=KeyTextTransform("gate", "data"))
        .alias(active=Exists(active))
        .filter(active=True)
        .select_related("line")
    )
    newest: dict[tuple[int, str], Fallback] = {}
    for event in rows.order_by("-at", "-pk")[:MAX_FALLBACKS]:
        data = event.data
        cause = fallback_cause(data["cause"], data["task"])
        row = Fallback(event.line, data["gate"], data["name"], cause, event.at)
        newest.setdefault((event.line_id, data["gate"]), row)
    return list(newest.values())


def _rate_and_missed_reverts_at(one_in: int, draws: Sequence[tuple[int, bool]]) -> Rate:
    """Return the rate as the gate would draw with its key (law §15). `draws`: of each approval, and whether
    it was reverted."""
    unseen = [reverted for draw_value, reverted in draws if not is_draw_selected(draw_value, one_in)]
    return Rate(one_in, len(draws) - len(unseen), len(unseen), sum(unseen))


def _keys_of_gates_whose_approval_is_delivered(line: Line) -> set[str]:
    """Return the gates whose approval is delivered: what they did not ask about could not be."""
    stations = parsed_line_by_version_id(line.live_id).stations if line.live_id else ()
    return {str(station.work.get("gate")) for station in stations if station.kind == DELIVER.key}


def _live_gate_or_none(line: Line, gate: str) -> Gate | None:
    return parsed_line_by_version_id(line.live_id).gates_by_key.get(gate) if line.live_id else None
