"""Nothing: a place for rules."""

from __future__ import annotations

from pipelines.routing.document.work.kind import Kind

KIND = Kind(
    key="noop",
    name="No-op",
    about="Nothing is done; its rules decide at once.",
    icon="circle-dashed",
    docs="kinds.md#noop",
    instant=True,
    silent="Nothing; it passes at once.",
)
