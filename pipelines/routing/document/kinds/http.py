"""HTTP work: one call."""

from __future__ import annotations

from pipelines.routing.document.work.http_call import CALL, ONE_BODY
from pipelines.routing.document.work.kind import Kind

KIND = Kind(
    key="http",
    name="HTTP",
    about="One HTTP call; the eval is its status.",
    icon="globe",
    docs="kinds.md#http",
    title="HTTP call",
    keys=CALL,
    not_both=ONE_BODY,
    calls=True,
    evals=("200", "201", "204", "404", "500"),
    says=lambda station: f"{station.work.get('method') or 'GET'} {station.work.get('url', '')}",
)
