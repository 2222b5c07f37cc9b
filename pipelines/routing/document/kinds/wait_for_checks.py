"""Waiting for what the host of a repository checks by itself: GitHub's check runs, pipelines of GitLab (law §13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields import plain_fields
from pipelines.routing.document.fields.field import ReadContext
from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.keys import DurationKey, WorkKey
from pipelines.routing.document.work.kind import Kind

REQUIRED = "required"
USUAL_SECONDS = 3600.0
"""Until it is given up, where the station does not say."""


@dataclass(frozen=True, kw_only=True)
class ContextsKey(plain_fields.Texts, WorkKey):
    """Names of checks; the word `required`, as nothing at all, is those that the host requires."""

    rows: int = 2

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return () if reader.raw(key) == REQUIRED else super().read(reader, key, context)

    def schema(self) -> Schema:
        return {"anyOf": [{"const": REQUIRED}, super().schema()]}


AGAIN = frozenset(("checks_failed", "checks_timed_out", "host_refused", "host_away"))


def may_rerun(kind: str, outcome: Any) -> bool:
    """Return whether the host can be asked to rerun the checks of an outcome; also where it refused that
    earlier."""
    return kind == KIND.key and isinstance(outcome, dict) and outcome.get("failure_type") in AGAIN


def _contexts_text(station: Station) -> str:
    contexts = station.work.get("contexts")
    return ", ".join(contexts) if isinstance(contexts, list | tuple) else ""


KIND = Kind(
    key="wait_for_checks",
    name="Wait for checks",
    about="Waits for the checks of the repository's host on the pushed commit.",
    icon="list-checks",
    docs="kinds.md#wait-for-checks",
    title="Checks of the host",
    keys={
        "contexts": ContextsKey(
            label="Checks",
            help="Names on the host, one per line. Leave empty for the checks the base branch requires.",
        ),
        "timeout": DurationKey(
            label="Give up after",
            help="Counted from when the task enters the station. Leave empty for one hour.",
        ),
    },
    calls=True,
    of_a_branch=True,
    evals=(
        "checks_passed",
        "checks_failed",
        "checks_timed_out",
        "none_required",
        "not_pushed",
        "host_refused",
        "host_away",
    ),
    tells=True,
    actor="system",
    says=_contexts_text,
    silent="The checks the base branch requires.",
)
