"""Back-tests over HTTP: recorded decisions under another version, as lines of JSON while they are decided again."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from ninja import Query
from pydantic import BaseModel, ConfigDict

from pipelines.api.auth import Request
from pipelines.api.lookup import CHANGES, LINE, Operations, costly_operation
from pipelines.api.schemas import body_text
from pipelines.formats import native
from pipelines.lines.backtest import backtest_target, read_selection, target_of_document
from pipelines.lines.backtest.stream import stream_response
from pipelines.models import Line

router = Operations("lines", CHANGES)
PATH = LINE + "/backtest"


class SelectionIn(BaseModel):
    """Selection of decisions; see `Selection`. `each_task`: report each task that does not come out the same."""

    model_config = ConfigDict(extra="ignore")

    versions: str = ""
    since: str = ""
    until: str = ""
    last: str = ""
    tasks: str = "all"
    limit: str = ""
    each_task: bool = True

    def texts(self) -> dict[str, str]:
        return {name: value for name, value in self if isinstance(value, str)}


@router.get(
    PATH,
    response={200: None},
    url_name="line-backtest",
    summary="Try recorded outcomes on a version or the draft",
)
def backtest_against_version(
    request: Request, line: Line, selected: Query[SelectionIn], to: str = "draft"
) -> StreamingHttpResponse:
    """Backtest against `to`: draft, live or the number of a version. Answers `application/x-ndjson`: lines of
    type progress and task, at the end one of type result or problem. Nothing is changed."""
    selection = read_selection(selected.texts())
    return stream_response(line, backtest_target(line, to), selection, each_task=selected.each_task)


@router.post(PATH, response={200: None}, summary="Try recorded outcomes on a document")
@costly_operation
def backtest_against_posted_document(
    request: Request, line: Line, selected: Query[SelectionIn]
) -> StreamingHttpResponse:
    """The body is a line document, YAML or JSON; it is stored nowhere. Answers like GET."""
    selection = read_selection(selected.texts())
    target = target_of_document(native.loads(body_text(request)))
    return stream_response(line, target, selection, each_task=selected.each_task)
