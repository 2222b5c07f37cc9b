"""What the canvas asks for while several people draw: the draft as it is stored now, who is a member, the comments."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Literal

from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from pydantic import BaseModel, Field, ValidationError

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.lines import comments, drafts
from pipelines.models import Line, Membership, Project
from pipelines.web.editor.findings import findings_of
from pipelines.web.lines import lines
from pipelines.web.shell.page import SignedIn, costly, in_project


class NewComment(BaseModel):
    """A new comment at a place, or an answer."""

    id: uuid.UUID
    text: str
    kind: str = ""
    key: str = ""
    parent: uuid.UUID | None = None


class CommentChange(BaseModel):
    do: Literal["edit", "resolve", "reopen", "delete"]
    text: str = ""
    revision: int = Field(default=0, ge=0, le=2**31 - 1)


@in_project("view")
@costly
@require_safe
def latest(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """The stored draft: its document, whose it is, what lint finds. `?since=`: the draft that the asker has; an equal
    one is answered without a document, and `?alone=1` always is."""
    found = lines.get(request, project, line)
    told: dict[str, Any] = {
        "draft": drafts.told(found, _since(request)),
        "mayEdit": access.can(request.user, "design", project),
        "differs": lines.draft_differs(found),
    }
    if "alone" not in request.GET and request.GET.get("since") != str(found.draft_number):
        told |= {
            "document": found.draft,
            "text": found.draft_text,
            "findings": findings_of(found.draft, project),
        }
    return JsonResponse(told)


def _since(request: SignedIn) -> int | None:
    given = request.GET.get("since", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None


@in_project("view")
@require_safe
def people(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """The members, so that a hint over the socket needs to say no more than an id. `watches`: may look, not draw."""
    lines.get(request, project, line)
    members = Membership.objects.filter(project=project).select_related("user").order_by("user__username")
    told = [
        {
            "id": each.user_id,
            "name": str(each.user),
            "watches": not access.can(each.user, "design", project),
        }
        for each in members
    ]
    return JsonResponse({"people": told})


@in_project("view")
@require_http_methods(["GET", "HEAD", "POST"])
def several(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """GET: all threads of the line. POST: a new comment; answers all threads."""
    found = lines.get(request, project, line)
    if request.method != "POST":
        return _threads(found)

    def write() -> None:
        said = NewComment.model_validate_json(request.body)
        comments.write(
            found,
            request.user,
            said.text,
            timezone.now(),
            kind=said.kind,
            key=said.key,
            parent=said.parent,
            pk=said.id,
        )

    return _done(found, write)


@in_project("view")
@require_POST
def one(request: SignedIn, project: Project, line: str, comment: uuid.UUID) -> HttpResponse:
    """Edit, resolve, reopen or delete; answers all threads."""
    found = lines.get(request, project, line)

    def change() -> None:
        wanted, now = CommentChange.model_validate_json(request.body), timezone.now()
        if wanted.do == "edit":
            comments.edit(found, comment, request.user, wanted.text, wanted.revision, now)
        elif wanted.do == "delete":
            comments.delete(found, comment, request.user, now)
        else:
            comments.resolve(found, comment, request.user, wanted.do == "resolve", now)

    return _done(found, change)


def _done(line: Line, act: Callable[[], None]) -> HttpResponse:
    try:
        act()
    except ValidationError as fault:
        problem = fault.errors(include_url=False, include_input=False)[0]
        return JsonResponse(
            {"detail": f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}".removeprefix(": ")},
            status=400,
        )
    except Invalid as fault:
        return JsonResponse({"detail": str(fault)}, status=400)
    except Forbidden as refused:
        return JsonResponse({"detail": refused.detail}, status=403)
    except NotFound as gone:
        return JsonResponse({"detail": gone.detail}, status=404)
    except Conflict as conflict:
        return JsonResponse({"detail": conflict.detail}, status=409)
    return _threads(line)


def _threads(line: Line) -> JsonResponse:
    return JsonResponse({"number": comments.number(line), "threads": comments.listed(line)})
