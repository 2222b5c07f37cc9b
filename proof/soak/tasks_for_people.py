"""Tasks that stand where only a person moves them on, each kind of it on a line of its own: a station by hand, gates of
people before and behind a station, one that asks two, a position that no rule lets go on, one on hold, a long wait."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pipelines import engine
from pipelines.errors import Refused
from pipelines.models import ENDED, GateVisit, Job, Task, Token

if TYPE_CHECKING:
    from tests.factories import World

Document = dict[str, Any]
ON = {"id": "on", "to": "after"}
AFTER: Document = {"key": "after", "work": {"kind": "noop"}, "rules": [{"id": "end", "to": "completed"}]}


def _line(key: str, work: Document, *gates: Document, rule: Document | None = None, **more: Any) -> Document:
    station = {"key": "stand", "work": work, "rules": [rule or ON], **more.pop("station", {})}
    return {
        "gateline": 1,
        "key": key,
        "name": key,
        "stations": [station, AFTER],
        "gates": list(gates),
        **more,
    }


def _gate(**more: Any) -> Document:
    return {"key": "sign", "name": "Sign", "mode": "manual", **more}


NOTHING: Document = {"kind": "noop"}
SIGNED = {**ON, "gates": ["sign"]}
NEVER = {**ON, "when": {"result": "failure"}}
LINES: tuple[Document, ...] = (
    _line("by-hand", {"kind": "manual"}),
    _line("signed-rule", NOTHING, _gate(), rule=SIGNED),
    _line("signed-station", NOTHING, _gate(), station={"gate": "sign"}),
    _line("signed-twice", NOTHING, _gate(approval={"who": [{"role": "reviewer", "count": 2}]}), rule=SIGNED),
    _line("stuck", NOTHING, rule=NEVER, policy={"no_match": "stuck"}),
    _line("held", {"kind": "command", "argv": ["true"]}, station={"labels": ["nobody"]}),
    _line("waits", {"kind": "wait", "for": "30d"}),
)


def move_on(world: World, tasks: list[int]) -> None:
    """Do as people who come back: complete, vote, release, move by hand."""
    for visit in GateVisit.objects.filter(task__in=tasks, state="open").select_related("task"):
        for voter in (world.reviewer, world.admin):
            _try(partial(world.vote, visit.task, visit=visit, by=voter))
    living = Token.objects.filter(task__in=tasks, forked=False).exclude(status__in=ENDED)
    for token in living.select_related("task__line"):
        act = {"user": world.operator, "token_version": token.version}
        key = token.task.line.key
        if key == "by-hand" and (job := Job.objects.filter(token=token, kind="manual").last()):
            _try(partial(engine.complete_manual_job, job.pk, outcome={"result": "success"}, **act))
        elif token.status == "held":
            _try(partial(engine.release, token.pk, **act))
        elif key in ("stuck", "waits", "held"):
            _try(partial(engine.move_or_retry_by_hand, token.pk, to="after", reason="Seen.", **act))


def open_tasks(tasks: list[int]) -> int:
    return Task.objects.filter(pk__in=tasks, ended_at=None).count()


def _try(act: Any) -> None:
    try:
        act()
    except Refused:
        return
