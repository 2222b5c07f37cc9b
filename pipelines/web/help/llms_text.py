"""`/llms.txt`: for programs that read the web, what this server is and where its pages and doors are. It names nothing
that is stored here, so it asks for no sign-in."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines.web.help.pages import pages_by_shelf

HEAD = """# Gateline

> Gateline takes software tasks through lines of stations: programs, coding agents and people do the work, rules decide where a task goes next, and gates ask people before anything is merged. Every decision is recorded and can be explained.

Agents of people connect by the Model Context Protocol, with a token of the person: they look, explain, check and simulate lines and start tasks. No tool votes, publishes or reads a secret. The pages of the help need a sign-in.

## For programs

- [API]({origin}/api/v1/openapi.json): every operation, as OpenAPI
- [Line document]({origin}/api/v1/line-document.schema.json): JSON Schema of a line
- MCP: {origin}/api/mcp, streamable HTTP, `Authorization: Bearer` with a token of *Personal settings › Personal tokens*
- Command line: the wheel `gateline` of this server's release (no public index has it), then `gateline login {origin}`; `gateline mcp` is MCP on standard input and output
"""  # noqa: E501


@require_safe
def llms_text(request: HttpRequest) -> HttpResponse:
    origin = settings.ORIGIN.rstrip("/")
    parts = [HEAD.format(origin=origin)]
    for shelf, pages in pages_by_shelf().items():
        links = [f"- [{page.title}]({origin}{reverse('help-page', args=[page.slug])})" for page in pages]
        parts.append("\n".join([f"## {shelf}", "", *links, ""]))
    return HttpResponse("\n".join(parts), content_type="text/plain; charset=utf-8")
