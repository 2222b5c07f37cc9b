"""The REST interface. `config/urls.py` hangs it under /api/; other apps add their routers there."""

from ninja import NinjaAPI

from pipelines.api import (
    analytics,
    backtest,
    comments,
    difference,
    escalations,
    events,
    files,
    health,
    lines,
    lint,
    migrations,
    position_commands,
    positions,
    problems,
    scenarios,
    tasks,
    visits,
    work_items,
)
from pipelines.api.auth import Bearer

api = NinjaAPI(
    title="Gateline",
    version="1",
    description="Start tasks, look at them, decide gates, change lines. Addresses are ALP's, errors RFC 9457 problems.",
    auth=Bearer(),
    # The reference pages that come with the library load from other hosts; the document is at openapi.json.
    docs_url=None,
)
problems.install(api)
api.add_router("", tasks.router)
api.add_router("", positions.router)
api.add_router("", position_commands.router)
api.add_router("", visits.router)
api.add_router("", work_items.router)
api.add_router("", files.router)
api.add_router("", events.router)
api.add_router("", escalations.router)
api.add_router("", health.router)
api.add_router("", lines.router)
api.add_router("", difference.router)
api.add_router("", analytics.router)
api.add_router("", backtest.router)
api.add_router("", lint.router)
api.add_router("", scenarios.router)
api.add_router("", migrations.router)
api.add_router("", comments.router)
