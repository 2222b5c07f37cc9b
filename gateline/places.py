"""`owner/project/line` and `WI-…` as people type them, looked up on the server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gateline.client import Client, path
from gateline.failures import NotFoundFailure, Usage

TASK = re.compile(r"(?:(?P<owner>[^/]+)/)?(?P<name>WI-.+-\d+)", re.ASCII)
NAMED = 20


@dataclass(frozen=True)
class LinePlace:
    """A line of the server, and what the list of lines says of it."""

    owner: str
    project: str
    key: str
    facts: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.owner}/{self.project}/{self.key}"

    def path(self, *more: str | int) -> str:
        return path("owners", self.owner, "projects", self.project, "lines", self.key, *more)

    @property
    def tasks(self) -> str:
        return path("owners", self.owner, "projects", self.project, "stages", self.key, "tasks")


@dataclass(frozen=True)
class TaskPlace:
    """A task of the server, and what it answered when it was looked up."""

    owner: str
    project: str
    line: str
    name: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, facts: dict[str, Any]) -> TaskPlace:
        return cls(facts["owner"], facts["projectId"], facts["stageId"], facts["id"], facts)

    def path(self, *more: str | int) -> str:
        return path(
            "owners", self.owner, "projects", self.project, "stages", self.line, "tasks", self.name, *more
        )

    def page(self, client: Client) -> str:
        """Its address for a browser."""
        return client.profile.url + path("p", self.owner, self.project, "tasks", self.name) + "/"


def project_of(client: Client, named: str = "") -> tuple[str, str]:
    """Owner and key of a project: the one named, the profile's, or the only one. Raises Usage, NotFoundFailure."""
    wanted = named or client.profile.project
    known = [(each["owner"], each["key"]) for each in client.get("/projects") if not each["archived"]]
    fits = [each for each in known if wanted in ("", each[1], "/".join(each))]
    if len(fits) == 1:
        return fits[0]
    names = ", ".join("/".join(each) for each in fits or known) or "none"
    if not fits:
        raise NotFoundFailure(
            f"There is no project “{wanted}” for you on {client.profile.url}.", f"Yours: {names}."
        )
    raise Usage("Which project?", f"Name one with --project: {names}.")


def lines(client: Client, project: str = "") -> list[LinePlace]:
    """All lines of the caller's projects, or of one of them. Raises NotFoundFailure."""
    only = project_of(client, project) if project else None
    every = [LinePlace(each["owner"], each["project"], each["key"], each) for each in client.get("/lines")]
    return [each for each in every if only in (None, (each.owner, each.project))]


def line(client: Client, named: str) -> LinePlace:
    """The line that `line`, `project/line` or `owner/project/line` names. Raises Usage, NotFoundFailure."""
    parts = named.strip("/").split("/")
    if not 1 <= len(parts) <= 3 or not all(parts):
        raise Usage(f"“{named}” names no line.", "Use line, project/line or owner/project/line.")
    known = lines(client)
    fits = [each for each in known if (each.owner, each.project, each.key)[-len(parts) :] == tuple(parts)]
    if len(fits) > 1 and client.profile.project:
        at_home = [each for each in fits if f"{each.owner}/{each.project}" == client.profile.project]
        fits = at_home or fits
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise Usage(f"“{named}” names several lines.", f"Use one of {', '.join(map(str, fits))}.")
    near = ", ".join(map(str, known[:NAMED])) or "none"
    more = f", and {len(known) - NAMED} more" if len(known) > NAMED else ""
    raise NotFoundFailure(
        f"There is no line “{named}” for you on {client.profile.url}.",
        f"Lines that you may see: {near}{more}.",
    )


def task(client: Client, named: str) -> TaskPlace:
    """The task that `WI-app-42` names, or `owner/WI-app-42`. Raises Usage, NotFoundFailure, ConflictFailure."""
    said = TASK.fullmatch(named)
    if said is None:
        raise Usage(
            f"“{named}” is no task.", "Tasks are called WI-app-42; of several owners: acme/WI-app-42."
        )
    try:
        return TaskPlace.of(client.get(path("tasks", said["name"]), owner=said["owner"] or ""))
    except NotFoundFailure as fault:
        raise NotFoundFailure(f"There is no task {named} for you on {client.profile.url}.") from fault
