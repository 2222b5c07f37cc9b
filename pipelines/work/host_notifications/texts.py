"""Text of a notice, as the rows are when it is sent."""

from __future__ import annotations

from django.db.models import Count, Q

from pipelines.models import ENDED as TASK_ENDED
from pipelines.models import GateVisit, HostLink, HostNotice, Job, Status, Task, VisitCommit, Word
from pipelines.ports.code_host_notices import STARTED
from pipelines.queries import versions
from pipelines.queries.addresses import absolute_url
from pipelines.queries.task_branch import last_known_remote_commit
from pipelines.queries.unmerged import has_unmerged_change
from pipelines.routing.decide.approval import approval_policy_with_extra_votes
from pipelines.work.hosts.host import CommitState
from pipelines.work.hosts.markdown import inline_code
from pipelines.work.transport.local.request_text import gate_decision_and_reason
from pipelines.work.transport.local.station_values import task_masker

APPROVED = "Approved in Gateline"


def notice_marker(notice: HostNotice) -> str:
    return f"<!-- gateline-notice: {notice.link.task.name}/{notice.pk} -->"


def notice_comment(notice: HostNotice) -> str:
    """Return the comment in Markdown; the last line says which notice it is."""
    task = notice.link.task
    task_link = f"[{task.name}]({task_page_url(task)})"
    if notice.about.startswith("gate:"):
        visit = GateVisit.objects.select_related("decided_by", "job").get(
            pk=notice.about.removeprefix("gate:")
        )
        line = versions.parsed_line_by_version_id(visit.job.pinned_id)
        text = f"{gate_decision_and_reason(visit, line)}\n\n{task_link}"
    elif notice.about == STARTED:
        text = f"{task_link} was started for this, on {inline_code(task.line.name)}."
    else:
        text = f"{task_link} ended: {_end_sentence(task)}."
    return task_masker(task).masked_text(f"{text}\n\n{notice_marker(notice)}")


def _end_sentence(task: Task) -> str:
    line = versions.parsed_line_by_version_id(task.pinned_id)
    label = next((end.label for end in line.ends if end.key == task.end), "")
    word = {Status.COMPLETED: "completed", Status.FAILED: "failed"}.get(Status(task.status), "cancelled")
    if has_unmerged_change(task):
        word = f"{word}, not merged"
    return f"{word}, {inline_code(label)}" if label else word


def commit_state_and_description(task: Task, commit: str) -> tuple[CommitState, str]:
    """Return the status of the task's commit: what is missing, by name. What the host merges just now was
    approved."""
    if (
        task.status not in TASK_ENDED
        and task.deliveries.filter(
            head=commit, landed_at=None, job__state__in=(Job.State.QUEUED, Job.State.RUNNING)
        ).exists()
    ):
        return "success", APPROVED
    if task.status == Status.COMPLETED:
        return "success", f"Completed in Gateline{', not merged' if has_unmerged_change(task) else ''}"
    if task.status in TASK_ENDED:
        return "failure", "Failed in Gateline" if task.status == Status.FAILED else "Cancelled in Gateline"
    if task.status == Status.AWAITING_REVIEW:
        line = versions.parsed_line_by_version_id(task.pinned_id)
        yes = Count("votes", filter=Q(votes__word=Word.APPROVE))
        visits = task.gate_visits.filter(state=GateVisit.State.OPEN).annotate(yes=yes).order_by("opened_at")
        missing_votes = [
            _votes_text(
                gate.name,
                approval_policy_with_extra_votes(gate.approval, visit.producers).min_votes,
                visit.yes,
            )
            for visit in visits
            if (gate := line.gates_by_key.get(visit.gate)) is not None
        ]
        return "pending", f"Waits for {', '.join(dict.fromkeys(missing_votes))}"
    if task.status in (Status.STUCK, Status.BLOCKED, Status.HELD):
        return "pending", "Waits for a person in Gateline"
    return "pending", "In progress in Gateline"


def _votes_text(gate: str, needed: int, yes: int) -> str:
    """*Security review: 1 of 2*."""
    return gate if needed <= 1 else f"{gate}: {min(yes, needed)} of {needed}"


def last_pushed_head_or_empty(link: HostLink) -> str:
    """The head of the task's branch, as Gateline or people pushed it last."""
    last = VisitCommit.objects.filter(task=link.task_id, job__state=Job.State.DONE).order_by("-job")
    branch = last.values_list("branch", flat=True).first()
    return last_known_remote_commit(link.task_id, branch) if branch else ""


def task_page_url(task: Task) -> str:
    return absolute_url("task", task.project.owner.key, task.project.key, task.name)
