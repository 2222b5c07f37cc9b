"""What a notice says, as the rows are when it is sent."""

from __future__ import annotations

from pipelines.models import ENDED as TASK_ENDED
from pipelines.models import Delivery, GateVisit, HostLink, HostNotice, Status, Task
from pipelines.ports.host_notices import STARTED
from pipelines.queries import versions
from pipelines.queries.addresses import absolute
from pipelines.work.hosts.host import CommitState
from pipelines.work.hosts.markdown import code
from pipelines.work.transport.local.request_text import said_at_gate
from pipelines.work.transport.local.station_values import masker_of


def mark_of(notice: HostNotice) -> str:
    return f"<!-- gateline-notice: {notice.link.task.name}/{notice.pk} -->"


def comment_of(notice: HostNotice) -> str:
    """In Markdown; the last line says which notice it is."""
    task = notice.link.task
    named = f"[{task.name}]({page_of(task)})"
    if notice.about.startswith("gate:"):
        visit = GateVisit.objects.select_related("decided_by", "job").get(
            pk=notice.about.removeprefix("gate:")
        )
        text = f"{said_at_gate(visit, versions.by_id(visit.job.pinned_id))}\n\n{named}"
    elif notice.about == STARTED:
        text = f"{named} was started for this, on {code(task.line.name)}."
    else:
        text = f"{named} ended: {_end(task)}."
    return masker_of(task).all(f"{text}\n\n{mark_of(notice)}")


def _end(task: Task) -> str:
    line = versions.by_id(task.pinned_id)
    label = next((each.label for each in line.ends if each.key == task.end), "")
    word = {Status.COMPLETED: "completed", Status.FAILED: "failed"}.get(Status(task.status), "cancelled")
    return f"{word}, {code(label)}" if label else word


def status_of(task: Task) -> tuple[CommitState, str]:
    """Of its commit: what is missing, by name."""
    if task.status == Status.COMPLETED:
        return "success", "Completed in Gateline"
    if task.status in TASK_ENDED:
        return "failure", "Failed in Gateline" if task.status == Status.FAILED else "Cancelled in Gateline"
    if task.status == Status.AWAITING_REVIEW:
        line = versions.by_id(task.pinned_id)
        keys = task.gate_visits.filter(state=GateVisit.State.OPEN).values_list("gate", flat=True)
        names = [gate.name for key in dict.fromkeys(keys) if (gate := line.gates_by_key.get(key))]
        return "pending", f"Waits for {', '.join(names)}"
    if task.status in (Status.STUCK, Status.BLOCKED, Status.HELD):
        return "pending", "Waits for a person in Gateline"
    return "pending", "In progress in Gateline"


def commit_of(link: HostLink) -> str:
    """The head of the branch of a request, as it was pushed last."""
    pushed = Delivery.objects.filter(task=link.task_id, request__number=link.number).exclude(commit="")
    return pushed.order_by("-job").values_list("commit", flat=True).first() or ""


def page_of(task: Task) -> str:
    return absolute("task", task.project.owner.key, task.project.key, task.name)
