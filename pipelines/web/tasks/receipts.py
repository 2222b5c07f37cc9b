"""The signed receipt of what a task delivered, as a file."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.formats.receipts import sealed
from pipelines.models import Project
from pipelines.ports.vault.signing import receipt_key
from pipelines.queries.receipts import landed_change
from pipelines.web.shell.page import SignedIn, in_project


@in_project("view")
@require_safe
def receipt(request: SignedIn, project: Project, wi: str) -> HttpResponse:
    """Of the delivery of `?job=`, else of the last one."""
    task = access.find_task(request.user, project.owner.key, project.key, wi)
    wanted = request.GET.get("job", "")
    if wanted and not (wanted.isascii() and wanted.isdigit() and len(wanted) < 19):
        raise Http404
    change = landed_change(task, int(wanted or 0))
    if change is None:
        raise Http404
    response = HttpResponse(sealed(change, receipt_key()), content_type="application/vnd.in-toto+json")
    name = f"{task.name}-{change.commit[:12]}.receipt.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
