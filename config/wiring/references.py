"""Checks for which every page has to be loaded: modules, routes, tasks, templates, and the names by which source and
templates speak of them."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from django.template import TemplateDoesNotExist, TemplateSyntaxError, engines
from django.urls import URLPattern, URLResolver, get_resolver
from ninja.operation import PathView
from procrastinate.contrib.django import app

from pipelines.ports.queue_tasks import TASKS
from pipelines.web.live.routing import urlpatterns as sockets
from pipelines.work.scheduler.scheduler import QUEUES

PACKAGES = ("config", "pipelines", "reviews")
# Libraries of extras: a release may be installed without them, and says so where somebody asks for what they do.
OPTIONAL = ("mcp", "opentelemetry")
# Programs of their own.
PROGRAMS = ("__main__", "isolation_probe", ".demo.bin", ".migrations")
IN_TEMPLATES = {
    "route": re.compile(r"""\{%\s*url\s+["']([\w:-]+)["']"""),
    "template": re.compile(
        r"""\{%\s*(?:include|extends)\s+["']([\w./-]+)[#"']|template=["']([\w./-]+\.html)"""
    ),
    # <c-vars> and <c-slot> are Cotton's own.
    "component": re.compile(r"<c-(?!vars|slot)([a-z][\w.-]*)"),
    "static file": re.compile(r"""\{%\s*static\s+["']([\w./-]+)["']"""),
    "entry of the front end": re.compile(r"""\{%\s*vite\s+["']([\w./-]+)["']"""),
}
# Names with a hash of eight signs, as the build gives them: “main-BxY3k_9Q.js”
BUILT = re.compile(r"""["'`(/]([A-Za-z0-9][\w.-]*-[\w-]{8}\.(?:js|css|svg|woff2?))["'`)]""")
IMPORTED = re.compile(r"""@import ["'](\.[\w./-]+)["']""")
IN_SOURCE = {
    "route": re.compile(r"""\b(?:reverse|redirect|absolute)\(\s*["']([\w:-]+)["']"""),
    "template": re.compile(r"""["']([\w/-]+\.html)[#"']"""),
    "setting": re.compile(r"""\bsettings\.([A-Z]\w+)"""),
}


def route_names() -> set[str]:
    """`address name view` of every page, operation and socket of ours."""
    return {
        *_route_lines(get_resolver(), "", ""),
        *(f"{entry.pattern} {entry.name} socket" for entry in sockets),
    }


def queue_task_names() -> set[str]:
    """`name in queue` of every task of the queue."""
    app.perform_import_paths()
    return {
        f"{name} in {task.queue}" for name, task in app.tasks.items() if name.partition(".")[0] in PACKAGES
    }


def wiring_faults() -> Iterator[str]:
    """Yield a sentence for everything that source, templates or settings name and that does not exist."""
    yield from chain(
        _module_faults(), _migration_faults(), _queue_faults(), _style_sheet_faults(), _build_faults()
    )
    folder = settings.BASE_DIR / "templates"
    templates = {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
    yield from _template_faults(path.relative_to(folder).as_posix() for path in templates)
    names = {
        "route": {entry.split(" ")[1] for entry in route_names()},
        "template": {path.relative_to(folder).as_posix() for path in templates},
        "component": {path.stem.replace("_", "-") for path in (folder / "cotton").iterdir()},
        "static file": {path.relative_to(folder.parent / "static").as_posix() for path in _static_files()},
        "entry of the front end": set(_entry_points()),
        "setting": set(dir(settings)),
    }
    sources = {
        path: path.read_text() for package in PACKAGES for path in (settings.BASE_DIR / package).rglob("*.py")
    }
    for path, text, kind, pattern in chain(
        ((path, text, *row) for path, text in templates.items() for row in IN_TEMPLATES.items()),
        ((path, text, *row) for path, text in sources.items() for row in IN_SOURCE.items()),
    ):
        for name in {next(filter(None, match.groups())) for match in pattern.finditer(text)} - names[kind]:
            yield f"{path.relative_to(settings.BASE_DIR)} names the {kind} {name}, which is not there."


def _module_faults() -> Iterator[str]:
    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(settings.BASE_DIR / package)], f"{package}."):
            if not any(part in module.name for part in PROGRAMS):
                try:
                    importlib.import_module(module.name)
                except Exception as error:  # noqa: BLE001  # whatever it says is the fault
                    if not _lacks_optional_library(error):
                        yield f"The module {module.name} cannot be loaded: {error}."


def _lacks_optional_library(error: Exception) -> bool:
    return isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in OPTIONAL


def _migration_faults() -> Iterator[str]:
    try:
        MigrationLoader(None)
    except Exception as error:  # noqa: BLE001  # whatever it says is the fault
        yield f"The migrations cannot be loaded: {error}."


def _queue_faults() -> Iterator[str]:
    # For what it does: it imports all modules that define tasks
    queue_task_names()
    for name, queues in TASKS.items():
        if name not in app.tasks or app.tasks[name].queue not in queues:
            yield f"No module defines the task {name} for a queue in which it is put."
        for queue in queues - set(QUEUES):
            yield f"No worker serves the queue {queue} of the task {name}."
    for name in {entry.partition(" ")[0] for entry in queue_task_names()} - TASKS.keys():
        yield f"The task {name} is put in no queue."


def _template_faults(names: Iterator[str]) -> Iterator[str]:
    for name in names:
        try:
            engines["django"].get_template(name)
        except (TemplateSyntaxError, TemplateDoesNotExist) as error:
            yield f"The template {name} cannot be read: {error}."


def _static_files() -> Iterator[Path]:
    return (path for path in (settings.BASE_DIR / "static").rglob("*") if path.is_file())


def _style_sheet_faults() -> Iterator[str]:
    for sheet in (settings.BASE_DIR / "static").rglob("*.css"):
        for name in IMPORTED.findall(sheet.read_text()):
            if not (sheet.parent / name).is_file():
                yield f"{sheet.relative_to(settings.BASE_DIR)} imports {name}, which is not there."


def _build_faults() -> Iterator[str]:
    """Yield a sentence for each file that a part of the build asks for and that does not exist."""
    assets = settings.BASE_DIR / "static" / "dist" / "assets"
    for part in (assets.parent / "manifest.json", *assets.glob("*.js"), *assets.glob("*.css")):
        for name in set(BUILT.findall(part.read_text())):
            if not (assets / name).is_file():
                yield f"{part.relative_to(settings.BASE_DIR)} asks for {name}, which is not there: build the front end."


def _entry_points() -> Iterator[str]:
    for source in json.loads((settings.BASE_DIR / "static" / "dist" / "manifest.json").read_text()):
        # “static/ts/pages/x.ts” is the entry pages/x, “static/editor/main.tsx” is editor.
        yield re.sub(r"^static/(?:ts/)?|/main\.tsx$|\.ts$", "", source)


def _route_lines(resolver: URLResolver, prefix: str, space: str) -> Iterator[str]:
    for entry in resolver.url_patterns:
        address = f"{prefix}{entry.pattern}"
        if isinstance(entry, URLResolver):
            inner = f"{space}{entry.namespace}:" if entry.namespace else space
            # What Django's admin hangs below its address is its own affair.
            yield from (
                [f"{address} admin:index admin"] if inner == "admin:" else _route_lines(entry, address, inner)
            )
        elif isinstance(entry, URLPattern):
            yield f"{address} {space}{entry.name} {_view_name(entry)}"


def _view_name(entry: URLPattern) -> str:
    # Ninja wraps its PathView in a function: only the closure still has it.
    cells = getattr(entry.callback, "__closure__", None) or ()
    for view in (cell.cell_contents for cell in cells):
        if isinstance(view, PathView):
            return ",".join(f"{one.view_func.__name__}:{'+'.join(one.methods)}" for one in view.operations)
    package, _, path = entry.lookup_str.partition(".")
    # Where a library has its view within itself is its own affair, and changes with its minor versions.
    return entry.lookup_str if package in PACKAGES else f"{package}.{path.rpartition('.')[2]}"
