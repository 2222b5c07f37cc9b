"""The drawing of a line as an image, for lists: by its digest, so that a browser keeps it for ever."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.lines import drawings
from pipelines.models import Project, User
from pipelines.web.lines.drawing import LineDrawing
from pipelines.web.shell.page import SignedInRequest, project_required

IMMUTABLE = "private, max-age=31536000, immutable"
TONES = {
    "canvas": ("#f9f9fb", "#111113"),
    "shape-fill": ("#ffffff", "#212225"),
    "shape-line": ("#80838d", "#777b84"),
    "edge": ("#80838d", "#777b84"),
    "text": ("#1c2024", "#edeef0"),
    "muted": ("#60646c", "#b0b4ba"),
    "danger-graphic": ("#d13415", "#e54d2e"),
}
"""Tokens of static/css/tokens.css, light and dark: an image sees nothing of the page but its color-scheme."""
_VALUES = "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in TONES.items())
SMALL = (
    "@media (max-width:360px){text{display:none}"
    "path,rect,polygon,circle{vector-effect:non-scaling-stroke;stroke-width:1}"
    "[data-station]>rect{fill:var(--shape-line);fill-opacity:.45}[data-rule]>circle{display:none}}"
)
"""As wide as in a list no word can be read: shapes and edges stay, as thick as on a large picture."""
STYLE = f"<style>:root{{color-scheme:light dark;{_VALUES}}}{SMALL}</style>"


def hand_over_url_or_empty(drawing: LineDrawing, project: Project, user: User) -> str:
    """Return where the browser of this person hands over what it draws; "" where the server has drawn it, or does."""
    if not drawing.digest or not access.is_permitted(user, "design", project):
        return ""
    return reverse("api-1:drawing", args=[project.owner.key, project.key, drawing.digest])


@project_required("view")
@require_safe
def image(request: SignedInRequest, project: Project, drawing: str) -> HttpResponse:
    head, mark, rest = drawings.find_drawing(project, drawing).wide.partition(">")
    response = HttpResponse(f"{head}{mark}{STYLE}{rest}", content_type="image/svg+xml; charset=utf-8")
    response["Cache-Control"] = IMMUTABLE
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    return response
