"""Prints the page of the documentation that the table is: `python -m tests.engine.stateful > docs/commands.md`."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from tests.engine.stateful.commands import COMMANDS
from tests.engine.stateful.page import page
from tests.engine.stateful.states import STATES

print(page(STATES, {key: command.says for key, command in COMMANDS.items()}), end="")
