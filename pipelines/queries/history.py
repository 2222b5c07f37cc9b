"""History of a task, as people read it: moves, votes, waits and ends; the rest stands in the list of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from pipelines.models import DUE_TIME, Event, Task, Word
from pipelines.queries import actor_names, versions
from pipelines.queries.actors import station_actor_kind_and_name
from pipelines.queries.join_waits import join_result_words
from pipelines.routing.document.evaluations import UNANSWERED
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.escalations import (
    deadlock_words,
    role_words,
    trigger_words,
    unanswered_escalation_sentence,
)
from pipelines.routing.sentences.names import gate_name, rule_name, station_name, target_name
from pipelines.routing.sentences.waits import waiting_question_or_empty

LONGEST = 300
"""Characters of an explanation."""
LATEST = 12
"""Events that are read to say what happened last: a move writes several, of which people read one."""
MOVES = ("task.submitted", "token.moved", "token.forked", "token.joined", "gate.opened", "token.ended")

ALARMS = (
    "gate.overdue",
    "gate.decided",
    "escalation.opened",
    "escalation.breached",
    "escalation.resolved",
    "deadlock.found",
    "deadlock.resolved",
)


@dataclass(slots=True)
class TimelineItem:
    """`shape`: start, station, gate, end or dot. `state`: taken, waiting, danger or "". `text` stands alone where
    there is no move. `key`: the label is the id of a rule without one. `seconds`: how long it stayed where this
    led to, until now where it still is. `names_actor`: the label says who did it."""

    seq: int
    at: datetime
    shape: str
    state: str
    source: str = ""
    target: str = ""
    text: str = ""
    number: int | None = None
    label: str = ""
    key: bool = False
    by: str = ""
    by_kind: str = "system"
    seconds: float | None = None
    here: bool = False
    decision: str = ""
    run: int | None = None
    names_actor: bool = False

    @property
    def move(self) -> bool:
        return bool(self.target)


def timeline_items_newest_first(task: Task, events: Sequence[Event], now: datetime) -> list[TimelineItem]:
    """Newest first."""
    items = feed_items_oldest_first(task, events, actor_names.label_by_actor(event.actor for event in events))
    _fill_in_durations(items, events, task.ended_at or now, ended=task.ended_at is not None)
    return items[::-1]


def feed_items_oldest_first(
    task: Task, events: Sequence[Event], who: Mapping[str, actor_names.ActorLabel]
) -> list[TimelineItem]:
    """Return some events of a task, oldest first, without how long it stayed anywhere. `who`: names of actors."""
    line = versions.parsed_line_by_version_id(task.pinned_id)
    items = [
        item for event in events if (item := _timeline_item_or_none(task, line, event, who[event.actor]))
    ]
    _fill_gate_openings(line, items, events)
    return items


def latest_change_sentence(task: Task) -> str:
    """Return what happened to the task last, in one sentence with who did it."""
    # The very last may say nothing to people: among a few there is one that does
    events = list(task.events.order_by("-seq")[:LATEST])[::-1]
    items = timeline_items_newest_first(task, events, timezone.now())
    if not items:
        return "This task changed."
    item = items[0]
    return f"{item.by}: {item.source} → {item.target}." if item.move else f"{item.text}."


def _timeline_item_or_none(
    task: Task, line: ParsedLine, event: Event, who: actor_names.ActorLabel
) -> TimelineItem | None:
    if event.kind in MOVES:
        made: TimelineItem | None = _timeline_item_of_move(line, event, who)
    elif event.kind in SUPPLY_TEXTS:
        names = ", ".join(map(str, event.data.get("given", ())))
        words = {"who": who.name, "station": station_name(line, event.source), "names": names}
        made = _timeline_dot(event, SUPPLY_TEXTS[event.kind] % words)
    elif event.kind.startswith("permission."):
        made = _timeline_item_of_permission(line, event, who)
    else:
        made = (
            _alarm_item_or_none(line, event, who)
            if event.kind in ALARMS
            else _remark_item_or_none(line, event, who)
        )
    if made is None:
        return None
    made.decision = str(event.decision_id or "")
    if not made.by:
        made.by, made.by_kind = who.name, who.kind
    # The engine records each move; a reader asks whose work led to it
    if event.kind in ("token.moved", "gate.opened", "token.ended") and not event.actor.startswith("person:"):
        kind, name = station_actor_kind_and_name(line.stations_by_key.get(event.source))
        made.by, made.by_kind = (name, kind) if name else (made.by, made.by_kind)
    return made


def _timeline_item_of_move(line: ParsedLine, event: Event, who: actor_names.ActorLabel) -> TimelineItem:
    item = TimelineItem(event.seq, event.at, "station", "taken", station_name(line, event.source))
    rule = event.data.get("rule")
    item.number, item.label = _rule_number_and_name(line, event.source, rule)
    # A rule without a name is called by its id, which stands as code
    item.key = item.label != "" and item.label == rule
    match event.kind:
        case "task.submitted":
            item.shape, item.source = "station", "Start"
            item.target, item.label = station_name(line, _first_station(line, event)), "Start form"
            if event.trigger == "retry":
                item.label = _text_with_remark(
                    f"Retries {event.data.get('follows', '')}", event.data.get("reason")
                )
            if event.trigger == "fork":
                item.label = _text_with_remark(
                    f"Forked from {event.data.get('follows', '')} at event {event.data.get('moment', '')}",
                    event.data.get("reason"),
                )
            if event.trigger == "follow_up":
                item.label = f"Follows {event.data.get('follows', '')}, whose end starts another task"
        case "token.forked":
            # The first is the forked token itself; its children follow.
            names = [station_name(line, token["station"]) for token in event.data.get("tokens", [])[1:]]
            item.target = ", ".join(names) or event.target
        case "token.joined":
            sources = event.source.split(",")
            item.source = ", ".join(station_name(line, key) for key in sources)
            item.target = station_name(line, event.target)
            item.label = join_result_words(line, event.data["join"], event.data.get("contradictions", ()))
            item.run = (event.data.get("job") or {}).get("visit")
        case "gate.opened":
            item.shape, item.target = "gate", gate_name(line, event.target)
        case "token.ended":
            item.shape, item.target = "end", target_name(line, event.target)
            item.label = item.label or str(event.data.get("reason") or "")
        case _:
            _fill_station_move(item, line, event, who)
    return item


def _fill_station_move(
    item: TimelineItem, line: ParsedLine, event: Event, who: actor_names.ActorLabel
) -> None:
    """Fill in where a position went, and by what: a rule, a policy, or somebody's hand."""
    reason = event.data.get("reason")
    item.target = station_name(line, event.target)
    item.run = (event.data.get("job") or {}).get("visit")
    if any("join" in token for token in event.data.get("tokens", ())):
        item.state = "waiting"
    item.label = item.label or BY.get(event.data.get("by", ""), "")
    if event.trigger.startswith("escalation:"):
        item.label = _text_with_remark("By the person it was escalated to", reason)
    elif event.trigger == "answer" and str(reason or "").strip():
        item.label, item.names_actor = f"{who.name} answered: {str(reason).strip()[:LONGEST]}", True
    elif event.trigger == "retry" and event.data["tokens"][0].get("parent_id"):
        item.label = _text_with_remark(f"Only {item.target} was run again by hand", reason)
    elif event.trigger in BY_HAND:
        item.label = _text_with_remark(BY_HAND[event.trigger], reason)


BY = {
    "policy": "By the line's policy",
    "signal": "By a signal of the station",
    "gate": "By a gate",
    "fallback": "By the fallback",
    "hand": "By hand",
    "migration": "By the migration of the task",
}

BY_HAND = {
    "answer": "Runs again with the answer",
    "checks_rerun": "The host was to run its checks again",
    "push": "Somebody pushed to the branch",
    "retry": "Retried by hand",
    "move": "Moved by hand",
    "skip": "Run again by hand, to be skipped",
}


def _first_station(line: ParsedLine, event: Event) -> str:
    tokens = event.data.get("tokens") or [{}]
    return str(event.target or tokens[0].get("station") or line.start)


def _rule_number_and_name(line: ParsedLine, station_key: str, rule_id: str | None) -> tuple[int | None, str]:
    station = line.stations_by_key.get(station_key)
    for number, rule in enumerate(station.rules if station else (), start=1):
        if rule.id == rule_id:
            return number, rule_name(line, rule.id)
    return None, rule_id or ""


def _voter_words(who: str, stands_for: str | None, chat: str | None) -> str:
    name = f"{who}, in place of {stands_for}," if stands_for else who
    return f"{name} (in the chat {chat})" if chat else name


OF_TASK = {
    "task.cancelled": ("cancelled", "danger"),
    "task.paused": ("paused", "waiting"),
    "task.resumed": ("resumed", ""),
}
"""Verb and tone of what somebody does to a whole task, by the kind of its event."""


def _remark_item_or_none(line: ParsedLine, event: Event, who: actor_names.ActorLabel) -> TimelineItem | None:
    data = event.data
    station = station_name(line, event.source)
    wait = data.get("wait") or {}
    match event.kind:
        case "gate.voted":
            word = "self_approve" if data.get("self_approved") else data.get("word", "")
            name = _voter_words(who.name, data.get("stands_for"), data.get("chat"))
            text = VOTED.get(word, "%(who)s voted") % {"who": name}
            return _timeline_dot(event, _text_with_remark(text, data.get("reason")))
        case "gate.overridden":
            gate = gate_name(line, event.source)
            text = f"{who.name} overrode {gate}"
            return _timeline_dot(event, _text_with_remark(text, data.get("reason")), "attention")
        case "gate.closed":
            return _timeline_dot(event, f"{gate_name(line, event.source)} closed without a decision")
        case "token.stuck":
            return _timeline_dot(event, f"{station}: stuck", "danger")
        case "token.waits":
            return _timeline_item_of_wait_or_none(event, station, wait)
        case "task.migrated":
            text = (
                "Migration undone: %(was)s → %(now)s" if "undoes" in data else "Migrated: %(was)s → %(now)s"
            )
            return _timeline_dot(event, text % {"was": event.source, "now": event.target})
        case "job.lost":
            attempt = data.get("attempt") or (data.get("job") or {}).get("attempt") or ""
            text = "The runner of %(station)s was lost; attempt %(attempt)s"
            return _timeline_dot(event, text % {"station": station, "attempt": attempt})
        case "job.ignored":
            return _timeline_dot(event, "A late report was ignored")
        case "signal.ignored":
            words = {"station": station, "verdict": ", ".join(map(str, data.get("verdicts", ())))}
            return _timeline_dot(event, "{station} gave an unknown signal: {verdict}".format(**words))
        case kind if kind in OF_TASK:
            verb, tone = OF_TASK[kind]
            subject = (
                station_name(line, data["station"])
                if "station" in data
                else f"the {data.get('scope', 'task')}"
            )
            return _timeline_dot(
                event, _text_with_remark(f"{who.name} {verb} {subject}", data.get("reason")), tone
            )
        case "evaluation.asked" | "evaluation.answered":
            return _timeline_dot(
                event, _question_words(data) if "question" in data else _answer_words(data["answer"], who)
            )
    return _timeline_item_of_fork(event, who) if event.kind == "task.forked" else None


def _timeline_item_of_permission(line: ParsedLine, event: Event, who: actor_names.ActorLabel) -> TimelineItem:
    data, station = event.data, station_name(line, event.source)
    if event.kind == "permission.asked":
        # A call may carry a whole file
        return _timeline_dot(event, f"{station} asks to call {data['call']}"[:LONGEST], "waiting")
    by = "Nobody answered in time:" if event.actor == "engine" else f"{who.name}"
    text = f"{by} {data['answer']} the call of {data['tool']}"
    return _timeline_dot(
        event, text if event.actor == "engine" else _text_with_remark(text, data.get("reason"))
    )


def _timeline_item_of_fork(event: Event, who: actor_names.ActorLabel) -> TimelineItem:
    text = f"{who.name} forked it as {event.data['fork']} from event {event.data['moment']}"
    return _timeline_dot(event, _text_with_remark(text, event.data.get("reason")))


SUPPLY_TEXTS = {
    "metadata.added": "%(who)s added what was missing: %(names)s",
    "handoff.added": "%(who)s provided the handoff of %(station)s",
    "token.released": "%(who)s released it",
}


def _question_words(data: dict[str, Any]) -> str:
    return f"Evaluating: {waiting_question_or_empty({'evaluation': data['question']})}"


def _answer_words(answer: dict[str, Any], who: actor_names.ActorLabel) -> str:
    text = str(answer.get("text") or "").strip()
    if answer.get("answer") == UNANSWERED:
        return _text_with_remark("No answer", text[:LONGEST])
    by = "Answered %(answer)s" if who.kind == "worker" else "%(who)s answered %(answer)s"
    sentence = by % {"who": who.name, "answer": answer.get("answer", "")}
    return _text_with_remark(sentence, text[:LONGEST])


def _alarm_item_or_none(line: ParsedLine, event: Event, who: actor_names.ActorLabel) -> TimelineItem | None:
    data = event.data
    words = {
        "what": trigger_words(str(data.get("escalated", ""))),
        "role": data.get("role", ""),
        "who": who.name,
    }
    match event.kind:
        case "gate.overdue":
            text = f"{gate_name(line, event.source)} was not decided in time"
            return _timeline_dot(event, text, "waiting")
        case "gate.decided":
            # What a person decided, their vote has told.
            text = f"Due time: {Word(data['word']).label}"
            return (
                _timeline_dot(event, _text_with_remark(text, data["reason"]))
                if data.get("by") == DUE_TIME
                else None
            )
        case "deadlock.found":
            return _timeline_dot(event, f"Deadlock: {deadlock_words(event.trigger)}", "danger")
        case "deadlock.resolved":
            return _timeline_dot(
                event, _text_with_remark("{who} resolved the deadlock".format(**words), data.get("reason"))
            )
        case "escalation.opened":
            text = "Escalated to %(role)s: %(what)s"
            words["role"] = role_words(str(words["role"]))
            return _timeline_dot(event, _text_with_remark(text % words, data.get("reason")), "waiting")
        case "escalation.breached":
            return _timeline_dot(
                event,
                unanswered_escalation_sentence(str(words["role"]), str(data.get("escalated", ""))),
                "danger",
            )
    text = RESOLVED.get(str(data.get("how", "")), "%(who)s resolved it: %(what)s")
    return _timeline_dot(event, _text_with_remark(text % words, data.get("reason")))


RESOLVED = {
    "go_on": "%(who)s let it continue: %(what)s",
    "choose": "%(who)s chose what counts: %(what)s",
    "retry": "%(who)s ran the station again: %(what)s",
    "route": "%(who)s sent it on: %(what)s",
    "cancel": "%(who)s ended it: %(what)s",
    "decided": "Escalation closed, the review was decided: %(what)s",
    "ended": "Escalation closed, the task ended: %(what)s",
}

VOTED = {
    "approve": "%(who)s approved",
    "self_approve": "%(who)s self-approved, as the project's only member",
    "reject": "%(who)s rejected",
    "send_back": "%(who)s sent it back",
    "rework": "%(who)s asked for rework",
    "abort": "%(who)s aborted",
}


def _timeline_item_of_wait_or_none(
    event: Event, station: str, wait: dict[str, object]
) -> TimelineItem | None:
    """Waiting at a gate is shown by the gate's opening."""
    if wait.get("gates"):
        return None
    question = waiting_question_or_empty(wait)
    text = (
        "%(station)s asks: %(question)s"
        if question
        else _HOLD_TEXTS.get(_hold_cause_key(wait), "%(station)s waits for a person")
    )
    return _timeline_dot(event, text % {"station": station, "question": question}, "waiting")


def _hold_cause_key(wait: dict[str, object]) -> str:
    return next((key for key in _HOLD_TEXTS if wait.get(key)), "")


_HOLD_TEXTS = {
    "paused": "%(station)s waits until it is resumed",
    "missing": "%(station)s is held: something is missing",
    "deadlock": "%(station)s is held by a deadlock",
    "failed": "%(station)s is held: a task that it waits for failed or was cancelled",
    "depends_on": "%(station)s waits for other tasks",
    "trigger": "%(station)s is held until the escalation is resolved",
}


def _timeline_dot(event: Event, text: str, state: str = "") -> TimelineItem:
    return TimelineItem(event.seq, event.at, "dot", state, text=text)


def _text_with_remark(text: str, remark: object) -> str:
    return f"{text}: {remark}" if remark else text


def _fill_gate_openings(line: ParsedLine, items: list[TimelineItem], events: Sequence[Event]) -> None:
    """Fill in, for each opened gate, the decision and the rule, which the wait event before it names."""
    waits: dict[int | None, Event] = {}
    wait_events: dict[int, Event] = {}
    for event in events:
        if event.kind == "token.waits":
            # The last one before the gate opened is the one of this gate
            waits[event.token_id] = event
        elif event.kind == "gate.opened" and event.token_id in waits:
            wait_events[event.seq] = waits[event.token_id]
    for item in items:
        wait = wait_events.get(item.seq)
        if wait:
            item.decision = str(wait.decision_id or "")
            item.number, item.label = _rule_number_and_name(
                line, wait.source, (wait.data.get("wait") or {}).get("rule")
            )


def _fill_in_durations(
    items: list[TimelineItem], events: Sequence[Event], until: datetime, ended: bool
) -> None:
    """Fill in how long each position lasted: until the next move of the same token; the last ones until now."""
    token_of = {event.seq: event.token_id for event in events}
    leaves: dict[int | None, datetime] = {}
    # From the end on, so that each move knows when its token left again.
    for item in reversed(items):
        if not item.move or item.shape == "end":
            if item.shape == "end":
                leaves[token_of[item.seq]] = item.at
            continue
        token = token_of[item.seq]
        item.here = token not in leaves and not ended
        item.seconds = (leaves.get(token, until) - item.at).total_seconds()
        if item.here and item.shape == "gate":
            item.state = "waiting"
        leaves[token] = item.at
