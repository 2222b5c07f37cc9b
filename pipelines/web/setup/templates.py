"""The templates with which a first task can change a repository, with the agent that was chosen."""

from __future__ import annotations

from functools import cache
from itertools import chain, count
from typing import Any

from django.utils import timezone

from pipelines.lines import publishing
from pipelines.lines.starters.catalogue import STARTERS, Starter
from pipelines.lines.starters.commands import StationCommands, template_with_commands
from pipelines.models import Line, Project, User
from pipelines.ports.terms import SHIPPED
from pipelines.routing.basics.keys import first_unused_key
from pipelines.routing.document.agents import PRESETS
from pipelines.web.lines.drawing import LineDrawing, drawing_with_stored_svg, picture_of


def starter_agents(starter: Starter) -> set[str]:
    """The agents with a model that it names."""
    agent_keys = {
        str(station.work.get("agent")) for station in starter.line.stations if station.kind == "agent"
    }
    return {key for key in agent_keys if key in PRESETS and not PRESETS[key].fixed}


def available_starters(agent: str) -> list[Starter]:
    """Return the templates whose tasks work in a repository; for an agent without a model those that need
    none."""
    return [
        starter
        for starter in _repository_starters()
        if not (PRESETS[agent].fixed and starter_agents(starter))
    ]


def unavailable_names(agent: str) -> list[str]:
    """The names of those that need an agent with a model, where this one has none."""
    return [
        starter.line.name
        for starter in _repository_starters()
        if PRESETS[agent].fixed and starter_agents(starter)
    ]


def _repository_starters() -> list[Starter]:
    return [starter for starter in STARTERS if starter.line.workspace]


def starter_drawing(key: str) -> LineDrawing:
    return drawing_with_stored_svg(_starter_picture(key), None)


@cache
def _starter_picture(key: str) -> LineDrawing:
    return picture_of(next(starter for starter in STARTERS if starter.key == key).line)


def create_line(
    project: Project,
    starter: Starter,
    agent: str,
    user: User,
    commands: StationCommands | None = None,
    repository_name: str = "",
    *,
    on_runner: bool = False,
) -> Line:
    """A line like the template, with this agent and these commands, as a draft. Where the project has one of its name,
    it is called by the repository (`of`), too, and by a number where it has that one as well. `on_runner`: signed in
    there, and by no stored key. Raises Forbidden, Conflict."""
    name = _free_name(project, starter.line.name, repository_name)
    more = "      sign_in: runner\n" if on_runner else ""
    used_keys = set(project.lines.filter(key__startswith=starter.key).values_list("key", flat=True))
    key = first_unused_key(starter.key, used_keys)
    text = starter.text_with_key(key)
    for old_agent in starter_agents(starter):
        # In the text, so that the comments of the template stay.
        text = text.replace(f"agent: {old_agent}\n", f"agent: {agent}\n{more}")
    document = template_with_commands(text, commands) if commands else text
    return publishing.create_line(project, key, name, _document_with_name(document, name), user)


def _free_name(project: Project, name: str, repository_name: str) -> str:
    used = set(project.lines.filter(name__startswith=name).values_list("name", flat=True))
    own = f"{name}: {repository_name}" if repository_name else name
    numbered = (f"{own} {number}" for number in count(2))
    return next(option for option in chain((name, own), numbered) if option not in used)


def _document_with_name(document: str | dict[str, Any], name: str) -> str | dict[str, Any]:
    if isinstance(document, str):
        return document
    return {**document, "name": name}


def publish_draft(line: Line, user: User) -> None:
    """Raises Forbidden, PublishRefused."""
    publishing.publish_draft(line, user=user, based_on=line.draft_number)


def live_repository_lines(project: Project) -> list[Line]:
    """Lines that are live and let tasks work in a repository, the latest first. Those of the demo were there before
    anybody set anything up."""
    live = project.lines.filter(live__isnull=False, archived_at=None).exclude(live__name=SHIPPED)
    live = live.select_related("live", "project__owner")
    ready_lines = [line for line in live if (line.live.document if line.live else {}).get("workspace")]
    return sorted(
        ready_lines, key=lambda line: line.live.published_at if line.live else timezone.now(), reverse=True
    )
