"""Names that leave the process: a renaming leaves them alone, or is a change of behaviour.

Each stands in code as an identifier and outside as a text: in the database, in documents, payloads, addresses,
command lines. `python -m tests.design.outside_names` writes outside_names.json anew, and a test compares.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_suffix(".json")
ROOT = RECORD.parents[2]
ROOMS = ("config", "gateline", "pipelines", "reviews")
KEYWORDS_STORED = {"append_event": "events", "emit_event": "events", "record_administrative_act": "audit"}
"""Functions whose keywords become keys of what is stored."""


def collected() -> dict[str, list[str]]:
    """{kind: names}, each by itself and sorted."""
    found = {
        "columns": _columns(),
        "operations": _operations(),
        "addresses": _addresses(),
        "tasks": _tasks(),
        "document": _document_keys(),
        "dataclasses": _written_dataclasses(),
        "payloads": _stored_keywords(),
        "options": _options(),
    }
    return {kind: sorted(set(names)) for kind, names in found.items()}


def _columns() -> Iterator[str]:
    for model in apps.get_models():
        if model.__module__.partition(".")[0] in ROOMS:
            for field in model._meta.get_fields():
                yield field.name
                yield getattr(field, "attname", field.name)


def _operations() -> Iterator[str]:
    """Parameters and fields of the API."""
    yield from _properties(json.loads(json.dumps(api.get_openapi_schema())))


def _properties(node: Any) -> Iterator[str]:
    """The names of properties and parameters that a schema declares anywhere."""
    if isinstance(node, dict):
        properties = node.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        if "in" in node and isinstance(node.get("name"), str):
            yield node["name"]
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from _properties(part)


def _addresses() -> Iterator[str]:
    """The words of addresses, which views take as parameters."""
    for name in get_resolver().reverse_dict:
        for possibility, _pattern, _defaults, _converters in get_resolver().reverse_dict.getlist(name):
            for _text, parameters in possibility:
                yield from parameters


def _tasks() -> Iterator[str]:
    """The names of tasks of the queue, and of their arguments."""
    app.perform_import_paths()
    for name, task in app.tasks.items():
        if name.partition(".")[0] in ROOMS:
            yield name
            yield from (each for each in inspect.signature(task.func).parameters if each != "context")


def _document_keys() -> Iterator[str]:
    """Keys of a line document: each is the attribute that declares it."""
    yield from _properties(json.loads(json.dumps(json_schema())))


def _trees() -> Iterator[ast.Module]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if "migrations" not in path.parts:
                yield ast.parse(path.read_text("utf-8"))


def _written_dataclasses() -> Iterator[str]:
    """Fields of classes that write themselves by `asdict` or `vars`, and of the pydantic classes."""
    for tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                writes = any(
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id in ("asdict", "vars", "fields")
                    for call in ast.walk(node)
                )
                pydantic = any(ast.unparse(base) in ("Schema", "BaseModel") for base in node.bases)
                if writes or pydantic:
                    yield from (
                        line.target.id
                        for line in node.body
                        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
                    )


def _stored_keywords() -> Iterator[str]:
    """Keywords of events and of the audit log: they are keys of the payload."""
    for tree in _trees():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in KEYWORDS_STORED
            ):
                yield from (keyword.arg for keyword in node.keywords if keyword.arg)


def _options() -> Iterator[str]:
    """Options of the commands of manage.py and of gateline."""
    for name, package in get_commands().items():
        if package.partition(".")[0] in ROOMS:
            parser = load_command_class(package, name).create_parser("manage.py", name)
            yield from (action.dest for action in parser._actions)
    for command in typer.main.get_command(cli).commands.values():  # type: ignore[attr-defined]
        yield from (parameter.name for parameter in command.params)


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()

import typer
from django.apps import apps
from django.core.management import get_commands, load_command_class
from django.urls import get_resolver
from procrastinate.contrib.django import app

from gateline.main import app as cli
from pipelines.api import api
from pipelines.formats.schema import json_schema

if __name__ == "__main__":
    RECORD.write_text(json.dumps(collected(), indent=0) + "\n", "utf-8")
