"""Which projects Home, Inbox and Tasks span: all that their reader may see, or the one that the switcher chose. What is
chosen stands in the address (`?project=owner/key`), so that it can be kept and sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from pipelines import access
from pipelines.models import Project


@dataclass(frozen=True)
class PageScope:
    """`address`: where the switcher narrows it."""

    visible: Sequence[Project]
    chosen: Project | None
    address: str

    @property
    def projects(self) -> list[Project]:
        return [self.chosen] if self.chosen else list(self.visible)

    @property
    def project(self) -> Project | None:
        """The only one that is shown, if it is one."""
        return self.projects[0] if len(self.projects) == 1 else None

    @property
    def several(self) -> bool:
        """Whether a row has to say of which project it is."""
        return len(self.projects) > 1

    @property
    def key(self) -> str:
        """As it stands in the address."""
        return str(self.chosen) if self.chosen else ""

    @property
    def live(self) -> str:
        """Whose hints a page of it hears: those of the one project, or of all that its reader may see."""
        return str(self.project) if self.project else "*" if self.projects else ""

    @property
    def search(self) -> str:
        """What an address that has no other parameter ends with: "?project=…" or ""."""
        return f"?{urlencode({'project': self.key})}" if self.chosen else ""


def scope_of(request: HttpRequest, page: str) -> PageScope:
    """A project that the reader may not see narrows nothing, like every value in an address that does not exist."""
    visible = access.projects_seen_by(request.user)
    request.seen_projects = visible  # type: ignore[attr-defined]  # the switcher shows them, too
    asked = request.GET.get("project", "")
    return PageScope(visible, next((each for each in visible if str(each) == asked), None), reverse(page))
