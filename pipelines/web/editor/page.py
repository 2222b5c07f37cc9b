"""The canvas on which a line is drawn: its page, and the door through which its changes are saved.

The browser draws; whatever is decided about the draft is decided here, by `lint`.
"""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from pydantic import BaseModel, Field, ValidationError

from pipelines import access
from pipelines.errors import Conflict, Invalid
from pipelines.formats import native
from pipelines.formats.telling import says
from pipelines.lines import drafts
from pipelines.lines.linting import examined
from pipelines.models import Line, Project
from pipelines.routing.document.line import DocumentError
from pipelines.templatetags.gateline import asset
from pipelines.web.editor import merge_conflicts
from pipelines.web.editor.findings import findings_of, told
from pipelines.web.editor.kinds import kinds
from pipelines.web.editor.routing_diff import elsewhere
from pipelines.web.lines import lines
from pipelines.web.shell.page import SignedIn, costly, in_project, show_line

URLS = {
    "code": "line-edit",
    "latest": "line-draw-latest",
    "people": "line-draw-people",
    "comments": "line-comments",
    "publish": "line-publish",
    "tests": "line-tests",
    "versions": "line-versions",
    "walk": "line-draw-walk",
    "testsKept": "line-draw-tests",
    "testsRun": "line-draw-tests-run",
    "testsGenerate": "line-draw-tests-generate",
    "testsKeep": "line-draw-tests-keep",
    "testsDelete": "line-draw-tests-delete",
    "export": "line-export",
    "import": "line-draw-import",
}
"""Addresses that the canvas asks, by the name it knows them by; each belongs to the line."""


class Renamed(BaseModel):
    """A part that has another key now."""

    kind: Literal["station", "rule", "gate"]
    source: str = Field(alias="from", max_length=200)
    to: str = Field(max_length=200)


class Draft(BaseModel):
    """What the canvas sends: the whole document, and the draft that it was made from, with its number. `text`: what
    says the document, if one was typed. `renamed`: since `base`, one after the other."""

    based_on: int = Field(ge=0, le=2**31 - 1)
    base: dict[str, Any]
    document: dict[str, Any]
    text: str = Field(default="", max_length=native.MAX_TEXT)
    renamed: list[Renamed] = Field(default=[], max_length=1_000)


@in_project("view")
@costly
@require_safe
def draw(request: SignedIn, project: Project, line: str) -> HttpResponse:
    found = lines.get(request, project, line)
    return show_line(
        request,
        "editor/draw.html",
        found,
        drawable=_drawable(found.draft),
        comments="#" in found.draft_text,
        may_execute=access.can(request.user, "execute", project),
        data=_data(request, project, found),
        rail=True,
    )


@in_project("design")
@costly
@require_POST
def save(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """200 with the new number, the findings and, where it was merged with another's edit, the document that is stored
    now; where a text was sent too, what it has to say before the two together can be stored (`behind`) · 400 what
    cannot be a draft · 409 with the places that both changed."""
    found = lines.get(request, project, line)
    try:
        sent = Draft.model_validate_json(request.body)
        saved = drafts.save(
            found,
            sent.document,
            request.user,
            based_on=sent.based_on,
            base=sent.base,
            text=sent.text,
            renamed=[(each.kind, each.source, each.to) for each in sent.renamed],
        )
    except ValidationError as fault:
        return JsonResponse({"detail": _first(fault)}, status=400)
    except drafts.TextBehind as behind:
        return JsonResponse(_behind(behind, sent.based_on))
    except drafts.DraftClash as clash:
        return JsonResponse(_clash(clash), status=409)
    except Conflict as conflict:
        return JsonResponse({"detail": conflict.detail, "by": conflict.by, "clashes": []}, status=409)
    except (DocumentError, Invalid) as fault:
        return JsonResponse({"detail": str(fault)}, status=400)
    examination = examined(saved.draft, project)
    findings = {**told(examination, saved.draft), "elsewhere": elsewhere(sent.base, examination.line)}
    answer = {
        "number": saved.draft_number,
        "draft": drafts.told(saved, sent.based_on),
        "findings": findings,
        "differs": lines.draft_differs(saved),
    }
    return JsonResponse(answer if says(saved.draft, sent.document) else {**answer, "document": saved.draft})


def _behind(behind: drafts.TextBehind, based_on: int) -> dict[str, Any]:
    """Nothing is stored: `document` is to be written into the text, and saved over `base`, the stored draft."""
    stored = behind.line
    return {
        "behind": True,
        "number": stored.draft_number,
        "draft": drafts.told(stored, based_on),
        "base": stored.draft,
        "document": behind.document,
        "text": stored.draft_text,
    }


def _clash(clash: drafts.DraftClash) -> dict[str, Any]:
    """`document`: what is stored, and what saving again after a choice is based on."""
    return {
        "detail": clash.detail,
        "by": clash.by,
        "number": clash.line.draft_number,
        "document": clash.line.draft,
        "text": clash.line.draft_text,
        "clashes": [merge_conflicts.told(each, clash.line.draft) for each in clash.clashes],
    }


def _data(request: SignedIn, project: Project, line: Line) -> dict[str, Any]:
    at = (project.owner.key, project.key, line.key)
    return {
        "document": line.draft,
        "text": line.draft_text,
        "number": line.draft_number,
        "draft": drafts.told(line),
        "me": request.user.pk,
        "myName": str(request.user),
        "live": {"project": f"{project.owner.key}/{project.key}", "line": line.key},
        "saveUrl": reverse("line-draw-save", args=at),
        "urls": {
            **{name: reverse(route, args=at) for name, route in URLS.items()},
            "schema": reverse("api-1:schema"),
            "templates": reverse("lines-new", args=at[:2]),
            **_naming(line, at),
            "forms": reverse("line-draw-form", args=[*at, "station"]).removesuffix("station/"),
        },
        "csrf": get_token(request),
        "findings": findings_of(line.draft, project) if _drawable(line.draft) else None,
        "differs": lines.draft_differs(line),
        "kinds": kinds(),
        "mayEdit": access.can(request.user, "design", project),
        "icons": asset("static/icons.json"),
    }


def _naming(line: Line, at: tuple[str, str, str]) -> dict[str, str]:
    """Where the version that is live gets its name; a draft has none."""
    if line.live is None:
        return {}
    return {"nameVersion": f"{reverse('line-versions', args=at)}?to={line.live.number}#open=name-version"}


def _drawable(draft: Any) -> bool:
    """As `canBeDrawn` of static/editor/store/document.ts reads it."""
    return isinstance(draft, dict) and isinstance(draft.get("stations"), list)


def _first(fault: ValidationError) -> str:
    problem = fault.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return f"{place}: {problem['msg']}" if place else str(problem["msg"])
