"""The canvas on which a line is drawn: its page, and the door through which its changes are saved.

The browser draws; whatever is decided about the draft is decided here, by `lint`.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from pydantic import BaseModel, Field, ValidationError

from pipelines import access, publishing
from pipelines.errors import Invalid
from pipelines.linting import BUILT
from pipelines.models import Line, Project
from pipelines.templatetags.gateline import asset
from pipelines.views import lines
from pipelines.views.editor_findings import findings_of
from pipelines.views.editor_words import words
from pipelines.views.page import SignedIn, in_project, show
from pipelines.views.project import tab_trail

KINDS = tuple(sorted(BUILT))


class Draft(BaseModel):
    """What the canvas sends: the whole document, and the number of the draft that it was made from."""

    based_on: int = Field(ge=0, le=2**31 - 1)
    document: dict[str, Any]


@in_project("view")
@require_safe
def draw(request: SignedIn, project: Project, line: str) -> HttpResponse:
    found = lines.get(request, project, line)
    return show(
        request,
        "pages/line_draw.html",
        project=project,
        section="lines",
        trail=tab_trail(project, found.name),
        line=found,
        drawable=_drawable(found.draft),
        comments="#" in found.draft_text,
        draft_differs=lines.draft_differs(found),
        may_execute=access.can(request.user, "execute", project),
        data=_data(request, project, found),
        rail=True,
    )


@in_project("design")
@require_POST
def save(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """200 with the new number and the findings · 400 what cannot be a draft · 409 with the draft that is stored."""
    found = lines.get(request, project, line)
    try:
        sent = Draft.model_validate_json(request.body)
        saved = publishing.save_draft(found, sent.document, request.user, sent.based_on)
    except ValidationError as fault:
        return JsonResponse({"detail": _first(fault)}, status=400)
    except publishing.DraftConflict as conflict:
        stored = lines.get(request, project, line)
        said = {
            "detail": conflict.detail,
            "number": conflict.number,
            "by": conflict.by,
            "document": stored.draft,
        }
        return JsonResponse(said, status=409)
    except Invalid as fault:
        return JsonResponse({"detail": str(fault)}, status=400)
    return JsonResponse({"number": saved.draft_number, "findings": findings_of(saved.draft, project)})


def _data(request: SignedIn, project: Project, line: Line) -> dict[str, Any]:
    at = (project.owner.key, project.key, line.key)
    return {
        "document": line.draft,
        "number": line.draft_number,
        "saveUrl": reverse("line-draw-save", args=at),
        "csrf": get_token(request),
        "findings": findings_of(line.draft, project) if _drawable(line.draft) else None,
        "kinds": KINDS,
        "mayEdit": access.can(request.user, "design", project),
        "words": words(),
        "icons": asset("static/icons.json"),
    }


def _drawable(draft: Any) -> bool:
    """As `canBeDrawn` of static/editor/document.ts reads it."""
    return isinstance(draft, dict) and isinstance(draft.get("stations"), list)


def _first(fault: ValidationError) -> str:
    problem = fault.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return f"{place}: {problem['msg']}" if place else str(problem["msg"])
