"""Back-tests over HTTP: recorded decisions under another version, as lines of JSON while they are decided again."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict

from pipelines.api.auth import Request
from pipelines.api.lines import ERRORS
from pipelines.api.lookup import LINE, line_of
from pipelines.api.schemas import text_of
from pipelines.formats import native
from pipelines.lines.backtest import of_document, read_selection, target_of
from pipelines.lines.backtest.stream import streamed
from pipelines.web.shell.turns import turn

router = Router(tags=["lines"])
PATH = LINE + "/backtest"


class Selected(BaseModel):
    """Which decisions; see `Selection`. `each_task`: tell each task that does not come out the same."""

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
    response={200: None, **ERRORS},
    url_name="line-backtest",
    summary="Try recorded outcomes on a version or the draft",
)
def of_version(
    request: Request, owner: str, project: str, line: str, selected: Query[Selected], to: str = "draft"
) -> StreamingHttpResponse:
    """`to`: draft, live or the number of a version. Answers `application/x-ndjson`: lines of type progress and task,
    at the end one of type result or problem. Nothing is changed."""
    found = line_of(request, owner, project, line)
    selection = read_selection(selected.texts())
    return streamed(found, target_of(found, to), selection, each_task=selected.each_task)


@router.post(PATH, response={200: None, **ERRORS}, summary="Try recorded outcomes on a document")
def of_body(
    request: Request, owner: str, project: str, line: str, selected: Query[Selected]
) -> StreamingHttpResponse:
    """The body is a line document, YAML or JSON; it is stored nowhere. Answers like GET."""
    found = line_of(request, owner, project, line)
    selection = read_selection(selected.texts())
    with turn(request.auth):
        target = of_document(native.loads(text_of(request)))
    return streamed(found, target, selection, each_task=selected.each_task)
