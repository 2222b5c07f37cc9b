"""The guided first run: connect a repository, choose an agent, start from a template, first task. Each step says what
was checked, and only a step that passed leads on; what is done is seen from what is there, so it can be left and
continued at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
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
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines.publishing import PublishRefused
from pipelines.lines.starters.catalogue import BY_KEY, Starter
from pipelines.models import Line, Membership, Project, Repository
from pipelines.ports.vault import store
from pipelines.ports.vault.store import SECRET
from pipelines.queries import workers
from pipelines.routing.document.agents import PRESETS
from pipelines.web.project import repositories
from pipelines.web.project.repositories import RepositoryForm, RepositoryRow
from pipelines.web.setup import agents, proposals, templates
from pipelines.web.setup.agents import AgentChoice
from pipelines.web.setup.proposals import SetupForm
from pipelines.web.shell.page import SignedIn, costly_to_post, in_project, require, show, tab_trail
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
class Setup:
    """What one request asks for, and what is there. `said`: of a form that was refused."""

    request: SignedIn
    project: Project
    form: RepositoryForm = field(default_factory=lambda: RepositoryForm(initial={"pushing": "execute"}))
    key_problem: str = ""
    problem: str = ""
    drafted: Line | None = None

    @cached_property
    def rows(self) -> list[RepositoryRow]:
        return repositories.rows_of(self.project)

    @cached_property
    def connected(self) -> list[RepositoryRow]:
        return [row for row in self.rows if row.checks and not row.failure]

    @cached_property
    def row(self) -> RepositoryRow | None:
        """The repository that was chosen, else the one that was connected last."""
        said = self.request.POST.get("connected") or self.request.GET.get("connected", "")
        by_key = {str(row.repository.pk): row for row in self.connected}
        latest = max(self.connected, key=lambda row: row.repository.connected_at, default=None)
        return by_key.get(said) or latest

    @cached_property
    def repository(self) -> Repository | None:
        if self.row is None:
            return None
        self.row.repository.project = self.project
        return self.row.repository

    @cached_property
    def commands(self) -> SetupForm:
        return proposals.form_of(self.repository)

    @property
    def proposal(self) -> Proposal:
        return proposals.proposal_of(self.repository)

    @cached_property
    def may_prepare(self) -> bool:
        return all(access.can(self.request.user, each, self.project) for each in ("repositories", "execute"))

    @cached_property
    def agents(self) -> list[AgentChoice]:
        held = self.request.session.get(MODELS, {}).get(str(self.project.pk), {})
        answers = {key: ModelAnswer(**said) for key, said in held.items()}
        return agents.choices(self.project, workers.alive(timezone.now(), self.project.pk), answers)

    @cached_property
    def agent(self) -> AgentChoice:
        """The one that was chosen; else the first with a model that lacks nothing, else the one without."""
        said = self.request.POST.get("agent") or self.request.GET.get("agent", "")
        by_key = {each.key: each for each in self.agents}
        ready = next((each for each in self.agents if each.ready and not each.fixed), None)
        return by_key.get(said) or ready or by_key[WITHOUT_A_MODEL]

    @property
    def is_chosen(self) -> bool:
        return (
            self.request.GET.get("agent", self.request.POST.get("agent", "")) in PRESETS
            and self.agent.may_go_on
        )

    @cached_property
    def lines(self) -> list[Line]:
        return templates.ready(self.project)

    @cached_property
    def line(self) -> Line | None:
        said = self.request.GET.get("line", "")
        return next((line for line in self.lines if line.key == said), None) or next(iter(self.lines), None)

    @cached_property
    def reached(self) -> str:
        """The last step that may be opened."""
        if not self.connected:
            return REPOSITORY
        if self.lines:
            return TASK
        return TEMPLATE if self.is_chosen else AGENT

    @property
    def another(self) -> bool:
        """True if it begins once more, with one more repository."""
        return "another" in self.request.GET

    @cached_property
    def step(self) -> str:
        keys = list(STEPS)
        said = self.request.POST.get("step") or self.request.GET.get("step", "")
        if said not in keys:
            return REPOSITORY if self.another else self.reached
        wanted = min(keys.index(said), keys.index(self.reached))
        return AGENT if keys[wanted] == TEMPLATE and not self.is_chosen else keys[wanted]

    @property
    def marks(self) -> list[StepMark]:
        keys = list(STEPS)
        last, here = keys.index(self.reached), keys.index(self.step)
        return [
            StepMark(
                number + 1,
                title,
                "current" if number == here else "done" if number < last else "ahead",
                self.at(key) if number <= last and number != here else "",
            )
            for number, (key, title) in enumerate(STEPS.items())
        ]

    def at(self, step: str, **more: str) -> str:
        kept = {"agent": self.agent.key} if self.is_chosen and step != AGENT else {}
        if len(self.connected) > 1 and self.row is not None:
            kept["connected"] = str(self.row.repository.pk)
        query = urlencode({"step": step, **kept, **more})
        return f"{reverse('project-setup', args=[self.project.owner.key, self.project.key])}?{query}"

    @property
    def starters(self) -> list[tuple[Starter, Any]]:
        return [(each, templates.drawn(each.key)) for each in templates.offered(self.agent.key)]

    @cached_property
    def alone(self) -> bool:
        """Whether whoever sets up will review, too (law §6)."""
        return Membership.objects.filter(project=self.project, user__is_active=True).count() == 1

    @property
    def left_out(self) -> list[str]:
        return templates.left_out(self.agent.key)

    def context(self) -> dict[str, Any]:
        """What the step that is shown needs, and nothing of the others."""
        found: dict[str, Any] = {}
        if self.step == REPOSITORY:
            found |= repositories.offered(self.request, self.project)
        if self.step == AGENT:
            found["fixing"] = BY_KEY["fix-lint-findings"]
        if self.step == TASK and self.line is not None:
            found |= start.form_of(self.request, self.line)
            found["fields"] = [self._chosen(each) for each in found["fields"]]
        return found

    def _chosen(self, field: StartField) -> StartField:
        """The repository of these steps, where the form has one to choose."""
        address = self.repository.title if self.repository else ""
        offered = [each.title for each in field.repositories or ()]
        return field if field.value or address not in offered else replace(field, value=address)


@sensitive_post_parameters("value")
@in_project("design")
@costly_to_post
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: SignedIn, project: Project) -> HttpResponse:
    found = Setup(request, project)
    if request.method == "POST":
        act = ACTS.get(request.POST.get("do", ""))
        step = act(found) if act else ""
        if step:
            return redirect(step)
    return _page(found)


def _page(found: Setup) -> HttpResponse:
    return show(
        found.request,
        "setup/page.html",
        project=found.project,
        section="home",
        trail=tab_trail(found.project, "Setup"),
        status=422 if found.request.method == "POST" else 200,
        setup=found,
        unprotected=workers.unprotected(timezone.now(), found.project.pk),
        **found.context(),
    )


def _connect(found: Setup) -> str:
    """The address of the next step; "" where it is refused, as of the others."""
    require(found.request, "repositories", found.project)
    found.form = RepositoryForm(found.request.POST)
    if not found.form.is_valid():
        return ""
    made = repositories.connected(found.request, found.project, found.form)
    return "" if made is None else found.at(REPOSITORY if _failed(made) else AGENT)


def _failed(made: Repository) -> bool:
    made.refresh_from_db()
    return not all(each["ok"] for each in made.tested or ())


def _test(found: Setup) -> str:
    require(found.request, "repositories", found.project)
    row = next(
        (row for row in found.rows if str(row.repository.pk) == found.request.POST.get("repository")), None
    )
    if row is None:
        return ""
    row.repository.project = found.project
    repositories.told(found.request, row.repository)
    return found.at(REPOSITORY)


def _store_key(found: Setup) -> str:
    require(found.request, "secrets", found.project)
    agent = found.agent
    name = found.request.POST.get("name", "")
    if name not in agent.preset.secrets:
        found.key_problem = "Choose one of the options."
        return ""
    value = found.request.POST.get("value", "").strip()
    try:
        store.put(
            store.Place(found.project), name, value, kind=SECRET, by=found.request.user, now=timezone.now()
        )
    except (Invalid, Conflict) as fault:
        found.key_problem = fault.message if isinstance(fault, Invalid) else fault.detail
        return ""
    messages.success(found.request, f"{name} is stored")
    return found.at(AGENT, agent=agent.key)


def _reach(found: Setup) -> str:
    """Ask the model of the chosen agent, where a key can ask it."""
    require(found.request, "secrets", found.project)
    agent, session = found.agent, found.request.session
    if agent.askable:
        answer = asdict(agents.ask(found.project, agent, timezone.now()))
        held = session.get(MODELS, {})
        project = str(found.project.pk)
        session[MODELS] = {**held, project: {**held.get(project, {}), agent.key: answer}}
    return found.at(AGENT, agent=agent.key)


def _begin(found: Setup) -> str:
    """A line from the template, published as it is. A draft that cannot be published stays, and is named."""
    require(found.request, "publish", found.project)
    starter = BY_KEY.get(found.request.POST.get("template", ""))
    if starter is None or starter not in templates.offered(found.agent.key):
        found.problem = "Choose one of the templates."
        return ""
    form = found.commands = proposals.form_of(found.repository, found.request.POST)
    if not form.is_valid():
        return ""
    try:
        commands = form.commands()
        if lacking := commands.lacking(starter.line):
            raise Invalid.at(lacking[0], f"{starter.line.name} needs a command here.")
        if found.repository is not None and found.may_prepare:
            proposals.save_environment(found.repository, form, by=found.request.user)
            proposals.keep_commands(found.repository, form)
    except Invalid as fault:
        proposals.placed(form, fault)
        return ""
    try:
        of = found.repository.name if found.repository else ""
        agent, by = found.agent, found.request.user
        lent = bool(agent.signed_in and not agent.stored)
        found.drafted = templates.begin(found.project, starter, agent.key, by, commands, of, on_runner=lent)
        templates.publish(found.drafted, found.request.user)
    except PublishRefused as refused:
        found.problem = " ".join(f"{each.message}." for each in refused.findings)
        return ""
    except (Forbidden, Conflict) as refusal:
        found.problem = refusal.detail
        return ""
    messages.success(found.request, f"{found.drafted.name} is published")
    return found.at(TASK, line=found.drafted.key)


ACTS = {"connect": _connect, "test": _test, "key": _store_key, "reach": _reach, "begin": _begin}
