"""The draft of a line over HTTP: read it, put a document in its place, save an edit of it as an editor does. Edits that
do not touch are merged; nothing is stored over what nobody saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import COSTS, LINE, Operations, action_required, costly_operation, saving_in_turn
from pipelines.api.schemas import LineOut, StrictBody, body_text, refuse_rounded
from pipelines.errors import Conflict
from pipelines.formats import native
from pipelines.formats.line_merge import is_same_value
from pipelines.lines import drafts, publishing
from pipelines.lines.project_lint import examine_document
from pipelines.models import Line, Project, User
from pipelines.web.editor.findings import draft_findings, examination_data
from pipelines.web.editor.routing_diff import routing_changes_or_none
from pipelines.web.lines.lines import does_draft_differ_from_live

router = Operations("drafts", COSTS)
DRAFT = LINE + "/draft"


class RenamedIn(StrictBody):
    """A part that has another key now."""

    kind: Literal["station", "rule", "gate", "end", "input"]
    source: str = Field(alias="from", max_length=200)
    to: str = Field(max_length=200)


class EditIn(StrictBody):
    """The whole document, the draft that it was made from (`base`), and the number of that (`based_on`). `text`: what
    says the document, kept with its comments. `renamed`: since `base`, one after the other;
    comments on a part and the scenarios that name it go with it."""

    based_on: int = Field(ge=0, le=2**31 - 1)
    base: dict[str, Any]
    document: dict[str, Any]
    text: str = Field(default="", max_length=native.MAX_TEXT)
    renamed: list[RenamedIn] = Field(default=[], max_length=1_000)


class EditorOut(BaseModel):
    id: int
    name: str


class DraftStateOut(BaseModel):
    """`live`: the number of the version that is live. `people`: who has changed the draft since that; `others`: who has
    since the draft that was asked from."""

    number: int
    by: EditorOut | None
    at: str | None
    live: int | None
    people: list[str]
    others: list[str]


class DraftOut(BaseModel):
    """`differs`: whether it says anything else than what is live. Document, text and findings only where they are news;
    the text is empty where nobody typed one."""

    draft: DraftStateOut
    mayEdit: bool  # noqa: N815 - as the canvas says it
    differs: bool
    document: Any = None
    text: str = ""
    findings: dict[str, Any] = {}


class SavedOut(BaseModel):
    """`document`: what is stored, where that is not what was sent. `findings`: of it; `elsewhere` in them tells which
    outcomes go elsewhere than in `base`."""

    number: int
    draft: DraftStateOut
    findings: dict[str, Any]
    differs: bool
    document: dict[str, Any] = {}


class BehindOut(BaseModel):
    """Nothing is stored yet: the text that was sent lacks what somebody else saved. Write `document` into the two texts
    and save that over `base`."""

    behind: Literal[True] = True
    number: int
    draft: DraftStateOut
    base: dict[str, Any]
    document: dict[str, Any]
    text: str


@router.get(
    DRAFT,
    response=DraftOut,
    exclude_unset=True,
    url_name="line-draft",
    summary="The stored draft",
)
@costly_operation
def read(request: Request, line: Line, since: int | None = None, alone: bool = False) -> DraftOut:
    """Return the draft with lint's findings. `since`: the number that the caller has; the same one comes
    without document, and with `alone` every one does."""
    response = DraftOut(
        draft=DraftStateOut(**drafts.authorship_dict(line, since)),
        mayEdit=access.is_permitted(request.auth, "design", line.project),
        differs=does_draft_differ_from_live(line),
    )
    # Whoever has this number already has the document
    if not alone and since != line.draft_number:
        response.document, response.text = line.draft, line.draft_text
        response.findings = draft_findings(line.draft, line.project)
    return response


@router.put(DRAFT, response=LineOut, summary="Save a draft")
@action_required("design")
@saving_in_turn
def put(request: Request, project: Project, line: str, based_on: int | None = None) -> LineOut:
    """The body is the document, YAML or JSON. A line that does not exist yet is made. `based_on`: the number of the
    draft that was changed; an older one than the stored is refused (409)."""
    who = request.auth
    user = require_person(who)
    text = body_text(request)
    existing = project.lines.filter(key=line).first()
    if existing is None:
        return LineOut.of(
            publishing.create_line(project, line, _document_name_or_empty(text) or line, text, user)
        )
    # Without it a script would overwrite what somebody drew meanwhile
    if based_on is None:
        raise Conflict(f"Say which draft this was based on: ?based_on={existing.draft_number}.")
    return LineOut.of(publishing.save_draft(existing, text, user, based_on))


@router.patch(
    DRAFT,
    response=SavedOut | BehindOut,
    exclude_unset=True,
    summary="Save an edit of the draft",
)
@action_required("design")
@saving_in_turn
def save(request: Request, line: Line, payload: EditIn) -> SavedOut | BehindOut:
    """Over a newer draft the two edits are merged. 409: both changed the same places; `clashes` says which, with both
    sides in words, and `document` and `number` what a choice is saved over."""
    refuse_rounded(request)
    return save_edit(line, payload, require_person(request.auth))


def save_edit(line: Line, edit: EditIn, user: User) -> SavedOut | BehindOut:
    """Raises as `drafts.save` does, but for a text that is behind."""
    try:
        saved = drafts.save_or_merge_draft(
            line,
            edit.document,
            user,
            based_on=edit.based_on,
            base=edit.base,
            text=edit.text,
            renamed=[(rename.kind, rename.source, rename.to) for rename in edit.renamed],
        )
    except drafts.OutdatedText as behind:
        return _behind_out(behind, edit.based_on)
    # What is stored, not what was sent: a merge has brought in what others changed
    examination = examine_document(saved.draft, line.project)
    fields: dict[str, Any] = {
        "number": saved.draft_number,
        "draft": DraftStateOut(**drafts.authorship_dict(saved, edit.based_on)),
        "findings": {
            **examination_data(examination, saved.draft),
            "elsewhere": routing_changes_or_none(edit.base, examination.line),
        },
        "differs": does_draft_differ_from_live(saved),
    }
    # Sent only where others changed it as well
    merged: Mapping[str, Any] = {} if is_same_value(saved.draft, edit.document) else {"document": saved.draft}
    return SavedOut(**fields, **merged)


def _behind_out(behind: drafts.OutdatedText, based_on: int) -> BehindOut:
    now = behind.line
    return BehindOut(
        behind=True,
        number=now.draft_number,
        draft=DraftStateOut(**drafts.authorship_dict(now, based_on)),
        base=now.draft,
        document=behind.document,
        text=now.draft_text,
    )


def _document_name_or_empty(text: str) -> str:
    name = native.loads(text).get("name")
    return name if isinstance(name, str) else ""
