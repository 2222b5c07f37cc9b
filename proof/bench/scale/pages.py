"""The pages and operations that are measured, as requests of one signed-in person."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client
from django.urls import reverse

from pipelines.models import GateVisit, Line, Project, Status, Task, User

Act = Callable[[], bytes]


def acts() -> dict[str, Act]:
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.get(username__startswith="reader"))

    def get(address: str) -> Act:
        def ask() -> bytes:
            answer = client.get(address, follow=True)
            assert answer.status_code == 200, (address, answer.status_code)
            return bytes(answer.getvalue())

        return ask

    return {name: get(address) for name, address in _addresses().items()}


def _addresses() -> dict[str, str]:
    project = Project.objects.get(key="team0")
    line = Line.objects.get(project=project, key="line0")
    here, of = (project.owner.key, project.key), (project.owner.key, project.key, line.key)
    waiting = Task.objects.filter(line=line, status=Status.AWAITING_REVIEW).latest("pk")
    done = Task.objects.filter(line=line, status=Status.COMPLETED).latest("pk")
    visit = GateVisit.objects.get(task=waiting, state=GateVisit.State.OPEN)
    inbox = reverse("inbox")
    return {
        "the number beside Inbox": reverse("needs-count"),
        "Inbox: needs you": reverse("needs-me"),
        "Inbox: the list alone": f"{inbox}?fragment=list",
        "Inbox: requested by you": f"{inbox}?tab=mine",
        "Inbox: team": f"{inbox}?tab=others",
        "Inbox: decided": f"{inbox}?tab=done",
        "a review": reverse("gate-visit", args=[visit.pk]),
        "a board": reverse("line-live", args=of),
        "a board, as a push fetches it": f"{reverse('line-live', args=of)}?fragment=board",
        "a board: a search": f"{reverse('line-live', args=of)}?q=Change+waiting",
        "a line": reverse("line", args=of),
        "lines of a project": reverse("lines", args=here),
        "tasks of a line": reverse("line-tasks", args=of),
        "tasks of a project": reverse("tasks", args=here),
        "tasks everywhere": reverse("tasks-everywhere"),
        "tasks everywhere: a search": f"{reverse('tasks-everywhere')}?q=Change+waiting",
        "tasks everywhere: rarer words": f"{reverse('tasks-everywhere')}?q=approved+of+line+7",
        "tasks everywhere: a number": f"{reverse('tasks-everywhere')}?q={done.name}",
        "tasks of a line: a search": f"{reverse('line-tasks', args=of)}?q=Change+waiting",
        "the palette: a search": f"{reverse('palette')}?q=Change+waiting",
        "a task that waits": reverse("task", args=[*here, waiting.name]),
        "a task that ended": reverse("task", args=[*here, done.name]),
        "Home": reverse("home"),
        "Projects": reverse("projects"),
        "Insights": reverse("insights", args=here),
        "Insights: 12 months": f"{reverse('insights', args=here)}?days=365",
        "Insights: 12 months, tasks by cost": f"{reverse('insights', args=here)}?days=365&tasks=cost",
        "Insights of a line": reverse("line-insights", args=of),
        "notifications": reverse("notifications"),
    }
