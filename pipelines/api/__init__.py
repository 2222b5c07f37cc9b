"""The one JSON door, for programs and for the scripts of pages. `config/urls.py` hangs it under /api/; other apps add
their routers there."""

from copy import deepcopy
from functools import lru_cache
from typing import Any

from django.conf import settings
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from pipelines.api import (
    absences,
    analytics,
    backtest,
    branches,
    bulk_commands,
    comments,
    difference,
    documents,
    draft_scenarios,
    drafts,
    drawings,
    escalations,
    evaluations,
    events,
    everywhere,
    files,
    forks,
    forms,
    health,
    hooks,
    imports,
    lines,
    lint,
    logs,
    matches,
    members,
    migrations,
    moments,
    pauses,
    permissions,
    plan,
    position_commands,
    positions,
    problems,
    projects,
    receipts,
    repositories,
    runner_files,
    runner_uploads,
    runners,
    scenarios,
    start_form,
    stored_values,
    tasks,
    trials,
    triggers,
    visits,
    waiting_jobs,
    walks,
    work_items,
)
from pipelines.api.auth import Bearer, Session
from pipelines.api.dialects import alp, alp_events, vibe_factory
from pipelines.api.examples import add_examples
from pipelines.api.json_renderer import ExactRenderer


class Api(NinjaAPI):
    """Describes itself once for each path prefix: that takes seconds of a core, and anybody may ask for it."""

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, object] | None = None
    ) -> OpenAPISchema:
        return _api_description(self.get_root_path(path_params or {}) if path_prefix is None else path_prefix)


class ApiDescription(OpenAPISchema):
    """The description of the API. Each model is described once, and not for each operation and status that has it."""

    def __init__(self, described: NinjaAPI, path_prefix: str) -> None:
        self._schemas: dict[tuple[Any, ...], tuple[dict[str, Any], bool]] = {}
        super().__init__(described, path_prefix)

    def _create_schema_from_model(self, model: Any, *how: Any, **more: Any) -> tuple[dict[str, Any], bool]:
        key = (model, *how, *sorted(more.items()))
        if key not in self._schemas:
            self._schemas[key] = super()._create_schema_from_model(model, *how, **more)
        # What an operation says of its answer is changed for it alone.
        return deepcopy(self._schemas[key])


@lru_cache(maxsize=4)
def _api_description(path_prefix: str) -> OpenAPISchema:
    description = ApiDescription(api, path_prefix)
    add_examples(description)
    return description


api = Api(
    title="Gateline",
    version="1",
    description="Start tasks, look at them, decide gates, change lines. Addresses are ALP's, errors RFC 9457 problems.",
    # In this order: where a token is sent it counts, whoever is signed in
    auth=[Bearer(), Session()],
    servers=[{"url": settings.ORIGIN}],
    # The reference pages that come with the library load from other hosts; the document is at openapi.json.
    docs_url=None,
    renderer=ExactRenderer(),
)
problems.install_handlers(api)
ROOMS = (
    tasks, start_form, positions, position_commands, permissions, branches, visits, logs, work_items, files, events,
    escalations, health, projects, members, stored_values, repositories, hooks, everywhere, lines, documents,
    drafts, forms, imports, difference, drawings, analytics, backtest, evaluations, lint, plan, scenarios,
    draft_scenarios, walks, matches, trials, migrations, comments, absences, triggers, pauses, forks, bulk_commands,
    moments, waiting_jobs, receipts,
)  # fmt: skip
"""In the order of the reference."""
for room in ROOMS:
    api.add_router("", room.router)
# For runners alone, with tokens of their own (docs/runners.md).
api.add_router("", runners.router)
api.add_router("", runner_files.router)
api.add_router("", runner_uploads.router)
# Of other systems, in their words (docs/dialects.md).
api.add_router("", alp_events.router)
api.add_router("", alp.router)
api.add_router("", vibe_factory.router)
