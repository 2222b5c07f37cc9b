"""The checks themselves. `installation` is part of every start of web and worker; `references` takes seconds of a core,
so that it is made by `check`, by `prepare`, and by `up` once it has said its address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.core import checks

from config.wiring import record

REFERENCES: Final = "references"
HINT = (
    "Install this release anew, or undo the last change; whoever meant the change runs manage.py wiring, and commits "
    "config/wiring/record.json."
)


def installation_errors(app_configs: Any, **options: Any) -> list[checks.CheckMessage]:
    """Errors for files and settings of this release that are missing. Loads no page."""
    missing = [
        f"The file {name} is missing." for name in record.recorded_entries("files") - record.required_files()
    ]
    missing += [
        f"The setting {name} is missing."
        for name in record.recorded_entries("settings") - record.names_of_settings()
    ]
    paths = record.recorded_entries("paths_of_settings")
    missing += [f"The settings lack {path}." for path in paths - record.paths_of_settings()]
    return _errors_of_sentences(missing, "gateline.E001")


def reference_errors(app_configs: Any, **options: Any) -> list[checks.CheckMessage]:
    """Errors for what source, templates and settings name and is not there, and for missing routes and tasks."""
    from config.wiring import references  # noqa: PLC0415  # loads every page

    missing = list(references.wiring_faults())
    paths = record.recorded_entries("paths_of_settings")
    paths |= {path for path in record.paths_of_settings() if path.startswith(record.VARYING_PATHS)}
    missing += [f"The setting {path} leads nowhere." for path in paths if not record.is_resolvable(path)]
    missing += [
        f"The route {entry} is missing."
        for entry in record.recorded_entries("routes") - references.route_names()
    ]
    missing += [
        f"The task {entry} is missing."
        for entry in record.recorded_entries("tasks") - references.queue_task_names()
    ]
    return _errors_of_sentences(missing, "gateline.E002")


def _errors_of_sentences(sentences: Iterable[str], key: str) -> list[checks.CheckMessage]:
    return [checks.Error(text, hint=HINT, id=key) for text in sorted(sentences)]
