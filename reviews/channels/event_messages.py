"""Messages about events in words: made when they are sent, of how things stand then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pipelines.models import (
    Deadlock,
    Delivery,
    Escalation,
    GateVisit,
    Project,
    Purpose,
    Status,
    Task,
    Token,
)
from pipelines.queries import versions
from pipelines.queries.addresses import absolute_url
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.waits import stuck_sentence
from reviews.channels.channel import ReviewMessage
from reviews.channels.event_outbox import first_sent_message_ref_or_empty, task_of_message_or_none
from reviews.channels.topics import BY_KEY
from reviews.channels.visible_text import MOST_SUMMARY, shortened_visible_line
from reviews.models import ChannelMessage

SHORT = 7
"""Characters of a commit, as git shortens it."""
ALARMS: Final = {
    "escalated": "An escalation waits for somebody responsible",
    "breached": "An escalation was not answered in time",
    "deadlock": "A deadlock waits for somebody responsible",
}
ABOUT: Final = "about"
"""Among what a sentence is made of: what it is told once about, as its topic names it."""
LANDED: Final = {"merge": "Merged", "request": "Proposed"}
TaskSentence = Callable[[Task, Mapping[str, Any]], str]


def event_message_or_none(message: ChannelMessage) -> ReviewMessage | None:
    """Return a message about an event; None where there is nothing to tell any more."""
    project = message.connection.project
    if message.topic == "published":
        return _published_message(message, project)
    if message.topic == "health":
        return _health_message(message, project)
    task = task_of_message_or_none(message)
    # Its topic stands before what it is told once about
    data = {**message.data, ABOUT: message.about.partition(":")[2]}
    sentence = SENTENCES[message.topic](task, data) if task is not None else ""
    if task is None or not sentence:
        return None
    return ReviewMessage(
        **_id_kind_time_and_no_visit(message),
        title=shortened_visible_line(task.title, 300),
        task=task.name,
        place=shortened_visible_line(task.line.name, 200),
        requester=shortened_visible_line(task.requested_by, 200),
        summary=shortened_visible_line(sentence, MOST_SUMMARY),
        link=absolute_url("task", project.owner.key, project.key, task.name),
        event=f"task.{message.topic}",
        thread=first_sent_message_ref_or_empty(message),
        opens="Open the task",
    )


def _id_kind_time_and_no_visit(message: ChannelMessage) -> dict[str, Any]:
    return {"id": f"msg_{message.token.hex}", "kind": message.topic, "at": message.created_at, "visit": ""}


def _published_message(message: ChannelMessage, project: Project) -> ReviewMessage:
    data = message.data
    return ReviewMessage(
        **_id_kind_time_and_no_visit(message),
        title=shortened_visible_line(data["name"], 300),
        task="",
        place=shortened_visible_line(project.name, 200),
        requester="",
        summary=shortened_visible_line(
            f"Version {data['number']} was published by {data['by']}", MOST_SUMMARY
        ),
        link=absolute_url("line", project.owner.key, project.key, data["line"]),
        event="line.published",
        opens="Open the line",
    )


def _health_message(message: ChannelMessage, project: Project) -> ReviewMessage:
    data = message.data
    sentence = f"{data['name']}: {data['value']}, over the limit of {data['limit']}. {data['todo']}"
    return ReviewMessage(
        **_id_kind_time_and_no_visit(message),
        title=shortened_visible_line(f"Health of {project.name}", 300),
        task="",
        place=shortened_visible_line(project.name, 200),
        requester="",
        summary=shortened_visible_line(sentence, MOST_SUMMARY),
        link=absolute_url("insights", project.owner.key, project.key) + "#health",
        event="project.health",
        opens="Open Insights",
    )


def _started_text(task: Task, _data: Mapping[str, Any]) -> str:
    return "Started"


def _failed_at_station_text(task: Task, _data: Mapping[str, Any]) -> str:
    line = versions.parsed_line_by_version_id(task.pinned_id)
    last = task.jobs.filter(purpose=Purpose.STATION).order_by("-pk").values_list("station", flat=True).first()
    where = f" at {station_name(line, last)}" if last else ""
    return f"Failed{where}" + (f": {task.reason}" if task.reason else "")


def _sentence_of_waiting_token_or_empty_as(verb: str) -> TaskSentence:
    def sentence(task: Task, data: Mapping[str, Any]) -> str:
        token = Token.objects.filter(pk=data["token"], task=task).first()
        # It may have gone on meanwhile
        if token is None or token.status not in (Status.BLOCKED, Status.STUCK):
            return ""
        line = versions.parsed_line_by_version_id(task.pinned_id)
        is_stuck = token.status == Status.STUCK
        reason = stuck_sentence(token, line).text if is_stuck else str(token.wait.get("question") or "")
        return f"{verb} at {station_name(line, token.station)}" + (f": {reason}" if reason else "")

    return sentence


def _late_task_or_review_text_or_empty(task: Task, data: Mapping[str, Any]) -> str:
    if not data.get("review"):
        return "" if task.ended_at else "Late: its due time has passed"
    is_open = GateVisit.objects.filter(pk=data[ABOUT], task=task, state=GateVisit.State.OPEN).exists()
    return "Late: a review is overdue" if is_open else ""


def _landed_commit_text_or_empty(task: Task, _data: Mapping[str, Any]) -> str:
    landed = Delivery.objects.filter(task=task, landed_at__isnull=False).order_by("-landed_at").first()
    return f"{LANDED.get(landed.to, 'Pushed')} as {landed.commit[:SHORT]}" if landed else ""


def _moved_stations_text_or_empty(task: Task, data: Mapping[str, Any]) -> str:
    line = versions.parsed_line_by_version_id(task.pinned_id)
    target = ", ".join(station_name(line, key) for key in data["target"])
    return f"{station_name(line, data['source'])} → {target}" if target else ""


def _gate_decision_text_or_empty(task: Task, data: Mapping[str, Any]) -> str:
    visit = GateVisit.objects.select_related("decided_by", "asked_by").filter(pk=data["visit"]).first()
    if visit is None or not visit.word:
        return ""
    gate = versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate)
    return f"{gate.name}: {visit.word_display}" + (f" · {visit.decided_by}" if visit.decided_by else "")


def _alarm_text_or_empty(task: Task, data: Mapping[str, Any]) -> str:
    alarms: type[Deadlock] | type[Escalation] = Deadlock if data["alarm"] == "deadlock" else Escalation
    # The kind of the alarm stands behind its subject
    subject, _colon, _kind = data[ABOUT].partition(":")
    is_open = alarms._default_manager.filter(pk=subject, task=task, state="open").exists()
    return ALARMS.get(data["alarm"], ALARMS["escalated"]) if is_open else ""


SENTENCES: Final[dict[str, TaskSentence]] = {
    "waiting": _sentence_of_waiting_token_or_empty_as("Waits for an answer"),
    "failed": _failed_at_station_text,
    "stuck": _sentence_of_waiting_token_or_empty_as("Stuck"),
    "late": _late_task_or_review_text_or_empty,
    "merged": _landed_commit_text_or_empty,
    "started": _started_text,
    "moved": _moved_stations_text_or_empty,
    "decided": _gate_decision_text_or_empty,
    "escalated": _alarm_text_or_empty,
}
assert {*SENTENCES, "published", "health"} == BY_KEY.keys()
