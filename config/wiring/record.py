"""The table of contents of this release, kept beside the code in `record.json`: files that are asked for by name,
settings and the import paths in them, routes, tasks of the queue. What is missing of it is a fault of this
installation; what was added is none. `manage.py wiring` writes it anew."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from pipelines.routing.basics.values import texts_of_values

RECORD = Path(__file__).with_name("record.json")
FOLDERS = {
    "templates": ("*.html", "*.txt"),
    "static": ("*.css", "*.svg", "*.json", "ts/*.ts", "ts/pages/*.ts", "editor/main.tsx", "shown/main.tsx"),
    "pipelines": ("migrations/0*.py", "commands/*.py", "templatetags/*.py", "lines/demo/lines/*", "api/*.py"),
    "reviews": ("migrations/0*.py", "commands/*.py", "templatetags/*.py"),
    "config": ("commands/*.py",),
}
NOT_RECORDED = ("static/dist/", "static/generated/", ".test.", "__pycache__")
VARYING_NAMES = {"SECURE_PROXY_SSL_HEADER", "SETTINGS_MODULE"}
VARYING_PATHS = (
    "EMAIL_BACKEND: ",
    "CACHES: ",
    "CHANNEL_LAYERS: ",
    "STORAGES: pipelines.work.artifact_stores.",
    "TEMPLATES: django.template.loaders.cached.Loader",
)
"""What depends on the environment is not recorded."""


def recorded_entries(kind: str) -> set[str]:
    return set(json.loads(RECORD.read_text())[kind])


def required_files() -> set[str]:
    """Files that something asks for by its name."""
    paths = (
        path.relative_to(settings.BASE_DIR).as_posix()
        for folder, patterns in FOLDERS.items()
        for pattern in patterns
        for path in (settings.BASE_DIR / folder).rglob(pattern)
    )
    return {name for name in paths if not any(part in name for part in NOT_RECORDED)}


def names_of_settings() -> set[str]:
    """Settings that this product makes."""
    # The stubs of Django have it of settings that nobody has read yet.
    overridden: Callable[[str], bool] = vars(settings)["_wrapped"].is_overridden
    return {name for name in dir(settings) if name.isupper() and overridden(name)} - VARYING_NAMES


def paths_of_settings() -> set[str]:
    """`NAME: import.path` of every setting."""
    return {
        f"{name}: {path}" for name in names_of_settings() for path in _dotted_names(getattr(settings, name))
    }


def is_resolvable(entry: str) -> bool:
    """Tell whether the path of `NAME: import.path` is that of a module or of something in one."""
    path = entry.partition(": ")[2]
    try:
        return bool(
            import_string(path) if path.rpartition(".")[2][:1].isupper() else pkgutil.resolve_name(path)
        )
    except (ImportError, AttributeError):
        return False


def _dotted_names(value: Any) -> Iterator[str]:
    for text in texts_of_values(value):
        if "." in text and all(part.isidentifier() for part in text.split(".")):
            yield text
