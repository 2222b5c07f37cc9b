"""`owner/project/line` and `WI-…` as people type them, looked up on the server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gateline.client import Client, url_path
from gateline.failures import NotFoundFailure, UsageFailure

# ASCII: to \d digits of every script are digits, and no task has such a number
TASK = re.compile(r"(?:(?P<owner>[^/]+)/)?(?P<name>WI-.+-\d+)", re.ASCII)
MAX_NAMES = 20


@dataclass(frozen=True)
class LinePlace:
    """A line of the server, and what the list of lines says of it."""

    owner: str
    project: str
    key: str
    facts: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.owner}/{self.project}/{self.key}"

    def api_path(self, *more: str | int) -> str:
        return url_path("owners", self.owner, "projects", self.project, "lines", self.key, *more)

    @property
    def tasks_path(self) -> str:
        return url_path("owners", self.owner, "projects", self.project, "stages", self.key, "tasks")


@dataclass(frozen=True)
class TaskPlace:
    """A task of the server, and what it answered when it was looked up."""

    owner: str
    project: str
    line: str
    name: str
    facts: dict[str, Any]

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> TaskPlace:
        return cls(facts["owner"], facts["projectId"], facts["stageId"], facts["id"], facts)

    def api_path(self, *more: str | int) -> str:
        return url_path(
            "owners", self.owner, "projects", self.project, "stages", self.line, "tasks", self.name, *more
        )

    def page_url(self, client: Client) -> str:
        """Its address for a browser."""
        return client.profile.url + url_path("p", self.owner, self.project, "tasks", self.name) + "/"


def find_owner_and_key_of_project(client: Client, project: str = "") -> tuple[str, str]:
    """Owner and key of a project: the one named, the profile's, or the only one. Raises Usage, NotFoundFailure."""
    name = project or client.profile.project
    known = [(row["owner"], row["key"]) for row in client.get("/projects") if not row["archived"]]
    # Without a name each fits, so that an only project needs none.
    fits = [pair for pair in known if name in ("", pair[1], "/".join(pair))]
    if len(fits) == 1:
        return fits[0]
    names = ", ".join("/".join(pair) for pair in fits or known) or "none"
    if not fits:
        raise NotFoundFailure(
            f"There is no project “{name}” for you on {client.profile.url}.", f"Yours: {names}."
        )
    raise UsageFailure("Which project?", f"Name one with --project: {names}.")


def find_lines(client: Client, project: str = "") -> list[LinePlace]:
    """Return all lines of the caller's projects, or of one of them. Raises NotFoundFailure."""
    only = find_owner_and_key_of_project(client, project) if project else None
    every = [LinePlace(row["owner"], row["project"], row["key"], row) for row in client.get("/lines")]
    return [line_place for line_place in every if only in (None, (line_place.owner, line_place.project))]


def find_line(client: Client, name: str) -> LinePlace:
    """The line that `line`, `project/line` or `owner/project/line` names. Raises Usage, NotFoundFailure."""
    parts = name.strip("/").split("/")
    if not 1 <= len(parts) <= 3 or not all(parts):
        raise UsageFailure(f"“{name}” names no line.", "Use line, project/line or owner/project/line.")
    known = find_lines(client)
    fits = [
        line_place
        for line_place in known
        # As many parts as were typed, counted from the end
        if (line_place.owner, line_place.project, line_place.key)[-len(parts) :] == tuple(parts)
    ]
    if len(fits) > 1 and client.profile.project:
        at_home = [
            line_place
            for line_place in fits
            if f"{line_place.owner}/{line_place.project}" == client.profile.project
        ]
        fits = at_home or fits
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise UsageFailure(f"“{name}” names several lines.", f"Use one of {', '.join(map(str, fits))}.")
    near = ", ".join(map(str, known[:MAX_NAMES])) or "none"
    more = f", and {len(known) - MAX_NAMES} more" if len(known) > MAX_NAMES else ""
    raise NotFoundFailure(
        f"There is no line “{name}” for you on {client.profile.url}.",
        f"Lines that you may see: {near}{more}.",
    )


def find_task(client: Client, name: str) -> TaskPlace:
    """The task that `WI-app-42` names, or `owner/WI-app-42`. Raises Usage, NotFoundFailure, ConflictFailure."""
    match = TASK.fullmatch(name)
    if match is None:
        raise UsageFailure(
            f"“{name}” is no task.", "Tasks are called WI-app-42; of several owners: acme/WI-app-42."
        )
    try:
        return TaskPlace.from_facts(client.get(url_path("tasks", match["name"]), owner=match["owner"] or ""))
    except NotFoundFailure as fault:
        raise NotFoundFailure(f"There is no task {name} for you on {client.profile.url}.") from fault
