"""Taking a whole document into the line that is on the canvas: read here, looked at there, and applied as one change of
the draft. The templates that an empty line begins with come the same way. Nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from pydantic import BaseModel, Field, ValidationError

from pipelines.formats import native
from pipelines.formats.change_words import sentence
from pipelines.formats.changes import AFFECTS, changes
from pipelines.lines.starters.catalogue import BY_KEY, Starter
from pipelines.models import Line, Project
from pipelines.routing.document.line import DocumentError, Problem, read_line
from pipelines.web.graph import drawing_of
from pipelines.web.lines import lines
from pipelines.web.lines.changed import GROUPS, LOOKS
from pipelines.web.shell.page import SignedIn, costly, in_project

FIRST = ("review-before-delivery", "build-test-fix", "triage")
"""The templates on an empty canvas; all of them stand on the page of a new line."""
MOST = 500
"""Changes that are told in words."""


class Sent(BaseModel):
    """`document`: what is on the canvas. `text`: what is to take its place, or `starter`, the key of a template."""

    document: dict[str, Any]
    text: str = Field(default="", max_length=native.MAX_TEXT)
    starter: str = Field(default="", max_length=64)


@in_project("design")
@costly
@require_http_methods(["GET", "HEAD", "POST"])
def take(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """GET: the first templates, drawn. POST: 200 with `document` under the key of this line, the `text` that it was
    read from, `changes` in words by what they affect, and the `problems` that it has as a line · 422 with the
    `problems` of what cannot be drawn at all · 400 what the canvas never sends."""
    found = lines.get(request, project, line)
    if request.method != "POST":
        return JsonResponse({"starters": [_shown(BY_KEY[key]) for key in FIRST]})
    try:
        sent = Sent.model_validate_json(request.body)
        if sent.starter:
            return JsonResponse(_begun(found, sent))
        return JsonResponse(_read(found, sent))
    except (ValidationError, KeyError):
        return JsonResponse({"detail": _("The canvas sent something else than a document.")}, status=400)
    except RequestDataTooBig:
        large = Problem("", _("The document is too large."), _("Up to 2 MB are read."))
        return JsonResponse({"problems": [large.to_dict()]}, status=422)
    except DocumentError as fault:
        return JsonResponse({"problems": [each.to_dict() for each in fault.problems]}, status=422)


def _shown(starter: Starter) -> dict[str, str]:
    context = {"drawing": drawing_of(starter.line), "label": starter.line.name, "base": ""}
    return {
        "key": starter.key,
        "name": starter.line.name or starter.key,
        "purpose": str(starter.purpose),
        "needs": " · ".join(map(str, starter.needs)),
        "picture": render_to_string("graph/graph.html", context),
    }


def _begun(line: Line, sent: Sent) -> dict[str, Any]:
    """A line keeps the name it has. Raises KeyError: no such template."""
    starter = BY_KEY[sent.starter]
    document = {**native.loads(starter.text), "key": line.key}
    if sent.document.get("name"):
        document["name"] = sent.document["name"]
    return {"document": document, "text": starter.text, "changes": [], "problems": []}


def _read(line: Line, sent: Sent) -> dict[str, Any]:
    """Raises DocumentError: nothing that can be drawn."""
    document = {**native.loads(sent.text), "key": line.key}
    problems = native.locate(sent.text, _problems(document))
    if not drawable(document):
        raise DocumentError(problems or _not_drawn())
    return {
        "document": document,
        "text": sent.text,
        "changes": _changes(sent.document, document),
        "problems": [each.to_dict() for each in problems],
    }


def _not_drawn() -> list[Problem]:
    hint = _("Stations, gates and ends are lists of objects with a key, and rules have an id.")
    return [Problem("", _("This cannot be drawn."), hint)]


def _problems(document: dict[str, Any]) -> list[Problem]:
    try:
        read_line(document)
    except DocumentError as fault:
        return list(fault.problems)
    return []


def drawable(document: Any) -> bool:
    """As `canBeDrawn` of static/editor/store/document.ts says it."""
    if not isinstance(document, Mapping) or not _all_with(document.get("stations"), "key"):
        return False
    others = [document[part] for part in ("gates", "ends") if document.get(part) is not None]
    if not all(_all_with(each, "key") for each in others):
        return False
    return all(_all_with(station.get("rules", []), "id") for station in document["stations"])


def _all_with(members: Any, key: str) -> bool:
    return isinstance(members, list) and all(
        isinstance(each, Mapping) and isinstance(each.get(key), str) for each in members
    )


def _alike(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Both in full, so that what is only written differently is no change; of what is no line yet, with its parts."""
    try:
        return read_line(old).to_document(), read_line(new).to_document()
    except DocumentError:
        parts: dict[str, Any] = {"inputs": [], "stations": [], "gates": [], "ends": []}
        return {**parts, **old}, {**parts, **new}


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows: dict[str, list[dict[str, str]]] = {each: [] for each in AFFECTS}
    old, new = _alike(old, new)
    found = changes(old, new)
    for change in found[:MOST]:
        icon, word = LOOKS[change.what]
        said = {"sentence": sentence(change, old, new), "what": change.what, "icon": icon, "word": word()}
        rows[change.affects].append(said)
    told = [{"affects": key, "title": GROUPS[key](), "rows": each} for key, each in rows.items() if each]
    if len(found) > MOST:
        more = _("and %(n)s more") % {"n": len(found) - MOST}
        told.append({"affects": "layout", "title": more, "rows": []})
    return told
