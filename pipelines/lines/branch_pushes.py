"""A push to the branch of a task, as a host tells of it: a visit of the person who pushed (law §15)."""

from __future__ import annotations

from pipelines import engine
from pipelines.engine import ObservedPush
from pipelines.models import ENDED, Repository, Task
from pipelines.work.hosts.hooks import PushEvent
from pipelines.work.results.text import escaped
from pipelines.work.transport.local.pushes import find_members, joined_names

ANSWERS = {
    "taken": "{task} goes on with what was pushed to {branch}.",
    "known": "{task} knows this commit already.",
    "ended": "{task} has ended.",
    "side_by_side": "{task} works in branches side by side: what was pushed is looked at when it is delivered.",
    "held": "{task} is on hold: what was pushed is looked at when it is delivered.",
    "delivering": "{task} is being delivered.",
    "nowhere": "{task} has no station that works on {branch}.",
}


def process_push(repository: Repository, push: PushEvent) -> tuple[str, Task | None]:
    """Process a push; return what became of it, and the task that it concerns."""
    tasks = Task.objects.filter(
        visit_commits__repository=repository, visit_commits__branch=push.branch[:200]
    ).exclude(status__in=ENDED)
    task = tasks.distinct().order_by("-pk").first()
    if task is None:
        return "No task works on this branch.", None
    # What commits name anybody can write: it counts only where the host's own word leads to nobody here.
    by_host = find_members(task, push.logins, push.addresses)
    people = by_host or find_members(task, (), push.authors)
    who = escaped(joined_names(push.logins or push.addresses or push.authors))
    answer = engine.record_push_visit(task.pk, ObservedPush(push.commit, who, people, by_host=bool(by_host)))
    return ANSWERS[answer].format(task=task.name, branch=push.branch), task
