"""The door of the editor's forms: a fragment in, the form as HTML and the changed fragment out. Nothing is stored here:
the canvas makes a command of the change, and saves the draft as ever."""

from __future__ import annotations

import json
import re
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.text import capfirst
from django.views.decorators.http import require_POST
from pydantic import ValidationError

from pipelines import access
from pipelines.engine.core import payload
from pipelines.errors import Invalid
from pipelines.models import Project
from pipelines.routing.document.line import Problem
from pipelines.web.editor.forms.answer import FormAnswer, answer
from pipelines.web.editor.forms.asked import FormRequest
from pipelines.web.editor.forms.fields import ChoiceField, FormField, SeveralField
from pipelines.web.editor.forms.form import Rows, Section, Setting
from pipelines.web.editor.forms.table import FORMS
from pipelines.web.lines import lines
from pipelines.web.shell.page import SignedIn, costly, in_project


@in_project("view")
@costly
@require_POST
def form(request: SignedIn, project: Project, line: str, what: str) -> HttpResponse:
    """200 `{html, fragment, label, refused, focus}` · 422 the same, where something typed is refused: it stands in the
    form with its error, the rest is in the fragment · 400 what is no question · 404 no such form."""
    stored = lines.get(request, project, line)
    if what not in FORMS:
        raise Http404
    try:
        asked = FormRequest.model_validate_json(request.body)
        payload.accept(asked.model_dump(), "")
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_input=False)[0]
        return JsonResponse({"detail": f"{'.'.join(map(str, first['loc']))}: {first['msg']}"}, status=400)
    except Invalid as fault:
        return JsonResponse({"detail": str(fault)}, status=400)
    found = answer(FORMS[what], asked, Setting(project, asked.names, asked.own, stored, asked.within))
    drawn = FormView(found, asked.scope or what)
    context = {
        "sections": [drawn.section(index, each) for index, each in enumerate(found.sections)],
        "problems": [_said(problem) for problem in found.problems.get("", ())],
        "may_edit": access.can(request.user, "design", project),
        "project": project,
    }
    said = {
        "html": render_to_string("editor/forms/form.html", context, request),
        "fragment": found.fragment,
        "label": found.label,
        "refused": list(found.refused),
        "focus": drawn.id(found.focus) if found.focus else "",
    }
    return JsonResponse(said, status=422 if found.refused else 200)


def _said(problem: Problem) -> str:
    return capfirst(problem.message) + (f". {capfirst(problem.hint)}" if problem.hint else "")


class FormView:
    """The answer as the templates want it: one dict for each block. `scope` begins every id of the page."""

    def __init__(self, found: FormAnswer, scope: str) -> None:
        self.found, self.scope = found, scope

    def id(self, name: str) -> str:
        return f"ef-{self.scope}-{re.sub('[^a-zA-Z0-9]+', '-', name).strip('-') or 'rest'}"

    def section(self, index: int, section: Section) -> dict[str, Any]:
        blocks = [self.block(item) for item in section.fields]
        return {
            "id": self.id(f"section-{index}"),
            "title": section.title,
            "help": section.help,
            "blocks": blocks,
            "faulty": any(each["faulty"] for each in blocks),
            "open": section.open,
            "template": section.template,
            "on_top": section.on_top,
            "css": section.css,
            "context": section.context,
        }

    def block(self, item: FormField | Rows) -> dict[str, Any]:
        return self.rows(item) if isinstance(item, Rows) else self.field(item)

    def rows(self, rows: Rows) -> dict[str, Any]:
        members = []
        for index, member in enumerate(rows.members(self.found.fragment)):
            blocks = [self.block(item) for item in rows.fields(self.found.fragment, index)]
            name = f"{rows.name}[{index}]"
            faulty = any(each["faulty"] for each in blocks)
            title = rows.title(member, index)
            members.append(
                {"id": self.id(name), "index": index, "title": title, "blocks": blocks, "faulty": faulty}
            )
        return {
            "widget": "rows",
            "id": self.id(rows.name),
            "name": rows.name,
            "rows": rows,
            "members": members,
            "faulty": any(each["faulty"] for each in members),
        }

    def field(self, field: FormField) -> dict[str, Any]:
        typed = self.found.refused.get(field.name)
        values = field.shown(self.found.fragment) if typed is None else typed
        value = values[0] if values else ""
        problems = [_said(problem) for problem in self.found.problems.get(field.name, ())]
        found = {
            "widget": field.widget,
            "id": self.id(field.name),
            "name": field.name,
            "field": field,
            "value": value,
            "values": values,
            "errors": problems,
            "faulty": bool(problems),
            "stored": json.dumps(self.found.stored[field.name]) if typed is not None else "",
        }
        if isinstance(field, ChoiceField):
            options = field.choices(value)
            found |= {"options": options, "words": dict(options).get(value, value)}
        if isinstance(field, SeveralField):
            found["options"] = [(each, words, each in values) for each, words in field.choices(values)]
        return found
