"""The page of the canvas on which a line is drawn. What it asks then is asked of the API."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.lines import drafts, mentions
from pipelines.models import Line, Project
from pipelines.templatetags.gateline import built_file_url_or_empty
from pipelines.web.editor import canvas_drawing
from pipelines.web.editor.forms import several_stations
from pipelines.web.lines import lines
from pipelines.web.lines.kinds import work_kind_fields
from pipelines.web.shell.page import SignedInRequest, costly_view, line_required, show_line

URLS = {
    "code": "line-edit",
    "publish": "line-publish",
    "tests": "line-tests",
    "versions": "line-versions",
    "export": "line-export",
}
"""Pages that the canvas leads to, by the name it knows them by; each belongs to the line."""


@line_required("view")
@costly_view
@require_safe
@ensure_csrf_cookie
def editor_page(request: SignedInRequest, line: Line) -> HttpResponse:
    return show_line(
        request,
        "editor/draw.html",
        line,
        drawable=_is_drawable(line.draft),
        comments="#" in line.draft_text,
        may_execute=access.is_permitted(request.user, "execute", line.project),
        data=_canvas_data(request, line.project, line),
        rail=True,
    )


def _canvas_data(request: SignedInRequest, project: Project, line: Line) -> dict[str, Any]:
    at = (project.owner.key, project.key, line.key)
    findings = canvas_drawing.findings_with_ranks(line, project) if _is_drawable(line.draft) else None
    return {
        "document": line.draft,
        "text": line.draft_text,
        "number": line.draft_number,
        "draft": drafts.authorship_dict(line),
        "me": request.user.pk,
        "myName": str(request.user),
        "live": {"project": f"{project.owner.key}/{project.key}", "line": line.key},
        "place": f"{request.user.pk} {reverse('line-draw', args=at)}save/",
        "api": reverse("api-1:line-draft", args=at).removesuffix("/draft"),
        "urls": {
            **{name: reverse(route, args=at) for name, route in URLS.items()},
            "schema": reverse("api-1:schema"),
            "templates": reverse("lines-new", args=at[:2]),
            "help": reverse("help-page", args=["drawing"]) + "#a-first-line",
            **_naming_url(line, at),
        },
        "findings": findings,
        "stored": canvas_drawing.stored_geometry_or_none(line, findings) if findings else None,
        "differs": lines.does_draft_differ_from_live(line),
        "kinds": work_kind_fields(),
        "common": several_stations.KEYS,
        "people": [
            {"handle": person.username, "name": str(person)}
            for person in mentions.mentionable_members(project)
        ],
        "mayEdit": access.is_permitted(request.user, "design", project),
        "icons": built_file_url_or_empty("static/icons.json"),
    }


def _naming_url(line: Line, at: tuple[str, str, str]) -> dict[str, str]:
    """Return the address where the live version gets its name; a draft has none."""
    if line.live is None:
        return {}
    return {"nameVersion": f"{reverse('line-versions', args=at)}?to={line.live.number}#open=name-version"}


def _is_drawable(draft: Any) -> bool:
    """Return whether the draft is drawable, as `canBeDrawn` of static/editor/store/document.ts reads it."""
    return isinstance(draft, dict) and isinstance(draft.get("stations"), list)
