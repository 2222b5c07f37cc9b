"""A task's way on the drawing of its line: what was taken, where it is, what is still ahead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pipelines.models import ENDED, GateVisit, Job, Status, Task, Token
from pipelines.queries.branches import waits_at_join
from pipelines.routing.document.line import Line
from pipelines.templatetags.gateline import duration
from pipelines.web.graph.build import DrawnEnding
from pipelines.web.graph.shapes import Drawing, Edge, Node, NodeKind

TAKEN, UNTAKEN = "taken", "untaken"
TONES = {
    Status.RUNNING: "active",
    Status.EVALUATING: "active",
    Status.QUEUED: "active",
    Status.AWAITING_REVIEW: "attention",
    Status.HELD: "attention",
    Status.BLOCKED: "attention",
    Status.STUCK: "danger",
    Status.FAILED: "danger",
    Status.COMPLETED: "ok",
    Status.CANCELLED: TAKEN,
}


def lay_over(
    drawing: Drawing,
    line: Line,
    task: Task,
    tokens: Sequence[Token],
    jobs: Sequence[Job],
    visits: Sequence[GateVisit],
    now: datetime,
    endings: Sequence[DrawnEnding] = (),
) -> Drawing:
    """Sets states and the words over nodes. `visits` oldest first."""
    _stations(drawing, line, task, jobs)
    _gates(drawing, visits, now)
    _tokens(drawing, tokens, jobs, now)
    # A rule whose gate asks has brought the task to the gate, but not yet through it.
    waiting = {str(token.wait.get("rule")) for token in tokens if token.status == Status.AWAITING_REVIEW}
    waiting |= {str(end.rule) for end in endings}
    for edge in drawing.edges:
        edge.state = TAKEN if _taken(drawing, edge, task, waiting) else UNTAKEN
    for port in drawing.ports:
        if task.rules.get(port.rule) or port.rule in waiting:
            port.state = TAKEN
    return drawing


def _stations(drawing: Drawing, line: Line, task: Task, jobs: Sequence[Job]) -> None:
    spent: defaultdict[str, float] = defaultdict(float)
    for job in jobs:
        if job.ended_at:
            spent[job.station] += (job.ended_at - (job.started_at or job.created_at)).total_seconds()
    for node in drawing.nodes.values():
        if node.kind is NodeKind.START:
            node.state = TAKEN
        elif node.kind is NodeKind.STATION:
            visits = task.visits.get(node.key, 0)
            node.state = TAKEN if visits else UNTAKEN
            node.over = _spent(spent[node.key], visits) if visits else _expected(line, node)
        else:
            node.state = UNTAKEN


def _spent(seconds: float, visits: int) -> str:
    if visits == 1:
        return duration(seconds)
    words = {"time": duration(seconds), "n": visits}
    return ngettext("%(time)s in %(n)s run", "%(time)s in %(n)s runs", visits) % words


def _expected(line: Line, node: Node) -> str:
    expected = line.station(node.key).limits.expected
    return _("expected %(time)s") % {"time": duration(expected)} if expected else ""


def _gates(drawing: Drawing, visits: Sequence[GateVisit], now: datetime) -> None:
    for node in drawing.nodes.values():
        for visit in visits if node.kind is NodeKind.GATE else ():
            if visit.gate not in node.keys:
                continue
            if visit.state == GateVisit.State.OPEN:
                _here(node, "attention", visit.opened_at, now)
            elif visit.decided_at:
                node.state = TAKEN
                node.over = duration((visit.decided_at - visit.opened_at).total_seconds())


def _here(node: Node, tone: str, since: datetime, now: datetime) -> None:
    _ticking(node, tone, _("here for %(time)s"), since, now)


def _ticking(node: Node, tone: str, words: str, since: datetime, now: datetime) -> None:
    """A note with a time that goes on in the browser; `words` has its place."""
    node.state = node.over_tone = tone
    node.over = words % {"time": duration((now - since).total_seconds())}
    node.over_since, node.over_words = since, words % {"time": "{time}"}


def _tokens(drawing: Drawing, tokens: Sequence[Token], jobs: Sequence[Job], now: datetime) -> None:
    by_hand = {job.token_id for job in jobs if job.kind == "manual" and job.state == Job.State.RUNNING}
    for token in tokens:
        ended = token.status in ENDED
        node = drawing.nodes.get(f"end:{token.end}" if ended else f"station:{token.station}")
        if node is None or token.forked or token.status == Status.AWAITING_REVIEW:
            continue
        tone = "attention" if token.pk in by_hand else TONES[Status(token.status)]
        if ended:
            node.state = tone
        elif waits_at_join(token):
            _ticking(node, tone, _("waits %(time)s"), token.entered_at, now)
        else:
            _here(node, tone, token.entered_at, now)


def _taken(drawing: Drawing, edge: Edge, task: Task, waiting: set[str]) -> bool:
    if edge.source == "start" or edge.stopped:
        return True
    target = drawing.nodes[edge.target]
    if edge.rule:
        return bool(task.rules.get(edge.rule)) or (target.kind is NodeKind.GATE and edge.rule in waiting)
    return bool(task.edges.get(f"{drawing.nodes[edge.source].key}->{target.key}"))
