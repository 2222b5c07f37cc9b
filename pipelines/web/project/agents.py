"""Agents of a project: who answers for them, their contract, capacity and trust; suspending and restoring them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pipelines import engine
from pipelines.engine.core.values import Actor
from pipelines.errors import Conflict
from pipelines.models import Agent, Job, Project, User
from pipelines.queries import actor_names
from pipelines.web.shell.forms import AgentForm, NewAgentForm, ReasonForm
from pipelines.web.shell.page import (
    SignedInRequest,
    project_breadcrumb,
    project_required,
    render_in_shell,
    require_permission,
)

LISTS = ("allowed_inputs", "allowed_outputs", "forbidden_actions", "required_checks")


@project_required("view")
@require_http_methods(["GET", "HEAD", "POST"])
def agents_page(request: SignedInRequest, project: Project) -> HttpResponse:
    """Members see who works here; only admins change it."""
    form = NewAgentForm(project, request.POST or None)
    if request.method == "POST":
        require_permission(request, "admin", project)
        if form.is_valid():
            actor = Actor.person(request.user)
            engine.register_agent(project, form.cleaned_data["key"], form.model_fields(), actor=actor)
            messages.success(request, "Agent added")
            return redirect("project-agents", project.owner.key, project.key)
    return render_in_shell(
        request,
        "project/agents.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Agents"),
        status=422 if request.method == "POST" else 200,
        form=form,
        fields=_form_values(form),
        owners=_owner_choices(project),
        agents=[_agent_row(agent, open_jobs) for agent, open_jobs in _agents_with_open_jobs(project)],
    )


def _agents_with_open_jobs(project: Project) -> list[tuple[Agent, int]]:
    counted = Job.objects.filter(task__project=project).exclude(Q(state=Job.State.DONE) | Q(agent=""))
    open_jobs = dict(counted.values_list("agent").annotate(n=Count("pk")).order_by())
    project_agents = Agent.objects.filter(project=project).select_related("owner").order_by("key")
    return [(agent, open_jobs.get(agent.key, 0)) for agent in project_agents]


def _agent_row(agent: Agent, open_jobs: int) -> dict[str, Any]:
    return {"agent": agent, "open": open_jobs, "contract": agent.has_contract(timezone.now())}


def _owner_choices(project: Project) -> list[tuple[str, str]]:
    people = User.objects.filter(memberships__project=project).order_by("username")
    return [("", "Choose a member"), *((str(user.pk), str(user)) for user in people)]


@project_required("view")
@require_http_methods(["GET", "HEAD", "POST"])
def agent_page(request: SignedInRequest, project: Project, agent: int) -> HttpResponse:
    project_agent = _get_agent(project, agent)
    form = AgentForm(project, request.POST or None)
    if request.method == "POST":
        require_permission(request, "admin", project)
        if form.is_valid():
            engine.change_agent(project_agent.pk, form.model_fields(), actor=Actor.person(request.user))
            messages.success(request, "Saved")
            return redirect("project-agents", project.owner.key, project.key)
    return render_in_shell(
        request,
        "project/agent.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, str(project_agent)),
        status=422 if request.method == "POST" else 200,
        form=form,
        fields=_form_values(form) if form.is_bound else _agent_values(project_agent),
        owners=_owner_choices(project),
        agent=project_agent,
        contract=project_agent.has_contract(timezone.now()),
        events=_newest_event_rows(project_agent),
    )


KINDS = {
    "added": "Added",
    "changed": "Changed",
    "suspended": "Suspended",
    "restored": "Restored",
    "raised": "Trust raised",
    "lowered": "Trust lowered",
}


def _newest_event_rows(agent: Agent) -> list[dict[str, Any]]:
    """Return the changes of an agent, the latest first, each with the name of its author."""
    events = list(agent.events.all()[:50])
    who = actor_names.label_by_actor(event.actor for event in events)
    return [
        {
            "at": event.at,
            "what": KINDS.get(event.kind, event.kind),
            "by": who[event.actor].name,
            "why": event.data.get("reason", ""),
        }
        for event in events
    ]


def _get_agent(project: Project, agent: int) -> Agent:
    return get_object_or_404(Agent.objects.filter(project=project, pk=agent).select_related("owner"))


def _form_values(form: AgentForm) -> dict[str, str]:
    return {name: form[name].value() or "" for name in form.fields}


def _agent_values(agent: Agent) -> dict[str, str]:
    """Return the values of an agent for the fields of the form."""
    return {
        "name": agent.name,
        "owner": str(agent.owner_id),
        "contract_version": agent.contract_version,
        **{name: "\n".join(map(str, getattr(agent, name))) for name in LISTS},
        "escalates_to": agent.escalates_to,
        "valid_until": f"{agent.valid_until:%Y-%m-%d}" if agent.valid_until else "",
        # 0 is a capacity, too.
        "capacity": "" if agent.capacity is None else str(agent.capacity),
        "trust": "\n".join(f"{station}: {level}" for station, level in agent.trust.items()),
    }


@project_required("admin")
@require_POST
def suspend_project_agent(request: SignedInRequest, project: Project, agent: int) -> HttpResponse:
    project_agent, form = _get_agent(project, agent), ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Enter a reason for the suspension. It is stored and shown.")
    else:
        _run_and_report(
            request,
            lambda: engine.suspend_agent(
                project_agent.pk, actor=Actor.person(request.user), reason=form.cleaned_data["reason"]
            ),
            "It gets no new work until it is restored.",
        )
    return redirect("project-agent", project.owner.key, project.key, project_agent.pk)


@project_required("admin")
@require_POST
def restore_project_agent(request: SignedInRequest, project: Project, agent: int) -> HttpResponse:
    project_agent = _get_agent(project, agent)
    _run_and_report(
        request,
        lambda: engine.restore_agent(project_agent.pk, actor=Actor.person(request.user)),
        "It gets work again, and tasks that waited for it continue.",
    )
    return redirect("project-agent", project.owner.key, project.key, project_agent.pk)


def _run_and_report(request: SignedInRequest, do: Any, success_message: str) -> None:
    try:
        do()
    except Conflict as conflict:
        messages.error(request, str(conflict))
    else:
        messages.success(request, success_message)
