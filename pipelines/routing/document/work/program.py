"""The keys of a program that runs on a worker."""

from __future__ import annotations

from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.keys import ArgumentsKey, EnvironmentKey, TextKey, WorkKey

ENVIRONMENT = EnvironmentKey(label="Environment", help="NAME=value, one per line.")
FOLDER = TextKey(
    label="Folder",
    help="Below the working folder of the task.",
    placeholder=".",
    template=True,
    code=True,
)


def arguments_key(missing_hint: str = "") -> WorkKey:
    return ArgumentsKey(
        label="Program and arguments",
        help="No shell reads it: | and > are arguments. Put what has spaces into quotes.",
        placeholder="ruff check --output-format=json .",
        asked=missing_hint,
    )


def command_line(station: Station) -> str:
    return " ".join(str(part) for part in station.work.get("argv") or ())
