"""One HTTP call."""

from __future__ import annotations

from pipelines.routing.basics.translation import gettext_noop as _
from pipelines.routing.document.work.call import CALL, ONE_BODY
from pipelines.routing.document.work.kind import Kind

KIND = Kind(
    key="http",
    name=_("HTTP"),
    about=_("One HTTP call; the eval is its status."),
    icon="globe",
    docs="kinds.md#http",
    title=_("HTTP call"),
    keys=CALL,
    not_both=ONE_BODY,
    calls=True,
    evals=("200", "201", "204", "404", "500"),
    says=lambda station: f"{station.work.get('method') or 'GET'} {station.work.get('url', '')}",
)
