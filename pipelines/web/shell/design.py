"""`/_design/`: every component in every state, both themes, both densities. Development only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipelines.routing.document.kinds import KINDS
from pipelines.templatetags.gateline import STATUSES

THEMES = ("light", "dark")
DENSITIES = ("comfortable", "compact")
TONES = ("neutral", "active", "ok", "attention", "danger")
SPECIMENS = Path("design", "specimens")


@dataclass(frozen=True)
class Panel:
    """Panel of one theme in one density; `key` makes the ids of its specimens unique."""

    theme: str
    density: str

    @property
    def key(self) -> str:
        return f"{self.theme[0]}{self.density[3]}"


@dataclass(frozen=True)
class SamplePerson:
    theme: str
    density: str
    letter_shortcuts: bool
    is_authenticated: bool = True
    pk: int = 1

    def __str__(self) -> str:
        return "Requester 1"


@dataclass(frozen=True)
class SampleOwner:
    key: str = "team"


@dataclass(frozen=True)
class SampleProject:
    key: str
    name: str
    owner: SampleOwner = SampleOwner()


SAMPLE_PROJECTS = (SampleProject("app", "app"), SampleProject("web", "web"))
PANELS = tuple(Panel(theme, density) for density in DENSITIES for theme in THEMES)


@require_safe
def design_page(request: HttpRequest) -> HttpResponse:
    """Show all specimens, with `?only=name` one of them, with `?frame=shell` the shell around a specimen; 404
    outside development."""
    if not settings.DEBUG:
        raise Http404
    if request.GET.get("frame") == "shell":
        return render(request, "design/shell.html", _shell_context(request))
    only = request.GET.get("only")
    names = [name for name in specimen_names() if only in (None, "", name)]
    if not names:
        raise Http404
    now = timezone.now()
    context = {
        "specimens": [(name, f"{SPECIMENS}/{name}.html") for name in names],
        "panels": PANELS,
        "statuses": list(STATUSES),
        "tones": TONES,
        "station_kinds": [*KINDS, "other"],
        "times": [now - timedelta(seconds=seconds) for seconds in (2, 130, 2460, 12300, 187200)],
        "due": now + timedelta(hours=2, minutes=42),
        "options": [("ruff", "Ruff"), ("pytest", "pytest"), ("bandit", "Bandit")],
        "diff_lines": DIFF,
        "log_lines": LOG,
        "document": "gateline: 1\nkey: repository-check\n",
    }
    return render(request, "design/page.html", context)


def _shell_context(request: HttpRequest) -> dict[str, object]:
    """Sample content for the shell. Theme, density and single-letter keys can be tried by parameters."""
    query = request.GET
    person = SamplePerson(
        theme=query.get("theme", "system"),
        density=query.get("density", "comfortable"),
        letter_shortcuts=query.get("letters") != "off",
    )
    return {
        "user": person,
        "project": SAMPLE_PROJECTS[0],
        "projects": SAMPLE_PROJECTS,
        "section": "lines",
        "breadcrumb": [
            {"label": "app", "url": "#"},
            {"label": "Lines", "url": "#"},
            {"label": "Repository check"},
        ],
        "rail": query.get("rail") == "on",
        "live_project": query.get("live", ""),
    }


def specimen_names() -> list[str]:
    """Names of the specimens: one template each, in the order of their file names."""
    folder = Path(settings.BASE_DIR, "templates", SPECIMENS)
    return sorted(path.stem for path in folder.glob("*.html"))


DIFF = [
    {"kind": "hunk", "text": "@@ -12,4 +12,5 @@"},
    {"kind": "same", "old": 12, "new": 12, "text": "def resume(request):"},
    {"kind": "removed", "old": 13, "new": None, "text": '    log.info("resume %s", token)'},
    {"kind": "added", "old": None, "new": 13, "text": '    log.info("resume client=%s", request.client_id)'},
    {"kind": "same", "old": 14, "new": 14, "text": "    return row.user"},
]
LOG = [
    {"number": 118, "time": "14:13:02.114", "text": "command · security · attempt 1", "tone": "meta"},
    {"number": 119, "time": "14:13:04.870", "text": "Reading 14 changed files, 611 lines", "tone": ""},
    {
        "number": 120,
        "time": "14:13:52.448",
        "text": "session.py:48: cookie without SameSite",
        "tone": "attention",
    },
    {"number": 121, "time": "14:14:17.310", "text": "<b>not markup</b> from a program", "tone": "danger"},
    {"number": 122, "time": "14:14:20.015", "text": "exit 0, result success", "tone": "ok"},
]
