"""The thing that an address names, for who may do with it what an operation does."""

from __future__ import annotations

from pipelines import access
from pipelines.api.auth import Request
from pipelines.models import Line, Project

PROJECT = "/owners/{owner}/projects/{project}"
LINES = PROJECT + "/lines"
LINE = LINES + "/{line}"
TASKS = PROJECT + "/stages/{line}/tasks"
TASK = TASKS + "/{task}"


def project_of(request: Request, owner: str, project: str, action: str = "view") -> Project:
    """Raises NotFound, Forbidden."""
    found = access.get_project(request.auth, owner, project)
    access.require(request.auth, action, found)
    return found


def line_of(request: Request, owner: str, project: str, line: str, action: str = "view") -> Line:
    """Raises NotFound, Forbidden."""
    found = access.get_line(request.auth, owner, project, line)
    access.require(request.auth, action, found.project)
    return found
