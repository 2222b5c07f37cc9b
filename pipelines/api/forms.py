"""The editor's forms over HTTP: a part of a line and what was typed in, its form as HTML and the changed part out.
Where the editor knew what would come of it, the draft is saved by the same request."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.drafts import DRAFT, EditIn, SavedOut, save_edit
from pipelines.api.lookup import COSTS, Operations
from pipelines.api.schemas import StrictBody, refuse_rounded
from pipelines.engine.core import payload as payloads
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.models import Line
from pipelines.routing.basics.problems import DocumentError
from pipelines.web.editor.forms.form import FormSetting
from pipelines.web.editor.forms.form_answer import FormAnswer, answer_form
from pipelines.web.editor.forms.form_request import FormRequest
from pipelines.web.editor.forms.form_view import FormView
from pipelines.web.editor.forms.table import FORMS
from pipelines.web.shell.costly_requests import taking_turn

router = Operations("drafts", COSTS)


class SaveIn(StrictBody):
    """`expected`: the part as the editor thinks it will be. `edit`: with it in its place, and saved if it is just that
    in the answer. Where it is not, or the edit clashes with another, nothing is saved and nothing refused."""

    expected: dict[str, Any]
    edit: EditIn


class FormIn(FormRequest):
    save: SaveIn | None = None


class FormOut(BaseModel):
    """`fragment`: the part with what could be read of the typed; `refused`: fields whose text could not, and stands
    in the form with its error. `label`: what was changed, for undo. `focus`: the id of what gets the focus. `saved`:
    null where nothing was."""

    html: str
    fragment: dict[str, Any]
    label: str
    refused: list[str]
    focus: str
    saved: SavedOut | None = None


@router.post(
    DRAFT + "/forms/{what}",
    response=FormOut,
    exclude_unset=True,
    summary="What was typed into a form of the editor",
)
def edit_form_of_part(
    request: Request, owner: str, project: str, line: str, what: str, payload: FormIn
) -> FormOut:
    """Return the form of `what`: line, station, rule, gate, … With `save` in it the request needs what saving
    needs."""
    line_row = access.line_of_visible_project_by_keys(request.auth, owner, project, line)
    access.require_permission(request.auth, "design" if payload.save else "view", line_row.project)
    if what not in FORMS:
        raise NotFound("There is no such form.")
    payloads.checked_digest(payload.model_dump(exclude={"save"}))
    if payload.save:
        refuse_rounded(request)
    with taking_turn(request.auth, saves=bool(payload.save)):
        setting = FormSetting(line_row.project, payload.names, payload.own, line_row, payload.within)
        form_answer = answer_form(FORMS[what], payload, setting)
        drawn = FormView(form_answer, what, payload.scope or what)
        may_edit = access.is_permitted(request.auth, "design", line_row.project)
        return FormOut(
            html=drawn.html(line_row.project, may_edit),
            fragment=form_answer.fragment,
            label=form_answer.label,
            refused=list(form_answer.refused),
            focus=drawn.focus_id,
            saved=_save_answer_or_none(request, line_row, payload, form_answer),
        )


def _save_answer_or_none(
    request: Request, line: Line, payload: FormIn, form_answer: FormAnswer
) -> SavedOut | None:
    """Save the form's answer. If it cannot be saved as it is, the editor does it: it knows what else waits,
    and asks the person."""
    if payload.save is None or (form_answer.refused and not payload.peek):
        return None
    try:
        # The page reads typed text by itself: where it came to something else, the person is asked
        if payloads.checked_digest(payload.save.expected) != payloads.json_digest(form_answer.fragment):
            return None
        saved = save_edit(line, payload.save.edit, require_person(request.auth))
    except (Conflict, DocumentError, Invalid):
        return None
    return saved if isinstance(saved, SavedOut) else None
