"""Nothing: a place for rules."""

from __future__ import annotations

from pipelines.routing.basics.translation import gettext_noop as _
from pipelines.routing.document.work.kind import Kind

KIND = Kind(
    key="noop",
    name=_("No-op"),
    about=_("Nothing is done; its rules decide at once."),
    icon="circle-dashed",
    docs="kinds.md#noop",
    instant=True,
    silent=_("Nothing; it passes at once."),
)
