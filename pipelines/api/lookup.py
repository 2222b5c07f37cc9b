"""Operations on what an address names: a project, a line or a task of it, found once, for whoever may do there what the
operation does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Any, Final, TypeVar, get_type_hints

from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from ninja import Router, Status

from pipelines import access
from pipelines.api.auth import Request
from pipelines.api.problems import ProblemOut
from pipelines.errors import Forbidden
from pipelines.models import Line, Project, Task
from pipelines.queries.retention import refuse_purged
from pipelines.web.shell.costly_requests import taking_turn

PROJECT = "/owners/{owner}/projects/{project}"
LINES = PROJECT + "/lines"
LINE = LINES + "/{line}"
TASKS = PROJECT + "/stages/{line}/tasks"
TASK = TASKS + "/{task}"
LOOKS: Final = (400, 401, 403, 404)
CHANGES: Final = (*LOOKS, 409)
COSTS: Final = (*CHANGES, 429)
"""Statuses with which operations refuse that read, that change something, and that take turns."""
LOOKUPS: Final[dict[object, tuple[Callable[..., Any], tuple[str, ...]]]] = {
    Project: (access.visible_project_by_keys, ("owner", "project")),
    Line: (access.line_of_visible_project_by_keys, ("owner", "project", "line")),
    Task: (access.task_of_line_by_name, ("owner", "project", "line", "task")),
}
View = TypeVar("View", bound=Callable[..., Any])


class Operations(Router):
    """Operations with one tag that refuse alike, but for what anybody may ask. A parameter `project: Project`,
    `line: Line` or `task: Task` is what the keys in the address name: 404 where the caller may not know of it, 403
    where they `may` not do this there."""

    def __init__(self, tag: str, refusals: tuple[int, ...] = LOOKS, **more: Any) -> None:
        super().__init__(tags=[tag], **more)
        self._refusals = dict.fromkeys(refusals, ProblemOut)

    def add_api_operation(
        self, path: str, methods: list[str], view_func: Callable[..., Any], **more: Any
    ) -> None:
        answers = more["response"] if isinstance(more["response"], dict) else {200: more["response"]}
        # What anybody may ask, with no key in its address, refuses nobody.
        refusals = self._refusals if more["auth"] is not None or "{" in path else {}
        if Task in get_type_hints(view_func).values() and not getattr(view_func, "answers_purged", False):
            refusals = {**refusals, 410: ProblemOut}
        status = None if 200 in answers or len(answers) > 1 else next(iter(answers))
        operation = _wrap_operation(view_func, status)
        super().add_api_operation(path, methods, operation, **more | {"response": {**answers, **refusals}})


def action_required(action: str, refusal: str | Promise = "") -> Callable[[View], View]:
    """Decorate an operation with the action of `access.TABLE` that it needs ("view" by default). `refusal`:

    the message for members who may not do it.
    """

    def mark_with_action(view: View) -> View:
        view.may = action, refusal  # type: ignore[attr-defined]
        return view

    return mark_with_action


def answering_for_purged_tasks(view: View) -> View:
    """Decorate an operation that has an answer for a task that was purged, too: others are refused with 410."""
    view.answers_purged = True  # type: ignore[attr-defined]
    return view


def costly_operation(view: View, *, saves: bool = False) -> View:
    """Operation that costs much: it takes its turn (pipelines/web/shell/costly_requests.py), or gets a 429."""

    @wraps(view)
    def operation_in_turn(request: Request, **values: Any) -> Any:
        with taking_turn(request.auth, saves=saves):
            return view(request, **values)

    return operation_in_turn  # type: ignore[return-value]


saving_in_turn = partial(costly_operation, saves=True)


def _wrap_operation(view: Callable[..., Any], status: int | None) -> Callable[..., Any]:
    """Wrap an operation so that keys in the address become the Project, Line or Task that they name, after a
    check of rights. `status`: its only success status, if that is not 200."""
    hints = get_type_hints(view, include_extras=True)
    subject = next((name for name, kind in hints.items() if kind in (Project, Line, Task)), "")
    find, keys = LOOKUPS.get(hints.get(subject), (None, ()))
    action, refusal = getattr(view, "may", ("view", ""))

    @wraps(view)
    def operation(request: Request, **values: Any) -> Any:
        if find is not None:
            target = find(request.auth, *(values.pop(key) for key in keys))
            project = target if isinstance(target, Project) else target.project
            # Found, so the caller may know of it: 403, not 404
            if not access.is_permitted(request.auth, action, project):
                raise Forbidden(str(refusal))
            if isinstance(target, Task) and not getattr(view, "answers_purged", False):
                refuse_purged(target)
            values[subject] = target
        answer = view(request, **values)
        return answer if status is None or isinstance(answer, HttpResponseBase) else Status(status, answer)

    # Ninja reads the parameters of an operation from its signature.
    operation.__signature__ = _signature_with_address_keys(signature(view), hints, subject, keys)  # type: ignore[attr-defined]
    return operation


def _signature_with_address_keys(
    view: Signature, hints: dict[str, Any], subject: str, keys: tuple[str, ...]
) -> Signature:
    """The same with the keys in the place of what they name."""
    parameters = []
    for name, parameter in view.parameters.items():
        if name == subject:
            parameters += [Parameter(key, Parameter.KEYWORD_ONLY, annotation=str) for key in keys]
        else:
            kind = parameter.kind if name == "request" else Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(kind=kind, annotation=hints[name]))
    return view.replace(parameters=parameters)
