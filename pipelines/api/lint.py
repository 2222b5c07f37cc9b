"""Lint over HTTP: of a line's draft, of its versions, and of a document that is not stored at all."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from pipelines import access
from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, Operations, costly_operation
from pipelines.api.schemas import body_text
from pipelines.errors import Invalid
from pipelines.lines import publishing
from pipelines.lines.project_lint import examine_document, examine_text
from pipelines.models import Line, Project
from pipelines.routing.analysis.lint.examination import Examination
from pipelines.routing.document.networks import published_document

router = Operations("lint")
MAX_TEXT = 2_000_000
"""Characters, as many as a draft may have on its page."""
DOCUMENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/yaml": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        },
    }
}
"""What the body is, in the description of the API."""


class WitnessVoteOut(BaseModel):
    """A person's word that a situation needs. `opening`: whether the gate asks for the station or for the `rule`."""

    gate: str
    word: str
    opening: Literal["station", "rule"]
    rule: str | None


class WitnessOut(BaseModel):
    """A situation as `decide` reads it, run through it on this line, and what it decided. `words`: those of people, in
    the order in which they are said."""

    situation: dict[str, Any]
    decision: dict[str, Any]
    words: list[WitnessVoteOut]


class FindingOut(BaseModel):
    """`check` is also the name of its page in the help. `rules`: the other rules that it speaks of."""

    check: str
    severity: Literal["error", "warning", "info"]
    path: str
    line: int | None
    column: int | None
    station: str | None
    rule: str | None
    rules: list[str]
    message: str
    hint: str
    witness: WitnessOut | None


class RuleStandingOut(BaseModel):
    """`killers`: earlier rules that together leave a dead rule nothing; none where its condition is never true.
    `after_rework`: the rule whose gate has to demand rework before this one is tried. `why`: of `unknown`."""

    rule: str
    path: str
    line: int | None
    column: int | None
    standing: Literal["live", "partly shadowed", "dead", "unknown"]
    witness: WitnessOut | None
    killers: list[str]
    shadowed_by: list[str]
    after_rework: str | None
    why: str


class UnmatchedOutcomesOut(BaseModel):
    """Outcomes that no rule takes, and what the policy does with the witness. Without a witness it is not known
    whether there are any, and `why` says what stood in the way."""

    outcomes: Literal["passed", "failed", "blocked"]
    witness: WitnessOut | None
    then: str
    why: str


class StationStandingsOut(BaseModel):
    station: str
    path: str
    line: int | None
    column: int | None
    rules: list[RuleStandingOut]
    untaken: list[UnmatchedOutcomesOut]


class GuaranteeOut(BaseModel):
    """A promise of the line. `walk`: of a refuted one, a scenario that breaks it, which can be simulated and kept, and
    `path` the same in words; `why`: what a proof rests on, or what stopped it."""

    id: str
    sentence: str
    answer: Literal["proved", "refuted", "unknown"]
    why: str
    path: str
    walk: dict[str, Any] | None


class LintOut(BaseModel):
    """`line` is null and `readable` false where the document is no line: then there are only findings.
    `visits`: how often each station that is reached can be entered at most."""

    line: str | None
    readable: bool
    counts: dict[str, int]
    findings: list[FindingOut]
    visits: dict[str, int]
    stations: list[StationStandingsOut]
    guarantees: list[GuaranteeOut]


@router.get(
    PROJECT + "/lines/{line}/lint",
    response=LintOut,
    summary="What the rules of a line can and cannot do",
)
@costly_operation
def lint_stored_draft_or_version(request: Request, line: Line, version: int | None = None) -> dict[str, Any]:
    """Return the lint of the stored draft, or of the version with this number. Line and column are those of
    the draft's text."""
    return _examine_stored(line, version).to_dict()


@router.post(
    PROJECT + "/lint",
    response=LintOut,
    summary="The same of a document in the body, which is not saved",
    openapi_extra=DOCUMENT,
)
@costly_operation
def lint_posted_document(request: Request, project: Project) -> dict[str, Any]:
    """The body is a line document, YAML or JSON. One that cannot be read is no error: its findings say why."""
    return examine_text(document_text(request), project).to_dict()


def document_text(request: Request) -> str:
    """The text in the body. Raises Invalid."""
    text = body_text(request)
    if len(text) > MAX_TEXT:
        raise Invalid.at("", f"is longer than {MAX_TEXT} characters")
    return text


def _examine_stored(line: Line, version: int | None) -> Examination:
    if version is None:
        return publishing.check_draft(line)
    line_version = access.version_of_permitted_line(line, version)
    return examine_document(published_document(line_version.document, line_version.revision), line.project)
