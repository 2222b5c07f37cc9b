"""The guided first run: connect a repository, choose an agent, start from a template, first task. Each step says what
was checked, and only a step that passed leads on; what is done is seen from what is there, so it can be left and
continued at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from pipelines import access
from pipelines.engine.moves.entitlement import single_member_approves_from
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines.publishing import PublishRefused
from pipelines.lines.starters.catalogue import BY_KEY, Starter
from pipelines.models import Line, Membership, Project, Repository, Task
from pipelines.ports.vault import store
from pipelines.ports.vault.store import SECRET
from pipelines.queries import workers
from pipelines.routing.document.agents import PRESETS
from pipelines.web.project import repositories
from pipelines.web.project.repositories import RepositoryForm, RepositoryRow
from pipelines.web.setup import agents, proposals, templates
from pipelines.web.setup.agents import AgentChoice
from pipelines.web.setup.proposals import SetupForm
from pipelines.web.shell.page import (
    SignedInRequest,
    costly_to_post,
    project_breadcrumb,
    project_required,
    render_in_shell,
    require_permission,
)
from pipelines.web.tasks import start
from pipelines.web.tasks.start import StartField
from pipelines.work.agents.model_probe import ModelAnswer
from pipelines.work.spec.ecosystems import Proposal

REPOSITORY, AGENT, TEMPLATE, TASK = "repository", "agent", "template", "task"
STEPS: Mapping[str, str] = {
    REPOSITORY: "Connect a repository",
    AGENT: "Choose an agent",
    TEMPLATE: "Start from a template",
    TASK: "First task",
}
WITHOUT_A_MODEL = "codemod"
MODELS = "models-asked"
"""In the session: {project: {agent: what its model said}}."""


@dataclass(frozen=True)
class StepMark:
    """`state`: done, current, or ahead. `address`: "" where it cannot be opened yet."""

    number: int
    title: str
    state: str
    address: str


@dataclass
class SetupState:
    """Set-up in one request: what it asks for, and what is there. `key_problem`, `problem`: of a form that
    was refused."""

    request: SignedInRequest
    project: Project
    form: RepositoryForm = field(default_factory=lambda: RepositoryForm(initial={"pushing": "execute"}))
    key_problem: str = ""
    problem: str = ""
    drafted: Line | None = None

    @cached_property
    def repository_rows(self) -> list[RepositoryRow]:
        return repositories.repository_rows(self.project)

    @cached_property
    def connected_rows(self) -> list[RepositoryRow]:
        return [row for row in self.repository_rows if row.checks and not row.failure_text_or_empty]

    @property
    def tested_rows(self) -> list[RepositoryRow]:
        """Rows of repositories that were connected here, also where a check failed; that of the demo is not."""
        return [row for row in self.repository_rows if row.checks]

    @property
    def opens_form(self) -> bool:
        """Return whether an address is what comes next, and not what a check of one found."""
        return self.form.is_bound or self.adds_another or not self.tested_rows

    @property
    def _requested_repository(self) -> str:
        return self.request.POST.get("connected") or self.request.GET.get("connected", "")

    @cached_property
    def chosen_row(self) -> RepositoryRow | None:
        """The repository that was chosen, else the one that was connected last."""
        by_key = {str(row.repository.pk): row for row in self.connected_rows}
        latest = max(self.connected_rows, key=lambda row: row.repository.connected_at, default=None)
        return by_key.get(self._requested_repository) or latest

    @property
    def _is_chosen_failed(self) -> bool:
        """Return whether a check failed of the repository that was just changed: it has to be mended first."""
        return any(
            row.failure_text_or_empty
            for row in self.tested_rows
            if str(row.repository.pk) == self._requested_repository
        )

    @cached_property
    def repository(self) -> Repository | None:
        if self.chosen_row is None:
            return None
        self.chosen_row.repository.project = self.project
        return self.chosen_row.repository

    @cached_property
    def commands_form(self) -> SetupForm:
        return proposals.setup_form(self.repository)

    @property
    def proposal(self) -> Proposal:
        return proposals.repository_proposal(self.repository)

    @cached_property
    def may_prepare(self) -> bool:
        return all(
            access.is_permitted(self.request.user, action, self.project)
            for action in ("repositories", "execute")
        )

    @cached_property
    def agents(self) -> list[AgentChoice]:
        stored_answers = self.request.session.get(MODELS, {}).get(str(self.project.pk), {})
        answers = {key: ModelAnswer(**answer) for key, answer in stored_answers.items()}
        return agents.agent_choices(
            self.project, workers.living_workers(timezone.now(), self.project.pk), answers
        )

    @cached_property
    def agent(self) -> AgentChoice:
        """The one that was chosen; else the first with a model that lacks nothing, else the one without."""
        agent_key = self.request.POST.get("agent") or self.request.GET.get("agent", "")
        by_key = {choice.key: choice for choice in self.agents}
        # One that lacks nothing: the first task should not fail for want of a key
        ready = next((choice for choice in self.agents if choice.is_ready and not choice.is_built_in), None)
        return by_key.get(agent_key) or ready or by_key[WITHOUT_A_MODEL]

    @property
    def is_agent_chosen(self) -> bool:
        return (
            self.request.GET.get("agent", self.request.POST.get("agent", "")) in PRESETS
            and self.agent.may_go_on
        )

    @cached_property
    def live_repository_lines(self) -> list[Line]:
        return templates.live_repository_lines(self.project)

    @cached_property
    def line(self) -> Line | None:
        line_key = self.request.GET.get("line", "")
        return next((line for line in self.live_repository_lines if line.key == line_key), None) or next(
            iter(self.live_repository_lines), None
        )

    @cached_property
    def last_open_step(self) -> str:
        """The last step that may be opened."""
        if not self.connected_rows:
            return REPOSITORY
        if self.live_repository_lines:
            return TASK
        return TEMPLATE if self.is_agent_chosen else AGENT

    @cached_property
    def next_step(self) -> str:
        """The step with which the latest repository goes on: the first one once a task was started with it."""
        if self.chosen_row is None or not self.live_repository_lines:
            return self.last_open_step
        # A line knows no repository: what was published since it was connected was set up for it.
        since = self.chosen_row.repository.connected_at
        own_lines = [
            line for line in self.live_repository_lines if line.live and line.live.published_at >= since
        ]
        if not own_lines:
            return TEMPLATE if self.is_agent_chosen else AGENT
        return REPOSITORY if Task.objects.filter(line__in=own_lines).exists() else TASK

    @cached_property
    def adds_another(self) -> bool:
        """True if it begins once more, with one more repository."""
        if "another" in self.request.GET:
            return True
        return bool(self.connected_rows) and not self._requested_step and self.next_step == REPOSITORY

    @property
    def needs_repository_first(self) -> bool:
        """True if a repository is to be connected before anything else."""
        return not self.connected_rows or self.adds_another

    @property
    def _requested_step(self) -> str:
        return self.request.POST.get("step") or self.request.GET.get("step", "")

    @cached_property
    def step(self) -> str:
        keys = list(STEPS)
        requested_step = self._requested_step
        if requested_step not in keys:
            return REPOSITORY if self.adds_another or self._is_chosen_failed else self.next_step
        # A step that cannot be opened yet leads to the last one that can.
        index = min(keys.index(requested_step), keys.index(self.last_open_step))
        # Which templates are offered depends on the agent; once a line is there, its usual one will do.
        if (
            keys[index] == TEMPLATE
            and not self.is_agent_chosen
            and not (self.live_repository_lines and self.agent.may_go_on)
        ):
            return AGENT
        return keys[index]

    @property
    def step_marks(self) -> list[StepMark]:
        keys = list(STEPS)
        here = keys.index(self.step)
        # With one more repository nothing is done yet; a step of the one before is no way on.
        last = 0 if self.adds_another else keys.index(self.last_open_step)
        ready = keys.index(self.next_step) if self.next_step != REPOSITORY else last
        return [
            StepMark(
                number + 1,
                title,
                "current" if number == here else "done" if number < min(ready, last) else "ahead",
                self.step_url(key) if number <= last and number != here else "",
            )
            for number, (key, title) in enumerate(STEPS.items())
        ]

    def step_url(self, step: str, **more: str) -> str:
        parameters = {"agent": self.agent.key} if self.is_agent_chosen and step != AGENT else {}
        if len(self.connected_rows) > 1 and self.chosen_row is not None:
            parameters["connected"] = str(self.chosen_row.repository.pk)
        query = urlencode({"step": step, **parameters, **more})
        return f"{reverse('project-setup', args=[self.project.owner.key, self.project.key])}?{query}"

    @property
    def next_step_url(self) -> str:
        return self.step_url(AGENT)

    @property
    def starters(self) -> list[tuple[Starter, Any]]:
        return [
            (starter, templates.starter_drawing(starter.key))
            for starter in templates.available_starters(self.agent.key)
        ]

    @cached_property
    def is_single_person(self) -> bool:
        """Return whether the person who sets up will review, too (law §6)."""
        return Membership.objects.filter(project=self.project, user__is_active=True).count() == 1

    @property
    def alone_from(self) -> datetime | None:
        return single_member_approves_from(self.project, timezone.now())

    @property
    def unavailable_templates(self) -> list[str]:
        return templates.unavailable_names(self.agent.key)

    def context(self) -> dict[str, Any]:
        """Return the context of the current step, and none of the others."""
        context: dict[str, Any] = {}
        if self.step == REPOSITORY:
            context |= repositories.form_choices(self.request, self.project)
        if self.step == AGENT:
            context["fixing"] = BY_KEY["fix-lint-findings"]
        if self.step == TASK and self.line is not None:
            context |= start.start_form_context(self.request, self.line)
            context["fields"] = [self._with_repository(start_field) for start_field in context["fields"]]
        return context

    def _with_repository(self, field: StartField) -> StartField:
        """The repository of these steps, where the form has one to choose."""
        address = self.repository.title if self.repository else ""
        offered = [repository.title for repository in field.repositories or ()]
        return field if field.value or address not in offered else replace(field, value=address)


@sensitive_post_parameters("value")
@project_required("design")
@costly_to_post
@require_http_methods(["GET", "HEAD", "POST"])
def setup_page(request: SignedInRequest, project: Project) -> HttpResponse:
    setup_state = SetupState(request, project)
    if request.method == "POST":
        act = ACTS.get(request.POST.get("do", ""))
        step = act(setup_state) if act else ""
        if step:
            return redirect(step)
    return _setup_page(setup_state)


def _setup_page(setup_state: SetupState) -> HttpResponse:
    return render_in_shell(
        setup_state.request,
        "setup/page.html",
        project=setup_state.project,
        section="home",
        trail=project_breadcrumb(setup_state.project, "Setup"),
        status=422 if setup_state.request.method == "POST" else 200,
        setup=setup_state,
        unprotected=workers.protection_gaps(timezone.now(), setup_state.project.pk),
        **setup_state.context(),
    )


def _next_url_after_connecting_or_empty(setup_state: SetupState) -> str:
    """The address of the next step; "" where it is refused, as of the others."""
    require_permission(setup_state.request, "repositories", setup_state.project)
    setup_state.form = RepositoryForm(setup_state.request.POST)
    if not setup_state.form.is_valid():
        return ""
    made = repositories.connect_repository_or_none(setup_state.request, setup_state.project, setup_state.form)
    if made is None:
        return ""
    return setup_state.step_url(REPOSITORY if _has_failed_test(made) else AGENT, connected=str(made.pk))


def _has_failed_test(made: Repository) -> bool:
    # The test has written its result into the row.
    made.refresh_from_db()
    return not all(check["ok"] for check in made.tested or ())


def _next_url_after_test_or_empty(setup_state: SetupState) -> str:
    require_permission(setup_state.request, "repositories", setup_state.project)
    row = next(
        (
            row
            for row in setup_state.repository_rows
            if str(row.repository.pk) == setup_state.request.POST.get("repository")
        ),
        None,
    )
    if row is None:
        return ""
    row.repository.project = setup_state.project
    repositories.test_and_report(setup_state.request, row.repository)
    return setup_state.step_url(REPOSITORY, connected=str(row.repository.pk))


def _next_url_after_storing_key_or_empty(setup_state: SetupState) -> str:
    require_permission(setup_state.request, "secrets", setup_state.project)
    agent = setup_state.agent
    name = setup_state.request.POST.get("name", "")
    if name not in agent.preset.secrets:
        setup_state.key_problem = "Choose one of the options."
        return ""
    value = setup_state.request.POST.get("value", "").strip()
    try:
        store.create_or_replace_value(
            store.ValuePlace(setup_state.project),
            name,
            value,
            kind=SECRET,
            by=setup_state.request.user,
            now=timezone.now(),
        )
    except (Invalid, Conflict) as fault:
        setup_state.key_problem = fault.message if isinstance(fault, Invalid) else fault.detail
        return ""
    messages.success(setup_state.request, f"{name} is stored")
    return setup_state.step_url(AGENT, agent=agent.key)


def _next_url_after_asking_model(setup_state: SetupState) -> str:
    """Ask the model of the chosen agent, where a key can ask it."""
    require_permission(setup_state.request, "secrets", setup_state.project)
    agent, session = setup_state.agent, setup_state.request.session
    if agent.secret_name_for_model_check_or_empty:
        answer = asdict(agents.ask_model(setup_state.project, agent, timezone.now()))
        all_answers = session.get(MODELS, {})
        project = str(setup_state.project.pk)
        # A new object: Django does not see what changes inside a value of the session.
        session[MODELS] = {**all_answers, project: {**all_answers.get(project, {}), agent.key: answer}}
    return setup_state.step_url(AGENT, agent=agent.key)


def _next_url_after_creating_line_or_empty(setup_state: SetupState) -> str:
    """A line from the template, published as it is. A draft that cannot be published stays, and is named."""
    require_permission(setup_state.request, "publish", setup_state.project)
    starter = BY_KEY.get(setup_state.request.POST.get("template", ""))
    if starter is None or starter not in templates.available_starters(setup_state.agent.key):
        setup_state.problem = "Choose one of the templates."
        return ""
    form = setup_state.commands_form = proposals.setup_form(setup_state.repository, setup_state.request.POST)
    if not form.is_valid():
        return ""
    try:
        commands = form.station_commands()
        if lacking := commands.missing_commands(starter.line):
            raise Invalid.at(lacking[0], f"{starter.line.name} needs a command here.")
        if setup_state.repository is not None and setup_state.may_prepare:
            proposals.save_environment(setup_state.repository, form, by=setup_state.request.user)
            proposals.store_commands(setup_state.repository, form)
    except Invalid as fault:
        proposals.add_fault(form, fault)
        return ""
    try:
        of = setup_state.repository.name if setup_state.repository else ""
        agent, by = setup_state.agent, setup_state.request.user
        # A stored key counts before a sign-in on a runner.
        lent = bool(agent.signed_in and not agent.stored)
        setup_state.drafted = templates.create_line(
            setup_state.project, starter, agent.key, by, commands, of, on_runner=lent
        )
        templates.publish_draft(setup_state.drafted, setup_state.request.user)
    except PublishRefused as refused:
        setup_state.problem = " ".join(f"{finding.message}." for finding in refused.findings)
        return ""
    except (Forbidden, Conflict) as refusal:
        setup_state.problem = refusal.detail
        return ""
    messages.success(setup_state.request, f"{setup_state.drafted.name} is published")
    return setup_state.step_url(TASK, line=setup_state.drafted.key)


ACTS = {
    "connect": _next_url_after_connecting_or_empty,
    "test": _next_url_after_test_or_empty,
    "key": _next_url_after_storing_key_or_empty,
    "reach": _next_url_after_asking_model,
    "begin": _next_url_after_creating_line_or_empty,
}
