"""`GET /api/needs`: the items of the page “Inbox”, for the person whose token it is."""

from __future__ import annotations

from ninja import Router
from pydantic import AwareDatetime, BaseModel

from pipelines.api.auth import Request, require_person
from pipelines.api.problems import ProblemOut
from pipelines.errors import Forbidden, Invalid
from pipelines.models import ApiToken
from reviews.inbox.item import InboxViewer
from reviews.inbox.kinds import (
    BY_KEY,
    OfferedItem,
    items_of_kind_and_project_if_given,
    offered_items_due_first,
)

router = Router(tags=["needs"])
ERRORS = dict.fromkeys((400, 401, 403), ProblemOut)


class VerbOut(BaseModel):
    """`page`: the path where it is done, null where it is done in place on the page “Inbox”."""

    key: str
    label: str
    page: str | None


class NeedOut(BaseModel):
    """`sentence`: what happened; `remedy`: what would release it; `error`: its name in the law, if any; `version`:
    that of the position, which a decision has to name."""

    id: str
    kind: str
    owner: str
    project: str
    line: str
    task: str
    title: str
    place: str
    status: str
    sentence: str
    remedy: str
    error: str | None
    version: int
    since: AwareDatetime
    due: AwareDatetime | None
    verbs: list[VerbOut]
    page: str


@router.get("/needs", response={200: list[NeedOut], **ERRORS}, summary="What needs you")
def index(request: Request, kind: str = "", project: str = "") -> list[NeedOut]:
    """Everything for which the person of this token must act, due first, then the oldest; at most 200 of each kind.
    `kind` and `project` (`owner/key`) narrow it. 403: a machine, or a token without the scope `read`."""
    who = request.auth
    user, token = require_person(who), who if isinstance(who, ApiToken) else None
    if token and ApiToken.Scope.READ not in token.scopes:
        raise Forbidden("This token may not read.")
    if kind and kind not in BY_KEY:
        raise Invalid.at(
            "kind",
            f"“{kind}” is not a kind.",
            f"Use one of {', '.join(BY_KEY)}.",
        )
    return [
        _item_as_api_row(offered)
        for offered in items_of_kind_and_project_if_given(
            offered_items_due_first(InboxViewer(user, token)), kind, project
        )
    ]


def _item_as_api_row(offered: OfferedItem) -> NeedOut:
    need = offered.need
    owner, project = need.owner_and_project_keys
    return NeedOut(
        id=need.id,
        kind=need.kind,
        owner=owner,
        project=project,
        line=need.task.line.key,
        task=need.task.name,
        title=need.task.title,
        place=need.place,
        status=need.status,
        sentence=need.sentence.text,
        remedy=need.sentence.remedy,
        error=need.sentence.name or None,
        version=need.version,
        since=need.since,
        due=need.due_at,
        verbs=[VerbOut(key=verb.key, label=verb.label, page=verb.href) for verb in offered.verbs],
        page=need.task_url,
    )
