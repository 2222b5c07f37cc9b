"""An answer of a form as HTML."""

from __future__ import annotations

import json
import re
from typing import Any

from django.template.loader import render_to_string
from django.utils.text import capfirst

from pipelines.models import Project
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import Problem
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.fields import ChoiceField, FormField, SeveralField
from pipelines.web.editor.forms.form import Rows, Section
from pipelines.web.editor.forms.form_answer import FormAnswer


class FormView:
    """The answer of the form `what` as the templates want it: one dict for each block. `scope` begins every id of the
    page."""

    def __init__(self, answer: FormAnswer, what: str, scope: str) -> None:
        self.found, self.what, self.scope = answer, what, scope

    def html(self, project: Project, may_edit: bool) -> str:
        """Its controls are off for who may only look."""
        kind = fragment_paths.value_at(self.found.fragment, ("work", "kind"))
        context = {
            "sections": [
                self.section_context(index, section) for index, section in enumerate(self.found.sections)
            ],
            "problems": [_problem_text(problem) for problem in self.found.problems.get("", ())],
            "may_edit": may_edit,
            "project": project,
            "help_at": f"form-{self.what}",
            "help_kind": kind if isinstance(kind, str) else "",
        }
        return render_to_string("editor/forms/form.html", context)

    @property
    def focus_id(self) -> str:
        """The id of what gets the focus; "" where it stays."""
        return self.element_id(self.found.focus) if self.found.focus else ""

    def element_id(self, name: str) -> str:
        return f"ef-{self.scope}-{re.sub('[^a-zA-Z0-9]+', '-', name).strip('-') or 'rest'}"

    def section_context(self, index: int, section: Section) -> dict[str, Any]:
        blocks = [self.block_context(item) for item in section.fields]
        return {
            "id": self.element_id(f"section-{index}"),
            "title": section.title,
            "help": section.help,
            "blocks": blocks,
            "faulty": any(block["faulty"] for block in blocks),
            "open": section.open,
            "template": section.template,
            "on_top": section.on_top,
            "css": section.css,
            "context": section.context,
        }

    def block_context(self, item: FormField | Rows) -> dict[str, Any]:
        return self.rows_context(item) if isinstance(item, Rows) else self.field_context(item)

    def rows_context(self, rows: Rows) -> dict[str, Any]:
        members = []
        for index, member in enumerate(rows.members(self.found.fragment)):
            blocks = [self.block_context(item) for item in rows.fields(self.found.fragment, index)]
            name = f"{rows.name}[{index}]"
            faulty = any(block["faulty"] for block in blocks)
            title = rows.title(member, index)
            members.append(
                {
                    "id": self.element_id(name),
                    "index": index,
                    "title": title,
                    "blocks": blocks,
                    "faulty": faulty,
                }
            )
        return {
            "widget": "rows",
            "id": self.element_id(rows.name),
            "name": rows.name,
            "rows": rows,
            "members": members,
            "added": [
                (kind, words, json.dumps(rows.new(self.found.fragment, kind)))
                for kind, words in rows.kinds or [("", rows.add)]
            ],
            "faulty": any(member["faulty"] for member in members),
        }

    def field_context(self, field: FormField) -> dict[str, Any]:
        name = field.name
        typed = self.found.refused.get(name)
        # What was refused is shown as it was typed, though the fragment has something else.
        values = field.control_values_for_fragment(self.found.fragment) if typed is None else typed
        value = values[0] if values else ""
        problems = [_problem_text(problem) for problem in self.found.problems.get(name, ())]
        context = {
            "widget": field.widget,
            "id": self.element_id(name),
            "name": name,
            "field": field,
            "value": value,
            "values": values,
            "errors": problems,
            "faulty": bool(problems),
            "stored": json.dumps(self.found.stored[name]) if typed is not None else "",
            "writes": json.dumps(field.describe_change(self.found.fragment)),
        }
        if isinstance(field, ChoiceField):
            options = field.choices(value)
            context |= {"options": options, "words": dict(options).get(value, value)}
        if isinstance(field, SeveralField):
            context["options"] = [
                (option, words, option in values) for option, words in field.choices(values)
            ]
        return context


def _problem_text(problem: Problem) -> str:
    message, hint = capfirst(people_text(problem.message)), capfirst(people_text(problem.hint))
    return f"{message}. {hint}" if hint else message
