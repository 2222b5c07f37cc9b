"""The kinds of work: one line each, and one file each with all that is known of it besides how it is run
(`pipelines/work/handlers`). Whatever needs to know of kinds goes through this table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from pipelines.routing.document.expected_results import OUTPUT
from pipelines.routing.document.kinds import (
    agent,
    chat,
    command,
    deliver,
    error,
    hook,
    http,
    manual,
    noop,
    route,
    runner,
    tools,
    wait,
    wait_for_checks,
)
from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.keys import TextsIn, Work
from pipelines.routing.document.work.kind import CLOCK, Kind
from pipelines.routing.document.work.references import INPUT, SECRET, VARIABLE

TABLE: Final = (
    agent.KIND,
    chat.KIND,
    command.KIND,
    deliver.KIND,
    error.KIND,
    hook.KIND,
    http.KIND,
    manual.KIND,
    noop.KIND,
    route.KIND,
    runner.KIND,
    tools.KIND,
    wait.KIND,
    wait_for_checks.KIND,
)
KINDS: Final[Mapping[str, Kind]] = {kind.key: kind for kind in TABLE}
DEFAULT: Final = manual.KIND
"""Of a station that says nothing of its work."""
MODEL_SERVER, DEFAULT_MODEL = "model-server", "default-model"
IMAGES = "images"
"""What a worker offers that can run programs of images; a repository asks for it."""
SEVERAL_OWNERS = "several-owners"
"""What a worker says instead of the programs that it does not start, because it serves several owners."""


def work_kind_or_none(work: Work) -> Kind | None:
    """None for a kind that is not run here; a draft may have it."""
    return KINDS.get(str(work.get("kind")))


def kind_executes(kind: str) -> bool:
    """Return whether the kind is code on a worker."""
    return kind in KINDS and KINDS[kind].executes


def is_done_elsewhere(kind: str) -> bool:
    """Return whether a program of another system does the work, on a machine of its own."""
    return kind in KINDS and KINDS[kind].is_done_elsewhere


def is_instant(kind: str) -> bool:
    """Return whether the kind takes no time."""
    return kind in KINDS and KINDS[kind].instant


def runs_programs(offers: Collection[str] | None) -> bool:
    """Return whether a worker with these offers does work that is a program."""
    return offers is None or f"kind:{command.KIND.key}" in offers


def failure_eval(kind: str) -> str:
    """The eval of a failure that says none."""
    return KINDS[kind].failed if kind in KINDS else "error"


def expected_result(station: Station) -> str:
    """change, output or nothing; "" of work of which nothing is expected (law §13)."""
    kind = KINDS.get(station.kind)
    return station.expects or (kind.expects if kind else "")


def is_output_read(station: Station) -> bool:
    """Tell whether somebody counts on its output (law §13): it names keys of it, is expected to leave one, chooses a
    label by it, or a rule of its own asks for it."""
    kind = KINDS.get(station.kind)
    chooses = kind is not None and kind.chooses and not kind.is_done_by_people(station.work)
    return (
        bool(station.output_keys)
        or chooses
        or expected_result(station) == OUTPUT
        or station.rules_read_output
    )


def may_cost(station: Station) -> bool:
    """Return whether the station may report a price: that of an agent, or one whose cost is limited."""
    kind = KINDS.get(station.kind)
    return station.limits.cost_usd is not None or (kind is not None and kind.costs(station.work))


def is_unpriced(station: Station) -> bool:
    """Return whether the cost of the station stays unknown."""
    kind = KINDS.get(station.kind)
    return kind is not None and kind.unpriced(station.work)


def is_done_by_people(station: Station) -> bool:
    """Return whether a person does the work of the station: then the job is a manual one."""
    kind = work_kind_or_none(station.work)
    return kind is not None and kind.is_done_by_people(station.work)


def is_unattended(station: Station) -> bool:
    """Return whether a person or the clock does the work instead of a worker: then the job runs at once (law
    §1, Job)."""
    kind = work_kind_or_none(station.work)
    return is_done_by_people(station) or (kind is not None and kind.done_by == CLOCK)


def can_run_alone(station: Station) -> bool:
    """Return whether a worker can run the station by itself, without a task."""
    kind = work_kind_or_none(station.work)
    return kind is not None and kind.can_run_alone and not kind.is_done_by_people(station.work)


def required_offers(station: Station) -> tuple[str, ...]:
    """Return the offers that a worker needs for a station's work, besides its labels: `kind:<kind>`, a model,
    `secret:<name>`, `signed-in:<agent>`. A stored secret comes with the job."""
    kind = work_kind_or_none(station.work)
    asks = kind is not None and kind.asks_a_model and not is_done_by_people(station)
    model = [MODEL_SERVER, *([] if station.work.get("model") else [DEFAULT_MODEL])] if asks else []
    secret_names = _named_references(station.work, SECRET)
    # Which secret `input:<key>` names is known only of a task.
    required_secrets = [name for name in secret_names if not name.startswith(INPUT)]
    own = kind.needs(station.work) if kind else ()
    return (f"kind:{station.kind}", *model, *(f"secret:{name}" for name in required_secrets), *own)


def work_templates(work: Work, path: str) -> TextsIn:
    """The texts of a station's work that are rendered before it starts, each with its place; of what a tool is called
    with, all but the arguments."""
    kind = work_kind_or_none(work)
    return kind.templates(work, path) if kind else iter(())


def secret_names(work: Work) -> tuple[str, ...]:
    """Names of the secrets that headers and environments ask for, `input:<key>` among them: whoever publishes them
    needs the permission `execute`."""
    return _referenced_and_received_names(work, SECRET)


def variable_names(work: Work) -> tuple[str, ...]:
    """Names of the variables that headers and environments ask for."""
    return _referenced_and_received_names(work, VARIABLE)


def _referenced_and_received_names(work: Work, reference_kind: str) -> tuple[str, ...]:
    """Return the names that the work refers to, and those that it receives where they are stored."""
    kind = work_kind_or_none(work)
    offered = kind.stored(work, reference_kind) if kind else ()
    return tuple(dict.fromkeys((*_named_references(work, reference_kind), *offered)))


def _named_references(work: Work, reference_kind: str) -> tuple[str, ...]:
    kind = work_kind_or_none(work)
    return tuple(dict.fromkeys(kind.references(work, reference_kind))) if kind else ()
