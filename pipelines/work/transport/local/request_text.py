"""Text of a pull or merge request about its task: where it went, what people said at its gates, and its page."""

from __future__ import annotations

from typing import Final

from pipelines.models import DUE_TIME, GateVisit, Job, Purpose, Word
from pipelines.queries import versions
from pipelines.queries.addresses import absolute_url
from pipelines.routing.document.line import ParsedLine
from pipelines.work.hosts.markdown import code_block, inline_code
from pipelines.work.spec.hosting import RequestText
from pipelines.work.transport.local.branch_states import token_and_ancestors
from pipelines.work.transport.local.station_values import task_masker

DONE: Final = {
    Word.APPROVE: "approved",
    Word.SEND_BACK: "sent back",
    Word.REJECT: "rejected",
    Word.REWORK: "sent back",
    Word.ABORT: "aborted",
}
MOST_STEPS, MOST_SAID, LONGEST_SAID, LONGEST_TITLE = 40, 10, 4_000, 200


def request_text(job: Job, line: ParsedLine, lacks: str = "") -> RequestText:
    """`lacks`: of the approvals that the protection of the repository asks for."""
    task = job.task
    masked = task_masker(task).masked_text
    mark = f"<!-- Gateline-Delivery: {job.pk} -->"
    at = absolute_url("task", task.project.owner.key, task.project.key, task.name)
    tokens = token_and_ancestors(job.token_id)
    visits = list(
        GateVisit.objects.filter(task=task, token__in=tokens, state=GateVisit.State.DECIDED)
        .select_related("decided_by")
        .order_by("decided_at")
    )
    commented = [visit for visit in visits if visit.reason.strip()][-MOST_SAID:]
    parts = [
        f"[{task.name}]({at}) went through {inline_code(line.name)}: {_path_text(job, line, tokens, visits)}",
        *(gate_decision_and_reason(visit, line) for visit in commented),
        *([f"**Protected repository.** Missing: {lacks}."] if lacks else []),
        "Comments here decide nothing in Gateline: its gates do.",
        mark,
    ]
    title = " ".join(task.title.split())[:LONGEST_TITLE] or task.name
    return RequestText(masked(title), masked("\n\n".join(parts)), mark, at)


def _path_text(job: Job, line: ParsedLine, tokens: list[int], visits: list[GateVisit]) -> str:
    """Stations and gates in the order in which they were left."""
    done = Job.objects.filter(
        task=job.task_id, token__in=tokens, state=Job.State.DONE, purpose=Purpose.STATION, pk__lt=job.pk
    )
    steps = [
        (ended, inline_code(_station_name(versions.parsed_line_by_version_id(pinned), station)))
        for ended, pinned, station in done.values_list("ended_at", "pinned_id", "station")
        if ended
    ]
    steps += [
        (visit.decided_at, f"{inline_code(_gate_name(line, visit.gate))} ({_decision_text(visit)})")
        for visit in visits
        if visit.decided_at
    ]
    labels = [text for _at, text in sorted(steps, key=lambda step: step[0])]
    left_out = ["…"] if len(labels) > MOST_STEPS else []
    return " → ".join([*left_out, *labels[-MOST_STEPS:]])


def gate_decision_and_reason(visit: GateVisit, line: ParsedLine) -> str:
    """Return who decided how, and what they wrote."""
    reason = visit.reason.strip()
    excerpt = reason if len(reason) <= LONGEST_SAID else f"{reason[:LONGEST_SAID]}…"
    decided = f"**{inline_code(_gate_name(line, visit.gate))}: {_decision_text(visit)}**"
    return f"{decided}\n\n{code_block(excerpt)}" if excerpt else decided


def _decision_text(visit: GateVisit) -> str:
    return (
        f"{DONE[Word(visit.word)]} by {inline_code(str(visit.decided_by)) if visit.decided_by else DUE_TIME}"
    )


def _station_name(line: ParsedLine, key: str) -> str:
    return next((station.name for station in line.stations if station.key == key), key)


def _gate_name(line: ParsedLine, key: str) -> str:
    gate = line.gates_by_key.get(key)
    return gate.name if gate else key
