"""What the commands print: the help of each, and the output of those that need no more than the world."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import typer
from django.core.management import CommandError, call_command, get_commands, load_command_class

from gateline.main import app
from tests.recording.folder import Folder

OURS = ("pipelines", "reviews", "config")
RUN = (["check_invariants"], ["expire_files"], ["rotate_secrets"])


def record(folder: Folder) -> None:
    os.environ["COLUMNS"] = "110"
    for name, package in sorted(get_commands().items()):
        if package in OURS:
            parser = load_command_class(package, name).create_parser("manage.py", name)
            folder.write("commands", f"manage.py {name} --help", parser.format_help())
    for words in RUN:
        folder.write("commands", f"manage.py {' '.join(words)}", _output(words))
    _help_of(folder, typer.main.get_command(app), "gateline", None)


def _output(words: list[str]) -> str:
    output = io.StringIO()
    try:
        with redirect_stdout(output), redirect_stderr(output):
            call_command(*words, stdout=output, stderr=output)
    except (CommandError, SystemExit) as error:
        output.write(f"{type(error).__name__}: {error}")
    return output.getvalue()


def _help_of(folder: Folder, command: Any, name: str, parent: Any) -> None:
    context = command.context_class(command, info_name=name.rpartition(" ")[2], parent=parent)
    output = io.StringIO()
    with redirect_stdout(output):
        text = command.get_help(context)
    folder.write("commands", f"{name} --help", f"{output.getvalue()}{text}")
    for each, inner in sorted(getattr(command, "commands", {}).items()):
        _help_of(folder, inner, f"{name} {each}", context)
